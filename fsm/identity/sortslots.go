package identity

import (
	"cmp"
	"encoding/binary"
	"slices"
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
	slices.SortFunc(entries, func(a, b sortEntry) int {
		if a.chunk != b.chunk {
			return cmp.Compare(a.chunk, b.chunk)
		}
		if a.size != b.size {
			return cmp.Compare(a.size, b.size)
		}
		return cmp.Compare(a.slot, b.slot)
	})
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
