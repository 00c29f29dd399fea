package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
)

// The codes of refusals of membership operations.
const (
	CodeUnknownMember = "unknown_member" // no member has this id
	CodeUnsafe        = "unsafe"         // the cluster would lose its quorum
	CodeBadTarget     = "bad_target"     // the member cannot lead
	CodeHasCluster    = "has_cluster"    // the node is in a cluster already
)

type memberRequest struct {
	ID        string `cbor:"id"`
	ClusterID string `cbor:"cluster"`
}

// Remove takes a member out of the cluster, whichever node is asked. The
// leader hands over before it removes itself. The removed node stops serving
// when it hears of it, and stays out: its data directory has to be emptied
// before it can come back, under a new id. Errors: an *Error, ErrNotLeader,
// ErrUnavailable, ErrUnknownOutcome.
func (n *Node) Remove(ctx context.Context, nodeID string) error {
	_, err := onLeader[struct{}](ctx, n, kindRemove, memberRequest{ID: nodeID, ClusterID: n.ClusterID()})
	return err
}

// onLeader has the leader execute a call and asks again while it changes.
func onLeader[Out any](ctx context.Context, n *Node, kind uint8, in any) (Out, error) {
	for {
		out, err := ask[Out](in, func(payload []byte) ([]byte, error) { return n.callLeader(ctx, kind, payload) })
		// ErrUnavailable: nothing was executed, most likely since the leader just died.
		again := errors.Is(err, ErrNotLeader) || errors.Is(err, ErrUnavailable)
		if !again || n.stopped.Load() || !pause(ctx, 20*time.Millisecond) {
			return out, err
		}
	}
}

// serveRemove is the leader's side of Remove.
func (n *Node) serveRemove(ctx context.Context, _ string, r memberRequest) (struct{}, error) {
	member, ok := n.server(r.ID)
	if !ok {
		return struct{}{}, &Error{CodeUnknownMember, fmt.Sprintf("no member has the id %q", r.ID)}
	}
	// A new leader has not heard from everybody yet.
	patience, cancel := context.WithTimeout(ctx, n.cfg.Timing.Election)
	defer cancel()
	for err := n.safeWithout(r.ID); err != nil; err = n.safeWithout(r.ID) {
		if !pause(patience, n.cfg.Timing.Heartbeat) {
			return struct{}{}, err
		}
	}
	if r.ID == n.id {
		if err := n.TransferLeadership(ctx); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, fmt.Errorf("%w: handed over, to be removed", ErrNotLeader)
	}
	if err := n.surelyNot(ctx); err != nil {
		return struct{}{}, err
	}
	n.log.Warn("removing member", "peer", r.ID, "addr", member.Address)
	if err := n.await(ctx, func() error { return n.raft.RemoveServer(member.ID, 0, joinTimeout).Error() }); err != nil {
		return struct{}{}, err
	}
	tell, cancel := context.WithTimeout(ctx, n.cfg.Timing.Election)
	defer cancel()
	if _, err := askAddr[struct{}](tell, n, string(member.Address), kindRemoved, r); err != nil {
		n.log.Info("the removed member does not answer; it will find out when it comes back", "peer", r.ID, "error", err)
	}
	return struct{}{}, nil
}

// server finds a member of the configuration.
func (n *Node) server(id string) (raft.Server, bool) {
	for _, s := range n.servers() {
		if string(s.ID) == id {
			return s, true
		}
	}
	return raft.Server{}, false
}

// safeWithout refuses what would leave voters of whom no majority was heard
// lately: the removal itself could not be committed.
func (n *Node) safeWithout(id string) error {
	voters, alive := 0, 0
	for _, s := range n.servers() {
		if s.Suffrage != raft.Voter || string(s.ID) == id {
			continue
		}
		voters++
		if string(s.ID) == n.id || n.desk.heardWithin(string(s.ID), n.cfg.Timing.PeerForget) {
			alive++
		}
	}
	if voters == 0 {
		return &Error{CodeUnsafe, fmt.Sprintf("node %s is the only one that votes: without it there is no cluster. "+
			"Let another one join and wait for its vote first; to give the cluster up, stop the nodes", id)}
	}
	if alive < voters/2+1 {
		return &Error{CodeUnsafe, fmt.Sprintf("without node %s, %d of %d voters would be alive: no majority", id, alive, voters)}
	}
	return nil
}

// TransferTo hands leadership to a member, or with an empty id to the one that
// is best up to date, whichever node is asked; it returns when the leader gave
// it away. Errors as of Remove.
func (n *Node) TransferTo(ctx context.Context, nodeID string) error {
	_, err := onLeader[struct{}](ctx, n, kindTransfer, memberRequest{ID: nodeID, ClusterID: n.ClusterID()})
	return err
}

func (n *Node) serveTransfer(ctx context.Context, _ string, r memberRequest) (struct{}, error) {
	target, ok := n.server(r.ID)
	switch {
	case r.ID == n.id:
		return struct{}{}, nil
	case r.ID == "" && len(n.voters()) < 2:
		return struct{}{}, &Error{CodeBadTarget, "there is no other voter"}
	case r.ID == "":
		return struct{}{}, n.TransferLeadership(ctx)
	case !ok:
		return struct{}{}, &Error{CodeUnknownMember, fmt.Sprintf("no member has the id %q", r.ID)}
	case target.Suffrage != raft.Voter:
		return struct{}{}, &Error{CodeBadTarget, fmt.Sprintf("node %s has no vote", r.ID)}
	}
	patience, cancel := context.WithTimeout(ctx, n.cfg.Timing.Election)
	defer cancel()
	for !n.desk.heardWithin(r.ID, n.cfg.Timing.PeerForget) {
		if !pause(patience, n.cfg.Timing.Heartbeat) {
			return struct{}{}, &Error{CodeBadTarget, fmt.Sprintf("node %s was not heard lately", r.ID)}
		}
	}
	if err := n.surelyNotForTransfer(ctx); err != nil {
		return struct{}{}, err
	}
	return struct{}{}, n.transferTo(ctx, target)
}

// JoinVia tells a node that is in no cluster yet which addresses to ask, as
// Config.Join does. It is a hint, and forgotten at the next start.
func (n *Node) JoinVia(addrs []string) error {
	if n.inCluster() {
		return &Error{CodeHasCluster, fmt.Sprintf("this node is in cluster %s; to move it, empty its data directory first", n.ClusterID())}
	}
	n.told.Store(&addrs)
	n.look.Raise()
	return nil
}

var keyRemoved = []byte("flagraft.removed")

// Removed tells whether this node was taken out of its cluster. It is final.
func (n *Node) Removed() bool { return n.removed.Load() }

// OnRemoved calls f once when the node learns that it was taken out of its
// cluster; at once if it knows already. f must not block.
func (n *Node) OnRemoved(f func()) {
	once := sync.OnceFunc(f)
	n.onRemoved.Store(&once)
	if n.Removed() {
		once()
	}
}

func (n *Node) loadRemoved() error {
	raw, err := n.store.Get(keyRemoved)
	if err != nil && !errors.Is(err, raftboltdb.ErrKeyNotFound) {
		return fmt.Errorf("cluster: read membership: %w", err)
	}
	if len(raw) > 0 {
		n.removed.Store(true)
		n.log.Error(removedText)
	}
	return nil
}

const removedText = "this node was removed from its cluster and serves nothing; empty its data directory to join again under a new id"

// serveRemoved is told by a leader that removed this node. It is a hint: the
// formation loop asks before it believes it.
func (n *Node) serveRemoved(_ context.Context, _ string, r memberRequest) (struct{}, error) {
	if r.ID == n.id && r.ClusterID == n.ClusterID() {
		n.doubt.Store(true)
		n.look.Raise()
	}
	return struct{}{}, nil
}

type membershipReply struct {
	Member  bool `cbor:"member"`
	Removed bool `cbor:"removed"`
	// Leader is who says so, if a majority follows it; older nodes do not tell.
	Leader string `cbor:"leader,omitempty"`
}

// checkMembership finds out whether this node, which hears from no leader, was
// removed: the leader stops talking to those it removes, so they have to ask.
func (n *Node) checkMembership(ctx context.Context) {
	if n.IsLeader() {
		n.doubt.Store(false)
		return
	}
	if n.ClusterID() == "" || (!n.doubt.Load() && n.Fresh(silenceFactor*n.cfg.Timing.Election)) {
		return
	}
	asked := map[string]bool{n.Addr(): true}
	for _, addr := range n.addressesToAsk(ctx) {
		if asked[addr] || addr == "" {
			continue
		}
		asked[addr] = true
		one, cancel := context.WithTimeout(ctx, 2*n.cfg.Timing.Election)
		reply, err := askAddr[membershipReply](one, n, addr, kindMembership, memberRequest{ID: n.id, ClusterID: n.ClusterID()})
		cancel()
		switch {
		case err != nil:
			n.log.Debug("membership", "addr", addr, "error", err)
		case reply.Member:
			n.doubt.Store(false)
			return
		case reply.Removed:
			n.retire()
			return
		}
	}
}

// silenceFactor is how many election timeouts without a leader make a node ask.
const silenceFactor = 3

// retire makes the removal last.
func (n *Node) retire() {
	if err := n.store.Set(keyRemoved, []byte{1}); err != nil {
		n.log.Error("store membership", "error", err)
	}
	n.removed.Store(true)
	n.log.Error(removedText)
	if f := n.onRemoved.Load(); f != nil {
		(*f)()
	}
}

// serveMembership tells whether a node is a member. Only a leader whose
// configuration is committed says no.
func (n *Node) serveMembership(ctx context.Context, _ string, r memberRequest) (membershipReply, error) {
	if r.ClusterID == "" || r.ClusterID != n.ClusterID() {
		return membershipReply{}, fmt.Errorf("%w: another cluster", ErrUnavailable)
	}
	if !n.IsLeader() {
		return ask[membershipReply](r, func(payload []byte) ([]byte, error) { return n.callLeader(ctx, kindMembership, payload) })
	}
	if _, ok := n.server(r.ID); ok {
		reply := membershipReply{Member: true}
		if n.followed() {
			reply.Leader = n.id
		}
		return reply, nil
	}
	if err := n.Barrier(ctx); err != nil {
		return membershipReply{}, err
	}
	_, ok := n.server(r.ID)
	return membershipReply{Member: ok, Removed: !ok}, nil
}
