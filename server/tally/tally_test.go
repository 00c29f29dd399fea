package tally

import (
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestCountersOfManyCores(t *testing.T) {
	c, h := NewCounter(true), NewDurations(true)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			at := NewCell()
			for range 1000 {
				c.Inc(at)
				h.Observe(at, 3*time.Millisecond)
			}
		})
	}
	all.Wait()
	count, sum, _ := h.Read()
	require.EqualValues(t, 16_000, c.Count())
	require.EqualValues(t, 16_000, count)
	require.InDelta(t, 48, sum, 1e-6)
}

func TestBuckets(t *testing.T) {
	h := NewDurations(false)
	h.Observe(7, 0)
	h.Observe(8, 25*time.Microsecond) // a bound belongs to its bucket
	h.Observe(9, 26*time.Microsecond)
	h.Observe(9, time.Hour)
	count, _, atMost := h.Read()
	require.EqualValues(t, 4, count)
	require.EqualValues(t, 2, atMost[25e-6])
	require.EqualValues(t, 3, atMost[50e-6])
	require.EqualValues(t, 3, atMost[10])
}

func TestCellsShareNoLine(t *testing.T) {
	require.Zero(t, unsafe.Sizeof(counterCell{})%line)
	require.Zero(t, unsafe.Sizeof(durationCell{})%line)
}

func TestCountingDoesNotAllocate(t *testing.T) {
	c, h, at := NewCounter(true), NewDurations(true), NewCell()
	require.Zero(t, testing.AllocsPerRun(100, func() { c.Inc(at); h.Observe(at, time.Millisecond) }))
}

func BenchmarkObserve(b *testing.B) {
	h := NewDurations(true)
	b.RunParallel(func(pb *testing.PB) {
		at := NewCell()
		for pb.Next() {
			h.Observe(at, 40*time.Microsecond)
		}
	})
}
