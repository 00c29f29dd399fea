package identity

import (
	"encoding/binary"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

const storeShards = 64

// Stores holds the identities of all environments. Perform, Settle, SettleBehind, Apply, SetLimits and Snapshot belong
// to one goroutine, the FSM's; Environment and everything reached through it is for any goroutine, lock-free.
type Stores struct {
	seed   [16]byte
	key    sipKey  // index hash
	uuids  uuidKey // uuid permutation
	limits Limits

	shards [storeShards]atomic.Pointer[map[uint64]*Store] // copy-on-write

	lastIdentity uint64
	lastTrait    uint64
	sum          Sum

	epoch     uint64       // counts snapshots
	snapshots atomic.Int64 // not released yet

	edit edit // reused by Apply

	unlisted *listing
	settling *listing       // of SettleBehind
	behind   sync.WaitGroup // its goroutine
}

// New returns an empty set. The seed keys the index hash and the uuids: it is part of the replicated state, secret, and
// random per cluster.
func New(seed [16]byte) *Stores {
	base := sipKey{binary.LittleEndian.Uint64(seed[:8]), binary.LittleEndian.Uint64(seed[8:])}
	s := &Stores{
		seed:   seed,
		key:    sipKey{base.prf(1, 0), base.prf(1, 1)},
		uuids:  uuidKey{sipKey{base.prf(2, 0), base.prf(2, 1)}},
		limits: DefaultLimits(),
		epoch:  1,

		unlisted: &listing{}, settling: &listing{},
	}
	for i := range s.shards {
		s.shards[i].Store(&map[uint64]*Store{})
	}
	return s
}

// Seed is the seed given to New.
func (s *Stores) Seed() [16]byte { return s.seed }

// SetLimits sets the caps of the operations that follow. Not part of a snapshot: the FSM sets them from its own state.
func (s *Stores) SetLimits(l Limits) { s.limits = l }

// Limits are the caps that SetLimits set, or DefaultLimits.
func (s *Stores) Limits() Limits { return s.limits }

// Environment returns the store of an environment, nil when it has no identity yet. Every method of a nil *Store answers
// like an empty one.
func (s *Stores) Environment(id uint64) *Store { return (*s.shards[id%storeShards].Load())[id] }

// Environments returns the ids of the environments that have identities, sorted.
func (s *Stores) Environments() []uint64 {
	var ids []uint64
	for i := range s.shards {
		for id, st := range *s.shards[i].Load() {
			if st.Count() > 0 {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	return ids
}

// UUIDOf returns the uuid of the identity with this integer id, whether it exists or not.
func (s *Stores) UUIDOf(id uint64) UUID { return s.uuids.encode(id) }

// IDOf returns the integer id in a uuid; false when the uuid was not made with this seed.
func (s *Stores) IDOf(u UUID) (uint64, bool) { return s.uuids.decode(u) }

// Sum is the state's hash: every record with its traits and ids, and the two sequences. FSM goroutine only; readers take
// Snapshot's.
func (s *Stores) Sum() Sum {
	h := newHasher(domainState)
	h.word(s.lastIdentity)
	h.word(s.lastTrait)
	total := s.sum
	total.add(h.sum())
	return total
}

// Continue makes the ids of identities and traits go on past those that another set gave. Before the set is used.
func (s *Stores) Continue(o *Stores) {
	s.lastIdentity, s.lastTrait = max(s.lastIdentity, o.lastIdentity), max(s.lastTrait, o.lastTrait)
}

// publish makes a store visible, or invisible when st is nil.
func (s *Stores) publish(id uint64, st *Store) {
	shard := &s.shards[id%storeShards]
	fresh := maps.Clone(*shard.Load())
	if st == nil {
		delete(fresh, id)
	} else {
		fresh[id] = st
	}
	shard.Store(&fresh)
}
