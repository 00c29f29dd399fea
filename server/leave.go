package server

import (
	"context"
	"time"
)

const (
	// handOver is how long a node that gave its leadership away goes on telling others so.
	handOver = 250 * time.Millisecond
	// handOverTries: giving leadership away may fail under writes.
	handOverTries = 3
	// drainProbes is how many probes of a balancer a stopping node stays for: one may just have passed.
	drainProbes = 2
)

// leaveBalancers is the first part of stopping: /readyz says no and every answer closes its connection, while the node serves as before until
// a balancer that probes it has looked twice. A node without others has nobody to leave its traffic to and does not wait.
func (n *Node) leaveBalancers(ctx context.Context) {
	if !n.running.Load() {
		return
	}
	n.server.draining.Store(true)
	if stay := drainProbes * n.settings.ProbeInterval; stay > 0 && len(n.cluster.Members()) > 1 {
		n.log.Info("draining", "for", stay)
		pause(ctx, stay)
	}
}

// giveAwayLeadership has another node lead before this one stops taking writes.
func (n *Node) giveAwayLeadership(ctx context.Context) {
	for range handOverTries {
		if n.cluster == nil || !n.cluster.IsLeader() {
			return
		}
		err := n.cluster.TransferLeadership(ctx)
		if err == nil {
			// The others still send writes here until they have heard of the new leader: refuse those for a moment, instead of breaking
			// their connections, which would leave the outcome unknown.
			pause(ctx, handOver)
			return
		}
		n.log.Debug("leadership stays", "error", err)
		if len(n.cluster.Members()) < 2 {
			return
		}
		pause(ctx, handOver)
	}
}
