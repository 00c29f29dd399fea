// Package alloc tells fuzz targets when a reader allocates out of proportion to
// what it was given: on the word of a length in the input, not of its content.
package alloc

import (
	"runtime/metrics"
	"testing"
)

// Bound fails the test if read allocates more than limit bytes. What other
// goroutines allocate meanwhile counts, too: so read, which must do the same again,
// has three tries.
func Bound(t testing.TB, limit int, read func()) {
	t.Helper()
	least := uint64(0)
	for try := range 3 {
		before := allocated()
		read()
		if n := allocated() - before; try == 0 || n < least {
			least = n
		}
		if least <= uint64(limit) {
			return
		}
	}
	t.Fatalf("%d bytes allocated, at most %d are in proportion", least, limit)
}

// allocated is what the process ever allocated on its heap. Reading it does not
// stop the world, as runtime.MemStats does.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
