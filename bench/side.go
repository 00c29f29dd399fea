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

// outlay is what a load took: one run, or the slices of one.
type outlay struct {
	servers, own, machine, wall time.Duration
	result                      *load.Result
}

func (o *outlay) add(more outlay) {
	o.servers, o.own, o.machine, o.wall = o.servers+more.servers, o.own+more.own, o.machine+more.machine, o.wall+more.wall
	if o.result == nil {
		o.result = more.result
		return
	}
	o.result.Add(more.result)
}

// busy is the CPU time that the servers, this process and the whole machine have used.
func (s *side) busy() (servers, own, machine time.Duration, err error) {
	if servers, err = probe.CPU(s.pids...); err != nil {
		return 0, 0, 0, err
	}
	if own, err = probe.CPU(os.Getpid()); err != nil {
		return 0, 0, 0, err
	}
	if s.inside {
		servers, own = own, 0
	}
	machine, err = probe.MachineBusy()
	return servers, own, machine, err
}

// spend runs a load, or something without a result of one.
func (s *side) spend(run func() (*load.Result, error)) (o outlay, err error) {
	servers, own, machine, err := s.busy()
	if err != nil {
		return o, err
	}
	start := time.Now()
	o.result, err = run()
	o.wall = time.Since(start)
	if err == nil && o.result != nil {
		err = o.result.Err()
	}
	if err != nil {
		return o, fmt.Errorf("%s: %w", s.name, err)
	}
	if o.servers, o.own, o.machine, err = s.busy(); err != nil {
		return o, err
	}
	o.servers, o.own, o.machine = o.servers-servers, o.own-own, o.machine-machine
	return o, nil
}

// counters are those of the nodes.
func (s *side) counters(ctx context.Context) (probe.Counters, error) {
	c, err := probe.Nodes(ctx, s.management...)
	if s.inside {
		n := uint64(len(s.management)) // every node tells of the whole process
		c.Allocs, c.AllocBytes, c.GC, c.RSS = c.Allocs/n, c.AllocBytes/n, c.GC/time.Duration(n), c.RSS/n
	}
	return c, err
}

// begin reads the counters before a load. Reading them allocates too: what it takes is
// not the load's.
func (s *side) begin(ctx context.Context) (probe.Counters, error) {
	first, err := s.counters(ctx)
	if err != nil {
		return first, err
	}
	before, err := s.counters(ctx)
	before.Allocs += before.Allocs - first.Allocs
	before.AllocBytes += before.AllocBytes - first.AllocBytes
	return before, err
}

// take makes a sample of one run. items is how many a request carries.
func (s *side) take(ctx context.Context, items int, run func() (*load.Result, error)) (Sample, error) {
	before, err := s.begin(ctx)
	if err != nil {
		return Sample{}, err
	}
	o, err := s.spend(run)
	if err != nil {
		return Sample{}, err
	}
	return s.sample(ctx, before, o, items)
}

// sample ends what begin began.
func (s *side) sample(ctx context.Context, before probe.Counters, o outlay, items int) (Sample, error) {
	after, err := s.counters(ctx)
	if err != nil {
		return Sample{}, err
	}
	return sampleOf(before, after, o, items)
}

func sampleOf(before, after probe.Counters, o outlay, items int) (s Sample, err error) {
	r, cpu, c := o.result, o.servers, after.Since(before)
	n := float64(r.Requests * items)
	ms := func(q float64) float64 { return float64(r.Quantile(q)) / 1e6 }
	if after.Allocs < before.Allocs { // reading was cheaper this time
		c.Allocs, c.AllocBytes = 0, 0
	}
	s = Sample{
		Requests: r.Requests, Unstored: r.Unpersisted, PerSecond: r.PerSecond() * float64(items), CPU: float64(cpu) / 1e3 / n,
		P50: ms(50), P99: ms(99), P999: ms(99.9), Max: ms(100),
		Allocs: float64(c.Allocs) / n, AllocBytes: float64(c.AllocBytes) / n, RSS: float64(c.RSS) / 1e6,
		ServerCores: cpu.Seconds() / o.wall.Seconds(), GeneratorCores: o.own.Seconds() / o.wall.Seconds(),
		OtherCores: max(0, (o.machine-cpu-o.own).Seconds()/o.wall.Seconds()),
	}
	if cpu > 0 {
		s.GCShare = float64(c.GC) / float64(cpu)
	}
	if c.Stores > 0 {
		s.StoreMillis = storeMillis(c)
		s.EntriesPerStore = float64(c.Entries) / float64(c.Stores)
		s.StoresPerSecond = float64(c.Stores) / o.wall.Seconds()
	}
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
