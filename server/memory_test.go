package server

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAShortageEndsThoughNobodyAllocates frees the memory that made a shortage, while
// nothing but the watch asks for a collection: as on a node that stores nothing for want
// of memory.
func TestAShortageEndsThoughNobodyAllocates(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	ballast := make([]byte, 256<<20)
	for range 3 { // pools of other tests are let go by the second
		runtime.GC()
	}
	w := newMemoryWatch(int64(float64(memoryInUse()) / (shortShare + 0.05)))
	w.start()
	defer w.stop()
	require.True(t, w.short())
	require.Never(t, func() bool { return !w.short() }, 3*memoryStale/2, memoryEvery/2, "the memory is needed still")
	runtime.KeepAlive(ballast) // and not after this
	require.Eventually(t, func() bool { return !w.tight() }, time.Minute, memoryEvery/2)
}

func TestNoLimitIsNoShortage(t *testing.T) {
	w := newMemoryWatch(math.MaxInt64)
	w.start()
	defer w.stop()
	require.False(t, w.tight())
	require.Zero(t, w.bound())
}
