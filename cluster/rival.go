package cluster

import (
	"context"
	"fmt"
	"slices"
)

// A sole voter is elected and changed by nobody else: leadership is handed over
// before a leader is removed, so whoever votes alone has led since it came to be
// so. When another leader speaks to it all the same, the two have parted:
// `cluster recover` was run while a majority lived, or the data directory is a
// copy from before the others joined. Both may be in one term, and Raft would let
// the other leader write over what was acknowledged here.

// votesAlone tells whether this node is the only voter.
func (n *Node) votesAlone() bool { return slices.Equal(n.voters(), []string{n.id}) }

// hearsRaft tells whether Raft on other nodes may speak to this node's. A sole
// voter listens to nobody, and finds out who it is; a removed node that asks for votes is harmless.
func (n *Node) hearsRaft() bool {
	if !n.votesAlone() {
		return true
	}
	if !n.rival.Swap(true) {
		n.look.Raise()
	}
	return false
}

// checkRival stops a sole voter that another leader of its cluster counts among its members.
func (n *Node) checkRival(ctx context.Context, peers []peerInfo) {
	if !n.rival.Swap(false) || !n.votesAlone() {
		return
	}
	for _, p := range peers {
		if !p.Formed || p.ClusterID != n.ClusterID() {
			continue
		}
		one, cancel := context.WithTimeout(ctx, 2*n.cfg.Timing.Election)
		reply, err := askAddr[membershipReply](one, n, p.Address, kindMembership, memberRequest{ID: n.id, ClusterID: n.ClusterID()})
		cancel()
		if err == nil && reply.Member && reply.Leader != "" && reply.Leader != n.id {
			n.fatal(fmt.Errorf("%w, node %s, although this one votes alone: it was recovered while a majority lived, or its data directory is an old copy; "+
				"the others go on, and what was written here since is only in %s: move that away and start this node with --join to join them under a new id",
				ErrRival, reply.Leader, n.cfg.DataDir))
			return
		}
	}
}
