package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

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
			err = fmt.Errorf("%w: %v", ErrUnavailable, err)
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

// confirmedIndex takes the commit index, then confirms with a quorum that this
// node still leads in the same term. Both matter: Raft checks neither the own
// term's first commit (IsLeader does) nor the term itself.
func (n *Node) confirmedIndex() (uint64, error) {
	term := n.LeaderTerm()
	if term == 0 {
		return 0, ErrNotLeader
	}
	commit := n.raft.CommitIndex()
	if err := n.await(n.mux.ctx, n.raft.VerifyLeader().Error); err != nil {
		return 0, fmt.Errorf("%w: %v", ErrNotLeader, err)
	}
	if n.LeaderTerm() != term {
		return 0, ErrNotLeader
	}
	return n.commandIndex(commit), nil
}
