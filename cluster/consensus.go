package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// maxAppendEntries is how many entries share one fsync and one message.
const maxAppendEntries = 256

// wireTimeout bounds each of Raft's messages (snapshots: per 256 KB, see also sendingConn).
const wireTimeout = 10 * time.Second

func (n *Node) startRaft() error {
	t := n.cfg.Timing
	conf := raft.DefaultConfig()
	conf.LocalID = raft.ServerID(n.id)
	conf.Logger = newRaftLogger(n.log)
	conf.HeartbeatTimeout, conf.ElectionTimeout = t.Election+1, t.Election+1 // see stand
	conf.LeaderLeaseTimeout = t.Lease
	conf.CommitTimeout = t.Commit
	conf.MaxAppendEntries = maxAppendEntries
	conf.BatchApplyCh = true
	conf.ShutdownOnRemove = false
	conf.NoSnapshotRestoreOnStart = true // machine.recover did
	conf.SnapshotThreshold = 1 << 62     // runMaintenance decides, by bytes
	conf.SnapshotInterval = time.Hour
	conf.NoLegacyTelemetry = true
	started := make(chan struct{})
	defer close(started)
	n.wire = newSerialTransport(n.Removed, raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		// One idle connection a peer: each holds half a megabyte in buffers, over both ends.
		Stream: n.mux.raft, MaxPool: 1, Timeout: wireTimeout, Logger: newRaftLogger(n.log),
		ServerAddressProvider: namedAddresses{started, n.whereabouts},
	}), wireTimeout)
	wire := patientTransport{n.wire, func(peer raft.ServerID, term uint64) bool { <-started; return n.leadsPeer(peer, term) }}
	r, err := raft.NewRaft(conf, n.machine, n.store, n.store, n.snaps, wire)
	if err != nil {
		return fmt.Errorf("cluster: start raft: %w", err)
	}
	n.raft = r
	n.store.origin.Store(&origin{
		leading: func() bool { return r.State() == raft.Leader },
		commit:  r.CommitIndex,
		alone:   func() bool { return len(n.voters()) < 2 },
		last:    r.LastIndex,
	})
	return nil
}

// stand makes a follower that has heard of no leader stand for election now, not one to two
// election timeouts later. Raft looks at once when its timeouts become shorter; startRaft
// left a nanosecond for that, so only the first call does anything. The election is as any
// other. For nodes that nobody can be ahead of: who made the cluster, and a sole voter.
func (n *Node) stand() {
	n.setElection(n.cfg.Timing.Election)
}

// Applied tells where a proposed entry is in the log and what the FSM answered.
type Applied struct {
	Index    uint64
	Response any
}

// Propose replicates an entry and waits until this node, the leader, has
// applied it. The entry must not be changed afterwards. Errors: ErrNotLeader and
// ErrReadOnly (surely not committed), ErrUnknownOutcome, ErrTooLarge.
func (n *Node) Propose(ctx context.Context, entry []byte) (Applied, error) {
	if len(entry) > n.cfg.MaxEntryBytes {
		return Applied{}, fmt.Errorf("%w: %d bytes", ErrTooLarge, len(entry))
	}
	if err := n.surelyNot(ctx); err != nil {
		return Applied{}, err
	}
	if n.ReadOnly() {
		return Applied{}, ErrReadOnly
	}
	var f raft.ApplyFuture
	err := n.await(ctx, func() error {
		f = n.raft.Apply(entry, n.cfg.Timing.Enqueue)
		return f.Error()
	})
	if err != nil {
		return Applied{}, err
	}
	return Applied{Index: f.Index(), Response: f.Response()}, nil
}

// Barrier returns when everything proposed before, in any term, is applied on
// this node, the leader.
func (n *Node) Barrier(ctx context.Context) error {
	if err := n.surelyNot(ctx); err != nil {
		return err
	}
	return n.await(ctx, func() error { return n.raft.Barrier(n.cfg.Timing.Enqueue).Error() })
}

// surelyNot answers before anything is handed to Raft.
func (n *Node) surelyNot(ctx context.Context) error {
	switch {
	case n.stopped.Load():
		return fmt.Errorf("%w: stopping", ErrNotLeader)
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", ErrNotLeader, ctx.Err())
	case n.raft.State() != raft.Leader:
		return ErrNotLeader
	}
	return nil
}

// await waits for a request to Raft, which knows no contexts, and which forgets
// what is queued when it shuts down.
func (n *Node) await(ctx context.Context, request func() error) error {
	done := make(chan error, 1)
	n.asked.Add(1)
	go func() {
		defer n.asked.Add(-1)
		done <- request()
	}()
	select {
	case err := <-done:
		return proposeError(err)
	case <-n.dead:
		return fmt.Errorf("%w: node stopped", ErrUnknownOutcome)
	case <-ctx.Done():
		// A context's error is for what was not begun: callers say of that that nothing was written.
		return fmt.Errorf("%w: %v", ErrUnknownOutcome, ctx.Err()) //nolint:errorlint // as said
	}
}

// drain waits until Raft has answered everything: at once with a majority,
// without one when the lease ends, and with a hung disk not at all.
func (n *Node) drain() {
	ctx, cancel := context.WithTimeout(context.Background(), n.cfg.Timing.Election)
	defer cancel()
	for n.asked.Load() > 0 && pause(ctx, time.Millisecond) {
	}
}

// TransferLeadership hands leadership to the follower that is best up to date. Raft's own choice does not know who is dead: of members that are
// equally far it takes the first, each time again.
func (n *Node) TransferLeadership(ctx context.Context) error {
	if err := n.surelyNotForTransfer(ctx); err != nil {
		return err
	}
	id, _ := n.desk.withSpace(n.id, n.voters(), false)
	if heir, ok := n.server(id); ok {
		return n.transferTo(ctx, heir)
	}
	return n.transfer(ctx, n.raft.LeadershipTransfer) // nobody with space was heard in this term yet
}

// transfer hands leadership over, and ends the patience with peers that are down meanwhile (see leadsPeer): Raft waits for the replication
// to the new leader, takes no writes until that has answered, and a second transfer would wait for the first one's message for ever.
func (n *Node) transfer(ctx context.Context, request func() raft.Future) error {
	n.transfers.Add(1)
	return n.await(ctx, func() error {
		defer n.transfers.Add(-1)
		return request().Error()
	})
}

// transferTo is transfer to a certain member, unless that has much to receive yet. Raft asks the goroutine that sends it, and that listens when it has sent
// what there was: a first transfer would give up, a second one wait for that, and the writes with it.
func (n *Node) transferTo(ctx context.Context, to raft.Server) error {
	if n.wire.delivering(to.ID, n.cfg.Timing.Election) || n.farBehind(to.ID) {
		return &Error{CodeBadTarget, fmt.Sprintf("node %s is far behind and still catching up", to.ID)}
	}
	return n.transfer(ctx, func() raft.Future { return n.raft.LeadershipTransferToServer(to.ID, to.Address) })
}

// farBehind tells whether a member lacks more than one message of entries, as it last reported. Of who has not reported yet it is not known:
// a leader that was just elected may hand over at once.
func (n *Node) farBehind(id raft.ServerID) bool {
	applied, reported := n.desk.applied(string(id))
	last := n.raft.LastIndex()
	return reported && applied+max(n.store.reach.entries(last, maxMessageBytes), maxAppendEntries) < last
}

func (n *Node) surelyNotForTransfer(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if n.raft.State() != raft.Leader {
		return ErrNotLeader
	}
	return nil
}

// visibleIndex remembers what commandIndex found, since commits repeat.
type visibleIndex struct{ raw, command uint64 }

// commandIndex is the index of the last command at or before a committed index
// of this node's log: what an FSM can be waited for.
func (n *Node) commandIndex(raw uint64) uint64 {
	if v := n.visible.Load(); v != nil && v.raw == raw {
		return v.command
	}
	command := n.searchCommand(raw)
	n.visible.Store(&visibleIndex{raw, command})
	return command
}

func (n *Node) searchCommand(raw uint64) uint64 {
	for at := raw; at > 0; at-- {
		var l raft.Log
		if err := n.store.GetLog(at, &l); err != nil {
			if !errors.Is(err, raft.ErrLogNotFound) {
				n.log.Error("read log", "index", at, "error", err)
			}
			break // it is in a snapshot, which the FSM has
		}
		if l.Type == raft.LogCommand {
			return at
		}
	}
	return n.machine.fsmIndex(n.machine.applied.Load())
}

// CommitIndex is the newest committed index this node knows of: its own when it
// leads, else what the leader announced.
func (n *Node) CommitIndex() uint64 {
	if n.IsLeader() {
		return n.commandIndex(n.raft.CommitIndex())
	}
	return max(n.follow.commit.Load(), n.machine.applied.Load())
}

// AppliedIndex is the index of the last entry that the FSM has applied.
func (n *Node) AppliedIndex() uint64 { return n.machine.applied.Load() }

// runMaintenance keeps the commit index on disk while the log is idle, and
// takes a snapshot when the log has grown by enough bytes.
func (n *Node) runMaintenance(ctx context.Context) {
	ticker := time.NewTicker(maintenanceTick)
	defer ticker.Stop()
	var stores uint64
	var room snapshotRoom
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if now := n.store.counters.stores.Load(); now == stores {
			if err := n.store.keepCommit(n.raft.CommitIndex()); err != nil {
				n.log.Error("keep commit index", "error", err)
			}
		} else {
			stores = now
		}
		if free := n.Space().Free; n.due() > 1 && !room.lacks(free, time.Now()) {
			n.snaps.full.Store(false) // of one that came from the leader, or was asked for
			if err := n.snapshot(ctx); err != nil && ctx.Err() == nil {
				n.log.Warn("snapshot", "error", err)
				if n.snaps.full.Swap(false) {
					room = snapshotRoom{free, time.Now()}
				}
				pause(ctx, time.Second)
			}
		}
	}
}

// snapshotRoom is how much space was free, and when, before a snapshot that found no more. Tried again at once, the next one would fill the disk,
// too, and the cluster would be read-only for as long as each takes.
type snapshotRoom struct {
	free uint64
	at   time.Time
}

// snapshotPatience is how long the next snapshot waits unless there is more space.
const snapshotPatience = 5 * time.Minute

// lacks tells whether a snapshot would hardly fit now.
func (r snapshotRoom) lacks(free uint64, now time.Time) bool {
	return now.Sub(r.at) < snapshotPatience && free <= r.free+r.free/4
}

// replayWeight is what an entry weighs beside its bytes: many small ones take a start longer than few large ones.
const replayWeight = 1 << 10

// replayCost is what a start would have to read and apply, as bytes.
func (n *Node) replayCost() int64 {
	entries := int64(n.raft.LastIndex()) - int64(n.snaps.index.Load())
	return n.store.counters.sinceSnapshot.Load() + replayWeight*max(entries, 0)
}

// due is how much of the log that a snapshot is taken after there is since the last one.
func (n *Node) due() float64 {
	return float64(n.replayCost()) / float64(max(n.cfg.SnapshotThresholdBytes, n.snaps.size.Load()))
}

// Arrears is how many times over the log is due for a snapshot, beyond what may come while one is written: above 1, the
// one under way takes too long.
func (n *Node) Arrears() float64 { return n.due() - 1 }

const maintenanceTick = 500 * time.Millisecond

// Snapshot writes a snapshot now and lets go of the log before it, except for
// about TrailingBytes. It returns nil when there is nothing new.
func (n *Node) Snapshot() error { return n.snapshot(context.Background()) }

// snapshot is Snapshot; nobody waits for one that Raft does not come to take, once ctx ends.
func (n *Node) snapshot(ctx context.Context) error {
	bytes := n.store.counters.sinceSnapshot.Load()
	trailing := n.trailingLogs()
	if err := n.retune(func(c *raft.ReloadableConfig) { c.TrailingLogs = trailing }); err != nil {
		return fmt.Errorf("cluster: snapshot: %w", err)
	}
	began, taken := time.Now(), make(chan error, 1)
	go func() { taken <- n.raft.Snapshot().Error() }()
	var err error
	select {
	case err = <-taken:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err != nil && !errors.Is(err, raft.ErrNothingNewToSnapshot) {
		n.measures.failed.Inc()
		return fmt.Errorf("cluster: snapshot: %w", err)
	}
	n.store.counters.sinceSnapshot.Add(-bytes)
	if err == nil {
		n.measures.snapshot.Observe(since(began))
		n.log.Info("snapshot written", "index", n.SnapshotIndex(), "bytes", n.SnapshotBytes(), "took", time.Since(began))
	}
	return nil
}

// maxTrailing bounds the entries kept behind a snapshot: each start checks every one of them.
const maxTrailing = 1 << 17

// trailingLogs is how many of the newest entries take about TrailingBytes.
func (n *Node) trailingLogs() uint64 {
	entries := n.store.reach.entries(n.raft.LastIndex(), n.cfg.TrailingBytes)
	return min(max(entries, 256), maxTrailing)
}
