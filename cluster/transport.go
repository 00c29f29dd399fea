package cluster

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// serialTransport is Raft's network transport with five corrections.
//
// Heartbeats go to Raft's main loop like every other message.
// NetworkTransport's shortcut handles them on its own goroutine, where one with
// a newer term changes the term under a leader that goes on to store entries
// under a term it never won (hashicorp/raft#695). The price: heartbeats wait
// behind a log write, so election timeouts stay at a second.
//
// Messages are bounded in bytes. Raft counts entries only, and 256 of them may be
// hundreds of megabytes.
//
// Peers are told the plain address, not the one made for namedAddresses.
//
// A node that was removed from its cluster asks nobody for votes.
//
// Pipelines end. Raft waits in AppendEntries without a limit; when the reader
// of the answers is gone (leadership lost, shutdown) it waits for ever, and
// Shutdown waits for it.
type serialTransport struct {
	*raft.NetworkTransport
	timeout time.Duration
	mute    func() bool

	// open is under a mutex: replication goroutines add and remove themselves,
	// and stopPipelines has to see all of them at once.
	mu   sync.Mutex
	open map[*boundedPipeline]struct{}
	busy map[raft.ServerID]*delivery // under mu, too: who hands over asks
}

// delivery is what is being sent to a peer.
type delivery struct {
	since    time.Time
	snapshot bool
}

func newSerialTransport(mute func() bool, t *raft.NetworkTransport, timeout time.Duration) *serialTransport {
	return &serialTransport{NetworkTransport: t, timeout: timeout, mute: mute, open: map[*boundedPipeline]struct{}{}, busy: map[raft.ServerID]*delivery{}}
}

// SetHeartbeatHandler takes no shortcut.
func (*serialTransport) SetHeartbeatHandler(func(raft.RPC)) {}

// EncodePeer gives the plain address.
func (*serialTransport) EncodePeer(_ raft.ServerID, addr raft.ServerAddress) []byte {
	return []byte(addr)
}

var errRemoved = errors.New("cluster: this node was removed from its cluster")

// RequestVote asks for a vote.
func (t *serialTransport) RequestVote(id raft.ServerID, addr raft.ServerAddress, args *raft.RequestVoteRequest, resp *raft.RequestVoteResponse) error {
	if t.mute() {
		return errRemoved
	}
	return t.NetworkTransport.RequestVote(id, addr, args, resp)
}

// RequestPreVote asks whether a vote would be given.
func (t *serialTransport) RequestPreVote(id raft.ServerID, addr raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	if t.mute() {
		return errRemoved
	}
	return t.NetworkTransport.RequestPreVote(id, addr, args, resp)
}

// maxMessageBytes is what the entries of one message have at most; a larger entry has a message of its own.
const maxMessageBytes = 8 << 20

// bound leaves out the entries that are too much for one message. Raft looks at what
// is left to learn what was sent, and sends the rest next. The answer is the size.
func bound(args *raft.AppendEntriesRequest) (size int64) {
	for i, l := range args.Entries {
		more := int64(len(l.Data) + len(l.Extensions))
		if size+more > maxMessageBytes && i > 0 {
			args.Entries = args.Entries[:i]
			return size
		}
		size += more
	}
	return size
}

// deliver notes that something is being sent to a peer until done is called.
func (t *serialTransport) deliver(id raft.ServerID, snapshot bool) (done func()) {
	d := &delivery{time.Now(), snapshot}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy[id] = d
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.busy[id] == d { // else a later term's
			delete(t.busy, id)
		}
	}
}

// delivering tells whether a peer is being sent a snapshot, or has been sent one message for longer than patience.
func (t *serialTransport) delivering(id raft.ServerID, patience time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.busy[id]
	return d != nil && (d.snapshot || time.Since(d.since) > patience)
}

// InstallSnapshot sends a snapshot.
func (t *serialTransport) InstallSnapshot(id raft.ServerID, addr raft.ServerAddress, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, data io.Reader) error {
	defer t.deliver(id, true)()
	return t.NetworkTransport.InstallSnapshot(id, addr, args, resp, data)
}

// AppendEntries sends entries, or a heartbeat.
func (t *serialTransport) AppendEntries(id raft.ServerID, addr raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	bound(args)
	if !isHeartbeat(args) { // those have a goroutine of their own
		defer t.deliver(id, false)()
	}
	return t.NetworkTransport.AppendEntries(id, addr, args, resp)
}

// AppendEntriesPipeline opens a pipeline that ends.
func (t *serialTransport) AppendEntriesPipeline(id raft.ServerID, addr raft.ServerAddress) (raft.AppendPipeline, error) {
	inner, err := t.NetworkTransport.AppendEntriesPipeline(id, addr)
	if err != nil {
		return nil, err
	}
	p := &boundedPipeline{AppendPipeline: inner, from: t, peer: id}
	t.mu.Lock()
	t.open[p] = struct{}{}
	t.mu.Unlock()
	return p, nil
}

// stopPipelines ends all pipelines, so that Raft can shut down.
func (t *serialTransport) stopPipelines() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for p := range t.open {
		_ = p.AppendPipeline.Close() // it ends in any case
	}
}

type boundedPipeline struct {
	raft.AppendPipeline
	from *serialTransport
	peer raft.ServerID
	sent int64 // bytes of the message before, whose answer this one waits for
}

// AppendEntries gives up on a peer that takes nothing for the transport's
// timeout and a time by the size; Raft then goes on without the pipeline.
func (p *boundedPipeline) AppendEntries(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	size := bound(args)
	limit := time.AfterFunc(p.from.timeout+storingTime(p.sent+size), func() { _ = p.AppendPipeline.Close() })
	p.sent = size
	defer limit.Stop()
	defer p.from.deliver(p.peer, false)()
	return p.AppendPipeline.AppendEntries(args, resp)
}

// Close ends the pipeline.
func (p *boundedPipeline) Close() error {
	p.from.mu.Lock()
	delete(p.from.open, p)
	p.from.mu.Unlock()
	return p.AppendPipeline.Close()
}
