package fsm

import (
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

// TestALongBatchKeepsItsLastRootsOnly applies a log in one batch, as the replay at
// start does, behind some entries whose roots are known: afterwards an index has the
// rows of then, or none.
func TestALongBatchKeepsItsLastRootsOnly(t *testing.T) {
	p := &logProposer{fsm: newTestFSM(t)}
	w := NewWriter(p.fsm, p, time.Now, slog.New(slog.DiscardHandler))
	defer w.Stop()
	w.Gained()
	tags := func(s *State) (n int) {
		for range Tags.Refs(s) {
			n++
		}
		return n
	}
	var held []int // tags after each entry
	for i := range 400 {
		_, err := w.Write(t.Context(), Author{}, putTag("x"))
		require.NoError(t, err)
		if i == 300 {
			for range keptRoots - 50 { // too few changesets behind it to push older roots out
				_, _, err := p.Propose(t.Context(), newMarkEntry())
				require.NoError(t, err)
			}
		}
		for len(held) < len(p.log) {
			held = append(held, tags(p.fsm.State()))
		}
	}
	f := newTestFSM(t)
	const before = 20
	for _, l := range p.log[:before] {
		f.Apply(l)
	}
	root := f.RowsAt(before)
	f.ApplyBatch(p.log[before:])
	require.Equal(t, p.fsm.State().Hash(), f.State().Hash())
	require.Equal(t, held[before-1], tags(root), "who has a root keeps it")
	oldest := len(p.log) - keptRoots
	for i, want := range held {
		if s := f.RowsAt(uint64(i + 1)); s != nil {
			require.Equal(t, want, tags(s), "entry %d", i+1)
		} else {
			require.Less(t, i+1, oldest)
		}
	}
	require.Nil(t, f.RowsAt(uint64(oldest-1)))
}

// TestAnEntryInABatchSeesTheOnesBefore applies one log entry by entry and as a
// whole, so that all of it shares a transaction: the answers are the same, refused
// entries included.
func TestAnEntryInABatchSeesTheOnesBefore(t *testing.T) {
	log, _ := randomLog(t, rand.New(rand.NewPCG(5, 1)), 300)
	var mixed []*raft.Log // each entry twice: the second changeset of each is fenced
	for _, l := range log {
		if Kind(l.Data[0]) == KindHashVerdict {
			continue // it is about an index, and indexes are others here
		}
		for range 2 {
			mixed = append(mixed, &raft.Log{Index: uint64(len(mixed) + 1), Type: raft.LogCommand, Data: l.Data})
		}
	}
	for range keptRoots { // behind them no root ends the transaction
		mixed = append(mixed, &raft.Log{Index: uint64(len(mixed) + 1), Type: raft.LogCommand, Data: newMarkEntry()})
	}
	single, whole := newTestFSM(t), newTestFSM(t)
	var answers []any
	refused := 0
	for _, l := range mixed {
		a := single.Apply(l)
		answers = append(answers, a)
		if c, ok := a.(*ChangesetResult); ok && c.Err != nil {
			refused++
		}
	}
	require.Greater(t, refused, 50)
	require.Equal(t, answers, whole.ApplyBatch(mixed))
	require.Equal(t, single.State().Hash(), whole.State().Hash())
	require.Equal(t, single.State().sizes, whole.State().sizes)
	require.Equal(t, snapshotBytes(t, single), snapshotBytes(t, whole))
}

func TestRootsKeepTheLastChangesets(t *testing.T) {
	var r roots
	require.Nil(t, r.at(5))
	for i := uint64(1); i <= keptRoots+10; i++ {
		r.add(&State{Index: 10 * i, Time: Time(i)})
	}
	require.Nil(t, r.at(109), "the 11th of 1010 is the oldest")
	require.EqualValues(t, 110, r.at(110).Index)
	require.EqualValues(t, 110, r.at(119).Index)
	require.EqualValues(t, 10_100, r.at(1<<60).Index)

	at := Time(0)
	r.reset(&State{Index: 20_000, Time: at})
	require.Nil(t, r.at(19_999))
	r.add(&State{Index: 20_001, Time: at.Add(10 * time.Second)})
	r.prune(at.Add(70 * time.Second))
	require.NotNil(t, r.at(20_000), "superseded 60 s ago")
	r.prune(at.Add(71 * time.Second))
	require.Nil(t, r.at(20_000))
	r.prune(at.Add(time.Hour))
	require.NotNil(t, r.at(20_001), "the newest stays however old it is")
}
