package bench

import (
	"debug/buildinfo"
	"encoding/json"
	"io"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/flagraft/flagraft/bench/probe"
	"github.com/flagraft/flagraft/bench/seed"
)

// Report is everything one run found.
type Report struct {
	Date         time.Time    `json:"date"`
	Command      string       `json:"command"`
	Version      string       `json:"version"` // of the measured binary: tag or commit
	Go           string       `json:"go"`
	Processor    string       `json:"processor"`
	Cores        int          `json:"cores"`
	LoadBefore   float64      `json:"load_before"`
	LoadAfter    float64      `json:"load_after"`
	Quick        bool         `json:"quick"`
	Seconds      float64      `json:"seconds"` // of one run
	Runs         int          `json:"runs"`
	Profile      seed.Profile `json:"profile"`
	Large        seed.Large   `json:"large"`
	Acknowledged int64        `json:"acknowledged"` // new identities, found on all nodes afterwards

	Scenarios []*Scenario `json:"scenarios"`
	Figures   []*Figure   `json:"figures"`
	Timings   []*Timing   `json:"timings"` // of the large project

	Edge    string         `json:"edge,omitempty"` // the version of Unleash Edge
	Engines []*EngineScore `json:"engines,omitempty"`

	Targets []Target `json:"targets"`
}

func newReport(c Config) *Report {
	r := &Report{
		Date: time.Now().UTC(), Command: c.Command, Processor: probe.Processor(), Cores: runtime.NumCPU(),
		Quick: c.Quick, Seconds: c.Duration.Seconds(), Runs: c.Runs, Profile: c.Profile, Large: c.Large,
	}
	r.LoadBefore, _ = probe.Load()
	if line, err := exec.Command(c.Binary, "--version").Output(); err == nil {
		r.Version = strings.TrimSpace(strings.TrimPrefix(string(line), "flagraft version "))
	}
	if info, err := buildinfo.ReadFile(c.Binary); err == nil {
		r.Go = info.GoVersion
	}
	return r
}

func (r *Report) add(s *Scenario) *Scenario {
	r.Scenarios = append(r.Scenarios, s)
	return s
}

func (r *Report) finish() {
	r.LoadAfter, _ = probe.Load()
	r.Targets = targets(r)
}

// JSON writes the report with every sample.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Missed are the targets that were not met.
func (r *Report) Missed() (missed []Target) {
	return slices.DeleteFunc(slices.Clone(r.Targets), func(t Target) bool { return t.Met })
}

// find returns the scenarios of a name.
func (r *Report) find(name string) (found []*Scenario) {
	for _, s := range r.Scenarios {
		if s.Name == name && len(s.Flagraft) > 0 {
			found = append(found, s)
		}
	}
	return found
}
