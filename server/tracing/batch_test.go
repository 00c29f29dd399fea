package tracing

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/fsmtest"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/tracing/tracingtest"
)

// TestABatchIsLinkedWithItsRequests holds a batch back until four requests wait for the next one, of which one is not sampled.
func TestABatchIsLinkedWithItsRequests(t *testing.T) {
	unset(t)
	c := tracingtest.Start(t)
	tracer, err := Start(t.Context(), "n", "v", slog.Default())
	require.NoError(t, err)
	n := fsmtest.New(t)
	taken, release := make(chan bool), make(chan bool)
	w := fsm.NewIdentityWriter(n.FSM, "node-2", func(ctx context.Context, batch []byte) ([]byte, bool, error) {
		taken <- tracer.On(ctx)
		<-release
		answer, err := n.Batcher.Submit(ctx, batch, nil)
		return answer, false, err
	}, nil, slog.New(slog.DiscardHandler))
	defer w.Stop()
	w.Follow(func(requests iter.Seq2[context.Context, time.Time], ops int) (context.Context, func(uint64, error)) {
		ctx, span := tracer.Batch(requests, ops)
		if span.None() {
			return nil, nil
		}
		return ctx, func(_ uint64, err error) { span.End(err) }
	})
	done := make(chan error)
	write := func(trace int, sampled string) {
		before := w.Waiting()
		go func() {
			ctx, span := tracer.Request(context.Background(), "POST", "/identities/", func(string) string { return fmt.Sprintf("00-%032x-%016x-%s", trace, 0x33, sampled) })
			ctx, store := tracer.Store(ctx, 1)
			_, _, err := w.Write(ctx, []identity.Op{{Kind: identity.KindUpsert, Environment: 1, Identifier: fmt.Append(nil, "user-", trace)}})
			store.End(err)
			span.Answered(200)
			done <- err
		}()
		if trace > 1 { // each waits before the next is asked for
			require.Eventually(t, func() bool { return w.Waiting() == before+1 }, 20*time.Second, time.Millisecond)
		}
	}
	write(1, "00")
	require.False(t, <-taken, "no request of the first batch is sampled")
	write(2, "00")
	write(3, "01")
	write(4, "01")
	write(5, "01")
	release <- true
	require.True(t, <-taken)
	release <- true
	for range 5 {
		require.NoError(t, <-done)
	}
	require.NoError(t, tracer.Stop(t.Context()))

	of := func(trace byte) map[string][]tracingtest.Span {
		return c.Of("\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" + string(rune(trace)))
	}
	require.Empty(t, of(1))
	require.Empty(t, of(2))
	require.Len(t, of(3)["batch"], 1)
	batch, store := of(3)["batch"][0], of(3)["store"][0]
	require.Equal(t, store.SpanId, batch.ParentSpanId)
	require.Empty(t, store.Links, "the batch is a step of it")
	require.Equal(t, map[string]int64{"flagraft.requests": 4, "flagraft.operations": 4}, numbers(batch))
	require.Len(t, batch.Links, 2)
	for i, trace := range []byte{4, 5} {
		other := of(trace)
		require.Len(t, other["store"], 1)
		require.Len(t, other["wait"], 1)
		require.NotContains(t, other, "batch")
		require.Equal(t, other["store"][0].SpanId, batch.Links[i].SpanId)
		require.Equal(t, other["store"][0].TraceId, batch.Links[i].TraceId)
		require.Len(t, other["store"][0].Links, 1)
		require.Equal(t, batch.SpanId, other["store"][0].Links[0].SpanId)
		require.Equal(t, batch.TraceId, other["store"][0].Links[0].TraceId)
	}
}

func numbers(s tracingtest.Span) map[string]int64 {
	out := map[string]int64{}
	for _, a := range s.Attributes {
		out[a.Key] = a.Value.GetIntValue()
	}
	return out
}

// TestARequestThatIsNotSampledCostsNothing counts what it takes to carry requests through with traces on: a few allocations for a batch, none for each.
func TestARequestThatIsNotSampledCostsNothing(t *testing.T) {
	unset(t)
	tracingtest.Start(t)
	tracer, err := Start(t.Context(), "n", "v", slog.Default())
	require.NoError(t, err)
	ctx, _ := tracer.Request(context.Background(), "POST", "/identities/", func(string) string { return "00-0123456789abcdef0123456789abcdef-1111111111111111-00" })
	batch := func(size int) float64 {
		return testing.AllocsPerRun(100, func() {
			for range size {
				_, store := tracer.Store(ctx, 1)
				store.End(nil)
			}
			_, span := tracer.Batch(func(yield func(context.Context, time.Time) bool) {
				for range size {
					if !yield(ctx, time.Time{}) {
						return
					}
				}
			}, size)
			span.End(nil)
		})
	}
	require.Equal(t, batch(1), batch(1000))
}
