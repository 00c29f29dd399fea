package faults

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"time"
)

// processFaults end, stop and restart processes, and move their clocks.
func processFaults() []Fault {
	all := func(n int) int { return n }
	minority := func(n int) int { return (n - 1) / 2 }
	majority := func(n int) int { return n/2 + 1 }
	one := func(int) int { return 1 }
	const s = time.Second
	return []Fault{
		{Name: "kill leader", Least: 3 * s, Most: 4 * s, Inject: killLeader},
		{Name: "kill any", Least: s / 2, Most: 3 * s, Inject: kill(one)},
		{Name: "kill minority", Least: s, Most: 3 * s, Inject: kill(minority)},
		{Name: "kill majority", Least: s, Most: 3 * s, Inject: kill(majority)},
		{Name: "kill all", Least: s / 5, Most: 2 * s, Inject: kill(all)},
		{Name: "stop leader", Least: s / 5, Most: 8 * s, Inject: stopLeader},
		{Name: "stop any", Least: s / 5, Most: 8 * s, Inject: stop(one)},
		{Name: "stop majority", Least: s / 5, Most: 3 * s, Inject: stop(majority)},
		{Name: "restart", Least: s / 5, Most: s, Inject: restart},
		{Name: "clock", Least: s, Most: 3 * s, Inject: clock},
	}
}

// kill ends that many of the nodes with SIGKILL.
func kill(count func(nodes int) int) func(context.Context, *Cluster, *rand.Rand) (func() error, error) {
	return func(ctx context.Context, c *Cluster, r *rand.Rand) (func() error, error) {
		chosen := some(r, len(c.Nodes), count(len(c.Nodes)))
		for _, i := range chosen {
			c.Kill(i)
		}
		return func() error { return each(chosen, func(i int) error { return c.Restart(ctx, i) }) }, nil
	}
}

// killLeader ends the leader and measures how long the others need to write again.
func killLeader(ctx context.Context, c *Cluster, r *rand.Rand) (func() error, error) {
	leader := c.leaderOr(ctx, r)
	c.Kill(leader)
	if c.round != nil {
		c.round.measureFailover(ctx)
	}
	return func() error { return c.Restart(ctx, leader) }, nil
}

// leaderOr is the leader, or any node when none leads now. It always draws, so that what is drawn after it does not depend on the cluster.
func (c *Cluster) leaderOr(ctx context.Context, r *rand.Rand) int {
	any := r.IntN(len(c.Nodes))
	if leader := c.LeaderNow(ctx); leader >= 0 {
		return leader
	}
	return any
}

// stop stops that many nodes with SIGSTOP. How long is drawn here and no longer than the step lasts: short stops are as interesting as long ones.
func stop(count func(nodes int) int) func(context.Context, *Cluster, *rand.Rand) (func() error, error) {
	return func(_ context.Context, c *Cluster, r *rand.Rand) (func() error, error) {
		chosen := some(r, len(c.Nodes), count(len(c.Nodes)))
		return func() error { return each(chosen, c.Resume) }, each(chosen, c.Pause)
	}
}

func stopLeader(ctx context.Context, c *Cluster, r *rand.Rand) (func() error, error) {
	leader := c.leaderOr(ctx, r)
	return func() error { return c.Resume(leader) }, c.Pause(leader)
}

// restart stops the leader or another node as an operator does, and starts it again.
func restart(ctx context.Context, c *Cluster, r *rand.Rand) (func() error, error) {
	chosen := r.IntN(len(c.Nodes))
	if leader := c.leaderOr(ctx, r); r.IntN(2) == 0 {
		chosen = leader
	}
	if err := c.Resume(chosen); err != nil {
		return nil, err
	}
	c.Terminate(chosen)
	return func() error { return c.Restart(ctx, chosen) }, nil
}

// maxClockStep stays below the time that answers to idempotency keys are kept, which is measured by this clock.
const maxClockStep = 5 * time.Minute

// clock moves the wall clocks of some nodes, in any direction, each by another step.
func clock(_ context.Context, c *Cluster, r *rand.Rand) (func() error, error) {
	chosen := some(r, len(c.Nodes), 1+r.IntN(len(c.Nodes)))
	err := each(chosen, func(i int) error {
		size := time.Duration(math.Exp(r.Float64()*math.Log(float64(maxClockStep)/float64(time.Millisecond))) * float64(time.Millisecond))
		if r.IntN(2) == 0 {
			size = -size
		}
		return c.SetClock(i, size)
	})
	return func() error { return each(chosen, func(i int) error { return c.SetClock(i, 0) }) }, err
}

func each(chosen []int, f func(int) error) error {
	var errs []error
	for _, i := range chosen {
		errs = append(errs, f(i))
	}
	return errors.Join(errs...)
}
