package bench

import (
	"io"
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
	Bulk     []int         // connections of scenarios that write many at once
	Changers []int         // connections of the scenario that changes traits

	Profiles string // directory for CPU profiles of every scenario; empty: none
	AtLeader bool   // writers connect to the leader only, not to all nodes
	Only     string // part of a scenario's name; empty: all
	Quick    bool
	Command  string    // as typed, for the report
	Progress io.Writer // a line for each step
}

// Defaults is the full form: about ten minutes.
func Defaults() Config {
	return Config{
		Profile: seed.Default(), Large: seed.DefaultLarge(), Runs: 5, Duration: 4 * time.Second, Conns: 32,
		Writers: []int{64, 256, 512}, Bulk: []int{8, 32}, Changers: []int{32, 256},
	}
}

// Shorten makes it the one-minute form, which shows faults but settles nothing.
func (c *Config) Shorten() {
	c.Quick, c.Profile, c.Large = true, seed.Quick(), seed.QuickLarge()
	c.Runs, c.Duration = 3, 700*time.Millisecond
	c.Writers, c.Bulk, c.Changers = []int{64, 512}, []int{16}, []int{64}
}
