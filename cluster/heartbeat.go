package cluster

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// report is what a node tells the leader.
type report struct {
	ID        string `cbor:"id"`
	ClusterID string `cbor:"cluster"`
	Term      uint64 `cbor:"term"` // the node's; a report of the leader's term proves that the node follows it
	Ready     bool   `cbor:"ready"`
	Applied   uint64 `cbor:"applied"`
	API       string `cbor:"api"`
	Version   string `cbor:"version"`
	Level     uint8  `cbor:"level"` // format level that its binary knows; 0: it does not tell, so 1
	LowDisk   bool   `cbor:"low_disk"`
	Seen      uint64 `cbor:"seen"` // edition of the merged reports that the node has
	Body      []byte `cbor:"body"`
}

// reportReply is the leader's answer.
type reportReply struct {
	// Fresh says that the leader itself heard from a quorum lately; else the
	// rest is only what it believes.
	Fresh     bool         `cbor:"fresh"`
	ClusterID string       `cbor:"cluster"`
	Commit    uint64       `cbor:"commit"`
	ReadOnly  bool         `cbor:"read_only"`
	Edition   uint64       `cbor:"edition"`
	Merged    []byte       `cbor:"merged"` // only when Edition is not the one seen
	Members   []memberNote `cbor:"members"`
}

// memberNote is what the leader knows about a member beside its configuration.
type memberNote struct {
	ID      string    `cbor:"id"`
	API     string    `cbor:"api"`
	Version string    `cbor:"version"`
	Level   uint8     `cbor:"level"`
	Ready   bool      `cbor:"ready"`
	Applied uint64    `cbor:"applied"`
	LowDisk bool      `cbor:"low_disk"`
	Contact time.Time `cbor:"contact"`
}

// following is what a node knows from its exchanges with the leader.
type following struct {
	contact atomic.Pointer[time.Time]
	commit  atomic.Uint64
	notes   atomic.Pointer[[]memberNote]

	// The heartbeat loop owns these.
	edition uint64
	target  uint64 // the first commit index learnt
	learnt  bool
}

const (
	// minBeatGap keeps nudges from becoming a busy loop.
	minBeatGap = 10 * time.Millisecond
	// freshBeats is how many periods old a quorum's reports may be for the
	// leader to call its word fresh.
	freshBeats = 5
	// mergeBeats is how many periods a silent node still counts in Merge, and as ready.
	mergeBeats = 10
)

// Nudge makes the next exchange with the leader happen soon, for a report that changed.
func (n *Node) Nudge() { n.nudge.Raise() }

// LastContact is when this node last heard from a leader that has a quorum; on
// the leader, when it last heard from one. Zero = never.
func (n *Node) LastContact() time.Time {
	if t := n.follow.contact.Load(); t != nil {
		return *t
	}
	return time.Time{}
}

// Fresh tells whether LastContact is at most d ago. A node that is fresh and
// whose AppliedIndex has reached CommitIndex lags by no more than d.
func (n *Node) Fresh(d time.Duration) bool {
	t := n.follow.contact.Load()
	return t != nil && time.Since(*t) <= d
}

// runHeartbeat exchanges reports with the leader, and finds out when the node is ready.
func (n *Node) runHeartbeat(ctx context.Context, hadState bool) {
	ticker := time.NewTicker(n.cfg.Timing.Heartbeat)
	defer ticker.Stop()
	alone := time.Now() // since when there is no leader
	for {
		began := time.Now()
		if n.beat(ctx) {
			alone = time.Now()
		}
		n.checkReady(hadState, time.Since(alone))
		if gap := minBeatGap - time.Since(began); gap > 0 && !pause(ctx, gap) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-n.nudge.C():
		}
	}
}

// beat is one exchange; it tells whether a leader answered that has a quorum.
func (n *Node) beat(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Timing.Election)
	defer cancel()
	began := time.Now()
	r := n.ownReport()
	var reply reportReply
	var err error
	if n.IsLeader() {
		reply, err = n.serveHeartbeat(ctx, n.id, r)
	} else {
		reply, err = ask[reportReply](r, func(payload []byte) ([]byte, error) {
			return n.callLeader(ctx, kindHeartbeat, payload)
		})
	}
	n.proceed(err)
	if err != nil {
		return false
	}
	n.hear(reply, began)
	return reply.Fresh
}

func (n *Node) ownReport() report {
	r := report{
		ID: n.id, ClusterID: n.ClusterID(), Term: n.raft.CurrentTerm(),
		Ready: n.ready.Load(), Applied: n.machine.applied.Load(),
		API: n.cfg.AdvertiseAPI, Version: n.cfg.Version, Level: n.cfg.level(), Seen: n.follow.edition, LowDisk: n.Space().Low,
	}
	if n.cfg.Heartbeat.Collect != nil {
		r.Body = n.cfg.Heartbeat.Collect()
	}
	return r
}

// hear takes in the leader's answer to a report sent at began.
func (n *Node) hear(reply reportReply, began time.Time) {
	f := &n.follow
	n.adoptClusterID(reply.ClusterID)
	f.notes.Store(&reply.Members)
	if !n.IsLeader() {
		n.space.denied.Store(reply.ReadOnly)
	}
	if reply.Edition != f.edition {
		f.edition = reply.Edition
		if n.cfg.Heartbeat.Deliver != nil {
			n.cfg.Heartbeat.Deliver(reply.Merged)
		}
	}
	if !reply.Fresh {
		return
	}
	atomicMax(&f.commit, reply.Commit)
	if n.IsLeader() {
		began = n.desk.quorumContact(n.id, n.voters())
	}
	f.contact.Store(&began)
	if !f.learnt {
		f.learnt, f.target = true, reply.Commit
	}
}

// serveHeartbeat answers a report; only the leader gets here.
func (n *Node) serveHeartbeat(_ context.Context, _ string, r report) (reportReply, error) {
	own := n.ClusterID()
	if r.ClusterID != "" && own != "" && r.ClusterID != own {
		n.log.Error("a node of another cluster reports here", "peer", r.ID, "its_cluster", r.ClusterID)
		return reportReply{}, fmt.Errorf("%w: this is cluster %s, not %s", ErrUnavailable, own, r.ClusterID)
	}
	if _, ok := n.server(r.ID); !ok {
		return reportReply{}, fmt.Errorf("%w: node %s is not a member", ErrUnavailable, r.ID)
	}
	n.desk.accept(r)
	reply := reportReply{
		Fresh:     n.followed(),
		ClusterID: own,
		Commit:    n.commandIndex(n.raft.CommitIndex()),
		Members:   n.desk.notes(),
		ReadOnly:  n.ReadOnly(),
	}
	reply.Edition, reply.Merged = n.desk.merged(r.Seen, n.members())
	return reply, nil
}

// followed tells whether a majority followed this leader lately.
func (n *Node) followed() bool {
	return time.Since(n.desk.quorumContact(n.id, n.voters())) <= freshBeats*n.cfg.Timing.Heartbeat
}

// heartbeatDesk is where the leader keeps the newest report of each node.
//
// It is under a mutex: each heartbeat call needs its answer at once, and the
// work inside is a few map accesses (and Merge, when something changed).
type heartbeatDesk struct {
	mu      sync.Mutex
	merge   func(map[string][]byte) []byte
	period  time.Duration
	term    uint64
	began   time.Time // of the term
	reports map[string]keptReport
	changed bool     // a body changed since the last merge
	counted []string // the nodes in the last merge
	edition uint64
	result  []byte
}

type keptReport struct {
	report
	at time.Time
}

func newHeartbeatDesk(merge func(map[string][]byte) []byte, period time.Duration) *heartbeatDesk {
	return &heartbeatDesk{merge: merge, period: period, reports: map[string]keptReport{}}
}

// reset begins a term with no reports; editions are unique across terms.
func (d *heartbeatDesk) reset(term uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.term, d.began, d.edition = term, time.Now(), term<<32
	d.reports, d.counted, d.result, d.changed = map[string]keptReport{}, nil, nil, true
}

// young tells whether nodes that did not report in this term may yet be about to.
func (d *heartbeatDesk) young() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.isYoung()
}

func (d *heartbeatDesk) isYoung() bool { return time.Since(d.began) <= mergeBeats*d.period }

func (d *heartbeatDesk) isHeard(r keptReport) bool { return time.Since(r.at) <= mergeBeats*d.period }

func (d *heartbeatDesk) accept(r report) {
	d.mu.Lock()
	defer d.mu.Unlock()
	old, known := d.reports[r.ID]
	if !known || !bytes.Equal(old.Body, r.Body) {
		d.changed = true
	}
	d.reports[r.ID] = keptReport{r, time.Now()}
}

// merged returns the edition of the merged reports, and the bytes unless seen is that edition.
// Until every member reported to a new leader, or had the time, what the leader before
// said stays: without those who are yet to report it would say of few that it is all.
func (d *heartbeatDesk) merged(seen uint64, members []string) (edition uint64, merged []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.merge == nil {
		return 0, nil
	}
	if d.edition == d.term<<32 && d.isYoung() && slices.ContainsFunc(members, func(id string) bool { return d.reports[id].ID == "" }) {
		return seen, nil
	}
	bodies, counted := map[string][]byte{}, []string(nil)
	for id, r := range d.reports {
		if r.Ready && d.isHeard(r) {
			bodies[id] = r.Body
			counted = append(counted, id)
		}
	}
	slices.Sort(counted)
	if d.changed || !slices.Equal(counted, d.counted) {
		d.changed, d.counted = false, counted
		if result := d.merge(bodies); d.edition == d.term<<32 || !bytes.Equal(result, d.result) {
			d.result = result
			d.edition++
		}
	}
	if seen == d.edition {
		return d.edition, nil
	}
	return d.edition, d.result
}

// quorumContact is the newest time at which a majority of the voters, this
// node counted as of now, had followed this leader.
func (d *heartbeatDesk) quorumContact(self string, voters []string) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	heard := make([]time.Time, 0, len(voters))
	for _, id := range voters {
		switch r := d.reports[id]; {
		case id == self:
			heard = append(heard, time.Now())
		case r.Term == d.term:
			heard = append(heard, r.at)
		default:
			heard = append(heard, time.Time{})
		}
	}
	if len(heard) == 0 {
		return time.Time{}
	}
	slices.SortFunc(heard, func(a, b time.Time) int { return b.Compare(a) })
	return heard[len(heard)/2]
}

// notes are what is known of each node. One that went without a word said that it is ready, and is not.
func (d *heartbeatDesk) notes() []memberNote {
	d.mu.Lock()
	defer d.mu.Unlock()
	notes := make([]memberNote, 0, len(d.reports))
	for _, r := range d.reports {
		ready := r.Ready && d.isHeard(r)
		notes = append(notes, memberNote{r.ID, r.API, r.Version, max(r.Level, 1), ready, r.Applied, r.LowDisk, r.at})
	}
	slices.SortFunc(notes, func(a, b memberNote) int { return cmp.Compare(a.ID, b.ID) })
	return notes
}

// applied is how far a node last reported to be in this term.
func (d *heartbeatDesk) applied(id string) (index uint64, reported bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r, ok := d.reports[id]
	return r.Applied, ok
}

// heardWithin tells whether a node reported within d.
func (d *heartbeatDesk) heardWithin(id string, within time.Duration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	r, ok := d.reports[id]
	return ok && time.Since(r.at) <= within
}
