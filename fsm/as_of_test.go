package fsm

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAsOfIsWhatWas goes back from the end of a random log to each of its writes.
func TestAsOfIsWhatWas(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	log, _ := randomLog(t, rand.New(rand.NewPCG(seed, 1)), 300)
	f := newTestFSM(t)
	var states []*State
	restored := uint64(0)
	for _, l := range log {
		answer := f.Apply(l)
		states = append(states, f.State())
		if r, ok := answer.(*RestoreResult); ok && r.Restored && restored == 0 {
			restored = l.Index
		}
	}
	end := f.State()
	first := uint64(0)
	for e := range ChangeLog.Refs(end) {
		first = e.Index
		break
	}
	for _, was := range states {
		past, err := end.AsOf(func(index uint64, _ Time) bool { return index <= was.Index })
		if was.Index < max(first, restored) {
			require.ErrorIs(t, err, ErrTooEarly)
			continue
		}
		require.NoError(t, err)
		for _, def := range registry.all {
			if unlogged[def.number] {
				continue
			}
			require.Equal(t, was.rows.count(def), past.rows.count(def), "seed %d: %s at %d", seed, def.name, was.Index)
			for object := range was.rows.all(def) {
				got := past.rows.get(def, def.rowID(object))
				require.NotNil(t, got, "seed %d: %s at %d", seed, def.name, was.Index)
				require.Equal(t, object.(rawRow).bytes(), got.(rawRow).bytes(), "seed %d: %s at %d", seed, def.name, was.Index)
			}
			for i := range def.indexes {
				_, a := was.rows.span(def, i, nil)
				_, b := past.rows.span(def, i, nil)
				require.Equal(t, a, b)
			}
		}
	}
}
