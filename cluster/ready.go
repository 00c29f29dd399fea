package cluster

import (
	"context"
	"time"
)

// Ready tells whether this node can serve reads: it has been caught up with a
// leader once since its start, or it restored state and waited in vain for a
// leader (Timing.ReadyWithoutLeader). It never turns false again; Fresh tells
// about now. A removed node is not ready any more.
func (n *Node) Ready() bool { return n.ready.Load() && !n.Removed() }

// WaitReady returns when the node is ready, or the context's error.
func (n *Node) WaitReady(ctx context.Context) error {
	select {
	case <-n.readyC:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// checkReady: a node that never had state cannot become ready without a leader.
func (n *Node) checkReady(hadState bool, alone time.Duration) {
	switch {
	case n.ready.Load():
	case n.follow.learnt && n.machine.applied.Load() >= n.follow.target:
		n.becomeReady("caught up with the leader")
	case hadState && alone >= n.cfg.Timing.ReadyWithoutLeader:
		n.becomeReady("no leader in sight: serving what was committed")
	}
}

func (n *Node) becomeReady(why string) {
	n.readyOnce.Do(func() {
		n.ready.Store(true)
		close(n.readyC)
		n.log.Info("ready", "why", why, "applied", n.machine.applied.Load())
	})
}
