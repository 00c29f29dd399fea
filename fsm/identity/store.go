package identity

import (
	"bytes"
	"sync"
	"sync/atomic"
)

// Store holds one environment's identities. All its methods are for any goroutine, and lock-free but for a scan that
// renames keep disturbing; each sees the state after some Apply, a scan may see later changes in its later part. A nil
// Store is empty.
type Store struct {
	environment uint64
	uuids       *uuidKey
	core        atomic.Pointer[core]
	keys        atomic.Pointer[keyTable]
	count       atomic.Int64
	// moves is odd while an entry changes its place in an ordered index (rename, alias).
	moves  atomic.Uint64
	moving sync.RWMutex  // held meanwhile
	marks  atomic.Uint32 // see NextMark

	// The writer's.
	ring keyring
	sum  Sum
}

func (s *Stores) newStore(environment uint64) *Store {
	st := &Store{environment: environment, uuids: &s.uuids, ring: newKeyring()}
	st.core.Store(newCore(s.key))
	st.keys.Store(st.ring.table())
	return st
}

// record makes the view of a body. The key table is loaded after the body, so it knows all its keys.
func (st *Store) record(body []byte) Record {
	r := parseBody(body)
	r.keys, r.uuids = st.keys.Load(), st.uuids
	return r
}

// Environment is the environment's id.
func (st *Store) Environment() uint64 { return st.environment }

// Count is the number of identities.
func (st *Store) Count() int {
	if st == nil {
		return 0
	}
	return int(st.count.Load())
}

// Expect says that an identity will be looked up a moment from now: where that begins in memory is read meanwhile. It is as cheap for one that is not there.
func (st *Store) Expect(identifier []byte) {
	if st == nil {
		return
	}
	c := st.core.Load()
	c.expect(c.key.hash(identifier))
}

// Lookup finds an identity by its exact identifier.
func (st *Store) Lookup(identifier []byte) (Record, bool) {
	if st == nil {
		return Record{}, false
	}
	c := st.core.Load()
	_, body, note, ok := c.noted(c.key.hash(identifier), identifier)
	if !ok {
		return Record{}, false
	}
	r := st.record(body)
	r.note = note
	return r, true
}

// ByID finds an identity by its integer id.
func (st *Store) ByID(id uint64) (Record, bool) {
	if st == nil {
		return Record{}, false
	}
	_, body, ok := st.core.Load().segs.Load().slotOf(id)
	if !ok {
		return Record{}, false
	}
	return st.record(body), true
}

// ByUUID finds an identity by its uuid.
func (st *Store) ByUUID(u UUID) (Record, bool) {
	if st == nil {
		return Record{}, false
	}
	id, ok := st.uuids.decode(u)
	if !ok {
		return Record{}, false
	}
	return st.ByID(id)
}

// Scan returns up to limit identities whose identifier has the prefix and sorts after the identifier after (nil: from
// the start), by identifier in byte order.
func (st *Store) Scan(prefix, after []byte, limit int) []Record {
	from, at := prefix, uint32(0)
	if bytes.Compare(after, prefix) >= 0 && after != nil {
		from, at = after, ^uint32(0)
	}
	return st.scan(false, prefix, from, at, limit)
}

// ScanAlias is Scan over dashboard aliases, ordered by alias and creation; identities without one do not appear. The
// page goes on behind the identity afterID that has the alias after.
func (st *Store) ScanAlias(prefix, after []byte, afterID uint64, limit int) []Record {
	if st == nil {
		return nil
	}
	from, at := prefix, uint32(0)
	if bytes.Compare(after, prefix) >= 0 && len(after) > 0 {
		from, at = after, ^uint32(0)
		if afterID != 0 {
			at = st.core.Load().segs.Load().slotBehind(afterID)
		}
	}
	return st.scan(true, prefix, from, at, limit)
}

// scan collects a page of an ordered index. It starts again when a rename or alias change happened meanwhile, because
// the binary search may have been misled; when that happens again and again, the next change of that kind waits for it.
func (st *Store) scan(alias bool, prefix, from []byte, at uint32, limit int) []Record {
	if st == nil || limit <= 0 {
		return nil
	}
	const attempts = 3
	var page []Record
	for range attempts {
		moves := st.moves.Load()
		page = st.ascend(page[:0], alias, prefix, from, at, limit)
		if moves&1 == 0 && moves == st.moves.Load() {
			return page
		}
	}
	st.moving.RLock()
	defer st.moving.RUnlock()
	return st.ascend(page[:0], alias, prefix, from, at, limit)
}

// ascend appends to page what scan looks for, up to limit.
func (st *Store) ascend(page []Record, alias bool, prefix, from []byte, at uint32, limit int) []Record {
	c := st.core.Load()
	index := c.names
	if alias {
		index = c.aliases
	}
	index.ascend(c.segs.Load(), from, at, func(_ uint32, body []byte) bool {
		if !bytes.HasPrefix(index.key(body), prefix) {
			return false
		}
		page = append(page, st.record(body))
		return len(page) < limit
	})
	return page
}

// Page returns limit identities from offset on in the order of creation, which is that of their integer ids.
func (st *Store) Page(offset, limit int) []Record {
	if st == nil || limit <= 0 || offset < 0 {
		return nil
	}
	var page []Record
	segs := st.core.Load().segs.Load()
	for i := range int(segs.n.Load()) {
		if live := int(segs.live[i].Load()); offset >= live {
			offset -= live
			continue
		}
		seg := segs.ptr[i].Load()
		if seg == nil {
			continue
		}
		for at := range uint32(segmentSize) {
			body := seg.body(at)
			if body == nil {
				continue
			}
			if offset > 0 {
				offset--
				continue
			}
			page = append(page, st.record(body))
			if len(page) == limit {
				return page
			}
		}
	}
	return page
}

// All yields every identity in the order of creation.
func (st *Store) All(yield func(Record) bool) {
	if st == nil {
		return
	}
	st.bodies(func(body []byte) bool { return yield(st.record(body)) })
}

func (st *Store) bodies(yield func([]byte) bool) {
	segs := st.core.Load().segs.Load()
	for i := range int(segs.n.Load()) {
		seg := segs.ptr[i].Load()
		if seg == nil {
			continue
		}
		for at := range uint32(segmentSize) {
			if body := seg.body(at); body != nil && !yield(body) {
				return
			}
		}
	}
}

// Contains returns the identities from offset on, at most limit, whose identifier contains substr whatever the case, in
// the order of creation, and the number of all that do. It reads every identifier: about 50 ns each.
func (st *Store) Contains(substr string, offset, limit int) (page []Record, total int) {
	if st == nil {
		return nil, 0
	}
	f := newFinder(substr)
	st.bodies(func(body []byte) bool {
		if f.in(bodyIdentifier(body)) {
			if total >= offset && len(page) < limit {
				page = append(page, st.record(body))
			}
			total++
		}
		return true
	})
	return page, total
}

// TraitKeys returns the distinct keys of the environment's traits, sorted by bytes.
func (st *Store) TraitKeys() []string {
	if st == nil {
		return nil
	}
	return st.keys.Load().used()
}

// KeyName is the trait key with this number (TraitIterator.KeyID); empty when there is none or it was deleted.
func (st *Store) KeyName(id uint32) string {
	if st == nil {
		return ""
	}
	if keys := st.keys.Load().keys; int(id) < len(keys) {
		return keys[id].name
	}
	return ""
}

// KeysInUse counts the distinct trait keys that some identity has.
func (st *Store) KeysInUse() int { return len(st.keysInUse()) }

func (st *Store) keysInUse() map[string]struct{} {
	names := map[string]struct{}{}
	if st == nil {
		return names
	}
	keys := st.keys.Load().keys
	for i := range keys {
		if k := &keys[i]; !k.dead && k.refs.Load() > 0 {
			names[k.name] = struct{}{}
		}
	}
	return names
}

// KeyCount is the number of key numbers given: KeyID is always less.
func (st *Store) KeyCount() int {
	if st == nil {
		return 0
	}
	return len(st.keys.Load().keys)
}
