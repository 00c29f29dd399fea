// Package fsmtest runs the replicated state of one node without a cluster: what
// is proposed is applied at once, in order. It is for tests.
package fsmtest

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/flagraft/flagraft/fsm"
)

// Node is a state machine with its Views and actors. Close ends them.
type Node struct {
	FSM           *fsm.FSM
	Views         *fsm.Views
	Writer        *fsm.Writer
	Batcher       *fsm.IdentityBatcher
	Identities    *fsm.IdentityWriter
	NewIdentities int // an environment may get in a second; 0: any number
	Usage         *fsm.UsageCounter
	Proposer      *Proposer
}

// New starts a node that already has its genesis, at the newest format level.
// It ends with the test.
func New(t testing.TB) *Node {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	n := &Node{Views: fsm.NewViews(log)}
	n.FSM = fsm.New(log, n.Views)
	n.Proposer = &Proposer{fsm: n.FSM}
	n.Writer = fsm.NewWriter(n.FSM, n.Proposer, time.Now, log)
	n.Batcher = fsm.NewIdentityBatcher(n.Proposer, time.Now)
	n.Identities = fsm.NewIdentityWriter(n.FSM, "node-1", func(ctx context.Context, batch []byte) ([]byte, bool, error) {
		answer, err := n.Batcher.Submit(ctx, batch, nil)
		return answer, false, err
	}, func() int { return n.NewIdentities }, log)
	n.Usage = fsm.NewUsageCounter(n.FSM, "node-1", time.Now, func(ctx context.Context, entry []byte) error {
		_, _, err := n.Proposer.Propose(ctx, entry)
		return err
	}, log)
	t.Cleanup(n.close)
	n.Writer.Gained()
	n.Write(t, func(*fsm.Tx) error { return nil }) // after it the genesis is there
	if _, _, err := n.Proposer.Propose(context.Background(), fsm.NewLevelEntry(fsm.FormatLevel, time.Now())); err != nil {
		t.Fatalf("raise the format level: %v", err)
	}
	return n
}

// Write runs a transaction that must succeed and waits for the Views it touched.
func (n *Node) Write(t testing.TB, run func(*fsm.Tx) error) fsm.Written {
	t.Helper()
	written, err := n.Writer.Write(context.Background(), fsm.Author{}, run)
	if err != nil {
		t.Fatalf("write: %v", err)
	}
	if err := n.Views.Wait(context.Background(), written.Index, written.Environments...); err != nil {
		t.Fatalf("wait for the View: %v", err)
	}
	return written
}

// LateWriter is a second Writer with a clock of its own, for what falls due later;
// the first one must rest. It ends with the test.
func (n *Node) LateWriter(t testing.TB, clock func() time.Time, derive func(*fsm.Tx)) *fsm.Writer {
	w := fsm.NewWriter(n.FSM, n.Proposer, clock, slog.New(slog.DiscardHandler))
	w.Derive(derive)
	t.Cleanup(w.Stop)
	return w
}

func (n *Node) close() {
	n.Usage.Stop()
	n.Identities.Stop()
	n.Batcher.Stop()
	n.Writer.Stop()
	n.Views.Stop()
}

// Proposer applies entries directly. Fail, when set, is asked before each entry
// and its error is the answer: a lost leader, a full disk.
type Proposer struct {
	Fail func(entry []byte) error

	// mu makes proposals one log: the Writer and the batcher propose side by side.
	mu      sync.Mutex
	index   uint64
	entries [][]byte
	fsm     *fsm.FSM
}

// Propose implements [fsm.Proposer].
func (p *Proposer) Propose(_ context.Context, entry []byte) (uint64, any, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Fail != nil {
		if err := p.Fail(entry); err != nil {
			return 0, nil, err
		}
	}
	p.index++
	p.entries = append(p.entries, entry)
	return p.index, p.fsm.Apply(&raft.Log{Index: p.index, Type: raft.LogCommand, Data: entry}), nil
}

// Barrier implements [fsm.Proposer].
func (p *Proposer) Barrier(context.Context) error { return nil }

// Verify implements [fsm.Proposer].
func (p *Proposer) Verify(context.Context) error { return nil }

// Log returns the entries applied so far.
func (p *Proposer) Log() [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([][]byte(nil), p.entries...)
}
