package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
)

// loadMembership reads what the node knows of its cluster, and makes a cluster
// of one when that is what it was started for.
func (n *Node) loadMembership() error {
	n.peers = newPeerTable()
	raw, err := n.store.Get(keyClusterID)
	if err != nil && !errors.Is(err, raftboltdb.ErrKeyNotFound) {
		return fmt.Errorf("cluster: read cluster id: %w", err)
	}
	id := string(raw)
	n.clusterID.Store(&id)
	if err := n.loadRemoved(); err != nil {
		return err
	}
	if n.strangers, err = readLeftOut(n.store); err != nil {
		return err
	}
	if n.pledges, err = openPledgeBook(n.store, n.inCluster); err != nil {
		return err
	}
	if n.cfg.formsAlone() && !n.inCluster() && !n.pledges.current().given() {
		if id == "" {
			id = uuid.NewString()
		}
		return n.bootstrap(id, []peerInfo{n.self()})
	}
	if n.votesAlone() {
		n.stand()
	}
	return nil
}

const formedText = "cluster formed"

// bootstrap makes the members the first configuration of a cluster. The
// cluster id is on disk first, so that whoever asks later is told the truth.
func (n *Node) bootstrap(clusterID string, members []peerInfo) error {
	if err := n.setClusterID(clusterID); err != nil {
		return err
	}
	var c raft.Configuration
	for _, m := range members {
		c.Servers = append(c.Servers, raft.Server{
			Suffrage: raft.Voter, ID: raft.ServerID(m.ID), Address: raft.ServerAddress(m.Address),
		})
	}
	if err := n.raft.BootstrapCluster(c).Error(); err != nil {
		return fmt.Errorf("cluster: bootstrap: %w", err)
	}
	n.log.Info(formedText, "cluster", clusterID, "members", len(members))
	n.stand()
	return nil
}

// takeBackTerm lets a node that ended amid bootstrap make its cluster after all. Raft stores term 1, then the first entry, and refuses to
// begin where there is a term. Only whoever makes a cluster is ever in term 1 without a log: elections begin at 2.
func (n *Node) takeBackTerm() error {
	term, err := n.store.GetUint64(keyTerm)
	switch {
	case errors.Is(err, raftboltdb.ErrKeyNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("cluster: read term: %w", err)
	case term != 1:
		return nil
	}
	last, err := n.store.LastIndex()
	if err != nil || last > 0 {
		return err
	}
	snaps, err := n.snaps.List()
	if err != nil || len(snaps) > 0 {
		return err
	}
	if _, err = n.store.Get(keyVoteTerm); !errors.Is(err, raftboltdb.ErrKeyNotFound) {
		return err // nil: it voted, so it is not new
	}
	return n.store.SetUint64(keyTerm, 0)
}

func (n *Node) setClusterID(id string) error {
	if err := n.store.Set(keyClusterID, []byte(id)); err != nil {
		return fmt.Errorf("cluster: store cluster id: %w", err)
	}
	n.clusterID.Store(&id)
	return nil
}

// adoptClusterID takes over the leader's cluster id when this node has none.
func (n *Node) adoptClusterID(id string) {
	if id == "" || n.ClusterID() != "" {
		return
	}
	if err := n.setClusterID(id); err != nil {
		n.log.Error("cluster id", "error", err)
	}
}

// self is what this node tells about itself.
func (n *Node) self() peerInfo {
	p := peerInfo{
		ID: n.id, Address: n.Addr(), API: n.cfg.AdvertiseAPI,
		Version: n.cfg.Version, NonVoter: n.cfg.NonVoter,
		Formed: n.inCluster(), Expect: n.cfg.BootstrapExpect,
	}
	if p.Formed { // before, it is an attempt
		p.ClusterID = n.ClusterID()
	}
	return p
}

// settledFactor slows discovery down once the node is in a cluster.
const settledFactor = 20

// runFormation brings the node into a cluster, then keeps its address there right.
func (n *Node) runFormation(ctx context.Context) {
	for ctx.Err() == nil && !n.Removed() {
		peers := n.lookAround(ctx)
		n.gossip.meet(ctx, peers)
		wait := n.cfg.Timing.Discovery
		if n.inCluster() {
			n.checkRival(ctx, peers)
			if n.settle(ctx) {
				wait *= settledFactor
			}
		} else {
			n.form(ctx, peers)
			if n.inCluster() {
				continue
			}
		}
		// Nodes that were started together should not ask in step.
		t := time.NewTimer(wait + rand.N(wait/4+1))
		select {
		case <-ctx.Done():
		case <-t.C:
		case <-n.look.C():
		}
		t.Stop()
	}
}

// form takes one step towards a cluster: an existing one, else a new one.
func (n *Node) form(ctx context.Context, peers []peerInfo) {
	n.rounds++
	held := n.pledges.current()
	if clusters := clustersOf(peers); len(clusters) > 1 && held.Coordinator == "" {
		if !slices.Contains(clusters, held.ClusterID) {
			n.waits("nodes of " + strconv.Itoa(len(clusters)) + " clusters answer (" + strings.Join(clusters, ", ") +
				"): name nodes of one of them at --join of all nodes, and give each cluster its own secret or --cluster-name")
			return
		}
		peers = slices.DeleteFunc(peers, func(p peerInfo) bool { return p.Formed && p.ClusterID != held.ClusterID })
	}
	formed := false
	for _, p := range peers {
		if p.Formed && !n.inCluster() {
			formed = true
			n.join(ctx, p)
		}
	}
	if formed {
		return
	}
	held = n.pledges.current()
	switch {
	case held.given() && held.Coordinator == "":
		n.waits("the cluster that this node half joined has to come back: empty the data directory if it is lost for good")
	case held.given() && held.Coordinator != n.id:
		n.askCoordinator(ctx, held, peers)
	case n.cfg.BootstrapExpect >= 2 && !n.cfg.NonVoter:
		n.coordinate(ctx, held, peers)
	case len(peers) > 0:
		n.waits("the nodes that answer are in no cluster either, and this one is not to form one: --bootstrap-expect of all nodes says how many do")
	case len(n.cfg.Join) > 0:
		n.waits("no other node answers at " + strings.Join(n.cfg.Join, ",") + ", and a node with --join forms no cluster alone: leave --join out for a node that is to be alone")
	default:
		n.waits("to be told where to join")
	}
}

// clustersOf lists the clusters that peers are in. A fresh node must not choose among them: it would end in one by chance.
func clustersOf(peers []peerInfo) []string {
	var ids []string
	for _, p := range peers {
		if p.Formed && p.ClusterID != "" {
			ids = append(ids, p.ClusterID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// A node that is in no cluster says what it waits for when it has waited for some rounds, and again after many.
const (
	waitsFirst = 10
	waitsAgain = 120
)

// waits tells why the node came no further in this round, where whoever started it may have to do something about that.
func (n *Node) waits(reason string) {
	if n.rounds == waitsFirst || n.rounds%waitsAgain == 0 {
		n.log.Warn("in no cluster yet", "waiting", reason)
	}
}

// tells reports whether this round tells of what is told at once, and may be the same for days: the first rounds do, then few.
func (n *Node) tells() bool { return n.rounds <= waitsFirst || n.rounds%waitsAgain == 0 }

// askCoordinator lets go of a pledge whose coordinator gave up.
func (n *Node) askCoordinator(ctx context.Context, held pledge, peers []peerInfo) {
	for _, p := range peers {
		if p.ID != held.Coordinator {
			continue
		}
		state, err := askAddr[pledgeState](ctx, n, p.Address, kindPledgeState, held)
		if err == nil && state.Abandoned {
			n.log.Info("pledge released", "coordinator", held.Coordinator)
			if err := n.pledges.release(held); err != nil {
				n.log.Error("pledge", "error", err)
			}
		}
		return
	}
	if n.tells() {
		n.log.Warn("pledged to a node that does not answer; if it is lost for good, stop all fresh nodes and empty all their data directories",
			"coordinator", held.Coordinator)
	}
}

// coordinate collects the pledges and bootstraps, if this node has the lowest
// id of the fresh nodes and there are enough of them. held is this node's own
// attempt, or none.
func (n *Node) coordinate(ctx context.Context, held pledge, peers []peerInfo) {
	fresh := []peerInfo{n.self()}
	for _, p := range peers {
		switch {
		case p.NonVoter || p.Formed:
		case p.Expect != n.cfg.BootstrapExpect:
			if n.tells() {
				n.log.Warn("a peer expects another number of nodes", "peer", p.ID, "its", p.Expect, "ours", n.cfg.BootstrapExpect)
			}
		default:
			fresh = append(fresh, p)
		}
	}
	slices.SortFunc(fresh, func(a, b peerInfo) int { return cmp.Compare(a.ID, b.ID) })
	if len(fresh) < n.cfg.BootstrapExpect {
		n.waits(fmt.Sprintf("%d of %d nodes are here that --bootstrap-expect asks for, this one included: the others do not run, are not reached at --join, or have another secret",
			len(fresh), n.cfg.BootstrapExpect))
	}
	if fresh[0].ID != n.id {
		n.abandon(ctx, held, fresh)
		return
	}
	if len(fresh) < n.cfg.BootstrapExpect {
		return
	}
	members := fresh[:n.cfg.BootstrapExpect]
	if !held.given() {
		held = pledge{Coordinator: n.id, ClusterID: uuid.NewString()}
		if got, ok, err := n.pledges.take(held); err != nil || !ok {
			n.log.Debug("own pledge not taken", "held", got.Coordinator, "error", err)
			return
		}
	}
	if !n.collect(ctx, held, members) {
		return
	}
	if err := n.bootstrap(held.ClusterID, members); err != nil {
		n.log.Error("bootstrap", "error", err)
	}
}

// collect asks every member for its pledge and tells whether all gave it.
func (n *Node) collect(ctx context.Context, own pledge, members []peerInfo) bool {
	for _, m := range members {
		if m.ID == n.id {
			continue
		}
		reply, err := askAddr[pledgeReply](ctx, n, m.Address, kindPledge, own)
		if err == nil && reply.OK {
			continue
		}
		if n.tells() {
			n.log.Info("no pledge yet", "peer", m.ID, "pledged_to", reply.Held.Coordinator, "error", err)
		}
		// The lower id goes first; the higher one gives way. A peer that joins
		// another cluster has found one: this node will, too.
		if err == nil && reply.Held.given() && reply.Held.Coordinator < n.id {
			n.abandon(ctx, own, members)
		}
		return false
	}
	return true
}

// abandon gives this node's own attempt up, for good, and tells who may have pledged.
func (n *Node) abandon(ctx context.Context, own pledge, peers []peerInfo) {
	if !own.given() {
		return
	}
	if err := n.pledges.release(own); err != nil {
		n.log.Error("pledge", "error", err)
		return
	}
	for _, p := range peers {
		if p.ID != n.id { // who misses it asks: see askCoordinator
			_, _ = askAddr[struct{}](ctx, n, p.Address, kindRelease, own)
		}
	}
}

// hello is how nodes learn about each other.
type helloMessage struct {
	Self  peerInfo   `cbor:"self"`
	Known []peerInfo `cbor:"known"`
}

func (n *Node) serveHello(_ context.Context, _ string, in helloMessage) (helloMessage, error) {
	if in.Self.ID != "" && in.Self.ID != n.id && !n.stranger(in.Self) {
		n.peers.note(in.Self)
	}
	return n.helloMessage(), nil
}

func (n *Node) helloMessage() helloMessage {
	self := n.self()
	self.Gossip = n.gossip.address()
	return helloMessage{Self: self, Known: n.peers.recent(n.cfg.Timing.PeerForget)}
}

// maxAsked bounds the addresses asked in one round.
const maxAsked = 64

// lookAround greets everybody it can think of and returns who answered.
// Hearsay (gossip, peers of peers) only says whom to ask.
func (n *Node) lookAround(ctx context.Context) []peerInfo {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Timing.Dial)
	defer cancel()
	asked := map[string]bool{n.Addr(): true}
	found := map[string]peerInfo{}
	next := n.addressesToAsk(ctx)
	for range 2 { // whom we know, then whom they know
		var hearsay []string
		for _, m := range n.greet(ctx, next, asked) {
			if m.Self.ID == n.id && n.hasTwin(m.Self) {
				n.fatal(fmt.Errorf("%w, at %s: this data directory (%s) is a copy, or that one is; stop one of them and empty its directory to join under a new id",
					ErrTwin, m.Self.Address, n.cfg.DataDir))
			}
			if m.Self.ID == "" || m.Self.ID == n.id {
				continue
			}
			if n.stranger(m.Self) {
				if n.mux.refusals.first("stranger:" + m.Self.ClusterID) {
					n.log.Warn("a node of another cluster answers: --join names it, or names this cluster there", "peer", m.Self.ID, "addr", m.Self.Address, "its_cluster", m.Self.ClusterID)
				}
				continue
			}
			found[m.Self.ID] = m.Self
			n.peers.note(m.Self)
			for _, k := range m.Known {
				hearsay = append(hearsay, k.Address)
			}
		}
		next = hearsay
	}
	list := make([]peerInfo, 0, len(found))
	for _, p := range found {
		list = append(list, p)
	}
	return list
}

// stranger tells whether a node is in another cluster than this one is: who asks here for this cluster must not hear of it.
func (n *Node) stranger(p peerInfo) bool {
	own := n.ClusterID()
	return p.Formed && p.ClusterID != "" && own != "" && p.ClusterID != own && n.inCluster()
}

// hasTwin tells whether another process answers under this node's id where the cluster expects this node: with a copy of the data
// directory, both would vote. This node's own answers, by whatever address they came, name the address that it tells.
func (n *Node) hasTwin(p peerInfo) bool {
	s, ok := n.server(n.id)
	return ok && string(s.Address) == p.Address && p.Address != n.Addr()
}

func (n *Node) addressesToAsk(ctx context.Context) []string {
	addrs := resolveAll(ctx, n.cfg.Join, n.Addr())
	if told := n.told.Load(); told != nil {
		addrs = append(addrs, resolveAll(ctx, *told, n.Addr())...)
	}
	for _, p := range n.gossip.peers() {
		addrs = append(addrs, p.Address)
	}
	for _, p := range n.peers.recent(10 * n.cfg.Timing.PeerForget) {
		addrs = append(addrs, p.Address)
	}
	for _, s := range n.servers() {
		addrs = append(addrs, string(s.Address))
	}
	return addrs
}

// greet says hello to the addresses that were not asked yet, at the same time.
func (n *Node) greet(ctx context.Context, addrs []string, asked map[string]bool) []helloMessage {
	own := n.helloMessage()
	answers := make(chan helloMessage, maxAsked)
	var asking sync.WaitGroup
	for _, addr := range addrs {
		if addr == "" || asked[addr] || len(asked) >= maxAsked {
			continue
		}
		asked[addr] = true
		asking.Go(func() {
			m, err := askAddr[helloMessage](ctx, n, addr, kindHello, own)
			if err != nil {
				n.log.Debug("no answer to hello", "addr", addr, "error", err)
				return
			}
			answers <- m
		})
	}
	asking.Wait()
	close(answers)
	var list []helloMessage
	for m := range answers {
		list = append(list, m)
	}
	return list
}

// resolveAll turns names into addresses; a name may stand for several nodes.
// Without a port, the node's own is meant. A name that does not resolve (yet) is left out.
func resolveAll(ctx context.Context, names []string, own string) []string {
	_, ownPort, _ := net.SplitHostPort(own)
	var addrs []string
	for _, name := range names {
		host, port, err := net.SplitHostPort(name)
		if err != nil {
			host, port = name, ownPort
		}
		if net.ParseIP(host) != nil {
			addrs = append(addrs, net.JoinHostPort(host, port))
			continue
		}
		lookup, cancel := context.WithTimeout(ctx, time.Second)
		ips, err := net.DefaultResolver.LookupHost(lookup, host)
		cancel()
		if err != nil {
			continue
		}
		for _, ip := range ips {
			addrs = append(addrs, net.JoinHostPort(ip, port))
		}
	}
	return addrs
}
