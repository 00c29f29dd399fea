package cluster

import (
	"sync"
	"unsafe"

	"github.com/hashicorp/raft"
)

// entryCache keeps the newest entries in memory, bounded in bytes: replication
// and apply read what was just stored. Entries stand in blocks, which come and go
// as the log moves on, so that little more is held than what is counted.
//
// It is a mutex and not an actor because Raft's main loop and one replication
// goroutine per follower read it for each entry; the lock covers a map access.
type entryCache struct {
	mu     sync.Mutex
	blocks map[uint64]*entryBlock // entry i is in block i / blockEntries
	lo, hi uint64                 // without gaps; empty when lo > hi
	size   int64
	limit  int64
}

// blockEntries is the number of entries in a block: 12 KB.
const blockEntries = 128

type entryBlock [blockEntries]raft.Log

func newEntryCache(limit int64) *entryCache {
	return &entryCache{blocks: map[uint64]*entryBlock{}, lo: 1, limit: limit}
}

func (c *entryCache) get(index uint64, l *raft.Log) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if index < c.lo || index > c.hi {
		return false
	}
	*l = c.blocks[index/blockEntries][index%blockEntries]
	return true
}

func (c *entryCache) put(logs []*raft.Log) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range logs {
		if l.Index != c.hi+1 {
			clear(c.blocks)
			c.lo, c.size = l.Index, 0
		}
		b := c.blocks[l.Index/blockEntries]
		if b == nil {
			b = new(entryBlock)
			c.blocks[l.Index/blockEntries] = b
		}
		c.hi = l.Index
		b[l.Index%blockEntries] = *l
		c.size += cost(l)
	}
	for c.size > c.limit && c.lo <= c.hi {
		c.dropFirst()
	}
}

// delete forgets lo..hi; what remains stays without gaps.
func (c *entryCache) delete(lo, hi uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if hi < c.lo || lo > c.hi {
		return
	}
	if lo > c.lo { // a suffix (or a middle: then forget what follows, too)
		for ; c.hi >= lo; c.hi-- {
			c.forget(c.hi, c.hi%blockEntries == 0)
		}
		return
	}
	for last := min(hi, c.hi); c.lo <= last; {
		c.dropFirst()
	}
}

func (c *entryCache) dropFirst() {
	c.forget(c.lo, c.lo == c.hi || c.lo%blockEntries == blockEntries-1)
	c.lo++
}

// forget removes an entry, and its block with the last entry in it.
func (c *entryCache) forget(index uint64, last bool) {
	e := &c.blocks[index/blockEntries][index%blockEntries]
	c.size -= cost(e)
	*e = raft.Log{}
	if last {
		delete(c.blocks, index/blockEntries)
	}
}

// bytes is what the entries take.
func (c *entryCache) bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}

func cost(l *raft.Log) int64 {
	return int64(cap(l.Data)+cap(l.Extensions)) + int64(unsafe.Sizeof(*l))
}
