package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/fxamacker/cbor/v2"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
)

var (
	keyPledge    = []byte("flagraft.pledge")
	keyClusterID = []byte("flagraft.cluster")
)

// A pledge is a fresh node's promise to one cluster that does not exist yet (or
// that it is about to join): it will be part of no other. It is on disk before
// it is given, and given to one coordinator at a time, so two clusters can
// never be made of overlapping nodes.
//
// It ends when the node has a Raft configuration; when its coordinator gives
// the attempt up (which the coordinator stores first, and never takes up
// again); or, for a join, when the leader refuses. A coordinator that is lost
// for good before it bootstrapped leaves its pledges behind: then nothing was
// ever written, and the data directories of all fresh nodes can be emptied.
// The node does not let go by itself: the coordinator may have bootstrapped on
// its own disk, and the node may have voted for it. Only if more than half of
// the attempt's members forgot it, under new ids, could it never come to life;
// one that forgets it alone could help another cluster into being beside it.
type pledge struct {
	Coordinator string `cbor:"coordinator"` // node id; "" = the node joins an existing cluster
	ClusterID   string `cbor:"cluster"`
}

func (p pledge) given() bool { return p.ClusterID != "" }

// pledgeBook holds the node's pledge, on disk and in memory.
//
// It is under a mutex that covers an fsync: a pledge call must not be answered
// before the promise is on disk, and the formation loop, which asks peers,
// must not be the one that answers peers.
type pledgeBook struct {
	mu     sync.Mutex
	store  *logStore
	formed func() bool
	now    pledge
}

func openPledgeBook(store *logStore, formed func() bool) (*pledgeBook, error) {
	b := &pledgeBook{store: store, formed: formed}
	raw, err := store.Get(keyPledge)
	switch {
	case errors.Is(err, raftboltdb.ErrKeyNotFound) || (err == nil && len(raw) == 0):
		return b, nil
	case err != nil:
		return nil, fmt.Errorf("cluster: read pledge: %w", err)
	}
	if err := cbor.Unmarshal(raw, &b.now); err != nil {
		return nil, fmt.Errorf("%w: pledge: %w", ErrCorrupt, err)
	}
	return b, nil
}

func (b *pledgeBook) current() pledge {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

// take gives p unless the node is in a cluster or has given another; it
// returns the pledge that holds.
func (b *pledgeBook) take(p pledge) (held pledge, ok bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.formed():
		return b.now, false, nil
	case b.now.given():
		return b.now, b.now == p, nil
	}
	if err := b.write(p); err != nil {
		return b.now, false, err
	}
	return p, true, nil
}

// release ends p if that is the pledge that holds.
func (b *pledgeBook) release(p pledge) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now != p || !p.given() {
		return nil
	}
	return b.write(pledge{})
}

func (b *pledgeBook) write(p pledge) error {
	var raw []byte
	if p.given() {
		var err error
		if raw, err = cbor.Marshal(p); err != nil {
			return err
		}
	}
	if err := b.store.Set(keyPledge, raw); err != nil {
		return fmt.Errorf("cluster: store pledge: %w", err)
	}
	b.now = p
	return nil
}

type pledgeReply struct {
	OK   bool   `cbor:"ok"`
	Held pledge `cbor:"held"` // the pledge that stands in the way
}

// servePledge answers a coordinator.
func (n *Node) servePledge(_ context.Context, _ string, p pledge) (pledgeReply, error) {
	if p.Coordinator == "" || p.ClusterID == "" || n.cfg.NonVoter {
		return pledgeReply{}, nil
	}
	held, ok, err := n.pledges.take(p)
	if err != nil {
		return pledgeReply{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return pledgeReply{OK: ok, Held: held}, nil
}

// serveRelease ends a pledge that its coordinator gave up. That is the
// coordinator's own word: it asked for this very cluster id.
func (n *Node) serveRelease(_ context.Context, from string, p pledge) (struct{}, error) {
	if p.Coordinator == from && from != n.id {
		return struct{}{}, n.pledges.release(p)
	}
	return struct{}{}, nil
}

type pledgeState struct {
	Abandoned bool `cbor:"abandoned"`
}

// servePledgeState tells a node that pledged to this one whether the attempt
// is over. Abandoned is final: cluster ids are never tried again.
func (n *Node) servePledgeState(_ context.Context, _ string, p pledge) (pledgeState, error) {
	alive := p.Coordinator != n.id || n.pledges.current() == p ||
		(n.inCluster() && n.ClusterID() == p.ClusterID)
	return pledgeState{Abandoned: !alive}, nil
}
