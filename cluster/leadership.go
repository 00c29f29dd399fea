package cluster

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// leadership is what this node knows about its own term as the leader.
type leadership struct {
	term atomic.Uint64 // 0 = does not lead, or has not caught up yet

	// The mutex keeps notifications and new subscribers in one order; it is
	// taken a few times per election.
	mu          sync.Mutex
	subscribers []func(term uint64)
}

// OnLeadership calls f with the term when this node has become the leader and
// has applied everything of earlier terms, and with 0 when it leads no more;
// once at once with the present state. Calls come one at a time, in order; f
// must not block and must not call OnLeadership. Two terms in a row without a
// 0 between do not happen.
func (n *Node) OnLeadership(f func(term uint64)) {
	n.lead.mu.Lock()
	defer n.lead.mu.Unlock()
	n.lead.subscribers = append(n.lead.subscribers, f)
	f(n.lead.term.Load())
}

func (l *leadership) publish(term uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.term.Swap(term) == term {
		return
	}
	for _, f := range l.subscribers {
		f(term)
	}
}

// IsLeader tells whether this node leads and has applied everything of earlier
// terms. It may be wrong for the length of the lease; ReadIndex is not.
func (n *Node) IsLeader() bool { return n.LeaderTerm() != 0 }

// LeaderTerm is the term in which this node leads, or 0.
func (n *Node) LeaderTerm() uint64 {
	term := n.lead.term.Load()
	if term == 0 || n.raft.State() != raft.Leader || n.raft.CurrentTerm() != term {
		return 0
	}
	return term
}

// runLeadership follows Raft's leadership changes.
func (n *Node) runLeadership(ctx context.Context) {
	changes := n.raft.LeaderCh()
	defer n.lead.publish(0)
	for {
		select {
		case <-ctx.Done():
			return
		case leads := <-changes:
			// The channel keeps the newest value only: a second true means that
			// leadership was lost and won again.
			n.lead.publish(0)
			if !leads {
				n.log.Info("leadership lost")
				continue
			}
			if term := n.assumeLeadership(ctx); term != 0 {
				n.desk.reset(term)
				n.lead.publish(term)
				n.measures.elections.Inc()
				n.log.Info("leadership gained", "term", term)
				n.becomeReady("leads")
				n.nudge.Raise()
			}
		}
	}
}

// assumeLeadership waits until an entry of the own term is committed and all
// before it applied; before that the commit index may lag behind what an earlier
// leader acknowledged (hashicorp/raft#603).
func (n *Node) assumeLeadership(ctx context.Context) uint64 {
	term := n.raft.CurrentTerm()
	for ctx.Err() == nil && n.raft.State() == raft.Leader && n.raft.CurrentTerm() == term {
		if n.await(ctx, func() error { return n.raft.Barrier(n.cfg.Timing.Enqueue).Error() }) == nil {
			return term
		}
		pause(ctx, 10*time.Millisecond)
	}
	return 0
}

// Leader returns the leader this node knows of.
func (n *Node) Leader() (Member, bool) {
	addr, id := n.raft.LeaderWithID()
	if id == "" {
		return Member{}, false
	}
	for _, m := range n.Members() {
		if m.ID == string(id) {
			return m, true
		}
	}
	return Member{ID: string(id), Address: string(addr), Voter: true, Leader: true}, true
}

// LeaderID returns the id of the leader this node knows of, or "".
func (n *Node) LeaderID() string {
	_, id := n.raft.LeaderWithID()
	return string(id)
}

// WaitLeader returns when a leader is known, or the context's error.
func (n *Node) WaitLeader(ctx context.Context) error {
	for {
		if _, id := n.raft.LeaderWithID(); id != "" && (string(id) != n.id || n.IsLeader()) {
			return nil
		}
		if !pause(ctx, 5*time.Millisecond) {
			return ctx.Err()
		}
	}
}
