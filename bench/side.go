package bench

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/flagraft/flagraft/bench/inside"
	"github.com/flagraft/flagraft/bench/load"
	"github.com/flagraft/flagraft/bench/probe"
	"github.com/flagraft/flagraft/e2e/nodes"
)

// side is a server, or a cluster of them, that is measured.
type side struct {
	name       string
	addrs      []string
	pids       []int
	management []string // none: the floor has no counters
	inside     bool     // the nodes run in this process, and so does the generator
}

func sideOf(c *nodes.Cluster) side {
	s := side{name: "flagraft"}
	for _, n := range c.Nodes {
		s.addrs = append(s.addrs, n.API)
		s.pids = append(s.pids, n.PID())
		s.management = append(s.management, n.Management)
	}
	return s
}

// insideOf is a side of nodes in this process.
func insideOf(c *inside.Cluster) side {
	s := side{name: "inside", inside: true}
	for _, n := range c.Nodes {
		s.addrs, s.management = append(s.addrs, n.APIAddr()), append(s.management, n.ManagementAddr())
	}
	return s
}

// Sample is one run of one side.
type Sample struct {
	Requests  int     `json:"requests"`
	Unstored  int     `json:"unstored"`   // of them answered in time, but without knowing that the traits are stored
	PerSecond float64 `json:"per_second"` // items: requests, or identities in bulk; without the unstored
	CPU       float64 `json:"cpu_us"`     // microseconds of the servers' user and system time per item
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	P999      float64 `json:"p999_ms"`
	Max       float64 `json:"max_ms"`

	Allocs     float64 `json:"allocs"`      // objects per item, whatever allocated them
	AllocBytes float64 `json:"alloc_bytes"` // per item
	GCShare    float64 `json:"gc_share"`    // of the servers' CPU time

	StoreMillis     float64 `json:"store_ms"`          // mean StoreLogs of all nodes
	EntriesPerStore float64 `json:"entries_per_store"` // log entries per fsync
	StoresPerSecond float64 `json:"stores_per_second"` // of all nodes

	ServerCores    float64 `json:"server_cores"`
	GeneratorCores float64 `json:"generator_cores"`
	OtherCores     float64 `json:"other_cores"` // used by everybody else on the machine
	Load           float64 `json:"load"`        // of the last minute
	RSS            float64 `json:"rss_mb"`      // of all nodes
}

// reading is everything read before and after a run.
type reading struct {
	servers, own, machine time.Duration
	counters              probe.Counters
}

func (s *side) read(ctx context.Context) (r reading, err error) {
	if r.counters, err = probe.Nodes(ctx, s.management...); err != nil {
		return r, err
	}
	if r.servers, err = probe.CPU(s.pids...); err != nil {
		return r, err
	}
	if r.own, err = probe.CPU(os.Getpid()); err != nil {
		return r, err
	}
	if s.inside {
		c, n := &r.counters, uint64(len(s.management)) // every node tells of the whole process
		c.Allocs, c.AllocBytes, c.GC, c.RSS = c.Allocs/n, c.AllocBytes/n, c.GC/time.Duration(n), c.RSS/n
		r.servers, r.own = r.own, 0
	}
	r.machine, err = probe.MachineBusy()
	return r, err
}

// measure runs the load once. items is how many items a request carries.
func (s *side) measure(ctx context.Context, g *load.Generator, o load.Options, items int) (Sample, error) {
	return s.take(ctx, items, func() (*load.Result, error) {
		r, err := g.Run(ctx, o)
		if err == nil {
			err = r.Err()
		}
		return r, err
	})
}

// take makes a sample of one run.
func (s *side) take(ctx context.Context, items int, run func() (*load.Result, error)) (Sample, error) {
	first, err := s.read(ctx)
	if err != nil {
		return Sample{}, err
	}
	before, err := s.read(ctx)
	if err != nil {
		return Sample{}, err
	}
	// Reading the counters allocates too: what it took just now is not the load's.
	before.counters.Allocs += before.counters.Allocs - first.counters.Allocs
	before.counters.AllocBytes += before.counters.AllocBytes - first.counters.AllocBytes
	start := time.Now()
	result, err := run()
	wall := time.Since(start)
	if err != nil {
		return Sample{}, fmt.Errorf("%s: %w", s.name, err)
	}
	after, err := s.read(ctx)
	if err != nil {
		return Sample{}, err
	}
	return sampleOf(before, after, result, wall, items)
}

func sampleOf(before, after reading, r *load.Result, wall time.Duration, items int) (Sample, error) {
	n := float64(r.Requests * items)
	cpu := after.servers - before.servers
	own, machine := after.own-before.own, after.machine-before.machine
	c := after.counters.Since(before.counters)
	ms := func(q float64) float64 { return float64(r.Quantile(q)) / 1e6 }
	if after.counters.Allocs < before.counters.Allocs { // reading was cheaper this time
		c.Allocs, c.AllocBytes = 0, 0
	}
	s := Sample{
		Requests: r.Requests, Unstored: r.Unpersisted, PerSecond: r.PerSecond() * float64(items), CPU: float64(cpu) / 1e3 / n,
		P50: ms(50), P99: ms(99), P999: ms(99.9), Max: ms(100),
		Allocs: float64(c.Allocs) / n, AllocBytes: float64(c.AllocBytes) / n, RSS: float64(c.RSS) / 1e6,
		ServerCores: cpu.Seconds() / wall.Seconds(), GeneratorCores: own.Seconds() / wall.Seconds(),
		OtherCores: max(0, (machine-cpu-own).Seconds()/wall.Seconds()),
	}
	if cpu > 0 {
		s.GCShare = float64(c.GC) / float64(cpu)
	}
	if c.Stores > 0 {
		s.StoreMillis = storeMillis(c)
		s.EntriesPerStore = float64(c.Entries) / float64(c.Stores)
		s.StoresPerSecond = float64(c.Stores) / wall.Seconds()
	}
	var err error
	s.Load, err = probe.Load()
	return s, err
}

// storeMillis is the mean time of storing log entries.
func storeMillis(c probe.Counters) float64 {
	if c.Stores == 0 {
		return 0
	}
	return float64(c.StoreTime) / 1e6 / float64(c.Stores)
}
