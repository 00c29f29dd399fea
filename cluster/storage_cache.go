package cluster

import (
	"sync"

	"github.com/hashicorp/raft"
)

// entryCache keeps the newest entries in memory, bounded in bytes: replication
// and apply read what was just stored.
//
// It is a mutex and not an actor because Raft's main loop and one replication
// goroutine per follower read it for each entry; the lock covers a map access.
type entryCache struct {
	mu      sync.Mutex
	entries map[uint64]raft.Log // lo..hi without gaps; empty when lo > hi
	lo, hi  uint64
	size    int64
	limit   int64
}

func newEntryCache(limit int64) *entryCache {
	return &entryCache{entries: map[uint64]raft.Log{}, lo: 1, limit: limit}
}

func (c *entryCache) get(index uint64, l *raft.Log) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.entries[index]
	if ok {
		*l = found
	}
	return ok
}

func (c *entryCache) put(logs []*raft.Log) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range logs {
		if l.Index != c.hi+1 {
			clear(c.entries)
			c.lo, c.size = l.Index, 0
		}
		c.hi = l.Index
		c.entries[l.Index] = *l
		c.size += cost(l)
	}
	for c.size > c.limit && c.lo <= c.hi {
		c.drop(c.lo)
		c.lo++
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
		for i := lo; i <= c.hi; i++ {
			c.drop(i)
		}
		c.hi = lo - 1
		return
	}
	for ; c.lo <= min(hi, c.hi); c.lo++ {
		c.drop(c.lo)
	}
}

// bytes is what the entries take.
func (c *entryCache) bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}

func (c *entryCache) drop(index uint64) {
	if l, ok := c.entries[index]; ok {
		c.size -= cost(&l)
		delete(c.entries, index)
	}
}

func cost(l *raft.Log) int64 { return int64(len(l.Data) + entryOverhead) }
