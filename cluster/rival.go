package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
)

// A sole voter is elected and changed by nobody else: leadership is handed over
// before a leader is removed, so whoever votes alone has led since it came to be
// so. When another leader speaks to it all the same, the two have parted:
// `cluster recover` was run while a majority lived, or the data directory is a
// copy from before the others joined. Both may be in one term, and Raft would let
// the other leader write over what was acknowledged here.

// Recovery with several survivors leaves no sole voter, so it writes down whom it
// left out (Stopped.Recover). Raft takes entries from a leader that it does not
// know, since it may be behind; one of those would write over what was
// acknowledged since. Their ids never come back as members: a node with a
// directory of before is told that it was removed, and an empty one has a new id.

var keyLeftOut = []byte("flagraft.left_out")

// readLeftOut returns the ids that recovery left out of the cluster.
func readLeftOut(store *logStore) (map[string]bool, error) {
	raw, err := store.Get(keyLeftOut)
	if errors.Is(err, raftboltdb.ErrKeyNotFound) {
		return map[string]bool{}, nil
	}
	ids := map[string]bool{}
	if err == nil {
		err = json.Unmarshal(raw, &ids)
	}
	if err != nil {
		return nil, fmt.Errorf("cluster: read whom recovery left out: %w", err)
	}
	return ids, nil
}

// noteLeftOut writes down which members are not among the next ones, beside those of earlier recoveries.
func noteLeftOut(store *logStore, members, next []RecoveryMember) error {
	ids, err := readLeftOut(store)
	if err != nil {
		return err
	}
	for _, m := range members {
		ids[m.ID] = true
	}
	for _, m := range next {
		delete(ids, m.ID)
	}
	raw, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	return store.Set(keyLeftOut, raw)
}

// leftOut tells whether recovery left a node out of the cluster that this one is in.
func (n *Node) leftOut(id string) bool {
	if !n.strangers[id] {
		return false
	}
	_, member := n.server(id)
	return !member
}

// votesAlone tells whether this node is the only voter.
func (n *Node) votesAlone() bool { return slices.Equal(n.voters(), []string{n.id}) }

// hearsRaft tells whether Raft on another node may speak to this node's. A sole
// voter listens to nobody, a recovered one not to whom recovery left out; both find
// out who it is: a removed node that asks for votes is harmless.
func (n *Node) hearsRaft(from string) bool {
	if !n.votesAlone() && !n.leftOut(from) {
		return true
	}
	if !n.rival.Swap(true) {
		n.look.Raise()
	}
	return false
}

// checkRival stops a node that a leader of its cluster counts among its members, although it votes alone or recovery left that leader out.
func (n *Node) checkRival(ctx context.Context, peers []peerInfo) {
	if !n.rival.Swap(false) {
		return
	}
	for _, p := range peers {
		if !p.Formed || p.ClusterID != n.ClusterID() {
			continue
		}
		one, cancel := context.WithTimeout(ctx, 2*n.cfg.Timing.Election)
		reply, err := askAddr[membershipReply](one, n, p.Address, kindMembership, memberRequest{ID: n.id, ClusterID: n.ClusterID()})
		cancel()
		if err != nil || !reply.Member || reply.Leader == "" || reply.Leader == n.id {
			continue
		}
		why := "recovery left that one out"
		if n.votesAlone() {
			why = "this one votes alone"
		} else if !n.leftOut(reply.Leader) {
			continue
		}
		n.fatal(fmt.Errorf("%w, node %s, although %s: this one was recovered while a majority lived, or its data directory is an old copy; "+
			"the others go on, and what was written here since is only in %s: move that away and start this node with --join to join them under a new id",
			ErrRival, reply.Leader, why, n.cfg.DataDir))
		return
	}
}
