package identity

import "sort"

// leaf holds up to 256 entries of an ordered index. Hints, when there, are the four bytes of each entry's key behind the
// prefix that all keys of the leaf share: a search reads one or two records instead of eight. A leaf loaded from a
// snapshot gets its hints with its first change.
type leaf struct {
	slots  []uint32
	hints  []uint32
	prefix string
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

// twin makes room for n slots and hints in one piece.
func twin(n int) (slots, hints []uint32) {
	both := make([]uint32, 2*n)
	return both[:n:n], both[n:]
}

// newLeaf makes a leaf of sorted slots, reading each record once.
func (o *ordered) newLeaf(segs *segments, sorted []uint32) *leaf {
	first, last := o.key(segs.body(sorted[0])), o.key(segs.body(sorted[len(sorted)-1]))
	shared := 0
	for shared < len(first) && shared < len(last) && first[shared] == last[shared] {
		shared++
	}
	l := &leaf{prefix: string(first[:shared])}
	l.slots, l.hints = twin(len(sorted))
	copy(l.slots, sorted)
	for i, slot := range sorted {
		l.hints[i] = hint(o.key(segs.body(slot)), shared)
	}
	return l
}

// grow returns a copy of l with slot as entry i.
func (o *ordered) grow(segs *segments, l *leaf, i int, slot uint32, key []byte) *leaf {
	skip := len(l.prefix)
	g := &leaf{prefix: l.prefix}
	g.slots, g.hints = twin(len(l.slots) + 1)
	copy(g.slots, l.slots[:i])
	g.slots[i] = slot
	copy(g.slots[i+1:], l.slots[i:])
	if l.hints == nil || len(key) < skip || string(key[:skip]) != l.prefix {
		return o.newLeaf(segs, g.slots)
	}
	copy(g.hints, l.hints[:i])
	g.hints[i] = hint(key, skip)
	copy(g.hints[i+1:], l.hints[i:])
	return g
}

// without returns a copy of l without entry i.
func (l *leaf) without(i int) *leaf {
	s := &leaf{prefix: l.prefix}
	if l.hints == nil {
		s.slots = make([]uint32, len(l.slots)-1)
	} else {
		s.slots, s.hints = twin(len(l.slots) - 1)
		copy(s.hints, l.hints[:i])
		copy(s.hints[i:], l.hints[i+1:])
	}
	copy(s.slots, l.slots[:i])
	copy(s.slots[i:], l.slots[i+1:])
	return s
}

// candidates narrows the place of key down to entries [lo, hi) without reading a record.
func (l *leaf) candidates(key []byte) (lo, hi int) {
	n, skip := len(l.slots), len(l.prefix)
	if l.hints == nil {
		return 0, n
	}
	switch head := key[:min(skip, len(key))]; {
	case string(head) < l.prefix:
		return 0, 0
	case string(head) > l.prefix:
		return n, n
	}
	h := hint(key, skip)
	lo = sort.Search(n, func(i int) bool { return l.hints[i] >= h })
	for hi = lo; hi < n && l.hints[hi] == h; {
		hi++
	}
	return lo, hi
}

// lowerBound finds the first entry of l that does not sort before (key, at).
func (o *ordered) lowerBound(segs *segments, l *leaf, key []byte, at uint32) int {
	lo, hi := l.candidates(key)
	for lo < hi {
		mid := (lo + hi) >> 1
		i, body := mid, []byte(nil)
		for ; i < hi; i++ {
			if body = segs.body(l.slots[i]); body != nil {
				break
			}
		}
		switch {
		case body == nil:
			hi = mid
		case o.before(body, l.slots[i], key, at):
			lo = i + 1
		default:
			hi = mid
		}
	}
	return lo
}
