package identity

import (
	"slices"
	"sync/atomic"
	"unsafe"
)

const (
	segmentBits = 11
	segmentSize = 1 << segmentBits
	segmentMask = segmentSize - 1
	// maxSegments keeps slot numbers within the 26 bits of an index word, its two reserved values excepted.
	maxSegments = 1<<(slotBits-segmentBits) - 1
	// arenaStart: offset 0 means "no record".
	arenaStart = 1
	minArena   = 256
	minWords   = 16 // most environments have few identities
	// closeBytes ends a segment early when its identities are big, so that rewriting it stays quick.
	closeBytes = 4 << 20
	// slackDivisor: a rewritten arena has room for 1/16 of its live bytes. A fifth made updates no faster (the copy is
	// small beside the rest) and kept four times as much that is dead or empty.
	slackDivisor = 16
)

// segment holds the records of up to 2,048 slots in creation order. words and the bytes below used are what readers and
// snapshots see; the remaining fields are the writer's.
type segment struct {
	words []uint64 // of each slot: see Note; atomic
	data  []byte   // append-only

	used  int    // bytes of data in use
	live  int    // bytes of data that are some slot's record
	n     int    // slots given
	count int    // slots with a record
	epoch uint64 // snapshot epoch for which words may be written

	// Of the moment the segment was written as a whole, in the order of its slots; see touch.
	span uint64 // bytes of data then in use, rounded down to whole words
	each uint64 // 1/256 bytes for a slot
}

// inOrder is for who has just written a segment as a whole, before others see it.
func (s *segment) inOrder() *segment {
	if s.used >= minArena { // a smaller one is in the caches, and need not begin at a whole word
		s.span, s.each = uint64(s.used)&^3, uint64(s.used)<<8/uint64(max(s.n, 1))
	}
	return s
}

// expected is where the record at slot index i lies if all are of the same size: not many cache lines off, and mostly in
// the same page, until it is replaced.
func (s *segment) expected(i uint32) (at uint64, ok bool) {
	at = uint64(i) * s.each >> 8
	return at, at < s.span
}

// touch reads where the record at slot index i is expected. What it reads does not matter and is not waited for: the
// processor finds the page while it waits for the word of the slot, and would begin with that only then.
func (s *segment) touch(i uint32) {
	if at, ok := s.expected(i); ok {
		atomic.LoadUint32((*uint32)(unsafe.Pointer(&s.data[at&^3]))) // atomic: a plain one would be left out
	}
}

// loc is the offset in data of the record at slot index i, 0 when there is none.
func (s *segment) loc(i uint32) uint32 { return uint32(atomic.LoadUint64(&s.words[i])) }

// place lets slot index i have the record at loc, or none, and no note.
func (s *segment) place(i, loc uint32) { atomic.StoreUint64(&s.words[i], uint64(loc)) }

// body returns the record body at slot index i, nil when there is none.
func (s *segment) body(i uint32) []byte {
	body, _ := s.noted(i)
	return body
}

func (s *segment) noted(i uint32) ([]byte, Note) {
	if i >= uint32(len(s.words)) {
		return nil, Note{}
	}
	s.touch(i)
	note := Note{word: &s.words[i]}
	note.seen = atomic.LoadUint64(note.word)
	if uint32(note.seen) == 0 {
		return nil, Note{}
	}
	body, _ := recordBody(s.data[uint32(note.seen):])
	return body, note
}

// copyWords is for a table that readers may still put notes into.
func copyWords(dst, src []uint64) []uint64 {
	for i := range src {
		dst[i] = atomic.LoadUint64(&src[i])
	}
	return dst
}

// segments is the table of an environment's segments; index = slot >> segmentBits. The columns stand side by side so
// that paging and binary search touch little memory.
type segments struct {
	ptr   []atomic.Pointer[segment]
	first []atomic.Uint64 // id of the first record ever put there
	live  []atomic.Int32  // records
	n     atomic.Int32
}

func newSegments(capacity int) *segments {
	return &segments{
		ptr:   make([]atomic.Pointer[segment], capacity),
		first: make([]atomic.Uint64, capacity),
		live:  make([]atomic.Int32, capacity),
	}
}

func (s *segments) grown() *segments {
	n := int(s.n.Load())
	g := newSegments(n + n/2 + 1)
	for i := range n {
		g.ptr[i].Store(s.ptr[i].Load())
		g.first[i].Store(s.first[i].Load())
		g.live[i].Store(s.live[i].Load())
	}
	g.n.Store(int32(n))
	return g
}

// body returns the record body of a slot, nil when there is none.
func (s *segments) body(slot uint32) []byte {
	body, _ := s.noted(slot)
	return body
}

func (s *segments) noted(slot uint32) ([]byte, Note) {
	i := slot >> segmentBits
	if int(i) >= len(s.ptr) {
		return nil, Note{}
	}
	seg := s.ptr[i].Load()
	if seg == nil {
		return nil, Note{}
	}
	return seg.noted(slot & segmentMask)
}

// arena allocates n bytes and the rest of the allocator's size class.
func arena(n int) []byte {
	b := slices.Grow([]byte(nil), n)
	return b[:cap(b)]
}

// writable returns segment i ready for a change of words: after a snapshot, a private copy of the table.
func (c *core) writable(i uint32, epoch uint64, snapshots bool) *segment {
	table := c.segs.Load()
	seg := table.ptr[i].Load()
	if seg.epoch == epoch {
		return seg
	}
	if !snapshots {
		seg.epoch = epoch
		return seg
	}
	clone := *seg
	clone.words, clone.epoch = copyWords(make([]uint64, len(seg.words)), seg.words), epoch
	table.ptr[i].Store(&clone)
	return &clone
}

// put stores the encoded record rec at slot, which may hold one already.
func (c *core) put(slot uint32, rec []byte, epoch uint64, snapshots bool) {
	i := slot >> segmentBits
	seg := c.writable(i, epoch, snapshots)
	at := slot & segmentMask
	old := seg.loc(at)
	oldSize := 0
	if old != 0 {
		_, oldSize = recordBody(seg.data[old:])
	}
	if seg.used+len(rec) > len(seg.data) {
		seg = c.rewrite(i, seg, at, len(rec), epoch)
	}
	copy(seg.data[seg.used:], rec)
	seg.place(at, uint32(seg.used))
	seg.used += len(rec)
	seg.live += len(rec) - oldSize
	if old == 0 {
		seg.count++
		c.segs.Load().live[i].Store(int32(seg.count))
	}
}

// rewrite replaces segment i by a copy without dead records and with room for at least extra bytes. The record of slot
// index skip is about to be replaced: it stays, for readers, until then.
func (c *core) rewrite(i uint32, seg *segment, skip uint32, extra int, epoch uint64) *segment {
	need := arenaStart + seg.live + extra
	size := need + need/slackDivisor
	if last := int(i) == int(c.segs.Load().n.Load())-1; last && (seg.n < segmentSize || seg.loc(skip) == 0) {
		size = tailSize(need, seg.n)
	}
	fresh := &segment{words: make([]uint64, len(seg.words)), data: arena(max(size, minArena)), used: arenaStart,
		live: seg.live, n: seg.n, count: seg.count, epoch: epoch}
	for at := range uint32(seg.n) {
		loc := seg.loc(at)
		if loc == 0 {
			continue
		}
		_, whole := recordBody(seg.data[loc:])
		copy(fresh.data[fresh.used:], seg.data[loc:int(loc)+whole])
		fresh.place(at, uint32(fresh.used))
		fresh.used += whole
	}
	c.segs.Load().ptr[i].Store(fresh.inOrder())
	return fresh
}

// tailSize is the arena size of a segment that still fills: doubling, but not beyond what it will need when full.
func tailSize(need, n int) int {
	expected := need / max(n, 1) * segmentSize
	return min(2*need, max(expected+expected/32, need+need/slackDivisor))
}

// trim gives the unused end of a segment that is full back.
func (c *core) trim(i uint32, epoch uint64) {
	seg := c.segs.Load().ptr[i].Load()
	fresh := *seg
	if spare := len(seg.data) - seg.used; spare >= len(seg.data)/32+128 {
		exact := arena(seg.used)
		copy(exact, seg.data[:seg.used])
		fresh.words, fresh.data, fresh.epoch = copyWords(make([]uint64, len(seg.words)), seg.words), exact, epoch
	}
	c.segs.Load().ptr[i].Store(fresh.inOrder())
}

// remove empties a slot; a segment without records gives its memory back.
func (c *core) remove(slot uint32, epoch uint64, snapshots bool) {
	i := slot >> segmentBits
	seg := c.writable(i, epoch, snapshots)
	at := slot & segmentMask
	_, size := recordBody(seg.data[seg.loc(at):])
	seg.place(at, 0)
	seg.live -= size
	seg.count--
	table := c.segs.Load()
	table.live[i].Store(int32(seg.count))
	if seg.count == 0 && int(i) < int(table.n.Load())-1 {
		table.ptr[i].Store(nil)
	}
}

// nextSlot gives the slot of a new record with this id; false when the slots are used up.
func (c *core) nextSlot(id, epoch uint64) (uint32, bool) {
	table := c.segs.Load()
	n := int(table.n.Load())
	if n > 0 {
		if seg := table.ptr[n-1].Load(); seg != nil && seg.n < segmentSize && seg.live < closeBytes {
			if seg.n == len(seg.words) {
				wider := *seg
				wider.words = make([]uint64, min(4*len(seg.words), segmentSize))
				wider.epoch = epoch
				copyWords(wider.words, seg.words)
				seg = &wider
				table.ptr[n-1].Store(seg)
			}
			seg.n++
			c.given++
			return uint32(n-1)<<segmentBits | uint32(seg.n-1), true
		} else if seg != nil && seg.count == 0 {
			table.ptr[n-1].Store(nil)
		} else if seg != nil {
			c.trim(uint32(n-1), epoch)
		}
	}
	if n >= maxSegments {
		return 0, false
	}
	if n == len(table.ptr) {
		table = table.grown()
		c.segs.Store(table)
	}
	words := segmentSize
	if n == 0 {
		words = minWords
	}
	seg := &segment{words: make([]uint64, words), data: arena(minArena), used: arenaStart, n: 1, epoch: epoch}
	table.ptr[n].Store(seg)
	table.first[n].Store(id)
	table.n.Store(int32(n + 1))
	c.given++
	return uint32(n) << segmentBits, true
}

// slotOf finds the slot of the identity with this integer id: ids grow with the slots.
func (s *segments) slotOf(id uint64) (slot uint32, body []byte, ok bool) {
	i, seg := s.around(id)
	if seg == nil {
		return 0, nil, false
	}
	at, body, ok := seg.find(id, s.first[i].Load())
	return uint32(i)<<segmentBits | at, body, ok
}

// slotBehind is where the identities with a greater id than this begin, whether there is one with this id or not.
func (s *segments) slotBehind(id uint64) uint32 {
	i, seg := s.around(id)
	if seg != nil {
		for at := range uint32(segmentSize) {
			if body := seg.body(at); body != nil && bodyID(body) > id {
				return uint32(i)<<segmentBits | at
			}
		}
	}
	return uint32(i+1) << segmentBits
}

// around is the segment that an id belongs into, -1 when it is before the first, and nil where nobody is left in it.
func (s *segments) around(id uint64) (int, *segment) {
	lo, hi := 0, int(s.n.Load())
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if s.first[mid].Load() <= id {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return -1, nil
	}
	return lo - 1, s.ptr[lo-1].Load()
}

// find is a binary search that steps over empty slots. Ids of one segment are distinct, so the record of id is at most
// id-first slots in; with one environment busy it is exactly there, which is tried first.
func (s *segment) find(id, first uint64) (uint32, []byte, bool) {
	lo, hi := uint32(0), uint32(segmentSize)
	if d := id - first; d < segmentSize {
		hi = uint32(d) + 1
		if body := s.body(uint32(d)); body != nil && bodyID(body) == id {
			return uint32(d), body, true
		}
	}
	for lo < hi {
		mid := (lo + hi) >> 1
		at, body := mid, []byte(nil)
		for ; at < hi; at++ {
			if body = s.body(at); body != nil {
				break
			}
		}
		if body == nil {
			hi = mid
			continue
		}
		switch got := bodyID(body); {
		case got == id:
			return at, body, true
		case got < id:
			lo = at + 1
		default:
			hi = mid
		}
	}
	return 0, nil, false
}
