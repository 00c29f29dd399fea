package cluster

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

// shyStream refuses some dials first, and counts.
type shyStream struct {
	net.Listener
	refuse, dials atomic.Int64
}

func (s *shyStream) Dial(addr raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	if s.dials.Add(1) <= s.refuse.Load() {
		return nil, errors.Join(errNotReached, errors.New("refused"))
	}
	return net.DialTimeout("tcp", string(addr), timeout)
}

// takeAll has a transport take every message of entries until the test ends.
func takeAll(t *testing.T, transport *raft.NetworkTransport) {
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	go func() {
		for {
			select {
			case rpc := <-transport.Consumer():
				rpc.Respond(&raft.AppendEntriesResponse{Success: true}, nil)
			case <-done:
				return
			}
		}
	}()
}

// TestEntriesWaitForThePeer: a message with entries is sent once the peer is reached; one that became pointless, and a heartbeat, are not.
func TestEntriesWaitForThePeer(t *testing.T) {
	listen := func() *shyStream {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		return &shyStream{Listener: l}
	}
	peerStream, stream := listen(), listen()
	peer := raft.NewNetworkTransportWithLogger(peerStream, 1, time.Second, newRaftLogger(testLog()))
	defer peer.Close()
	takeAll(t, peer)
	inner := raft.NewNetworkTransportWithLogger(stream, 1, 10*time.Second, newRaftLogger(testLog()))
	defer inner.Close()
	asked := 0
	wait := func(raft.ServerID, uint64) bool { asked++; return asked < 4 }
	transport := patientTransport{newSerialTransport(func() bool { return false }, inner, 10*time.Second), wait}
	send := func(r raft.AppendEntriesRequest) error {
		var answer raft.AppendEntriesResponse
		return transport.AppendEntries("peer", raft.ServerAddress(peerStream.Addr().String()), &r, &answer)
	}
	entries := raft.AppendEntriesRequest{Term: 2, PrevLogEntry: 7, PrevLogTerm: 1}

	stream.refuse.Store(1)
	require.ErrorIs(t, send(raft.AppendEntriesRequest{Term: 2}), errNotReached, "a heartbeat")
	require.Zero(t, asked)
	require.EqualValues(t, 1, stream.dials.Load())

	stream.refuse.Store(4)
	require.NoError(t, send(entries), "three more dials are refused")
	require.Equal(t, 3, asked)

	inner.CloseStreams()
	stream.refuse.Store(1000)
	require.ErrorIs(t, send(entries), errNotReached, "it is not worth sending any more")
	require.Equal(t, 4, asked)
}

// Raft takes no writes while it hands leadership over, and the replication to a peer that is down must not make that last.
func TestLeadershipSentToAPeerThatIsDownHoldsNothingUp(t *testing.T) {
	t.Parallel()
	members := startTrio(t, nil)
	leader := leaderOf(t, members...)
	down := followersOf(leader, members...)[0]
	id := down.node.ID()
	down.crash()
	for i := range 5 {
		leader.propose(fmt.Sprint(i)) // entries for it to wait with
	}
	for range 2 {
		require.Error(t, leader.node.TransferTo(patient(t), id))
	}
	eventually(t, func() bool {
		_, err := leader.node.Propose(patient(t), []byte("after"))
		return err == nil
	})
}

// Of members that are equally far, Raft takes the first, also one that is dead. Without writes since, it is as far as the others.
func TestLeadershipDoesNotGoToTheDead(t *testing.T) {
	t.Parallel()
	members := startTrio(t, nil)
	leader := leaderOf(t, members...)
	eventually(t, func() bool {
		spare, _ := leader.node.desk.withSpace(leader.node.ID(), leader.node.voters(), false)
		return spare != "" && leader.node.followed()
	})
	followers := followersOf(leader, members...)
	dead := followers[0]
	for _, id := range leader.node.voters() { // the first in the configuration
		if i := slices.IndexFunc(followers, func(m *member) bool { return m.node.ID() == id }); i >= 0 {
			dead = followers[i]
			break
		}
	}
	dead.crash()
	eventually(t, func() bool { return leader.node.TransferLeadership(t.Context()) == nil })
}

// slowRestore is a state machine that takes its time with what the leader sent.
type slowRestore struct {
	*journal
	begun, proceed chan struct{}
}

func (s *slowRestore) Restore(r io.ReadCloser) error {
	select {
	case s.begun <- struct{}{}:
	default:
	}
	<-s.proceed
	return s.journal.Restore(r)
}

// onlySnapshot makes members that run have nothing but a snapshot for who has not been there so far.
func onlySnapshot(t *testing.T, members ...*member) {
	t.Helper()
	var index uint64
	for range 700 {
		index = committedIndex(t, "x", members...)
	}
	for _, m := range members {
		m.fsm.wait(t, index)
		eventually(t, func() bool { return m.node.Snapshot() == nil })
	}
}

// The replication to a peer that is being sent a snapshot is busy with that until it is stored: a transfer to it would have to wait, and the writes with it.
func TestLeadershipSentToAPeerThatTakesASnapshotHoldsNothingUp(t *testing.T) {
	t.Parallel()
	members := startTrio(t, func(_ int, c *Config) { c.TrailingBytes = 1 })
	leader := leaderOf(t, members...)
	behind := followersOf(leader, members...)[0]
	behind.crash()
	onlySnapshot(t, followersOf(behind, members...)...)
	slow := &slowRestore{newJournal(), make(chan struct{}, 1), make(chan struct{})}
	behind.cfg.FSM, behind.cfg.FSMIndex = slow, slow.at
	node, err := Start(t.Context(), behind.cfg)
	require.NoError(t, err)
	defer node.crash()
	release := sync.OnceFunc(func() { close(slow.proceed) })
	defer release()
	receive(t, slow.begun)

	leader = leaderOf(t, followersOf(behind, members...)...)
	for range 3 {
		err := leader.node.TransferTo(patient(t), node.ID())
		var refusal *Error
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, CodeBadTarget, refusal.Code)
	}
	_, err = leader.node.Propose(patient(t), []byte("meanwhile"))
	require.NoError(t, err)

	release()
	eventually(t, func() bool { return leader.node.TransferTo(patient(t), node.ID()) == nil })
}

// A node that joins asks again until it is told who the members are, which comes with the snapshot. One that is removed before must not ask its way in again.
func TestNodeRemovedWhileItTakesItsFirstSnapshotStaysOut(t *testing.T) {
	t.Parallel()
	members := startTrio(t, func(_ int, c *Config) { c.TrailingBytes = 1 })
	onlySnapshot(t, members...)
	slow := &slowRestore{newJournal(), make(chan struct{}, 1), make(chan struct{})}
	fresh := newMember(t, func(c *Config) {
		c.FSM, c.FSMIndex = slow, slow.at
		c.Join = []string{members[0].cfg.ClusterAddr, members[1].cfg.ClusterAddr}
	})
	node, err := Start(t.Context(), fresh.cfg)
	require.NoError(t, err)
	defer node.crash()
	defer close(slow.proceed)
	receive(t, slow.begun)
	eventually(t, func() bool { return node.ClusterID() != "" })
	require.NoError(t, members[0].node.Remove(patient(t), node.ID()))
	eventually(t, node.Removed)
	_, member := leaderOf(t, members...).node.server(node.ID())
	require.False(t, member)
}
