package cluster

import (
	"errors"
	"time"

	"github.com/hashicorp/raft"
)

// errNotReached says that there was no connection to send a message of Raft's on.
var errNotReached = errors.New("cluster: peer not reached")

// Dials of a peer that is down are dialBetween apart, and soon dialBetweenMost.
const (
	dialBetween     = 20 * time.Millisecond
	dialBetweenMost = 500 * time.Millisecond
)

// patientTransport keeps dialing a peer that entries are for. Raft itself waits
// twice as long after each failure, up to ten seconds, and cannot be told that the
// peer is back: a node that was down for a quarter of a minute would get its first
// entry ten seconds after it returned. Here all that time is one attempt.
//
// Heartbeats, which are how a leader notices that it lost its quorum, fail at once
// as ever.
type patientTransport struct {
	*serialTransport
	// waits tells whether a message of that term to that peer is still worth
	// sending; false ends the attempt.
	waits func(peer raft.ServerID, term uint64) bool
}

// AppendEntries sends entries, once there is a connection.
func (t patientTransport) AppendEntries(id raft.ServerID, addr raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	for between := dialBetween; ; between = min(2*between, dialBetweenMost) {
		err := t.serialTransport.AppendEntries(id, addr, args, resp)
		if err == nil || isHeartbeat(args) || !errors.Is(err, errNotReached) || !t.waits(id, args.Term) {
			return err
		}
		time.Sleep(between)
	}
}

// isHeartbeat recognises Raft's heartbeats as its transport does.
func isHeartbeat(r *raft.AppendEntriesRequest) bool {
	return len(r.Entries) == 0 && r.PrevLogEntry == 0 && r.PrevLogTerm == 0 && r.LeaderCommitIndex == 0
}

// leadsPeer tells whether this node leads in that term, without handing over, and the peer is a member.
func (n *Node) leadsPeer(peer raft.ServerID, term uint64) bool {
	if n.stopped.Load() || n.transfers.Load() > 0 || n.raft.State() != raft.Leader || n.raft.CurrentTerm() != term {
		return false
	}
	for _, s := range n.servers() {
		if s.ID == peer {
			return true
		}
	}
	return false
}
