package faults

import (
	"os/exec"
	"strings"

	"github.com/flagraft/flagraft/e2e/ledger"
)

// Result is what one round found: a line of the results file.
type Result struct {
	ledger.Entry

	Nodes  int      `json:"nodes"`
	Seed   int64    `json:"seed"`
	Round  int      `json:"round"`
	Faults []string `json:"faults"`
	Place  string   `json:"place"` // namespaces or loopback
	// SmallLog: nodes snapshot all the time, and who lags gets a snapshot.
	SmallLog bool `json:"small_log,omitempty"`
	// Disks: each node has a disk of its own.
	Disks bool `json:"disks,omitempty"`

	Histories    int `json:"histories"` // linearizable
	Undecided    int `json:"undecided"` // the search took too long
	Operations   int `json:"operations"`
	Acknowledged int `json:"acknowledged"` // writes
	Unknown      int `json:"unknown"`      // writes whose outcome clients could not know
	Reads        int `json:"reads"`        // SDK reads of nodes that had to answer
	ReadsFailed  int `json:"reads_failed"`
	Pairs        int `json:"pairs"` // writes with a read that had to see them

	Recovery  float64   `json:"recovery_s"` // from healing until every node takes writes
	Failovers []float64 `json:"failover_s,omitempty"`
	Seconds   float64   `json:"seconds"`

	Failures []Failure `json:"failures,omitempty"`
	Again    string    `json:"again,omitempty"` // the command that plays it again
}

func (r *Round) result(binary string, seed int64, number int) Result {
	res := Result{
		Entry: ledger.Now(commitOf(binary)),
		Nodes: len(r.c.Nodes), Seed: seed, Round: number, Place: "namespaces",
		Histories: r.histories, Undecided: r.undecided, Reads: int(r.reads.Load()), ReadsFailed: int(r.readsFailed.Load()), Pairs: int(r.pairs.Load()),
		Recovery: r.recovered.Seconds(), Failures: r.Failures(), Disks: r.c.disks != nil,
	}
	if r.c.Net == nil {
		res.Place = "loopback"
	}
	for _, s := range r.steps {
		res.Faults = append(res.Faults, s.Fault.Name)
	}
	for _, d := range r.failovers {
		res.Failovers = append(res.Failovers, d.Seconds())
	}
	for _, o := range r.rec.Ops("") {
		res.Operations++
		if strings.Contains(o.Kind, "read") {
			continue
		}
		switch o.Result {
		case OK:
			res.Acknowledged++
		case Unknown:
			res.Unknown++
		}
	}
	return res
}

// ReadResults reads a results file.
func ReadResults(name string) ([]Result, error) { return ledger.Read[Result](name) }

// commitOf is what a binary says it was built from: a tag, or the start of a commit's hash; "-dirty" behind it means from changed files.
func commitOf(binary string) string {
	out, err := exec.Command(binary, "--version").Output()
	words := strings.Fields(string(out))
	if err != nil || len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}
