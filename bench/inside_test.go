package bench

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/bench/seed"
)

// What is measured without a socket works; how fast is no matter of a test.
func TestInside(t *testing.T) {
	c := Config{
		Profile: seed.Profile{Features: 4, Segments: 3, Overrides: 2, Conditions: 2, Traits: 3, NewTraits: 2, Identities: 500},
		Runs:    1, Duration: 100 * time.Millisecond, Stored: 500, Huge: 900, Rates: []float64{100, 200}, Progress: io.Discard,
	}
	b := &bench{Config: c, report: newReport(c)}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	require.NoError(t, b.request(ctx, t.TempDir()))
	require.NoError(t, b.store(ctx, t.TempDir()))
	require.NoError(t, b.commit(ctx, t.TempDir()))
	b.report.finish()
	kinds := map[string]bool{}
	for _, f := range b.report.Figures {
		kinds[f.Kind] = true
		require.NotEmpty(t, f.Values, f.What)
	}
	for _, kind := range []string{whatRequest, whatRequest + whatAllocs, whatFlags + whatAllocs, whatEvaluation, whatHashes, whatGC, whatFreeze, whatPut, whatView50, whatView99} {
		require.True(t, kinds[kind], kind)
	}
	require.Len(t, b.report.find(nameCommit), 2)
	for _, s := range b.report.find(nameCommit) {
		require.Equal(t, int(s.Rate/10), s.Flagraft[0].Requests)
	}
}

// Ten times the size is only measured when it is asked for.
func TestHugeIsAskedFor(t *testing.T) {
	for only, want := range map[string][2]bool{"": {true, false}, "memory": {true, false}, "10m": {false, true}, "memory-10m": {false, true}, "restore-10m": {false, false}} {
		b := &bench{Config: Config{Only: only}}
		require.Equal(t, want, [2]bool{b.wants(nameMemory), b.asked(nameMemory+"-"+markHuge, markHuge)}, only)
	}
}

func TestLags(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	w := &watch{shown: make([]trail, 2)}
	w.commits(0, at(10))
	w.commits(5, at(11))
	w.commits(5, at(20)) // nothing new
	w.commits(9, at(21))
	w.shown[0].see(5, at(12))
	w.shown[0].see(9, at(24))
	w.shown[1].see(7, at(17)) // it never showed 5 alone
	require.Equal(t, []float64{7}, w.lags([]uint64{5, 9}), "the second node never showed 9")
	w.shown[1].see(9, at(20)) // seen before the commit was
	require.Equal(t, []float64{7, 4}, w.lags([]uint64{5, 9}))
}

// A look that comes late sees a commit and its Views at once. That is no way of no time.
func TestALateLookHidesNoLag(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	w := &watch{shown: make([]trail, 1)}
	w.commits(4, at(10))
	w.commits(5, at(40)) // 30 ms without a core
	w.shown[0].see(5, at(40))
	require.Equal(t, []float64{30}, w.lags([]uint64{5}))
}
