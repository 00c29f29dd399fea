package identity

import (
	"cmp"
	"encoding/binary"
	"runtime"
	"slices"
	"sync"
)

// sortEntry is a slot with the eight bytes of its key that are being compared.
type sortEntry struct {
	chunk uint64
	slot  uint32
	size  uint8 // key bytes in chunk
}

// sortSlots sorts entries by key, then slot, and reports whether all keys differ. Keys are compared eight bytes at a
// time, ties go on behind them: the records, which lie all over memory, are read once per chunk instead of once per
// comparison. Bytes that all keys share cost one pass.
func sortSlots(entries []sortEntry, depth int, key func(slot uint32) []byte) (unique bool) {
	for len(entries) > 1 {
		shared := loadChunks(entries, depth, key)
		if shared == 0 {
			break
		}
		depth += shared
	}
	if len(entries) < 2 {
		return true
	}
	sortChunks(entries, runtime.GOMAXPROCS(0))
	unique = true
	for len(entries) > 0 {
		n := 1
		for n < len(entries) && entries[n].chunk == entries[0].chunk && entries[n].size == entries[0].size {
			n++
		}
		if n > 1 {
			if entries[0].size < 8 {
				unique = false // these keys end here
			} else if !sortSlots(entries[:n], depth+8, key) {
				unique = false
			}
		}
		entries = entries[n:]
	}
	return unique
}

func compareEntries(a, b sortEntry) int {
	switch {
	case a.chunk < b.chunk:
		return -1
	case a.chunk > b.chunk:
		return 1
	case a.size != b.size:
		return int(a.size) - int(b.size)
	}
	return cmp.Compare(a.slot, b.slot)
}

// sortChunks sorts by what is loaded, on several cores when it is much.
func sortChunks(entries []sortEntry, cores int) {
	const much = 1 << 14
	if cores < 2 || len(entries) < much {
		slices.SortFunc(entries, compareEntries)
		return
	}
	var samples [33]sortEntry
	for i := range samples {
		samples[i] = entries[i*(len(entries)-1)/(len(samples)-1)]
	}
	slices.SortFunc(samples[:], compareEntries)
	pivot, cut := samples[len(samples)/2], 0
	for i := range entries {
		if compareEntries(entries[i], pivot) < 0 {
			entries[i], entries[cut] = entries[cut], entries[i]
			cut++
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { sortChunks(entries[:cut], cores/2) })
	sortChunks(entries[cut:], cores-cores/2)
	wg.Wait()
}

// loadChunks reads eight key bytes at depth into each entry and returns how many leading ones all keys share, 0 when the
// chunks are ready to be sorted.
func loadChunks(entries []sortEntry, depth int, key func(uint32) []byte) (shared int) {
	for i := range entries {
		e := &entries[i]
		k := key(e.slot)
		k = k[min(depth, len(k)):]
		if len(k) >= 8 {
			e.chunk, e.size = binary.BigEndian.Uint64(k), 8
			continue
		}
		var buf [8]byte
		e.size = uint8(copy(buf[:], k))
		e.chunk = binary.BigEndian.Uint64(buf[:])
	}
	first, low := entries[0], entries[0].size
	var diff uint64
	for _, e := range entries[1:] {
		diff |= e.chunk ^ first.chunk
		low = min(low, e.size)
	}
	for shared < int(low) && diff>>(56-8*shared) == 0 {
		shared++
	}
	if shared < 4 {
		return 0 // not worth another pass over the records
	}
	return shared
}
