package identity

import (
	"bytes"
	"slices"
	"sort"
	"sync/atomic"
	"unsafe"
)

// leaf is the header of up to 640 entries of an ordered index. Behind it, in the same piece of memory, follow the slots,
// the hints and the prefix: one object without pointers a leaf instead of three
// keeps a full collection short with ten million entries.
//
// Hints are the four bytes of each entry's key behind the prefix that all keys of the leaf share: a search reads one or
// two records instead of eight. A leaf loaded from a snapshot has none until it is replaced.
//
// What is behind the header never changes. New entries are late ones first, in the order they came in: a leaf is copied for
// every seventeenth entry instead of each.
type leaf struct {
	n    uint32
	skip uint32 // length of the prefix, or noHints
	came atomic.Uint32
	late [maxLate]uint32 // slots, as many as came
}

const (
	maxLate    = 16
	leafHeader = uint32(unsafe.Sizeof(leaf{}) / unsafe.Sizeof(uint32(0))) // words
	noHints    = ^uint32(0)
)

// add makes slots late entries, if there is room for all of them.
func (l *leaf) add(slots []uint32) bool {
	came := int(l.came.Load())
	if came+len(slots) > maxLate {
		return false
	}
	copy(l.late[came:], slots)
	l.came.Store(uint32(came + len(slots))) // from here on readers look at them
	return true
}

// allocLeaf makes room for n slots and, when skip is not noHints, as many hints and the prefix.
func allocLeaf(n int, skip uint32) *leaf {
	size := int(leafHeader) + n
	if skip != noHints {
		size += n + int(skip+3)/4
	}
	words := make([]uint32, size)
	l := (*leaf)(unsafe.Pointer(unsafe.SliceData(words)))
	l.n, l.skip = uint32(n), skip
	return l
}

// words gives the n words behind the header and off more.
func (l *leaf) words(off, n uint32) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(l)), leafHeader+off+n)[leafHeader+off:]
}

func (l *leaf) slots() []uint32 { return l.words(0, l.n) }

// hints gives the hints, nil when there are none.
func (l *leaf) hints() []uint32 {
	if l.skip == noHints {
		return nil
	}
	return l.words(l.n, l.n)
}

// prefix gives the prefix of a leaf with hints.
func (l *leaf) prefix() []byte {
	from := 4 * (leafHeader + 2*l.n)
	return unsafe.Slice((*byte)(unsafe.Pointer(l)), from+l.skip)[from:]
}

// hint is the four bytes of key behind skip; shorter keys are filled up with zeros, which sorts them right or leaves a
// tie.
func hint(key []byte, skip int) (h uint32) {
	for i := range 4 {
		h <<= 8
		if skip+i < len(key) {
			h |= uint32(key[skip+i])
		}
	}
	return h
}

// plainLeaf makes a leaf without hints.
func plainLeaf(sorted []uint32) *leaf {
	l := allocLeaf(len(sorted), noHints)
	copy(l.slots(), sorted)
	return l
}

// newLeaf makes a leaf of sorted slots, reading each record once.
func (o *ordered) newLeaf(segs *segments, sorted []uint32) *leaf {
	first, last := o.key(segs.body(sorted[0])), o.key(segs.body(sorted[len(sorted)-1]))
	shared := 0
	for shared < len(first) && shared < len(last) && first[shared] == last[shared] {
		shared++
	}
	l := allocLeaf(len(sorted), uint32(shared))
	copy(l.slots(), sorted)
	copy(l.prefix(), first)
	hints := l.hints()
	for i, slot := range sorted {
		hints[i] = hint(o.key(segs.body(slot)), shared)
	}
	return l
}

// grow returns a copy of l with slots, each before entry at[i] of l.
func (o *ordered) grow(segs *segments, l *leaf, slots []uint32, at []int) *leaf {
	old, skip := l.slots(), int(l.skip)
	shared := l.skip != noHints && !slices.ContainsFunc(slots, func(slot uint32) bool {
		return !bytes.HasPrefix(o.key(segs.body(slot)), l.prefix())
	})
	if !shared {
		all := make([]uint32, len(old)+len(slots))
		spread(all, old, at, func(i int) uint32 { return slots[i] })
		return o.newLeaf(segs, all)
	}
	g := allocLeaf(len(old)+len(slots), l.skip)
	spread(g.slots(), old, at, func(i int) uint32 { return slots[i] })
	spread(g.hints(), l.hints(), at, func(i int) uint32 { return hint(o.key(segs.body(slots[i])), skip) })
	copy(g.prefix(), l.prefix())
	return g
}

// without returns a copy of l without entry i and without its late entries.
func (l *leaf) without(i int) *leaf {
	s := allocLeaf(int(l.n)-1, l.skip)
	removeCopy(s.slots(), l.slots(), i)
	if l.skip != noHints {
		removeCopy(s.hints(), l.hints(), i)
		copy(s.prefix(), l.prefix())
	}
	return s
}

func removeCopy(dst, src []uint32, i int) {
	copy(dst, src[:i])
	copy(dst[i:], src[i+1:])
}

// candidates narrows the place of key down to entries [lo, hi) without reading a record.
func (l *leaf) candidates(key []byte) (lo, hi int) {
	n, hints := int(l.n), l.hints()
	if hints == nil {
		return 0, n
	}
	skip := int(l.skip)
	if c := bytes.Compare(key[:min(skip, len(key))], l.prefix()); c < 0 {
		return 0, 0
	} else if c > 0 {
		return n, n
	}
	h := hint(key, skip)
	lo = sort.Search(n, func(i int) bool { return hints[i] >= h })
	for hi = lo; hi < n && hints[hi] == h; {
		hi++
	}
	return lo, hi
}

// lowerBound finds the first entry of l, late ones aside, that does not sort before (key, at).
func (o *ordered) lowerBound(segs *segments, l *leaf, key []byte, at uint32) int {
	lo, hi := l.candidates(key)
	slots := l.slots()
	for lo < hi {
		mid := (lo + hi) >> 1
		i, body := mid, []byte(nil)
		for ; i < hi; i++ {
			if body = segs.body(slots[i]); body != nil {
				break
			}
		}
		switch {
		case body == nil:
			hi = mid
		case o.before(body, slots[i], key, at):
			lo = i + 1
		default:
			hi = mid
		}
	}
	return lo
}
