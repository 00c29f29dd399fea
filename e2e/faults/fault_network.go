package faults

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/flagraft/flagraft/e2e/faults/network"
)

// networkFaults cut and spoil the links between nodes. Clients reach every node all the time.
func networkFaults() []Fault {
	const s = time.Second
	fault := func(name string, most time.Duration, inject func(context.Context, *Cluster, *rand.Rand)) Fault {
		return Fault{Name: name, Network: true, Least: s, Most: most,
			Inject: func(ctx context.Context, c *Cluster, r *rand.Rand) (func() error, error) {
				inject(ctx, c, r)
				return func() error { c.Net.Heal(); return nil }, nil
			}}
	}
	return []Fault{
		fault("partition", 5*s, partition),
		fault("isolate leader", 5*s, isolateLeader),
		fault("one-way partition", 5*s, oneWay),
		fault("ring partition", 5*s, ring),
		fault("30% loss", 4*s, loss),
		fault("thin line", 4*s, thin),
		fault("delay and reordering", 4*s, delay),
	}
}

// between shapes both directions, or one, of every link for which chosen returns true.
func (c *Cluster) between(shape network.Shape, chosen func(from, to int) bool) {
	for from := range c.Nodes {
		for to := range c.Nodes {
			if from != to && chosen(from, to) {
				c.Net.Shape(from, to, shape)
			}
		}
	}
}

// partition splits the nodes in two groups.
func partition(_ context.Context, c *Cluster, r *rand.Rand) {
	n := len(c.Nodes)
	side := make([]bool, n)
	for _, i := range some(r, n, 1+r.IntN(n-1)) {
		side[i] = true
	}
	c.between(network.Shape{Cut: true}, func(from, to int) bool { return side[from] != side[to] })
}

func isolateLeader(ctx context.Context, c *Cluster, r *rand.Rand) {
	leader := c.leaderOr(ctx, r)
	c.between(network.Shape{Cut: true}, func(from, to int) bool { return from == leader || to == leader })
}

// oneWay cuts what one node sends, or what it hears.
func oneWay(ctx context.Context, c *Cluster, r *rand.Rand) {
	node := r.IntN(len(c.Nodes))
	if leader := c.leaderOr(ctx, r); r.IntN(2) == 0 {
		node = leader
	}
	sends := r.IntN(2) == 0
	c.between(network.Shape{Cut: true}, func(from, to int) bool { return sends && from == node || !sends && to == node })
}

// ring leaves each node its two neighbours in a drawn order; of three nodes the ends of a line are cut.
func ring(_ context.Context, c *Cluster, r *rand.Rand) {
	n := len(c.Nodes)
	at := r.Perm(n)
	c.between(network.Shape{Cut: true}, func(from, to int) bool {
		d := (at[from] - at[to] + n) % n
		if n == 3 {
			return at[from]+at[to] == 2 && at[from] != at[to] // 0 and 2
		}
		return d != 1 && d != n-1
	})
}

func loss(_ context.Context, c *Cluster, _ *rand.Rand) {
	c.between(network.Shape{Loss: 0.3}, func(int, int) bool { return true })
}

// thin limits what one node, or every node, sends to each other one.
func thin(_ context.Context, c *Cluster, r *rand.Rand) {
	rate := 32<<10 + r.IntN(224<<10)
	node := r.IntN(2 * len(c.Nodes)) // as often all of them
	c.between(network.Shape{Rate: rate}, func(from, _ int) bool { return node >= len(c.Nodes) || from == node })
}

func delay(_ context.Context, c *Cluster, r *rand.Rand) {
	shape := network.Shape{Delay: time.Duration(5+r.IntN(100)) * time.Millisecond, Jitter: time.Duration(10+r.IntN(200)) * time.Millisecond}
	node := r.IntN(2 * len(c.Nodes))
	c.between(shape, func(from, to int) bool { return node >= len(c.Nodes) || from == node || to == node })
}
