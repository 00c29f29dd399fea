package faults

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flagraft/flagraft/e2e/faults/disk"
	"github.com/flagraft/flagraft/e2e/faults/network"
	"github.com/flagraft/flagraft/e2e/nodes"
)

// Cluster is a cluster under test: its processes, the network between them, and
// what the faults have done to each node.
type Cluster struct {
	*nodes.Cluster
	// Net joins the nodes (hosts 0 to n-1) and the clients (host n); nil where
	// namespaces are not permitted: then the nodes share loopback.
	Net  *network.Network
	Home *nodes.Project // where the clients write

	// Keep leaves the images of the nodes' disks where they are when the cluster closes.
	Keep bool

	disks  []*disk.Volume // of the nodes; nil: they share the disk of this process
	places []*place
	clocks []string // files with the offset of each node's wall clock
	ended  chan Failure
	round  *Round // the one being played; nil between rounds
}

// place is what is known of one node.
type place struct {
	// phase is odd while the node serves: its process runs, is not stopped and
	// was ready. It only grows, so that equal phases mean that nothing happened between.
	phase atomic.Uint64
	// life is under a mutex: faults that overlap in time start and end the same process.
	life sync.Mutex
	down bool // ended by a fault
	may  bool // a fault may make it end by itself
}

// StartCluster starts n nodes of the binary with data below dir.
func StartCluster(ctx context.Context, binary, dir string, n int, seed int64, extra ...string) (*Cluster, error) {
	c := &Cluster{ended: make(chan Failure, 64)}
	return c, c.start(ctx, binary, dir, n, seed, extra)
}

// StartOnDisks is StartCluster with a disk of its own for each node, where this
// machine can mount images; elsewhere the nodes share one.
func StartOnDisks(ctx context.Context, binary, dir string, n int, seed int64, extra ...string) (*Cluster, error) {
	c := &Cluster{ended: make(chan Failure, 64)}
	if err := c.mount(ctx, dir, n); err != nil {
		return nil, err
	}
	return c, c.start(ctx, binary, dir, n, seed, extra)
}

// start closes the cluster when it fails.
func (c *Cluster) start(ctx context.Context, binary, dir string, n int, seed int64, extra []string) (err error) {
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	o := nodes.Options{Binary: binary, Dir: dir, Count: n, Extra: extra}
	net, err := network.New(n+1, uint64(seed))
	switch {
	case err == nil:
		c.Net = net
		o.Dial = net.Host(n).DialContext
		for i := range n {
			o.Hosts = append(o.Hosts, net.Host(i))
		}
	case !errors.Is(err, network.ErrNotPermitted):
		return err
	}
	for i := range n {
		c.clocks = append(c.clocks, filepath.Join(dir, fmt.Sprintf("clock%d", i)))
	}
	o.NodeEnv = func(i int) []string { return []string{"FLAGRAFT_TEST_CLOCK_OFFSET_FILE=" + c.clocks[i]} }
	if c.Cluster, err = nodes.StartIn(ctx, o); err != nil {
		return err
	}
	for range c.Nodes {
		p := &place{}
		p.phase.Store(1)
		c.places = append(c.places, p)
	}
	if c.Home, err = c.Nodes[0].Client().NewProject(ctx, "Faults"); err != nil {
		return err
	}
	_, err = c.OneState(ctx)
	return err
}

// Close ends every process, the network and the disks. Closing twice is no matter.
func (c *Cluster) Close() {
	for _, v := range c.disks {
		_ = v.Thaw() // or the processes cannot end
	}
	if c.Cluster != nil {
		c.Stop()
	}
	if c.Net != nil {
		c.Net.Close()
		c.Net = nil
	}
	c.unmount()
}

// Serving returns the phase of a node and whether it must answer reads now. A
// read that began and ended in one phase must have succeeded.
func (c *Cluster) Serving(i int) (phase uint64, ok bool) {
	phase = c.places[i].phase.Load()
	return phase, phase&1 == 1
}

func (p *place) serve(yes bool) {
	for {
		old := p.phase.Load()
		if (old&1 == 1) == yes || p.phase.CompareAndSwap(old, old+1) {
			return
		}
	}
}

// takeDown notes that a node is about to be ended. The caller holds its life.
func (c *Cluster) takeDown(i int) {
	c.places[i].serve(false)
	c.notice(i)
	c.places[i].down = true
}

// Kill ends a node at once; nothing happens to one that is down.
func (c *Cluster) Kill(i int) {
	p := c.places[i]
	p.life.Lock()
	defer p.life.Unlock()
	c.takeDown(i)
	c.Nodes[i].Kill()
}

// Terminate asks a node to stop and waits for it.
func (c *Cluster) Terminate(i int) {
	p := c.places[i]
	p.life.Lock()
	defer p.life.Unlock()
	c.takeDown(i)
	c.Nodes[i].Terminate()
}

// Pause stops a node's process without ending it; nothing happens to one that is down.
func (c *Cluster) Pause(i int) error {
	p := c.places[i]
	p.life.Lock()
	defer p.life.Unlock()
	if !c.Nodes[i].Running() {
		return nil
	}
	p.serve(false)
	return c.Nodes[i].Pause()
}

// Resume lets a stopped node go on.
func (c *Cluster) Resume(i int) error {
	p := c.places[i]
	p.life.Lock()
	defer p.life.Unlock()
	if !c.Nodes[i].Running() {
		return nil
	}
	err := c.Nodes[i].Resume()
	if err == nil && c.ready(context.Background(), i) {
		p.serve(true)
	}
	return err
}

// Restart starts a node that is down; it serves once it is ready.
func (c *Cluster) Restart(ctx context.Context, i int) error {
	p := c.places[i]
	p.life.Lock()
	defer p.life.Unlock()
	if c.Nodes[i].Running() {
		return nil
	}
	c.notice(i)
	p.down, p.may = false, false
	if err := c.Nodes[i].Start(); err != nil {
		return err
	}
	phase := p.phase.Load()
	go func() {
		for ctx.Err() == nil && p.phase.Load() == phase {
			if c.ready(ctx, i) {
				p.phase.CompareAndSwap(phase, phase+1)
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return nil
}

// Wipe takes the data of a node that is down: its disk is lost.
func (c *Cluster) Wipe(i int) error {
	p := c.places[i]
	p.life.Lock()
	defer p.life.Unlock()
	if c.Nodes[i].Running() {
		return fmt.Errorf("node %d runs", i)
	}
	if c.disks != nil {
		return c.disks[i].Wipe()
	}
	return os.RemoveAll(c.Nodes[i].Dir)
}

// MayEnd says that a fault may make the node end by itself until it is started again: a disk that hangs, for one.
func (c *Cluster) MayEnd(i int) {
	p := c.places[i]
	p.life.Lock()
	defer p.life.Unlock()
	p.may = true
}

// notice reports a process that ended although nothing ended it. The place is locked.
func (c *Cluster) notice(i int) {
	p := c.places[i]
	if p.down || p.may || c.Nodes[i].Running() {
		return
	}
	log, _ := os.ReadFile(c.Nodes[i].Log)
	select {
	case c.ended <- Failure{"node ended by itself", fmt.Sprintf("node %d: %s", i, lastLines(string(log), 3000))}:
	default:
	}
}

func lastLines(s string, n int) string { return strings.TrimSpace(s[max(0, len(s)-n):]) }

// ready asks a node whether it may be sent traffic.
func (c *Cluster) ready(ctx context.Context, i int) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	m := c.Nodes[i].Client()
	m.Base = "http://" + c.Nodes[i].Management
	a, err := m.Do(ctx, "GET", "/readyz", nil)
	return err == nil && a.Status == http.StatusOK
}

// LeaderNow asks the nodes that serve who leads, for a second; -1 if none says it does.
// Of several, the one of the newest term leads.
func (c *Cluster) LeaderNow(ctx context.Context) int {
	for end := time.Now().Add(time.Second); time.Now().Before(end) && ctx.Err() == nil; {
		leader, term := -1, uint64(0)
		for i, n := range c.Nodes {
			if _, ok := c.Serving(i); !ok {
				continue
			}
			ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
			if s, err := n.Status(ctx); err == nil && s.IsLeader && s.Term > term {
				leader, term = i, s.Term
			}
			cancel()
		}
		if leader >= 0 {
			return leader
		}
		time.Sleep(20 * time.Millisecond)
	}
	return -1
}

// HealAll undoes whatever faults left: links, stopped processes, dead ones, clocks.
func (c *Cluster) HealAll(ctx context.Context) error {
	if c.Net != nil {
		c.Net.Heal()
	}
	var errs []error
	for i := range c.Nodes {
		errs = append(errs, c.SetClock(i, 0), c.Resume(i), c.Restart(ctx, i))
	}
	return errors.Join(errs...)
}

// SetClock moves a node's wall clock by an offset from the real time.
func (c *Cluster) SetClock(i int, offset time.Duration) error {
	name := c.clocks[i]
	if err := os.WriteFile(name+".new", []byte(offset.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// At returns a client like one of another node, but of node i.
func (c *Cluster) At(i int, like *nodes.Client) *nodes.Client {
	d := *like
	d.Base = "http://" + c.Nodes[i].API
	return &d
}
