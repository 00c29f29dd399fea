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

	unlisted int // of the writer: which of Stores.unlisted.of is this one's, from 1
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
		for at := range uint32(seg.n) {
			if body := seg.body(at); body != nil {
				segs.first[i].Store(bodyID(body))
				break
			}
		}
	}
	segs.n.Store(int32(len(list)))
	c.segs.Store(segs)
	c.index.Store(newDirectory(count))

	// The two halves touch different structures; the sort is the longer one.
	sorted := make(chan error, 1)
	go func() { sorted <- c.loadOrders(segs, count) }()
	for i, seg := range list {
		for at := range uint32(seg.n) {
			var h uint64
			if hashes != nil {
				h = hashes[i][at]
			} else if body := seg.body(at); body != nil {
				h = key.hash(bodyIdentifier(body))
			}
			if seg.loc(at) != 0 {
				c.indexInsert(h, uint32(i)<<segmentBits|at)
			}
		}
	}
	return c, <-sorted
}

// loadOrders builds the two ordered indexes.
func (c *core) loadOrders(segs *segments, count int) error {
	names := make([]sortEntry, 0, count)
	var aliases []sortEntry
	for i := range segs.ptr {
		seg := segs.ptr[i].Load()
		for at := range uint32(seg.n) {
			body := seg.body(at)
			if body == nil {
				continue
			}
			slot := uint32(i)<<segmentBits | at
			names = append(names, sortEntry{slot: slot})
			if bodyHasAlias(body) {
				aliases = append(aliases, sortEntry{slot: slot})
			}
		}
	}
	unique := sortSlots(names, 0, func(slot uint32) []byte { return bodyIdentifier(segs.body(slot)) })
	if !unique {
		return errDuplicate
	}
	sortSlots(aliases, 0, func(slot uint32) []byte { return bodyAlias(segs.body(slot)) })
	c.names.load(segs, entrySlots(names))
	c.aliases.load(segs, entrySlots(aliases))
	return nil
}

func entrySlots(entries []sortEntry) []uint32 {
	slots := make([]uint32, len(entries))
	for i, e := range entries {
		slots[i] = e.slot
	}
	return slots
}
