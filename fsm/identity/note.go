package identity

import "sync/atomic"

// Note is what readers of this node keep with one version of an identity: 32 bits that
// spare them finding something out again, zero at first. It is no part of the state: a
// change of the identity loses it, and whatever moves its record may.
//
// It stands in the upper half of the slot's word, above the offset of the record. No
// offset is given twice in a segment's bytes, so an unchanged word means an unchanged record.
type Note struct {
	word *uint64
	seen uint64
}

// Value is the note as it was when the record was looked up.
func (n Note) Value() uint32 { return uint32(n.seen >> 32) }

// Keep leaves a note, unless the identity has changed since or somebody else left one.
func (n Note) Keep(value uint32) {
	if n.word != nil {
		atomic.CompareAndSwapUint64(n.word, n.seen, uint64(value)<<32|uint64(uint32(n.seen)))
	}
}

// NextMark is a number from 1 to limit that it gave nobody before, for notes of this very
// store to tell what they were made from; 0 when all are given.
func (st *Store) NextMark(limit uint32) uint32 {
	for {
		n := st.marks.Load()
		if n >= limit {
			return 0
		}
		if st.marks.CompareAndSwap(n, n+1) {
			return n + 1
		}
	}
}
