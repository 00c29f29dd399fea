package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// levelGate keeps the format level and the membership from changing at the same
// time: a node that knows too little must not slip in while the level rises.
//
// It is a lock: joins are calls on goroutines of their own, each with an answer of
// its own to wait for, and the one raise is rare.
type levelGate struct{ sync.RWMutex }

// level is the format level this binary knows.
func (c Config) level() uint8 { return max(c.Level, 1) }

// required is the format level that every member must know.
func (c Config) required() uint8 {
	if c.RequiredLevel == nil {
		return 1
	}
	return max(c.RequiredLevel(), 1)
}

// admitsLevel is nil when a node that knows a level may be a member. Binaries that
// tell no level know the first.
func (n *Node) admitsLevel(id string, level uint8) error {
	if need := n.cfg.required(); max(level, 1) < need {
		return &Error{codeJoinRefused, fmt.Sprintf(
			"the cluster is at format level %d, node %s knows %d: start it with a version that knows level %d", need, id, max(level, 1), need)}
	}
	return nil
}

// RaiseLevel calls propose if this node leads and every member of the
// configuration has just told that it knows the level. No node joins meanwhile. It
// returns ErrUnavailable, with the reason, when a member does not know the level or
// is silent.
func (n *Node) RaiseLevel(ctx context.Context, level uint8, propose func(context.Context) error) error {
	n.levels.Lock()
	defer n.levels.Unlock()
	if n.LeaderTerm() == 0 {
		return ErrNotLeader
	}
	for _, s := range n.servers() {
		id := string(s.ID)
		r, heard := n.desk.newest(id, mergeBeats*n.cfg.Timing.Heartbeat)
		switch {
		case id == n.id:
		case !heard:
			return fmt.Errorf("%w: node %s is silent", ErrUnavailable, id)
		case max(r.Level, 1) < level:
			return fmt.Errorf("%w: node %s (version %s) knows format level %d", ErrUnavailable, id, r.Version, max(r.Level, 1))
		}
	}
	return propose(ctx)
}

// newest is a node's last report of this term, unless it is older than within.
func (d *heartbeatDesk) newest(id string, within time.Duration) (report, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r, ok := d.reports[id]
	return r.report, ok && time.Since(r.at) <= within
}
