package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// memberFaults change who the members are.
func memberFaults() []Fault {
	return []Fault{
		{Name: "replace", Alone: true, Least: 500 * time.Millisecond, Most: 2 * time.Second, Inject: replace},
	}
}

// replace loses a node with its disk; a fresh one takes its address. The others must know that the old one is gone before they let the new one in.
func replace(ctx context.Context, c *Cluster, r *rand.Rand) (func() error, error) {
	chosen := r.IntN(len(c.Nodes))
	if leader := c.leaderOr(ctx, r); r.IntN(3) == 0 {
		chosen = leader
	}
	c.Kill(chosen)
	if err := c.Wipe(chosen); err != nil {
		return nil, fmt.Errorf("wipe node %d: %w", chosen, err)
	}
	return func() error { return c.Restart(ctx, chosen) }, nil
}
