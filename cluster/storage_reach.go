package cluster

import (
	"slices"
	"sync"
)

// logReach knows how far back in the log the newest bytes of it reach, without reading it.
//
// It is under a mutex: Raft's goroutines append and delete, the one that takes snapshots asks.
type logReach struct {
	mu    sync.Mutex
	marks []reachMark // by index; one every reachStep bytes
	total int64       // bytes noted so far
}

// reachMark says how many bytes were noted before an entry.
type reachMark struct {
	index  uint64
	before int64
}

// reachStep is the distance of marks, and so about by how much an answer is off.
const reachStep = 64 << 10

// note takes in an entry that was appended.
func (r *logReach) note(index uint64, size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.marks); n == 0 || r.total-r.marks[n-1].before >= reachStep {
		r.marks = append(r.marks, reachMark{index, r.total})
	}
	r.total += int64(size) + entryOverhead
}

// delete forgets entries that are gone: a prefix, a suffix or all.
func (r *logReach) delete(lo, hi uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	gone := func(m reachMark) bool { return lo <= m.index && m.index <= hi }
	if n := len(r.marks); n > 0 && gone(r.marks[n-1]) {
		r.total = r.marks[slices.IndexFunc(r.marks, gone)].before // a suffix, or all that is marked
	}
	r.marks = slices.DeleteFunc(r.marks, gone)
}

// entries is how many of the newest entries, of a log that ends at last, take about so many bytes.
func (r *logReach) entries(last uint64, bytes int64) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.marks {
		if r.total-m.before <= bytes && m.index <= last {
			return last - m.index + 1
		}
	}
	return 0
}
