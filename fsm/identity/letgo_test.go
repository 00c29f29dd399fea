package identity

import (
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"
)

// TestASnapshotLetsGoOfWhatItHasWritten replaces all that a snapshot shares, so that it alone holds it.
func TestASnapshotLetsGoOfWhatItHasWritten(t *testing.T) {
	const segments = 8
	m := loaded(t, segments*segmentSize)
	sn := m.s.Snapshot()
	defer sn.Release()
	var w watching
	for _, seg := range sn.stores[0].segs {
		w.data = append(w.data, weak.Make(&seg.data[0]))
	}
	require.GreaterOrEqual(t, len(w.data), segments)
	for round := range 2 { // more than an arena has room for
		for i := range m.n {
			m.s.Apply(m.upsert(i, 3+round), 1, 1)
		}
	}
	_, err := sn.WriteTo(&w)
	require.NoError(t, err)
	require.Greater(t, len(w.held), 3)
	require.GreaterOrEqual(t, w.held[0], len(w.data)-3, "what is not written yet is there: 256 KB are two or three segments")
	for i, held := range w.held[1:] {
		require.Less(t, held, w.held[i], "at each write more has been let go")
	}
	require.Zero(t, w.held[len(w.held)-1], "before it is released")
}

// watching counts the arenas that are still there when something is written.
type watching struct {
	data []weak.Pointer[byte]
	held []int
}

func (w *watching) Write(b []byte) (int, error) {
	runtime.GC()
	held := 0
	for _, p := range w.data {
		if p.Value() != nil {
			held++
		}
	}
	w.held = append(w.held, held)
	return len(b), nil
}
