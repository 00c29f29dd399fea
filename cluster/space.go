package cluster

import (
	"context"
	"sync/atomic"
	"time"
)

// Space is how much room a node's disk has. Sizes are in bytes.
type Space struct {
	Free  uint64 `json:"free_bytes"`
	Total uint64 `json:"total_bytes"`
	// Min is the free space below which the node counts as full.
	Min uint64 `json:"min_free_bytes"`
	// Low says that the node is full. It ends a little above Min.
	Low bool `json:"low"`
}

const (
	spaceTick = 500 * time.Millisecond
	// fullMemory is how long a write that found no space counts for more than what
	// the file system says, which may know quotas or reserves of its own.
	fullMemory = 5 * time.Second
	// slowLow is by how much a node without space is slower to stand for election.
	slowLow = 3

	minFreeShare = 20        // one of so many parts of the volume, …
	minFreeLeast = 512 << 20 // … at least this, …
	minFreeMost  = 2 << 30   // … at most this, …
	minFreeSmall = 10        // … but on a small volume no more than one of so many parts
)

// defaultMinFree is the free space a volume should keep: the log grows by up to 128 MB,
// and each snapshot is written whole before the oldest goes.
func defaultMinFree(total uint64) uint64 {
	return min(max(total/minFreeShare, minFreeLeast), minFreeMost, total/minFreeSmall)
}

// spaceWatch looks at the disk. Its loop owns it; what it found is published.
type spaceWatch struct {
	dir  string
	min  uint64 // configured; 0: defaultMinFree
	stat func(string) (free, total uint64, err error)
	full func() time.Time      // when a write last found no space
	now  atomic.Pointer[Space] // nil: not looked yet
	// denied: too little space in the cluster, no writes. The leader decides, the
	// others hear of it; who is elected starts with what it heard.
	denied atomic.Bool
}

// look updates what is known and tells whether Low changed.
func (w *spaceWatch) look() (changed bool, err error) {
	free, total, err := w.stat(w.dir)
	if err != nil {
		return false, err
	}
	before := w.space()
	s := Space{Free: free, Total: total, Min: w.min}
	if s.Min == 0 {
		s.Min = defaultMinFree(total)
	}
	enough := s.Min
	if before.Low {
		enough += s.Min / 10 // or it would come and go with every snapshot
	}
	s.Low = free < enough || time.Since(w.full()) < fullMemory
	w.now.Store(&s)
	return s.Low != before.Low, nil
}

func (w *spaceWatch) space() Space {
	if s := w.now.Load(); s != nil {
		return *s
	}
	return Space{}
}

// Space tells how much room this node's disk has.
func (n *Node) Space() Space { return n.space.space() }

// ReadOnly tells whether the cluster takes no writes for want of disk space: what
// the leader decided, as this node last heard. It ends by itself.
func (n *Node) ReadOnly() bool { return n.space.denied.Load() }

// runSpace looks at the disk, hands leadership to a node with space, and decides,
// as the leader, whether the cluster takes writes.
func (n *Node) runSpace(ctx context.Context) {
	ticker := time.NewTicker(spaceTick)
	defer ticker.Stop()
	for {
		n.lookAtSpace(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (n *Node) lookAtSpace(ctx context.Context) {
	changed, err := n.space.look()
	if err != nil {
		n.log.Error("look at the disk", "error", err)
		return
	}
	s := n.Space()
	if changed {
		n.log.Warn("disk space", "low", s.Low, "free", s.Free, "min_free", s.Min, "total", s.Total)
		n.setElection(n.electionTimeout())
		n.nudge.Raise()
	}
	if !n.IsLeader() {
		return
	}
	voters := n.voters()
	spare, low := n.desk.withSpace(n.id, voters, s.Low)
	denied := 2*low > len(voters) || (s.Low && spare == "")
	if n.desk.young() { // what the last leader refused waits for the others to tell of their disks
		denied = denied || n.space.denied.Load()
	}
	if n.space.denied.Swap(denied) != denied {
		n.log.Warn("writes", "refused", denied, "voters", len(voters), "without_space", low)
		n.nudge.Raise()
	}
	if s.Low && !denied { // without writes, one leader is as good as another
		n.leadElsewhere(ctx, spare)
	}
}

// leadElsewhere hands leadership to a voter that has space.
func (n *Node) leadElsewhere(ctx context.Context, id string) {
	for _, server := range n.servers() {
		if string(server.ID) != id {
			continue
		}
		n.log.Warn("leadership goes to a node with disk space", "to", id)
		if err := n.transferTo(ctx, server); err != nil {
			n.log.Warn("leadership transfer", "error", err)
		}
	}
}

// withSpace returns the voter that reported lately, has disk space and is
// furthest ("" if there is none), and how many voters, this node counted, have none.
func (d *heartbeatDesk) withSpace(self string, voters []string, selfLow bool) (spare string, low int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if selfLow {
		low++
	}
	best := uint64(0)
	for _, id := range voters {
		r, ok := d.reports[id]
		switch {
		case id == self || !ok:
		case r.LowDisk:
			low++
		case time.Since(r.at) <= freshBeats*d.period && (spare == "" || r.Applied > best):
			spare, best = id, r.Applied
		}
	}
	return spare, low
}
