package cluster

import (
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// servers is the latest Raft configuration.
func (n *Node) servers() []raft.Server {
	f := n.raft.GetConfiguration()
	if f.Error() != nil {
		return nil
	}
	return f.Configuration().Servers
}

// whereabouts is servers with the addresses at which they were heard from
// lately. Raft so finds members that moved all at once, when none can lead and
// change the configuration; that the right node answers is checked when dialing.
func (n *Node) whereabouts() []raft.Server {
	list := slices.Clone(n.servers()) // Raft's own
	for _, p := range n.peers.recent(n.cfg.Timing.PeerForget) {
		for i := range list {
			if string(list[i].ID) == p.ID && p.Address != "" {
				list[i].Address = raft.ServerAddress(p.Address)
			}
		}
	}
	return list
}

func (n *Node) voters() []string {
	var ids []string
	for _, s := range n.servers() {
		if s.Suffrage == raft.Voter {
			ids = append(ids, string(s.ID))
		}
	}
	return ids
}

// members returns the ids of all members.
func (n *Node) members() []string {
	var ids []string
	for _, s := range n.servers() {
		ids = append(ids, string(s.ID))
	}
	return ids
}

// inCluster tells whether this node has a Raft configuration.
func (n *Node) inCluster() bool { return len(n.servers()) > 0 }

// Members lists the Raft configuration with what is known about each server.
func (n *Node) Members() []Member {
	_, leader := n.raft.LeaderWithID()
	notes := map[string]memberNote{}
	if kept := n.follow.notes.Load(); kept != nil {
		for _, note := range *kept {
			notes[note.ID] = note
		}
	}
	servers := n.servers()
	members := make([]Member, 0, len(servers))
	for _, s := range servers {
		m := Member{
			ID: string(s.ID), Address: string(s.Address),
			Voter: s.Suffrage == raft.Voter, Leader: s.ID == leader,
		}
		if note, ok := notes[m.ID]; ok {
			m.API, m.Version, m.Ready, m.Applied, m.LastContact = note.API, note.Version, note.Ready, note.Applied, note.Contact
			m.Level, m.LowDisk = note.Level, note.LowDisk
		} else if p, ok := n.peers.get(m.ID); ok {
			m.API, m.Version = p.API, p.Version
		}
		if m.ID == n.id {
			m.API, m.Version, m.Ready, m.Applied = n.cfg.AdvertiseAPI, n.cfg.Version, n.Ready(), n.AppliedIndex()
			m.Level = n.cfg.level()
		}
		members = append(members, m)
	}
	return members
}

// Status describes the node and its cluster.
func (n *Node) Status() Status {
	_, leader := n.raft.LeaderWithID()
	s := Status{
		NodeID: n.id, ClusterID: n.ClusterID(), Version: n.cfg.Version, Address: n.Addr(),
		Ready: n.Ready(), Leader: string(leader), Term: n.raft.CurrentTerm(),
		Commit: n.CommitIndex(), Applied: n.AppliedIndex(), LastLog: n.raft.LastIndex(),
		LastContact: n.LastContact(), Members: n.Members(), Storage: n.store.stored(),
		Snapshot: n.SnapshotIndex(), Disk: n.Space(), ReadOnly: n.ReadOnly(),
	}
	switch {
	case n.stopped.Load():
		s.State = "stopped"
	case n.Removed():
		s.State = "removed"
	case len(s.Members) == 0:
		s.State = "forming"
	default:
		s.State = map[raft.RaftState]string{
			raft.Follower: "follower", raft.Candidate: "candidate", raft.Leader: "leader", raft.Shutdown: "stopped",
		}[n.raft.State()]
	}
	return s
}

// StorageStats returns the log store's counters alone.
func (n *Node) StorageStats() Storage { return n.store.stored() }

// peerInfo is what a node tells about itself to whoever asks. It is a hint:
// nothing in it gives a vote or a membership.
type peerInfo struct {
	ID        string `cbor:"1,keyasint,omitempty"`
	Address   string `cbor:"2,keyasint,omitempty"` // cluster port
	Gossip    string `cbor:"3,keyasint,omitempty"`
	API       string `cbor:"4,keyasint,omitempty"`
	Version   string `cbor:"5,keyasint,omitempty"`
	ClusterID string `cbor:"6,keyasint,omitempty"` // in gossip: its first characters
	NonVoter  bool   `cbor:"7,keyasint,omitempty"`
	Formed    bool   `cbor:"8,keyasint,omitempty"` // has a Raft configuration
	Expect    int    `cbor:"9,keyasint,omitempty"`
	State     string `cbor:"10,keyasint,omitempty"` // of Raft; in gossip only
}

// peerTable remembers the nodes that were heard from directly.
//
// It is under a mutex: hello calls write it from their goroutines and Members
// reads it; an actor would add a round trip to both and decide nothing.
type peerTable struct {
	mu   sync.Mutex
	seen map[string]seenPeer
}

type seenPeer struct {
	peerInfo
	at time.Time
}

func newPeerTable() *peerTable { return &peerTable{seen: map[string]seenPeer{}} }

// maxPeers bounds the table; a cluster is some tens of nodes.
const maxPeers = 1024

func (t *peerTable) note(p peerInfo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.seen[p.ID]; !known && len(t.seen) >= maxPeers {
		return
	}
	t.seen[p.ID] = seenPeer{p, time.Now()}
}

func (t *peerTable) get(id string) (peerInfo, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, ok := t.seen[id]
	return p.peerInfo, ok
}

// recent lists the peers seen within d.
func (t *peerTable) recent(d time.Duration) []peerInfo {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []peerInfo
	for _, p := range t.seen {
		if time.Since(p.at) <= d {
			list = append(list, p.peerInfo)
		}
	}
	return list
}
