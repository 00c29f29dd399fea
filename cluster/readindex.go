package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/flagraft/flagraft/cluster/actor"
)

// readQueue bounds the reads that wait for a round; Tell blocks.
const readQueue = 4096

type readRequest struct{ reply func(readAnswer) }

type readAnswer struct {
	index uint64
	err   error
}

// ReadIndex returns an index such that a state which has applied it reflects
// every write that was acknowledged, anywhere, before the call. Concurrent
// reads share one round, on this node and on the leader. Without a leader that
// has a quorum it fails with ErrNotLeader or ErrUnavailable, after at most
// about two election timeouts.
func (n *Node) ReadIndex(ctx context.Context) (uint64, error) {
	return askIndex(ctx, n.round)
}

func askIndex(ctx context.Context, a *actor.Actor[readRequest]) (uint64, error) {
	answer, err := actor.Ask(ctx, a, func(reply func(readAnswer)) readRequest { return readRequest{reply} })
	switch {
	case errors.Is(err, actor.ErrStopped):
		return 0, ErrStopped
	case err != nil:
		return 0, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return answer.index, answer.err
}

func answerAll(requests []readRequest, index uint64, err error) {
	for _, r := range requests {
		r.reply(readAnswer{index, err})
	}
}

// readRound asks the leader once for all that wait.
func (n *Node) readRound(requests []readRequest) {
	ctx, cancel := context.WithTimeout(n.mux.ctx, 2*n.cfg.Timing.Election)
	defer cancel()
	if n.IsLeader() {
		index, err := askIndex(ctx, n.confirm)
		answerAll(requests, index, err)
		return
	}
	index, err := n.askLeaderIndex(ctx)
	answerAll(requests, index, err)
}

func (n *Node) askLeaderIndex(ctx context.Context) (uint64, error) {
	answer, err := n.callLeader(ctx, kindReadIndex, nil)
	if err != nil {
		if errors.Is(err, ErrUnknownOutcome) { // nothing was done, a read changes nothing
			err = fmt.Errorf("%w: %v", ErrUnavailable, err) //nolint:errorlint // one class takes the place of the other
		}
		return 0, err
	}
	if len(answer) != 8 {
		return 0, fmt.Errorf("%w: read index of %d bytes", ErrUnavailable, len(answer))
	}
	return binary.BigEndian.Uint64(answer), nil
}

// serveReadIndex answers a follower.
func (n *Node) serveReadIndex(ctx context.Context, _ string, _ []byte) ([]byte, error) {
	index, err := askIndex(ctx, n.confirm)
	if err != nil {
		return nil, err
	}
	return binary.BigEndian.AppendUint64(nil, index), nil
}

// confirmRound confirms this node's leadership once for all that wait.
func (n *Node) confirmRound(requests []readRequest) {
	index, err := n.confirmedIndex()
	answerAll(requests, index, err)
}

// confirmedIndex takes the commit index, then makes sure that nobody else can
// have led, and acknowledged a write, before it did.
func (n *Node) confirmedIndex() (uint64, error) {
	term := n.LeaderTerm() // not 0: an entry of this term is committed and applied
	if term == 0 {
		return 0, ErrNotLeader
	}
	commit := n.raft.CommitIndex()
	ctx, cancel := context.WithTimeout(n.mux.ctx, n.cfg.Timing.Election)
	defer cancel()
	if err := n.confirmTerm(ctx, term); err != nil {
		return 0, err
	}
	return n.commandIndex(commit), nil
}

// confirmTerm returns nil when a majority of the voters, asked now, is in no
// newer term. A leader of a newer term needs a majority that moved to its term
// first, and terms only grow, so none can have been elected before now.
//
// Raft's own VerifyLeader counts the answer to any heartbeat, also to one that
// was sent before the question: a leader that was paused, and superseded
// meanwhile, finds such answers in its buffers when it wakes. It also waits
// behind the followers' log writes; this does not.
func (n *Node) confirmTerm(ctx context.Context, term uint64) error {
	var others []raft.Server
	needed := 0 // votes beside this node's own
	self := 0
	for _, s := range n.whereabouts() {
		switch {
		case s.Suffrage != raft.Voter:
		case string(s.ID) == n.id:
			self = 1
		default:
			others = append(others, s)
		}
	}
	needed = (len(others)+self)/2 + 1 - self
	votes := make(chan termReply, len(others))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, s := range others {
		go func() {
			reply, err := askAddr[termReply](ctx, n, string(s.Address), kindTerm, struct{}{})
			if err != nil || reply.ID != string(s.ID) {
				reply = termReply{}
			}
			votes <- reply
		}()
	}
	for range others {
		if needed <= 0 {
			break
		}
		select {
		case v := <-votes:
			if v.Term > term {
				return fmt.Errorf("%w: node %s is in term %d already", ErrNotLeader, v.ID, v.Term)
			}
			if v.ID != "" {
				needed--
			}
		case <-ctx.Done():
			return fmt.Errorf("%w: no majority confirmed it", ErrNotLeader)
		}
	}
	if needed > 0 || n.LeaderTerm() != term {
		return fmt.Errorf("%w: no majority confirmed it", ErrNotLeader)
	}
	return nil
}

type termReply struct {
	ID   string `cbor:"id"`
	Term uint64 `cbor:"term"`
}

// serveTerm tells the term that this node is in. Raft raises it before it
// votes, so what was not raised yet was not voted for.
func (n *Node) serveTerm(context.Context, string, struct{}) (termReply, error) {
	return termReply{ID: n.id, Term: n.raft.CurrentTerm()}, nil
}
