package cluster

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/hashicorp/memberlist"

	"github.com/flagraft/flagraft/cluster/actor"
)

// gossip spreads where nodes are (memberlist). It is a hint: whoever is named
// there is asked by a call before anything depends on it. A nil *gossip is a
// node without gossip; every method may be called on it.
type gossip struct {
	list *memberlist.Memberlist
	node *Node
	meta *actor.Loop // keeps what this node tells about itself up to date
	self string      // address of this node's gossip

	// others is under a mutex: memberlist reports changes from its goroutines,
	// and the nodes in its own list must not be read without its lock.
	mu     sync.Mutex
	others map[string]peerInfo
}

const (
	gossipLeave  = time.Second
	gossipUpdate = time.Second
	// clusterPrefix is how much of the cluster id fits into gossip.
	clusterPrefix = 8
)

func (n *Node) startGossip(conf *memberlist.Config) error {
	if conf == nil {
		return nil
	}
	g := &gossip{node: n, others: map[string]peerInfo{}}
	conf.Delegate, conf.Events = g, g
	list, err := memberlist.Create(conf)
	if err != nil {
		return fmt.Errorf("cluster: gossip: %w", err)
	}
	g.list, g.self = list, list.LocalNode().Address()
	g.meta = actor.Go(g.keepMeta)
	n.gossip = g
	return nil
}

// gossipConfig is nil without gossip.
func (n *Node) gossipConfig() (*memberlist.Config, error) {
	if n.cfg.GossipAddr == "" {
		return nil, nil
	}
	conf := memberlist.DefaultLANConfig()
	conf.Name = n.id
	conf.LogOutput = gossipWriter{n.log, n.mux.refusals}
	if n.keys != nil {
		conf.Keyring = n.keys.live
	}
	if name := n.cfg.clusterName(); name != defaultClusterName {
		conf.Label = name // gossip of clusters with different names never mixes
	}
	var err error
	if conf.BindAddr, conf.BindPort, err = splitAddr(n.cfg.GossipAddr); err != nil {
		return nil, err
	}
	conf.AdvertisePort = conf.BindPort
	if n.cfg.AdvertiseGossip != "" {
		host, port, err := advertised(n.cfg.AdvertiseGossip, strconv.Itoa(conf.BindPort))
		if err != nil {
			return nil, err
		}
		if conf.AdvertisePort, err = strconv.Atoi(port); err != nil {
			return nil, err
		}
		if host == "" { // memberlist knows this machine's
			return conf, nil
		}
		ip, err := net.ResolveIPAddr("ip", host)
		if err != nil {
			return nil, fmt.Errorf("cluster: advertised gossip address: %w", err)
		}
		conf.AdvertiseAddr = ip.String()
	}
	return conf, nil
}

func splitAddr(addr string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(addr)
	if err == nil {
		port, err = strconv.Atoi(p)
	}
	if err != nil {
		return "", 0, fmt.Errorf("cluster: gossip address %q: %w", addr, err)
	}
	switch host {
	case "":
		host = "0.0.0.0"
	case "localhost":
		host = "127.0.0.1"
	}
	return host, port, nil
}

// address is where other nodes reach this one's gossip.
func (g *gossip) address() string {
	if g == nil {
		return ""
	}
	return g.self
}

// peers lists the other nodes that gossip knows.
func (g *gossip) peers() []peerInfo {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(maps.Values(g.others))
}

// NotifyJoin notes a node.
func (g *gossip) NotifyJoin(m *memberlist.Node) {
	if m.Name == g.node.id {
		return
	}
	p, err := decodeMeta(m.Meta)
	if err != nil {
		g.node.log.Debug("gossip description", "peer", m.Name, "error", err)
	}
	p.ID = m.Name
	g.mu.Lock()
	defer g.mu.Unlock()
	g.others[m.Name] = p
}

// NotifyUpdate notes what a node tells anew.
func (g *gossip) NotifyUpdate(m *memberlist.Node) { g.NotifyJoin(m) }

// NotifyLeave forgets a node.
func (g *gossip) NotifyLeave(m *memberlist.Node) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.others, m.Name)
}

// meet makes acquainted with the nodes that answered a hello and are not in gossip yet.
func (g *gossip) meet(ctx context.Context, peers []peerInfo) {
	if g == nil || len(clustersOf(peers)) > 1 { // one that knows two clusters would mix them
		return
	}
	known := map[string]bool{}
	for _, p := range g.peers() {
		known[p.ID] = true
	}
	for _, p := range peers {
		if p.Gossip == "" || known[p.ID] || ctx.Err() != nil {
			continue
		}
		if _, err := g.list.Join([]string{p.ID + "/" + p.Gossip}); err != nil {
			g.node.log.Debug("gossip join", "peer", p.ID, "error", err)
		}
	}
}

// keepMeta tells the others when this node's description has changed.
func (g *gossip) keepMeta(ctx context.Context) {
	told := string(g.NodeMeta(memberlist.MetaMaxSize))
	for pause(ctx, time.Second) {
		if now := string(g.NodeMeta(memberlist.MetaMaxSize)); now != told {
			if g.list.UpdateNode(gossipUpdate) == nil {
				told = now
			}
		}
	}
}

func (g *gossip) leave() {
	if g == nil {
		return
	}
	if err := g.list.Leave(gossipLeave); err != nil {
		g.node.log.Debug("gossip leave", "error", err)
	}
}

func (g *gossip) shutdown() {
	if g == nil {
		return
	}
	g.meta.Stop()
	if err := g.list.Shutdown(); err != nil {
		g.node.log.Debug("gossip shutdown", "error", err)
	}
}

// NodeMeta describes this node in at most limit bytes.
func (g *gossip) NodeMeta(limit int) []byte {
	n := g.node
	p := n.self()
	p.State = n.raft.State().String()
	p.ClusterID = p.ClusterID[:min(len(p.ClusterID), clusterPrefix)]
	return encodeMeta(p, limit)
}

// encodeMeta leaves out what only informs when the description is too long.
func encodeMeta(p peerInfo, limit int) []byte {
	for _, shorten := range []func(){func() {}, func() { p.API = "" }, func() { p.Version = "" }} {
		shorten()
		if meta, err := cbor.Marshal(p); err == nil && len(meta) <= limit {
			return meta
		}
	}
	return nil
}

func decodeMeta(meta []byte) (peerInfo, error) {
	var p peerInfo
	if len(meta) > memberlist.MetaMaxSize {
		return p, fmt.Errorf("cluster: gossip description of %d bytes", len(meta))
	}
	if err := cbor.Unmarshal(meta, &p); err != nil {
		return p, fmt.Errorf("cluster: gossip description: %w", err)
	}
	return p, nil
}

// The rest of memberlist.Delegate: nothing else is gossiped.

// NotifyMsg ignores messages.
func (g *gossip) NotifyMsg([]byte) {}

// GetBroadcasts has none.
func (g *gossip) GetBroadcasts(int, int) [][]byte { return nil }

// LocalState is empty.
func (g *gossip) LocalState(bool) []byte { return nil }

// MergeRemoteState ignores state.
func (g *gossip) MergeRemoteState([]byte, bool) {}
