package cluster

import (
	"bytes"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

// stallStream gives out connections as raftLayer does.
type stallStream struct {
	net.Listener
	stall time.Duration
}

func (s *stallStream) Dial(addr raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	c, err := net.DialTimeout("tcp", string(addr), timeout)
	return &sendingConn{Conn: c, stall: s.stall, timeout: 10 * time.Second}, err
}

func (s *stallStream) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	return &receivingConn{Conn: c, stall: s.stall}, err
}

func stallTransport(t *testing.T, stall time.Duration) (*raft.NetworkTransport, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	n := raft.NewNetworkTransportWithLogger(&stallStream{l, stall}, 1, 10*time.Second, newRaftLogger(testLog()))
	t.Cleanup(func() { _ = n.Close(); n.CloseStreams() })
	return n, l.Addr().String()
}

// transferred is the size of the snapshots here: Raft would wait more than an hour for it.
const transferred = 128 << 20

func transfer(from *raft.NetworkTransport, to string, content io.Reader) error {
	req := raft.InstallSnapshotRequest{Term: 2, Size: transferred}
	return from.InstallSnapshot("peer", raft.ServerAddress(to), &req, &raft.InstallSnapshotResponse{}, content)
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// TestStalledSnapshotIsCutByTheSender: the peer takes the connection and reads nothing.
func TestStalledSnapshotIsCutByTheSender(t *testing.T) {
	t.Parallel()
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer deaf.Close()
	from, _ := stallTransport(t, 200*time.Millisecond)
	err = transfer(from, deaf.Addr().String(), io.LimitReader(zeros{}, transferred))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

// TestStalledSnapshotIsCutByTheReceiver: the sender stands still in the middle, and
// the receiver's Raft is free again.
func TestStalledSnapshotIsCutByTheReceiver(t *testing.T) {
	t.Parallel()
	to, addr := stallTransport(t, 200*time.Millisecond)
	from, _ := stallTransport(t, time.Hour)
	silent, stop := io.Pipe()
	defer stop.Close()
	sent := make(chan error, 1)
	go func() { sent <- transfer(from, addr, io.MultiReader(io.LimitReader(zeros{}, 1<<20), silent)) }()
	rpc := <-to.Consumer()
	_, err := io.Copy(io.Discard, rpc.Reader)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	_, err = io.Copy(io.Discard, rpc.Reader)
	require.ErrorIs(t, err, net.ErrClosed, "what comes later would be taken for a message")
	rpc.Respond(&raft.InstallSnapshotResponse{}, err)
	require.NoError(t, stop.Close())
	require.Error(t, <-sent)
}

// TestSlowSnapshotArrives: a transfer that takes longer than the stall but moves, and
// whose receiver works for a while before it answers, is not cut; nor is a connection that is idle.
func TestSlowSnapshotArrives(t *testing.T) {
	t.Parallel()
	const stall = time.Second
	to, addr := stallTransport(t, stall)
	from, _ := stallTransport(t, stall)
	answer := func() (read int64) {
		rpc := <-to.Consumer()
		if rpc.Reader != nil {
			part := make([]byte, transferred/15)
			for {
				n, err := io.ReadFull(rpc.Reader, part)
				read += int64(n)
				if err != nil {
					break
				}
				time.Sleep(stall / 10)
			}
			time.Sleep(2 * stall) // it restores
		}
		rpc.Respond(&raft.InstallSnapshotResponse{Success: true}, nil)
		return read
	}
	read := make(chan int64, 1)
	go func() { read <- answer() }()
	require.NoError(t, transfer(from, addr, bytes.NewReader(make([]byte, transferred))))
	require.EqualValues(t, transferred, <-read)

	ask := func() error {
		go func() { read <- answer() }()
		defer func() { <-read }()
		return from.AppendEntries("peer", raft.ServerAddress(addr), &raft.AppendEntriesRequest{Term: 2, Entries: []*raft.Log{{Data: make([]byte, 1<<20)}}}, &raft.AppendEntriesResponse{})
	}
	require.NoError(t, ask())
	time.Sleep(2 * stall)
	require.NoError(t, ask())
}

// TestMessagesAreBoundedInBytes: what is left is what fits, and never nothing.
func TestMessagesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	entries := func(sizes ...int) (all []*raft.Log) {
		for i, n := range sizes {
			all = append(all, &raft.Log{Index: uint64(i + 1), Data: make([]byte, n)})
		}
		return all
	}
	for _, c := range []struct {
		sizes []int
		left  int
	}{
		{nil, 0},
		{[]int{10, 20, 30}, 3},
		{[]int{maxMessageBytes}, 1},
		{[]int{maxMessageBytes, 1}, 1},
		{[]int{maxMessageBytes + 1, 1}, 1},
		{[]int{1, maxMessageBytes, 1}, 1},
		{[]int{3 << 20, 3 << 20, 3 << 20}, 2},
	} {
		args := raft.AppendEntriesRequest{Entries: entries(c.sizes...)}
		bound(&args)
		require.Len(t, args.Entries, c.left, "%v", c.sizes)
	}
}

// TestBigEntriesReachWhoWasAway: entries for several messages arrive one message after the other.
func TestBigEntriesReachWhoWasAway(t *testing.T) {
	t.Parallel()
	members := trio(t, nil)
	for _, m := range members {
		m.start()
	}
	waitReady(t, members...)
	away := members[0]
	away.crash()
	var last uint64
	for i := range 7 {
		last = committedIndex(t, string(bytes.Repeat([]byte{byte('a' + i)}, 3<<20)), members[1:]...)
	}
	away.start()
	away.fsm.wait(t, last)
	last = committedIndex(t, "small", members...)
	for _, m := range members {
		m.fsm.wait(t, last)
	}
	require.True(t, slices.Equal(members[1].fsm.all(), away.fsm.all()))
}

// slowLink is a connection whose other side reads little at a time.
type slowLink struct{ *net.TCPConn }

func (s slowLink) Read(b []byte) (int, error) {
	time.Sleep(20 * time.Millisecond)
	return s.TCPConn.Read(b[:min(32<<10, len(b))])
}

type slowStream struct{ net.Listener }

func (s slowStream) Dial(addr raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	c, err := net.DialTimeout("tcp", string(addr), timeout)
	if err != nil {
		return nil, err
	}
	return &sendingConn{Conn: c, stall: time.Hour, timeout: slowTimeout}, c.(*net.TCPConn).SetWriteBuffer(32 << 10)
}

func (s slowStream) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return slowLink{c.(*net.TCPConn)}, c.(*net.TCPConn).SetReadBuffer(32 << 10)
}

// slowTimeout is much less than a message of slowBytes takes on a slow link.
const (
	slowTimeout = time.Second
	slowBytes   = 4 << 20
)

// TestLargeMessagesPassASlowLink: what takes longer than a message may, but moves, is not sent again from the start.
func TestLargeMessagesPassASlowLink(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	inner := raft.NewNetworkTransportWithLogger(slowStream{l}, 1, slowTimeout, newRaftLogger(testLog()))
	defer inner.CloseStreams()
	defer inner.Close()
	takeAll(t, inner)
	transport := newSerialTransport(func() bool { return false }, inner, slowTimeout)
	addr := raft.ServerAddress(l.Addr().String())
	message := func() *raft.AppendEntriesRequest {
		return &raft.AppendEntriesRequest{Term: 2, PrevLogEntry: 1, PrevLogTerm: 1, Entries: []*raft.Log{{Data: make([]byte, slowBytes)}}}
	}
	var answer raft.AppendEntriesResponse
	require.NoError(t, transport.AppendEntries("peer", addr, message(), &answer))
	require.True(t, answer.Success)

	pipeline, err := transport.AppendEntriesPipeline("peer", addr)
	require.NoError(t, err)
	defer pipeline.Close()
	answered := make(chan error, 3)
	go func() {
		for range 3 {
			answered <- (<-pipeline.Consumer()).Error()
		}
	}()
	for range 3 {
		_, err := pipeline.AppendEntries(message(), new(raft.AppendEntriesResponse))
		require.NoError(t, err)
	}
	for range 3 {
		require.NoError(t, <-answered)
	}
}
