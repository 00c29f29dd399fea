package fsm

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The entries from a time on are found without an index of times.
func TestChangesSince(t *testing.T) {
	a := &rowApplier{rows: newRows().fork(), touched: &Touched{}}
	since := func(at Time) (ids []uint64) {
		for c := range changesSince(a, at) {
			ids = append(ids, c.ID)
		}
		return ids
	}
	require.Empty(t, since(0))
	times := []Time{10, 10, 10, 20, 20, 30, 40, 40}
	first := uint64(100)
	for i, at := range times {
		e := ChangeLogEntry{ID: first + uint64(i), Time: at}
		require.NoError(t, a.put(ChangeLog.def, e.ID, must(encMode.Marshal(&e))))
	}
	for range 3 { // all, and with the oldest gone
		for at := Time(5); at < 50; at += 5 {
			var want []uint64
			for i, is := range times {
				if is >= at {
					want = append(want, first+uint64(i))
				}
			}
			require.Equal(t, want, since(at), "from %d", at)
		}
		a.delete(ChangeLog.def, first)
		first, times = first+1, times[1:]
	}
}
