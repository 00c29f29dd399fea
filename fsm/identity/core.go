package identity

import (
	"errors"
	"sync/atomic"
)

// core is one environment's records with their indexes. A store replaces its core only when most slots are empty.
type core struct {
	key     sipKey
	segs    atomic.Pointer[segments]
	index   atomic.Pointer[directory]
	names   *ordered
	aliases *ordered

	// The writer's.
	unlisted int // which of Stores.unlisted.of is this one's, from 1
	given    int // slots that were given, those that are empty by now included
}

func newCore(key sipKey) *core {
	c := &core{key: key, names: newOrdered(bodyIdentifier), aliases: newOrdered(bodyAlias)}
	c.segs.Store(newSegments(1))
	c.index.Store(newDirectory(0))
	return c
}

var errDuplicate = errors.New("identity: two identities with one identifier")

// indexSegments builds the core of an environment from its segments, whose records are complete. hashes, when given,
// holds each segment's identifier hashes by slot index.
func indexSegments(key sipKey, list []*segment, hashes [][]uint64) (*core, error) {
	c := newCore(key)
	segs, count := newSegments(len(list)), 0
	for i, seg := range list {
		segs.ptr[i].Store(seg)
		segs.live[i].Store(int32(seg.count))
		count += seg.count
		c.given += seg.n
		for at := range uint32(seg.n) {
			if body := seg.body(at); body != nil {
				segs.first[i].Store(bodyID(body))
				break
			}
		}
	}
	segs.n.Store(int32(len(list)))
	c.segs.Store(segs)

	// The two halves touch different structures.
	sorted := make(chan error, 1)
	go func() { sorted <- c.loadOrders(segs, count) }()
	c.loadIndex(list, count, hashes)
	return c, <-sorted
}

// loadIndex fills the index bucket by bucket: each lies in the processor's caches meanwhile.
func (c *core) loadIndex(list []*segment, count int, hashes [][]uint64) {
	words := make([]uint64, 0, count)
	for i, seg := range list {
		for at := range uint32(seg.n) {
			if seg.loc(at) == 0 {
				continue
			}
			var h uint64
			if hashes != nil {
				h = hashes[i][at]
			} else {
				h = c.key.hash(bodyIdentifier(seg.body(at)))
			}
			words = append(words, indexWord(h, uint32(i)<<segmentBits|at))
		}
	}
	d := newDirectory(count)
	c.index.Store(d)
	for _, w := range sortByDigits(words, make([]uint64, count), 64-int(d.depth), int(d.depth)) {
		if b := d.bucket(w); !b.full() {
			b.words[b.free(w)] = w // not atomically, which takes three times as long: nobody reads yet
		} else {
			c.indexInsert(w, uint32(w&slotMask)-1)
			d = c.index.Load()
		}
	}
}

// loadOrders builds the two ordered indexes.
func (c *core) loadOrders(segs *segments, count int) error {
	names := make([]uint32, 0, count)
	var aliases []uint32
	for i := range segs.ptr {
		seg := segs.ptr[i].Load()
		for at := range uint32(seg.n) {
			body := seg.body(at)
			if body == nil {
				continue
			}
			slot := uint32(i)<<segmentBits | at
			names = append(names, slot)
			if bodyHasAlias(body) {
				aliases = append(aliases, slot)
			}
		}
	}
	var by sorter
	if !by.sort(names, func(slot uint32) []byte { return bodyIdentifier(segs.body(slot)) }) {
		return errDuplicate
	}
	by.sort(aliases, func(slot uint32) []byte { return bodyAlias(segs.body(slot)) })
	c.names.load(segs, names)
	c.aliases.load(segs, aliases)
	return nil
}
