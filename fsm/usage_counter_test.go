package fsm

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

// TestUsageCountsOnce loses the answer to a batch that was applied, and wants
// every request counted once.
func TestUsageCountsOnce(t *testing.T) {
	w, p := newTestWriter(t)
	_, err := w.Write(t.Context(), Author{}, func(tx *Tx) error {
		Environments.Put(tx, Environment{ID: 1, Name: "e", APIKey: "k"})
		return nil
	})
	require.NoError(t, err)
	lost := errors.New("answer lost")
	var fail error
	c := NewUsageCounter(p.fsm, "n", time.Now, func(_ context.Context, entry []byte) error {
		p.index++
		p.fsm.Apply(&raft.Log{Index: p.index, Type: raft.LogCommand, Data: entry})
		return fail
	}, slog.New(slog.DiscardHandler))
	defer c.Stop()
	count := func() (n int64) {
		for u := range Usages.All(p.fsm.State()) {
			require.Equal(t, UsageFlags, u.Kind)
			n += u.Count
		}
		return n
	}

	c.Request(1, UsageFlags)
	c.Request(1, UsageFlags)
	fail = lost
	require.ErrorIs(t, c.Flush(t.Context()), lost)
	c.Request(1, UsageFlags)
	fail = nil
	require.NoError(t, c.Flush(t.Context()), "the lost batch, again")
	require.EqualValues(t, 2, count())
	require.NoError(t, c.Flush(t.Context()))
	require.EqualValues(t, 3, count())
	require.NoError(t, c.Flush(t.Context()))
	require.EqualValues(t, 3, count())
}
