package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flagraft/flagraft/cluster"
	"github.com/flagraft/flagraft/fsm"
)

// proposer is the cluster node as the state machine's writers use it.
type proposer struct {
	node *cluster.Node
}

// proposeTimeout bounds what the writers wait for: far beyond what an entry takes, since after it the outcome is unknown. Without it one
// answer that never comes would stop all writes of a leader for as long as it leads.
const proposeTimeout = 2 * writeTimeout

// Propose implements fsm.Proposer.
func (p proposer) Propose(ctx context.Context, entry []byte) (index uint64, answer any, err error) {
	ctx, cancel := context.WithTimeout(ctx, proposeTimeout)
	defer cancel()
	a, err := p.node.Propose(ctx, entry)
	return a.Index, a.Response, readOnly(err)
}

// readOnly gives a refusal for want of disk space the name under which the state machine's writers know it.
func readOnly(err error) error {
	if errors.Is(err, cluster.ErrReadOnly) {
		return fmt.Errorf("%w: %w", fsm.ErrReadOnly, err)
	}
	return err
}

// Barrier implements fsm.Proposer.
func (p proposer) Barrier(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, proposeTimeout)
	defer cancel()
	return p.node.Barrier(ctx)
}

// Verify implements fsm.Proposer: it returns nil if this node led, in one term, from before the call until after it.
func (p proposer) Verify(ctx context.Context) error {
	term := p.node.LeaderTerm()
	if term == 0 {
		return cluster.ErrNotLeader
	}
	if _, err := p.node.ReadIndex(ctx); err != nil {
		return err
	}
	if p.node.LeaderTerm() != term {
		return cluster.ErrNotLeader
	}
	return nil
}

// clusterReads is the cluster node as reads use it.
type clusterReads struct {
	node  *cluster.Node
	since time.Time // when the node started
}

// ReadIndex implements Reads.
func (r clusterReads) ReadIndex(ctx context.Context) (uint64, error) { return r.node.ReadIndex(ctx) }

// Age implements Reads: the time since this node last heard from a leader that has a quorum. It is nothing on the leader itself.
func (r clusterReads) Age() time.Duration {
	if r.node.IsLeader() {
		return 0
	}
	contact := r.node.LastContact()
	if contact.IsZero() {
		contact = r.since // nothing was heard since the start
	}
	return time.Since(contact)
}

// reads is the node's cluster as reads use it.
func (n *Node) reads() clusterReads { return clusterReads{n.cluster, n.started} }

// sendIdentities carries a batch of identity operations to the leader. A batch is numbered by its node, so it may always be sent again.
func (n *Node) sendIdentities(ctx context.Context, batch []byte) (answer []byte, retry bool, err error) {
	if n.cluster.ReadOnly() {
		return nil, false, fsm.ErrReadOnly // the leader said so a moment ago: nothing is sent
	}
	if n.tracing.On(ctx) {
		answer, err = n.sendTraced(ctx, batch)
	} else {
		answer, err = n.cluster.Call(ctx, callIdentities, batch)
	}
	retry = errors.Is(err, cluster.ErrNotLeader) || errors.Is(err, cluster.ErrUnavailable) || errors.Is(err, cluster.ErrUnknownOutcome)
	return answer, retry && !errors.Is(err, cluster.ErrStopped), readOnly(err)
}

// newIdentities is this node's share of the new identities that an environment may get in a second: the bound is the cluster's, each node
// counts for itself.
func (n *Node) newIdentities() int {
	limit := n.settings.NewIdentities
	if limit == 0 {
		return 0
	}
	ready := n.readyNodes()
	return (limit + ready - 1) / ready
}

// readyNodes is how many nodes share the requests, this one at least.
func (n *Node) readyNodes() int {
	ready := 0
	for _, m := range n.cluster.Members() {
		if m.Ready {
			ready++
		}
	}
	return max(ready, 1)
}

// sendUsage carries an entry of usage counters to the leader.
func (n *Node) sendUsage(ctx context.Context, entry []byte) error {
	_, err := n.cluster.Call(ctx, callUsage, entry)
	if errors.Is(err, cluster.ErrUnknownOutcome) {
		// The counter does not send again what may have been counted.
		err = fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
	}
	return err
}

// handleCalls registers the leader's side of the internal calls.
func (n *Node) handleCalls() {
	n.cluster.Handle(callRequest, n.server.serveWrite)
	n.cluster.Handle(callStateHash, n.serveHash)
	n.cluster.Handle(callLoad, n.serveLoad)
	n.cluster.Handle(callIdentities, func(ctx context.Context, _ string, batch []byte) ([]byte, error) {
		return n.batcher.Submit(ctx, batch, nil)
	})
	n.cluster.Handle(callTracedIdentities, n.serveTraced)
	n.cluster.Handle(callRestore, n.serveRestore)
	n.cluster.Handle(callImport, n.handleImport)
	n.cluster.Handle(callUsage, n.serveUsage)
}

// serveUsage is the leader's side of sendUsage. What is proposed must be readable everywhere, and has the leader's time.
func (n *Node) serveUsage(ctx context.Context, _ string, entry []byte) ([]byte, error) {
	entry, err := fsm.StampUsageEntry(entry, n.Clock())
	if err != nil {
		return nil, err
	}
	_, err = n.cluster.Propose(ctx, entry)
	return nil, err
}

// led reacts to gaining (term > 0) and losing leadership.
func (n *Node) led(term uint64) {
	n.scheduler.Lead(term != 0)
	n.checker.Lead(term != 0)
	if term != 0 {
		n.writer.Gained()
		n.founding.Raise()
	}
}
