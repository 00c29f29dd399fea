package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

type joinRequest struct {
	ID        string `cbor:"id"`
	Address   string `cbor:"address"`
	ClusterID string `cbor:"cluster"` // "" = the node has none yet
	NonVoter  bool   `cbor:"non_voter"`
	Level     uint8  `cbor:"level"` // format level that its binary knows; 0: it does not tell, so 1
}

type joinReply struct {
	ClusterID string `cbor:"cluster"`
}

// codeJoinRefused marks an answer after which the leader did surely not add the node.
const codeJoinRefused = "join_refused"

// joinTimeout bounds one configuration change.
const joinTimeout = 10 * time.Second

// join asks for membership in the cluster that via belongs to. The pledge
// keeps the node from promising itself to another one meanwhile.
func (n *Node) join(ctx context.Context, via peerInfo) {
	if via.ClusterID == "" {
		return // it was just formed and will know in a moment
	}
	held := n.pledges.current()
	if held.given() && held.ClusterID != via.ClusterID {
		n.resolveConflict(ctx, held, via)
		return
	}
	if !held.given() {
		held = pledge{ClusterID: via.ClusterID}
		if _, ok, err := n.pledges.take(held); err != nil || !ok {
			return
		}
	}
	if n.doubt.Load() { // a member since an earlier round, that has nothing from the cluster yet: who was removed meanwhile must not ask its way in again
		if n.checkMembership(ctx); n.doubt.Load() || n.Removed() {
			return
		}
	}
	if err := n.requestJoin(ctx, via.Address, via.ClusterID); err != nil {
		if n.tells() {
			n.log.Warn("join", "via", via.Address, "error", err)
		}
		var refused *Error
		if errors.As(err, &refused) && refused.Code == codeJoinRefused && held.Coordinator == "" {
			if err := n.pledges.release(held); err != nil {
				n.log.Error("pledge", "error", err)
			}
		}
		return
	}
	n.log.Info("joined", "cluster", via.ClusterID, "via", via.Address)
	n.awaitConfiguration(ctx)
}

// resolveConflict: this node has promised itself elsewhere, but found a cluster.
func (n *Node) resolveConflict(ctx context.Context, held pledge, via peerInfo) {
	switch held.Coordinator {
	case n.id: // its own attempt: an existing cluster goes first
		n.abandon(ctx, held, n.peers.recent(n.cfg.Timing.PeerForget))
	case "":
		if n.tells() {
			n.log.Error("half joined to another cluster; empty the data directory to join this one",
				"pledged", held.ClusterID, "found", via.ClusterID)
		}
	default:
		n.askCoordinator(ctx, held, n.peers.recent(n.cfg.Timing.PeerForget))
	}
}

func (n *Node) requestJoin(ctx context.Context, addr, clusterID string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*joinTimeout)
	defer cancel()
	reply, err := askAddr[joinReply](ctx, n, addr, kindJoin, joinRequest{
		ID: n.id, Address: n.Addr(), ClusterID: clusterID, NonVoter: n.cfg.NonVoter, Level: n.cfg.level(),
	})
	if err != nil {
		return err
	}
	if reply.ClusterID != clusterID {
		return fmt.Errorf("cluster: joined cluster %s instead of %s", reply.ClusterID, clusterID)
	}
	return nil
}

// awaitConfiguration gives the leader a moment to replicate the configuration.
func (n *Node) awaitConfiguration(ctx context.Context) {
	for range 50 {
		if n.inCluster() || !pause(ctx, 20*time.Millisecond) {
			return
		}
	}
}

// settle tidies up after forming, tells the leader when this node's address
// changed, and finds out when this node was removed. It tells whether nothing
// is left to do.
func (n *Node) settle(ctx context.Context) bool {
	if held := n.pledges.current(); held.given() {
		// Not adoptClusterID: an attempt that came to nothing may have left another.
		if n.ClusterID() != held.ClusterID {
			if err := n.setClusterID(held.ClusterID); err != nil {
				n.log.Error("cluster id", "error", err)
				return false
			}
		}
		if err := n.pledges.release(held); err != nil {
			n.log.Error("pledge", "error", err)
		}
	}
	for _, s := range n.servers() {
		if string(s.ID) != n.id || string(s.Address) == n.Addr() || n.ClusterID() == "" {
			continue
		}
		n.doubt.Store(true) // a member that was removed while it was down must not come back as one that moved
		if n.checkMembership(ctx); n.doubt.Load() {
			return false
		}
		n.log.Info("address changed", "old", s.Address, "new", n.Addr())
		for _, p := range append(n.peers.recent(n.cfg.Timing.PeerForget), n.self()) {
			if err := n.requestJoin(ctx, p.Address, n.ClusterID()); err == nil {
				return true
			}
		}
		return false
	}
	n.checkMembership(ctx)
	return !n.doubt.Load()
}

// serveJoin adds a node, on the leader; elsewhere it passes the request on to it.
func (n *Node) serveJoin(ctx context.Context, _ string, r joinRequest) (joinReply, error) {
	own := n.ClusterID()
	switch {
	case r.ID == "" || r.Address == "":
		return joinReply{}, &Error{codeJoinRefused, "a node id and an address are required"}
	case own == "":
		return joinReply{}, fmt.Errorf("%w: not in a cluster", ErrUnavailable)
	case r.ClusterID != "" && r.ClusterID != own:
		return joinReply{}, &Error{codeJoinRefused, fmt.Sprintf("this is cluster %s, not %s", own, r.ClusterID)}
	}
	if !n.IsLeader() {
		return ask[joinReply](r, func(payload []byte) ([]byte, error) {
			return n.callLeader(ctx, kindJoin, payload)
		})
	}
	n.levels.RLock()
	defer n.levels.RUnlock()
	if err := n.admitsLevel(r.ID, r.Level); err != nil {
		return joinReply{}, err
	}
	if err := n.addMember(r); err != nil {
		return joinReply{}, err
	}
	return joinReply{ClusterID: own}, nil
}

// addMember brings the configuration to what the request asks for: at most one
// server with this id and one with this address.
func (n *Node) addMember(r joinRequest) error {
	vote := false // the autopilot gives it
	_, moves := n.server(r.ID)
	for _, s := range n.servers() {
		if string(s.ID) == r.ID {
			if string(s.Address) == r.Address {
				return nil
			}
			vote = s.Suffrage == raft.Voter // a new address changes no rights
			continue
		}
		if string(s.Address) == r.Address {
			if err := n.makeRoom(s, moves); err != nil {
				return err
			}
		}
	}
	n.log.Info("adding member", "peer", r.ID, "addr", r.Address, "voter", vote)
	return n.setServer(raft.ServerID(r.ID), r.Address, vote)
}

// setServer brings one server of the configuration to an address and to a vote or none.
func (n *Node) setServer(id raft.ServerID, address string, vote bool) error {
	set := n.raft.AddNonvoter
	if vote {
		set = n.raft.AddVoter
	}
	return proposeError(set(id, raft.ServerAddress(address), 0, joinTimeout).Error())
}

// makeRoom takes an address from a server, for another node that listens there. One that has come up elsewhere, or was there before
// a member that moves, keeps its place in the configuration and tells its new address itself; until then it is found where it was last
// heard from (see whereabouts). One that is silent, and whose place a node with a new data directory has taken, does not come back.
func (n *Node) makeRoom(s raft.Server, forMember bool) error {
	id, was := string(s.ID), string(s.Address)
	alive, now := true, n.Addr()
	if id != n.id {
		alive = n.desk.heardWithin(id, n.cfg.Timing.PeerForget)
		p, _ := n.peers.get(id)
		now = cmp.Or(p.Address, was) // where it said that it was, if it ever did
	}
	switch moved := now != was; {
	case alive && !moved:
		return &Error{codeJoinRefused, fmt.Sprintf("the address %s belongs to node %s, which is alive", was, id)}
	case moved || forMember:
		n.log.Info("a member is no longer where it was", "peer", id, "addr", was)
		return n.setServer(s.ID, unknownPlace+id, s.Suffrage == raft.Voter)
	}
	n.log.Warn("removing a member that lost its place", "peer", id, "addr", was)
	return proposeError(n.raft.RemoveServer(s.ID, 0, joinTimeout).Error())
}

// unknownPlace begins what a configuration has for the address of a member that nobody knows: Raft wants one, and each once.
const unknownPlace = "moved-"
