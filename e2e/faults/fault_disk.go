package faults

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/flagraft/flagraft/e2e/faults/disk"
)

// diskFaults cut the power of nodes, and fill, slow down and freeze their disks.
// No other fault is played beside them: processes cannot be stopped or ended
// while their disk is frozen, and what two of them together destroy may be more
// than a cluster promises to bear.
func diskFaults() []Fault {
	own := func(c *Cluster) bool { return c.disks != nil }
	const s = time.Second
	return []Fault{
		{Name: "power cut one", Alone: true, Least: s / 2, Most: 2 * s, Possible: own, Inject: powerCut(func(int) int { return 1 })},
		{Name: "power cut all", Alone: true, Least: s / 5, Most: s, Possible: own, Inject: powerCut(func(n int) int { return n })},
		{Name: "disk full", Alone: true, Least: 2 * s, Most: 5 * s, Possible: own, Inject: diskFull},
		{Name: "slow disk", Alone: true, Least: 2 * s, Most: 5 * s, Possible: own, Inject: slowDisk},
		{Name: "frozen disk", Alone: true, Least: 10 * s, Most: 12 * s, Possible: own, Inject: frozenDisk},
	}
}

// diskSize is that of a node's disk in bytes; a tenth of it counts as full.
const diskSize = 512 << 20

// mount gives n nodes disks of their own where their data will be, or none of
// them where that is not possible.
func (c *Cluster) mount(ctx context.Context, dir string, n int) error {
	for i := range n {
		v, err := disk.NewVolume(ctx, filepath.Join(dir, "node"+strconv.Itoa(i)), diskSize)
		if err != nil {
			c.unmount()
			if errors.Is(err, disk.ErrUnusable) {
				return nil
			}
			return err
		}
		c.disks = append(c.disks, v)
	}
	return nil
}

func (c *Cluster) unmount() {
	end := (*disk.Volume).Close
	if c.Keep {
		end = (*disk.Volume).Unmount
	}
	for _, v := range c.disks {
		_ = end(v) // what is left of it is in the way of nobody
	}
	c.disks = nil
}

// CutPower takes from the chosen nodes, at one moment, what they wrote but did not sync, and ends them.
func (c *Cluster) CutPower(ctx context.Context, chosen ...int) error {
	for _, i := range chosen {
		c.places[i].life.Lock()
		defer c.places[i].life.Unlock()
		c.takeDown(i)
	}
	for _, i := range chosen {
		if n := c.Nodes[i]; n.Running() {
			if err := n.Pause(); err != nil {
				return err
			}
		}
	}
	return each(chosen, func(i int) error { return c.disks[i].CutPower(ctx, c.Nodes[i].Kill) })
}

func powerCut(count func(nodes int) int) func(context.Context, *Cluster, *rand.Rand) (func() error, error) {
	return func(ctx context.Context, c *Cluster, r *rand.Rand) (func() error, error) {
		chosen := some(r, len(c.Nodes), count(len(c.Nodes)))
		heal := func() error { return each(chosen, func(i int) error { return c.Restart(ctx, i) }) }
		return heal, c.CutPower(ctx, chosen...)
	}
}

// nearlyFull is how much of a disk is left that counts as full but takes writes.
const nearlyFull = 20 << 20

// diskFull fills the disks of some nodes, to the last block or so that it counts as full.
func diskFull(_ context.Context, c *Cluster, r *rand.Rand) (func() error, error) {
	chosen := some(r, len(c.Nodes), 1+r.IntN(len(c.Nodes)))
	leave := int64(nearlyFull) * int64(r.IntN(2))
	var frees []func() error
	err := each(chosen, func(i int) error {
		free, err := c.disks[i].Fill(leave)
		if free != nil {
			frees = append(frees, free)
		}
		return err
	})
	return func() error {
		var errs []error
		for _, free := range frees {
			errs = append(errs, free())
		}
		return errors.Join(errs...)
	}, err
}

// slowDisk makes the disks of some nodes take writes a part of the time only: each write waits for up to 150 ms.
func slowDisk(ctx context.Context, c *Cluster, r *rand.Rand) (func() error, error) {
	ctx, cancel := context.WithCancel(ctx)
	chosen := some(r, len(c.Nodes), 1+r.IntN(len(c.Nodes)))
	errs := make([]error, len(chosen))
	var wait sync.WaitGroup
	for k, i := range chosen {
		pulse := rand.New(rand.NewPCG(r.Uint64(), 4))
		wait.Go(func() { errs[k] = hold(ctx, c.disks[i], pulse) })
	}
	return func() error {
		cancel()
		wait.Wait()
		return errors.Join(errs...)
	}, nil
}

// hold freezes and thaws a volume until ctx ends.
func hold(ctx context.Context, v *disk.Volume, r *rand.Rand) error {
	for ctx.Err() == nil {
		// Not ctx: a command that is ended may have frozen the volume.
		if err := v.Freeze(context.Background()); err != nil {
			return err
		}
		sleep(ctx, time.Duration(20+r.IntN(130))*time.Millisecond)
		if err := v.Thaw(); err != nil {
			return err
		}
		sleep(ctx, time.Duration(5+r.IntN(30))*time.Millisecond)
	}
	return nil
}

// frozenDisk makes every write of a node wait, of the leader or another. The node
// ends by itself after a while, and whole processes end only when the disk is back.
func frozenDisk(ctx context.Context, c *Cluster, r *rand.Rand) (func() error, error) {
	chosen := r.IntN(len(c.Nodes))
	if leader := c.leaderOr(ctx, r); r.IntN(2) == 0 {
		chosen = leader
	}
	c.MayEnd(chosen)
	c.places[chosen].serve(false)
	err := c.disks[chosen].Freeze(ctx)
	return func() error {
		if err := c.disks[chosen].Thaw(); err != nil {
			return err
		}
		for end := time.Now().Add(RecoverWithin); time.Now().Before(end) && c.Nodes[chosen].Running(); sleep(ctx, 20*time.Millisecond) {
			if c.ready(ctx, chosen) {
				return c.Resume(chosen) // it was not asked to write for long enough
			}
		}
		return c.Restart(ctx, chosen)
	}, err
}
