package fsm

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm/identity"
)

// slowLog is a Proposer that takes its time and notes what it is given.
type slowLog struct {
	takes time.Duration
	err   error

	entries []loggedEntry
}

type loggedEntry struct {
	nodes        []string
	began, ended time.Time
}

func (l *slowLog) Propose(_ context.Context, entry []byte) (uint64, any, error) {
	e := loggedEntry{began: time.Now()}
	_, body, err := splitEntry(entry)
	if err != nil {
		return 0, nil, err
	}
	read := identity.ReadBatch(body[8:]) // behind the time
	for sub := (identity.SubBatch{}); read.NextSub(&sub); {
		e.nodes = append(e.nodes, string(sub.Node))
		for op := (identity.Op{}); read.NextOp(&op); {
		}
	}
	time.Sleep(l.takes)
	e.ended = time.Now()
	l.entries = append(l.entries, e)
	return uint64(len(l.entries)), &IdentityBatchResult{}, l.err
}
func (l *slowLog) Barrier(context.Context) error { return nil }
func (l *slowLog) Verify(context.Context) error  { return nil }

// gaps are the times from the end of each entry to the begin of the next.
func (l *slowLog) gaps() (gaps []time.Duration) {
	for i := 1; i < len(l.entries); i++ {
		gaps = append(gaps, l.entries[i].began.Sub(l.entries[i-1].ended))
	}
	return gaps
}

// send is what a node does under load: n batches one after the other, each a moment after the answer to the last.
func send(t *testing.T, b *IdentityBatcher, node string, n int, moment time.Duration) {
	for seq := range n {
		time.Sleep(moment)
		op := identity.AppendOp(nil, &identity.Op{Kind: identity.KindUpsert, Environment: 1, Identifier: []byte("i")})
		_, err := b.Submit(context.Background(), identity.AppendSubBatch(nil, identity.SubBatch{Node: []byte(node), Sequence: uint64(seq + 1), Ops: 1}, op), nil)
		if !errors.Is(err, errNoQuorum) {
			assert.NoError(t, err)
		}
	}
}

var errNoQuorum = errors.New("no quorum")

// batching runs f against a batcher whose entries take that long; clocks run ahead while everybody waits.
func batching(t *testing.T, l *slowLog, f func(b *IdentityBatcher)) {
	synctest.Test(t, func(*testing.T) {
		b := NewIdentityBatcher(l, time.Now)
		f(b)
		b.Stop()
	})
}

func TestNodesShareEntries(t *testing.T) {
	l := &slowLog{takes: 8 * time.Millisecond}
	batching(t, l, func(b *IdentityBatcher) {
		var nodes sync.WaitGroup
		nodes.Go(func() { send(t, b, "leader", 20, 0) })
		nodes.Go(func() { send(t, b, "near", 20, time.Millisecond) })
		nodes.Go(func() { send(t, b, "far", 20, 2*time.Millisecond-1) })
		nodes.Wait()
	})
	for i, e := range l.entries[2:20] {
		require.ElementsMatch(t, []string{"leader", "near", "far"}, e.nodes, "entry %d", i+2)
	}
	require.LessOrEqual(t, len(l.entries), 22)
}

func TestNodeThatFallsSilentIsWaitedForTwice(t *testing.T) {
	for takes, wait := range map[time.Duration]time.Duration{
		8 * time.Millisecond: 2 * time.Millisecond,
		time.Second:          gatherMost,
	} {
		l := &slowLog{takes: takes}
		batching(t, l, func(b *IdentityBatcher) {
			var nodes sync.WaitGroup
			nodes.Go(func() { send(t, b, "busy", 8, 0) })
			nodes.Go(func() { send(t, b, "silent", 1, takes/2) }) // in the second entry
			nodes.Wait()
		})
		require.Equal(t, []string{"busy"}, l.entries[0].nodes)
		require.ElementsMatch(t, []string{"busy", "silent"}, l.entries[1].nodes)
		require.Equal(t, []time.Duration{0, wait, wait, 0, 0, 0, 0}, l.gaps())
	}
}

func TestNobodyIsWaitedFor(t *testing.T) {
	t.Run("by a batch that comes later", func(t *testing.T) {
		l := &slowLog{takes: 8 * time.Millisecond}
		batching(t, l, func(b *IdentityBatcher) {
			send(t, b, "one", 1, 0)
			send(t, b, "other", 3, 2*time.Millisecond)
		})
		require.Equal(t, []time.Duration{2 * time.Millisecond, 2 * time.Millisecond, 2 * time.Millisecond}, l.gaps())
	})
	t.Run("after an entry that failed", func(t *testing.T) {
		l := &slowLog{takes: 8 * time.Millisecond, err: errNoQuorum}
		batching(t, l, func(b *IdentityBatcher) {
			send(t, b, "one", 1, 0)
			send(t, b, "other", 2, 0)
		})
		require.Equal(t, []time.Duration{0, 0}, l.gaps())
	})
}

func TestStopEndsTheWait(t *testing.T) {
	l := &slowLog{takes: 8 * time.Millisecond}
	var began time.Time
	batching(t, l, func(b *IdentityBatcher) {
		send(t, b, "one", 1, 0)
		var other sync.WaitGroup
		other.Go(func() { send(t, b, "other", 1, 0) })
		synctest.Wait() // for the batcher to wait for the first
		began = time.Now()
		b.Stop()
		other.Wait()
	})
	require.Equal(t, []string{"other"}, l.entries[1].nodes)
	require.Equal(t, began, l.entries[1].began)
}
