package fsm

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

func TestTheMajorityDecides(t *testing.T) {
	three := []string{"a", "b", "c"}
	for name, c := range map[string]struct {
		voters []string
		hashes map[string]string
		hash   string // "": undecided
		differ []string
	}{
		"all agree":             {three, map[string]string{"a": "x", "b": "x", "c": "x"}, "x", nil},
		"a follower is wrong":   {three, map[string]string{"a": "x", "b": "x", "c": "y"}, "x", []string{"c"}},
		"the first is wrong":    {three, map[string]string{"a": "y", "b": "x", "c": "x"}, "x", []string{"a"}},
		"one is silent":         {three, map[string]string{"a": "x", "b": "x"}, "x", nil},
		"one against one":       {three, map[string]string{"a": "x", "b": "y"}, "", nil},
		"all differ":            {three, map[string]string{"a": "x", "b": "y", "c": "z"}, "", nil},
		"two nodes differ":      {[]string{"a", "b"}, map[string]string{"a": "x", "b": "y"}, "", nil},
		"two are silent":        {three, map[string]string{"a": "x"}, "", nil},
		"replicas do not vote":  {[]string{"a"}, map[string]string{"a": "x", "r": "y", "s": "y"}, "x", []string{"r", "s"}},
		"two of five are wrong": {[]string{"a", "b", "c", "d", "e"}, map[string]string{"a": "y", "b": "y", "c": "x", "d": "x", "e": "x"}, "x", []string{"a", "b"}},
	} {
		v, err := Ballot{Hashes: c.hashes, Voters: c.voters}.decide(7)
		if c.hash == "" {
			require.ErrorIs(t, err, errUndecided, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, HashVerdict{Mark: 7, Hash: c.hash, Agreed: len(c.hashes) - len(c.differ), Differ: c.differ}, v, name)
	}
}

// replicas are state machines that apply one log.
type replicas struct {
	machines []*FSM
	stopped  []error
	index    uint64
}

func newReplicas(t *testing.T, n int) *replicas {
	r := &replicas{stopped: make([]error, n)}
	for i := range n {
		f := newTestFSM(t)
		f.OnStop(func(err error) { r.stopped[i] = err })
		r.machines = append(r.machines, f)
	}
	r.log(newGenesis(time.Unix(1_700_000_000, 0)), NewLevelEntry(FormatLevel, time.Now()))
	return r
}

func (r *replicas) log(entries ...[]byte) uint64 {
	for _, data := range entries {
		r.index++
		for _, f := range r.machines {
			f.Apply(&raft.Log{Index: r.index, Type: raft.LogCommand, Data: data})
		}
	}
	return r.index
}

// Propose, Barrier and Verify make it the leader's Proposer.
func (r *replicas) Propose(_ context.Context, entry []byte) (uint64, any, error) {
	return r.log(entry), nil, nil
}
func (r *replicas) Barrier(context.Context) error { return nil }
func (r *replicas) Verify(context.Context) error  { return nil }

func (r *replicas) ask(_ context.Context, mark uint64) Ballot {
	b := Ballot{Hashes: map[string]string{}}
	for i, f := range r.machines {
		id := string(rune('a' + i))
		b.Voters = append(b.Voters, id)
		if h, ok := f.Mark(mark); ok {
			b.Hashes[id] = h
		}
	}
	return b
}

// corrupt changes one machine as a flipped bit would.
func (r *replicas) corrupt(i int) {
	r.machines[i].current.Seq ^= 1 << 20
	r.machines[i].publish()
}

func TestAMinorityStops(t *testing.T) {
	for wrong := range 3 {
		r := newReplicas(t, 3)
		c := NewHashChecker(r.machines[0], r, r.ask, DefaultHashCheckPolicy(), slog.New(slog.DiscardHandler))
		t.Cleanup(c.Stop)
		require.NoError(t, c.check(t.Context()))
		require.Equal(t, make([]error, 3), r.stopped)
		require.Equal(t, 3, r.machines[0].Verdict().Agreed)

		r.corrupt(wrong)
		require.NoError(t, c.check(t.Context()))
		for i, err := range r.stopped {
			if i == wrong {
				require.ErrorIs(t, err, ErrDiverged)
			} else {
				require.NoError(t, err, "machine %d of the majority stops", i)
			}
		}
		require.Equal(t, uint64(1), r.machines[(wrong+1)%3].Mismatches())
	}
}

func TestNobodyStopsWithoutAMajority(t *testing.T) {
	r := newReplicas(t, 2)
	r.corrupt(1)
	c := NewHashChecker(r.machines[0], r, r.ask, DefaultHashCheckPolicy(), slog.New(slog.DiscardHandler))
	t.Cleanup(c.Stop)
	require.ErrorIs(t, c.check(t.Context()), errUndecided)
	require.Equal(t, make([]error, 2), r.stopped)
	require.Equal(t, uint64(1), c.Undecided())
}

// TestANodeThatLagsIsJudgedWhenItGetsThere wants a node that was silent during the check to stop at the verdict, and one whose snapshot is
// newer than the mark to go on.
func TestANodeThatLagsIsJudgedWhenItGetsThere(t *testing.T) {
	r := newReplicas(t, 2)
	log := []*raft.Log{
		{Index: 3, Type: raft.LogCommand, Data: newMarkEntry()},
		{Index: 4, Type: raft.LogCommand, Data: newVerdictEntry(HashVerdict{Mark: 3, Hash: "another"})},
	}
	r.machines[0].ApplyBatch(log)
	require.ErrorIs(t, r.stopped[0], ErrDiverged)

	raw := snapshotBytes(t, r.machines[0])
	require.NoError(t, r.machines[1].Restore(io.NopCloser(bytes.NewReader(raw))))
	r.machines[1].Apply(&raft.Log{Index: 5, Type: raft.LogCommand, Data: log[1].Data})
	require.NoError(t, r.stopped[1])
}

// A recovery of a node whose state is wrong ends with an error and no snapshot.
func TestNothingIsRecoveredThatIsWrong(t *testing.T) {
	r := newReplicas(t, 1)
	f := r.machines[0]
	f.OnStop(nil) // as at a recovery
	f.GiveUpRestores()
	mark := r.log(newMarkEntry())
	r.log(newVerdictEntry(HashVerdict{Mark: mark, Hash: "another"}), newMarkEntry())
	require.ErrorIs(t, f.Refused(), ErrDiverged)
	require.Equal(t, mark+1, f.State().Index, "nothing is applied after it")
	_, err := f.Snapshot()
	require.ErrorIs(t, err, ErrDiverged)
}

func TestChecksAreDueByEntriesAndByTime(t *testing.T) {
	r := newReplicas(t, 3)
	f := r.machines[0]
	c := &HashChecker{fsm: f, policy: HashCheckPolicy{Entries: 5, Interval: time.Minute}}
	require.False(t, c.due(), "it does not lead")
	c.Lead(true)
	require.True(t, c.due(), "nothing was compared since the start, long ago")
	mark := r.log(newMarkEntry())
	require.False(t, c.due(), "nothing changed")
	for range 4 {
		r.log(newMarkEntry())
	}
	require.Equal(t, f.LastMark().Index, mark+4)
	require.False(t, c.due())
	r.log(newGenesis(time.Now()), newGenesis(time.Now()), newGenesis(time.Now()), newGenesis(time.Now()), newGenesis(time.Now()))
	require.True(t, c.due(), "five entries")
	c.last = time.Now()
	require.False(t, c.due(), "a moment ago")
}
