package identity

import "sync/atomic"

const (
	slotBits  = 26
	slotMask  = 1<<slotBits - 1
	emptyWord = 0
	// tombstone marks a word whose entry was removed; searches go on behind it. A used word holds slot+1.
	tombstone = slotMask

	// The upper 38 bits of the hash stand in the word, so rehashing reads no record: 16 for the directory, 22 for the
	// position.
	maxDepth     = 16
	positionBits = 64 - maxDepth - slotBits

	minBucket = 8
	maxBucket = 12288 // words; a bigger bucket is split in two
)

// bucket is an open-addressing table of index words, 38 bits of hash and 26 bits of slot. Words are read and written
// atomically; the counters are the writer's.
type bucket struct {
	words []uint64
	depth uint
	used  int // words not empty, tombstones included
	live  int
}

// position spreads over any size, powers of two or not, by the hash bits that the directory does not use.
func position(h uint64, n int) int {
	return int(h >> slotBits & (1<<positionBits - 1) * uint64(n) >> positionBits)
}

func (b *bucket) full() bool { return (b.used+1)*8 > len(b.words)*7 }

// indexWord is the entry of a slot under hash h.
func indexWord(h uint64, slot uint32) uint64 { return h&^slotMask | uint64(slot+1) }

// insert writes an entry that is not there; the bucket is not full.
func (b *bucket) insert(h uint64, slot uint32) {
	atomic.StoreUint64(&b.words[b.free(h)], indexWord(h, slot))
}

// free finds the place of an entry that is not there, and counts it.
func (b *bucket) free(h uint64) int {
	for i := position(h, len(b.words)); ; {
		w := b.words[i]
		if w == emptyWord || w&slotMask == tombstone {
			if w == emptyWord {
				b.used++
			}
			b.live++
			return i
		}
		if i++; i == len(b.words) {
			i = 0
		}
	}
}

func (b *bucket) remove(h uint64, slot uint32) {
	for i := position(h, len(b.words)); ; {
		w := b.words[i]
		if w == emptyWord {
			return
		}
		if w&slotMask == uint64(slot+1) {
			atomic.StoreUint64(&b.words[i], tombstone)
			b.live--
			return
		}
		if i++; i == len(b.words) {
			i = 0
		}
	}
}

// directory maps the top depth bits of a hash to its bucket.
type directory struct {
	depth   uint
	buckets []atomic.Pointer[bucket]
}

func (d *directory) bucket(h uint64) *bucket { return d.buckets[h>>(64-d.depth)].Load() }

// newDirectory is sized for n entries at load 0.78.
func newDirectory(n int) *directory {
	depth := uint(0)
	for n>>depth > maxBucket*6/10 {
		depth++
	}
	d := &directory{depth: depth, buckets: make([]atomic.Pointer[bucket], 1<<depth)}
	each := n >> depth
	for i := range d.buckets {
		d.buckets[i].Store(&bucket{words: make([]uint64, max(minBucket, each*9/7+1)), depth: depth})
	}
	return d
}

// lookup finds the slot and record body of an identifier with hash h.
func (c *core) lookup(h uint64, identifier []byte) (slot uint32, body []byte, ok bool) {
	slot, body, _, ok = c.noted(h, identifier)
	return slot, body, ok
}

// noted is lookup with the record's note.
func (c *core) noted(h uint64, identifier []byte) (slot uint32, body []byte, note Note, ok bool) {
	words := c.index.Load().bucket(h).words
	segs := c.segs.Load()
	for i := position(h, len(words)); ; {
		w := atomic.LoadUint64(&words[i])
		if w == emptyWord {
			return 0, nil, Note{}, false
		}
		if (w^h)>>slotBits == 0 && w&slotMask != tombstone {
			slot := uint32(w&slotMask) - 1
			if body, note := segs.noted(slot); body != nil && bodyMatches(body, identifier) {
				return slot, body, note, true
			}
		}
		if i++; i == len(words) {
			i = 0
		}
	}
}

// expect has the word read with which noted begins.
func (c *core) expect(h uint64) {
	words := c.index.Load().bucket(h).words
	prefetch(&words[position(h, len(words))])
}

// indexInsert adds slot, whose record is stored already, under h.
func (c *core) indexInsert(h uint64, slot uint32) {
	b := c.index.Load().bucket(h)
	for b.full() {
		c.growBucket(h, b)
		b = c.index.Load().bucket(h)
	}
	b.insert(h, slot)
}

func (c *core) indexRemove(h uint64, slot uint32) { c.index.Load().bucket(h).remove(h, slot) }

// growBucket rehashes the full bucket of h: without tombstones, bigger by a quarter, or as two halves.
func (c *core) growBucket(h uint64, b *bucket) {
	size := len(b.words)
	if b.live*8 > size*6 {
		size += size/4 + 1
	}
	if size <= maxBucket {
		grown := &bucket{words: make([]uint64, size), depth: b.depth}
		b.rehash(grown, grown)
		c.setBuckets(h, b.depth, grown, grown)
		return
	}
	half := max(minBucket, b.live*9/14+8)
	zero := &bucket{words: make([]uint64, half), depth: b.depth + 1}
	one := &bucket{words: make([]uint64, half), depth: b.depth + 1}
	for !b.rehash(zero, one) {
		zero.words, zero.used, zero.live = make([]uint64, size), 0, 0
		one.words, one.used, one.live = make([]uint64, size), 0, 0
	}
	c.setBuckets(h, b.depth, zero, one)
}

// rehash distributes b's entries by the hash bit behind b's depth; false when a half is too small.
func (b *bucket) rehash(zero, one *bucket) bool {
	for _, w := range b.words {
		if w == emptyWord || w&slotMask == tombstone {
			continue
		}
		to := zero
		if w<<b.depth>>63 != 0 {
			to = one
		}
		if zero != one && to.full() {
			return false
		}
		to.insert(w, uint32(w&slotMask)-1)
	}
	return true
}

// setBuckets publishes the successors of the bucket of h, which covered depth bits.
func (c *core) setBuckets(h uint64, depth uint, zero, one *bucket) {
	d := c.index.Load()
	if zero != one && depth == d.depth {
		grown := &directory{depth: d.depth + 1, buckets: make([]atomic.Pointer[bucket], 2*len(d.buckets))}
		for i := range grown.buckets {
			grown.buckets[i].Store(d.buckets[i/2].Load())
		}
		defer c.index.Store(grown)
		d = grown
	}
	span := 1 << (d.depth - depth)
	from := int(h>>(64-d.depth)) &^ (span - 1)
	for i := range span {
		b := zero
		if i >= span/2 {
			b = one
		}
		d.buckets[from+i].Store(b)
	}
}
