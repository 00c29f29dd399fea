package fsm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A counter that is stopped while a batch waits to be sent again sends what was counted after it, too.
func TestUsageIsSentAtTheEnd(t *testing.T) {
	fail := errors.New("no leader")
	c, f := newTestCounter(t, time.Now, &fail)
	c.Request(1, UsageFlags, RequestClient{})
	require.Error(t, c.Flush(t.Context()))
	c.Request(1, UsageFlags, RequestClient{})
	fail = nil
	c.Stop()
	require.EqualValues(t, 2, countUsage(f))
}

func countUsage(f *FSM) (n int64) {
	for u := range Usages.All(f.State()) {
		n += u.Count
	}
	return n
}

// Entries of counters are never larger than what the cluster takes, however many clients tell long names: one that is refused would be
// sent again for ever, and nothing behind it.
func TestUsageEntriesAreBounded(t *testing.T) {
	w, p := newTestWriter(t)
	_, err := w.Write(t.Context(), Author{}, func(tx *Tx) error {
		Environments.Put(tx, Environment{ID: 1, Name: "e", APIKey: "k"})
		return nil
	})
	require.NoError(t, err)
	largest := 0
	c := NewUsageCounter(p.fsm, "n", time.Now, func(_ context.Context, entry []byte) error {
		largest = max(largest, len(entry))
		p.apply(entry)
		return nil
	}, slog.New(slog.DiscardHandler))
	t.Cleanup(c.Stop)
	const kinds = 5000
	for i := range kinds {
		name := fmt.Appendf(nil, "%06d%s", i, strings.Repeat("é", 47))
		c.Add(1, UsageEvaluation, 1, UsageLabels(RequestClient{Application: name, Version: name, Agent: nil}), 1)
	}
	require.NoError(t, c.Flush(t.Context()))
	require.LessOrEqual(t, largest, 2<<20)
	require.EqualValues(t, kinds, countUsage(p.fsm))
}
