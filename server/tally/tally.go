// Package tally counts what happens on hot paths. A counter is spread over cells that share no cache line; whoever counts brings the number of its
// cell, so that cores do not wait for one another. Counting is one atomic addition and allocates nothing; a reader adds the cells up.
package tally

import (
	"runtime"
	"sync/atomic"
	"time"
)

// line is a cache line of all processors that Go runs on, and its neighbour, which some fetch along.
const line = 128

// Cell is the number of a cell. Objects of a sync.Pool hold one each: the pool gives a core its own objects back.
type Cell uint32

var nextCell atomic.Uint32

// NewCell gives the numbers in turn.
func NewCell() Cell { return Cell(nextCell.Add(1)) }

// cells is how many a counter has: a power of two, one for each core at least, up to maxCells.
func cells(spread bool) int {
	const maxCells = 64
	n := 1
	if !spread {
		return n
	}
	for n < runtime.GOMAXPROCS(0) && n < maxCells {
		n *= 2
	}
	return n
}

// Counter only grows.
type Counter struct {
	cells []counterCell
}

type counterCell struct {
	n atomic.Uint64
	_ [line - 8]byte
}

// NewCounter makes a counter at nothing: spread for what happens on every core all the time, else in one cell.
func NewCounter(spread bool) *Counter { return &Counter{cells: make([]counterCell, cells(spread))} }

// Inc adds one.
func (c *Counter) Inc(at Cell) { c.cells[int(at)&(len(c.cells)-1)].n.Add(1) }

// Count is the sum.
func (c *Counter) Count() (n uint64) {
	for i := range c.cells {
		n += c.cells[i].n.Load()
	}
	return n
}

// Bounds are the upper bounds of the buckets of durations, in seconds; above the last there is one more bucket.
var Bounds = [...]float64{25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3, 1, 2.5, 5, 10}

// limits are the bounds in nanoseconds.
var limits = func() (l [len(Bounds)]time.Duration) {
	for i, s := range Bounds {
		l[i] = time.Duration(s * 1e9)
	}
	return l
}()

// Durations is a histogram of durations.
type Durations struct {
	cells []durationCell
}

type durationCell struct {
	sum     atomic.Int64 // nanoseconds
	buckets [len(Bounds) + 1]atomic.Uint64
	_       [line - (8*(len(Bounds)+2))%line]byte
}

// NewDurations makes an empty histogram; see NewCounter.
func NewDurations(spread bool) *Durations {
	return &Durations{cells: make([]durationCell, cells(spread))}
}

// Observe counts one duration.
func (h *Durations) Observe(at Cell, d time.Duration) {
	c := &h.cells[int(at)&(len(h.cells)-1)]
	i := 0
	for i < len(limits) && d > limits[i] {
		i++
	}
	c.buckets[i].Add(1)
	c.sum.Add(int64(d))
}

// Read gives the number of durations, their sum in seconds, and how many were at most as long as each bound.
func (h *Durations) Read() (count uint64, sum float64, atMost map[float64]uint64) {
	atMost = make(map[float64]uint64, len(Bounds))
	var nanos int64
	for i := range h.cells {
		nanos += h.cells[i].sum.Load()
	}
	for b := range len(Bounds) + 1 {
		for i := range h.cells {
			count += h.cells[i].buckets[b].Load()
		}
		if b < len(Bounds) {
			atMost[Bounds[b]] = count
		}
	}
	return count, float64(nanos) / 1e9, atMost
}
