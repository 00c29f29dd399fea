package bench

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/flagraft/flagraft/bench/seed"
)

// Config says what is measured and how long.
type Config struct {
	Binary  string // flagraft
	Floor   []string
	Dir     string // logs of the nodes; on a real disk, or an fsync costs nothing
	Profile seed.Profile
	Large   seed.Large
	Scale   bool   // measure what requests cost as sizes grow, and nothing else
	Peers   string // where other servers and engines are installed: measure beside them, and nothing else; empty: do not

	Runs     int           // of each side, in turn
	Duration time.Duration // of each run
	Conns    int           // connections of reading scenarios
	Writers  []int         // connections of scenarios that write single identities
	Follower int           // connections of the one that writes them through one follower
	Bulk     []int         // connections of scenarios that write many at once
	Changers []int         // connections of the scenario that changes traits
	Import   int           // identities of the bulk import
	Stored   int           // identities that memory, restore and start-up are measured with
	Huge     int           // the same where a name asks for it
	Rates    []float64     // new identities a second into the commit path alone

	Profiles string // directory for CPU profiles of every scenario; empty: none
	AtLeader bool   // writers connect to the leader only, not to all nodes
	Only     string // part of a scenario's name; empty: all
	Quick    bool
	Command  string    // as typed, for the report
	Progress io.Writer // a line for each step
}

// Defaults is the full form: about half an hour.
func Defaults() Config {
	return Config{
		Profile: seed.Default(), Large: seed.DefaultLarge(), Runs: 5, Duration: 4 * time.Second, Conns: 32,
		Writers: []int{64, 256, 512, 640, 768}, Follower: 512, Bulk: []int{8, 32}, Changers: []int{32, 256},
		Import: 1_000_000, Stored: 1_000_000, Huge: 10_000_000, Rates: []float64{20_000, 50_000},
	}
}

// tails is how many runs there are of a load beside the floor in the open loop. The few
// requests that make a 99.9th percentile are those that met a stall of the machine, and of
// few runs the median is one of who met more.
func (c Config) tails() int { return 2*c.Runs + 1 }

// FewIdentities are loaded where they matter less than the time it takes, many times over.
const FewIdentities = 100_000

// Names are those of the scenarios, for [Config.Only].
func Names() []string {
	return slices.Concat([]string{nameRequest, nameEvaluation, nameStore, nameStore + "-" + markHuge, nameNotModified}, variants(nameFlags), variants(nameUnchanged),
		[]string{nameChanging, nameNew, nameFollower, nameBulk, nameCommit, nameView, nameAdmin, nameImport, nameMemory, nameMemory + "-" + markHuge,
			nameRestore, nameRestore + "-" + markHuge, nameStartUp, nameLarge})
}

// names are those that Only may be a part of.
func (c *Config) names() []string {
	switch {
	case c.Peers != "":
		return []string{namePeerFlags, namePeerValues, namePeerTargeting, namePeerTransient, namePeerEngines}
	case c.Scale:
		names := []string{axisNodes.name}
		for _, a := range axes {
			names = append(names, a.name)
		}
		return names
	}
	return append(Names(), nameAdminFollower)
}

// check refuses what would measure nothing: no goal is missed then, and the report would take
// the place of one that says something.
func (c *Config) check() error {
	if c.Runs < 1 || c.Duration <= 0 {
		return errors.New("bench: runs and duration have to be above 0")
	}
	if !slices.ContainsFunc(c.names(), func(name string) bool { return strings.Contains(name, c.Only) }) {
		return fmt.Errorf("bench: no scenario has %q in its name: there are %s", c.Only, strings.Join(c.names(), ", "))
	}
	return nil
}

// Shorten makes it the form of a few minutes, which shows faults but settles nothing.
func (c *Config) Shorten() {
	c.Quick, c.Profile, c.Large = true, seed.Quick(), seed.QuickLarge()
	c.Runs, c.Duration = 3, 700*time.Millisecond
	c.Writers, c.Bulk, c.Changers = []int{64, 512}, []int{16}, []int{64}
	c.Import, c.Stored, c.Huge, c.Rates = 20_000, 20_000, 50_000, []float64{2000, 5000}
}
