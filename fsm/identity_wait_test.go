package fsm

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm/identity"
)

func upsertOf(identifier string) []identity.Op {
	return []identity.Op{{Kind: identity.KindUpsert, Environment: 1, Identifier: []byte(identifier)}}
}

// A caller whose time is up does not wait for its batch, which is carried out all
// the same.
func TestWriteEndsWithItsContext(t *testing.T) {
	sent, release := make(chan []byte), make(chan struct{})
	w := NewIdentityWriter(New(slog.New(slog.DiscardHandler), NewViews(slog.New(slog.DiscardHandler))), "n1", func(_ context.Context, batch []byte) ([]byte, bool, error) {
		sent <- batch
		<-release
		return encodeIdentityAnswer(0, nil), false, nil
	}, nil, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, _, err := w.Write(ctx, upsertOf("late"))
		failed <- err
	}()
	require.Contains(t, string(<-sent), "late")
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	close(release)
	w.Stop()
}

// A batch that is committed but not yet applied here does not hold up the next
// one; stopping ends the wait.
func TestBatchesSettleBesideTheActor(t *testing.T) {
	f := New(slog.New(slog.DiscardHandler), NewViews(slog.New(slog.DiscardHandler)))
	sent := make(chan struct{}, 2)
	index := uint64(0)
	w := NewIdentityWriter(f, "n1", func(context.Context, []byte) ([]byte, bool, error) {
		index++
		sent <- struct{}{}
		return encodeIdentityAnswer(index, nil), false, nil
	}, nil, slog.New(slog.DiscardHandler))
	type answer struct {
		index uint64
		err   error
	}
	write := func(identifier string) chan answer {
		done := make(chan answer, 1)
		go func() {
			at, _, err := w.Write(t.Context(), upsertOf(identifier))
			done <- answer{at, err}
		}()
		<-sent
		return done
	}
	first := write("first")
	second := write("second")
	f.applied.Advance(1)
	require.Equal(t, answer{1, nil}, <-first)
	select {
	case a := <-second:
		t.Fatal("answered before it was applied", a)
	default:
	}
	w.Stop()
	require.ErrorIs(t, (<-second).err, context.Canceled)
}
