package alloc

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// failures notes that a test would have failed.
type failures struct {
	testing.TB
	n int
}

func (*failures) Helper()                 {}
func (f *failures) Fatalf(string, ...any) { f.n++ }

func TestBound(t *testing.T) {
	f := &failures{TB: t}
	var kept []byte
	Bound(f, 1<<20, func() { kept = make([]byte, 512<<10) })
	require.Zero(t, f.n)
	tries := 0
	Bound(f, 1<<20, func() {
		if tries++; tries == 1 { // as if somebody else had done it
			kept = make([]byte, 2<<20)
		}
	})
	require.Zero(t, f.n)
	Bound(f, 1<<20, func() { kept = make([]byte, 2<<20) })
	require.Equal(t, 1, f.n)
	var pieces [][]byte
	Bound(f, 1<<20, func() {
		for range 200 {
			pieces = append(pieces, make([]byte, 10<<10))
		}
	})
	require.Equal(t, 2, f.n)
	runtime.KeepAlive(kept)
	runtime.KeepAlive(pieces)
}

func BenchmarkBound(b *testing.B) {
	for b.Loop() {
		Bound(b, 1<<20, func() {})
	}
}
