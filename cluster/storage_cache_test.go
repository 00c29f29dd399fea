package cluster

import (
	"math/rand/v2"
	"testing"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

func TestCacheStaysWithinItsBytes(t *testing.T) {
	c := newEntryCache(1000)
	put := func(index uint64, size int) {
		c.put([]*raft.Log{{Index: index, Data: make([]byte, size)}})
	}
	has := func(index uint64) bool { var l raft.Log; return c.get(index, &l) && l.Index == index }
	for i := uint64(1); i <= 100; i++ {
		put(i, 100)
		require.LessOrEqual(t, c.size, int64(1000))
	}
	require.True(t, has(100))
	require.False(t, has(1))
	put(101, 5000)
	require.Zero(t, c.size)
	require.Empty(t, c.blocks)
	put(102, 10)
	require.True(t, has(102))
	put(200, 10) // a gap: what was before is forgotten
	require.False(t, has(102))
	put(201, 10)
	c.delete(201, 300)
	require.True(t, has(200))
	require.False(t, has(201))
	put(201, 11)
	c.delete(1, 200)
	require.False(t, has(200))
	require.True(t, has(201))
	c.delete(1, 201)
	require.Zero(t, c.size)
}

// The cache beside a plain map: the same entries are found, none is held that is
// not counted, and no block outlives its entries.
func TestCacheIsAWindowOfTheLog(t *testing.T) {
	const limit = 64 << 10
	random := rand.New(rand.NewPCG(1, 2))
	c, model := newEntryCache(limit), map[uint64]int{}
	next := uint64(1)
	put := func() {
		logs := make([]*raft.Log, 1+random.IntN(40))
		for i := range logs {
			size := random.IntN(200)
			logs[i] = &raft.Log{Index: next, Data: make([]byte, size)}
			model[next] = size
			next++
		}
		c.put(logs)
	}
	for range 4000 {
		switch random.IntN(20) {
		case 0: // the log is cut after a conflict
			lo := max(1, next-min(next-1, uint64(random.IntN(50))))
			for i := lo; i < next; i++ {
				delete(model, i)
			}
			c.delete(lo, next-1)
			next = lo
		case 1: // and shortened behind a snapshot
			hi := next - min(next, uint64(1+random.IntN(300)))
			for i := range model {
				if i <= hi {
					delete(model, i)
				}
			}
			c.delete(1, hi)
		case 2: // a snapshot is installed
			next += 500
			clear(model)
			put()
		default:
			put()
		}
		var size int64
		blocks := map[uint64]bool{}
		for i := c.lo; i <= c.hi; i++ {
			var l raft.Log
			require.True(t, c.get(i, &l))
			require.Equal(t, i, l.Index)
			require.Len(t, l.Data, model[i])
			size += cost(&l)
			blocks[i/blockEntries] = true
		}
		require.Equal(t, size, c.size)
		require.LessOrEqual(t, size, int64(limit))
		require.Len(t, c.blocks, len(blocks))
		for _, i := range []uint64{c.lo - 1, c.hi + 1} {
			require.False(t, c.get(i, new(raft.Log)))
		}
	}
}
