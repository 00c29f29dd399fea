package actor_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/flagraft/flagraft/cluster/actor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMessagesAreHandledInOrderAndDrainedByStop(t *testing.T) {
	var got []int
	a := actor.Start(4, func(n int) { got = append(got, n) })
	for i := range 100 {
		require.NoError(t, a.Tell(t.Context(), i))
	}
	a.Stop()
	a.Stop()
	require.Len(t, got, 100)
	for i, n := range got {
		require.Equal(t, i, n)
	}
	require.ErrorIs(t, a.Tell(t.Context(), 1), actor.ErrStopped)
	require.ErrorIs(t, a.TryTell(1), actor.ErrStopped)
}

func TestBatchTakesWhatWaitsWhileATurnRuns(t *testing.T) {
	entered, release := make(chan struct{}, 10), make(chan struct{})
	var batches [][]int
	a := actor.StartBatch(8, func(b []int) {
		batches = append(batches, append([]int(nil), b...))
		entered <- struct{}{}
		<-release
	})
	require.NoError(t, a.Tell(t.Context(), 0))
	<-entered
	for i := 1; i <= 8; i++ {
		require.NoError(t, a.TryTell(i))
	}
	require.Equal(t, 8, a.Len())
	require.ErrorIs(t, a.TryTell(9), actor.ErrFull)
	close(release)
	a.Stop()
	require.Equal(t, [][]int{{0}, {1, 2, 3, 4, 5, 6, 7, 8}}, batches)
}

func TestTurnAwaitsMore(t *testing.T) {
	var a *actor.Actor[int]
	turns := make(chan []int, 3)
	until := make(chan time.Time)
	a = actor.StartBatch(3, func(b []int) {
		for more := true; more; {
			b, more = a.Await(until)
		}
		turns <- slices.Clone(b)
	})
	for i := range 4 {
		require.NoError(t, a.Tell(t.Context(), i))
	}
	require.Equal(t, []int{0, 1, 2}, <-turns, "there is no more room")
	until <- time.Time{}
	require.Equal(t, []int{3}, <-turns, "it fired")
	require.NoError(t, a.Tell(t.Context(), 4))
	a.Stop()
	require.Equal(t, []int{4}, <-turns, "it is to stop")
}

func TestTellGivesUpWithItsContextAndWhenStopped(t *testing.T) {
	entered, release := make(chan struct{}, 10), make(chan struct{})
	a := actor.Start(1, func(int) { entered <- struct{}{}; <-release })
	require.NoError(t, a.Tell(t.Context(), 0))
	<-entered
	require.NoError(t, a.TryTell(1))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, a.Tell(ctx, 2), context.Canceled)

	blocked := make(chan error, 1)
	go func() { blocked <- a.Tell(context.Background(), 3) }()
	stopped := make(chan struct{})
	go func() { a.Stop(); close(stopped) }()
	require.ErrorIs(t, <-blocked, actor.ErrStopped)
	close(release)
	<-stopped
}

func TestEveryAcceptedMessageIsHandledWhenStopRaces(t *testing.T) {
	for range 200 {
		var handled, accepted atomic.Int64
		a := actor.StartBatch(2, func(b []int) { handled.Add(int64(len(b))) })
		var tellers sync.WaitGroup
		for range 4 {
			tellers.Go(func() {
				for a.Tell(context.Background(), 1) == nil {
					accepted.Add(1)
				}
			})
		}
		for accepted.Load() == 0 {
		}
		a.Stop()
		tellers.Wait()
		require.Equal(t, accepted.Load(), handled.Load())
	}
}

func TestAsk(t *testing.T) {
	type question struct {
		n     int
		reply func(int)
	}
	sum := 0
	a := actor.Start(1, func(q question) { sum += q.n; q.reply(sum) })
	defer a.Stop()
	ask := func(n int) int {
		got, err := actor.Ask(t.Context(), a, func(reply func(int)) question { return question{n, reply} })
		require.NoError(t, err)
		return got
	}
	require.Equal(t, 2, ask(2))
	require.Equal(t, 5, ask(3))

	silent := actor.Start(1, func(question) {})
	defer silent.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := actor.Ask(ctx, silent, func(reply func(int)) question { return question{1, reply} })
	require.ErrorIs(t, err, context.Canceled)
}

func TestSignalCoalesces(t *testing.T) {
	s := actor.NewSignal()
	s.Raise()
	s.Raise()
	require.True(t, s.Wait(t.Context()))
	select {
	case <-s.C():
		t.Fatal("raised twice, received twice")
	default:
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.False(t, s.Wait(ctx))
}

func TestLoopStops(t *testing.T) {
	s, turns := actor.NewSignal(), make(chan struct{})
	l := actor.Go(func(ctx context.Context) {
		for s.Wait(ctx) {
			turns <- struct{}{}
		}
	})
	s.Raise()
	<-turns
	l.Stop()
	l.Stop()
	<-l.Done()
}
