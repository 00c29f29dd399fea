package fsm

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTransactionsOfATurn runs random transactions on one set of rows, half of which fail: those leave no trace. Each
// knows what it began with and what it made of that, whenever it is asked.
func TestTransactionsOfATurn(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	start := newRows().fork()
	want := expected{}
	for id := range uint64(300) {
		start.put(Tags.def, tagRow(id+1, id%4, "label"))
		want[id+1] = Tag{ID: id + 1, Project: id % 4, Label: "label"}
	}
	frozen, first := start.frozen(), maps.Clone(want)
	rows := frozen.fork()
	for n := range 400 {
		tx := &Tx{rows: rows, state: &State{rows: frozen}, last: map[rowKey]int{}, given: counters{}, turn: counters{}}
		now := maps.Clone(want)
		for range r.IntN(12) {
			id := 1 + r.Uint64N(320)
			switch k := r.IntN(10); {
			case k < 5:
				row := Tag{ID: id, Project: r.Uint64N(4), Label: fmt.Sprint("label", n)}
				now[id] = Tags.Put(tx, row)
			case k < 8:
				Tags.Delete(tx, id)
				delete(now, id)
			case k < 9 && n%20 == 0:
				project := r.Uint64N(4)
				TagsByProject.DeleteAll(tx, project)
				maps.DeleteFunc(now, func(_ uint64, tag Tag) bool { return tag.Project == project })
			default:
				want.require(t, tx.Before().read())
			}
		}
		requireChanges(t, Tags.Changes(tx), want, now)
		now.require(t, rows)
		if r.IntN(2) == 0 {
			tx.rollback()
			want.require(t, rows)
		} else {
			want = now
		}
	}
	first.require(t, frozen)
}

// requireChanges compares what a transaction says it changed with the rows before and after.
func requireChanges(t *testing.T, changes []Change[Tag], before, after expected) {
	t.Helper()
	seen := map[uint64]bool{}
	for _, c := range changes {
		require.False(t, seen[c.ID])
		seen[c.ID] = true
		was, had := before[c.ID]
		is, has := after[c.ID]
		require.Equal(t, had, c.Before != nil)
		require.Equal(t, has, c.After != nil)
		require.True(t, had || has)
		if had {
			require.Equal(t, was, *c.Before)
		}
		if has {
			require.Equal(t, is, *c.After)
		}
	}
	for id := range uint64(321) {
		if before[id] != after[id] {
			require.True(t, seen[id], "row %d changed", id)
		}
	}
}

// A transaction that is over reads nothing: its rows are the next one's.
func TestTransactionIsOver(t *testing.T) {
	require.Panics(t, func() { Tags.Get(&Tx{}, 1) })
}
