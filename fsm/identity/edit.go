package identity

import (
	"bytes"
	"strconv"
)

// manyTraits is where finding a trait by its key changes from a walk to a map.
const manyTraits = 32

// traitEntry is one trait of the identity being edited.
type traitEntry struct {
	id     uint64
	key    uint32
	value  []byte
	oldKey uint32
	old    []byte // as stored, nil for a new trait
	gone   bool
}

func (t *traitEntry) isNew() bool   { return t.old == nil }
func (t *traitEntry) changed() bool { return t.key != t.oldKey || !bytes.Equal(t.value, t.old) }

// edit is the work on one identity between finding and storing it. Stores keeps one and uses it again, so that applying
// allocates nothing.
type edit struct {
	s  *Stores
	st *Store
	c  *core

	slot    uint32
	existed bool
	old     Record // as stored
	rec     Record // as it will be
	changed bool   // apart from traits

	traits    []traitEntry
	byKey     map[uint32]int // position in traits, once there are many
	hint      int
	lastTrait uint64

	literal []byte
	buf     []byte
}

func (e *edit) reset(s *Stores, st *Store) {
	*e = edit{s: s, st: st, c: st.core.Load(), traits: e.traits[:0], byKey: e.byKey, lastTrait: s.lastTrait,
		literal: e.literal[:0], buf: e.buf[:0]}
	clear(e.byKey)
}

// find loads the identity that op addresses.
func (e *edit) find(op *Op) bool {
	var body []byte
	if op.Identity != 0 {
		e.slot, body, e.existed = e.c.segs.Load().slotOf(op.Identity)
	} else {
		e.slot, body, e.existed = e.c.lookup(e.c.key.hash(op.Identifier), op.Identifier)
	}
	if !e.existed {
		return false
	}
	e.old = e.st.record(body)
	e.rec = e.old
	for it := e.old.Traits(); it.Next(); {
		e.traits = append(e.traits, traitEntry{id: it.id, key: it.key, value: it.value, oldKey: it.key, old: it.value})
	}
	return true
}

func (e *edit) create(identifier []byte, at int64) {
	e.rec = Record{id: e.s.lastIdentity + 1, created: at, identifier: identifier}
	e.changed = true
}

// position finds the trait with this key number. Requests name traits in the order they were stored in, so the one
// behind the last hit is tried first.
func (e *edit) position(key uint32) (int, bool) {
	if e.hint < len(e.traits) && e.traits[e.hint].key == key && !e.traits[e.hint].gone {
		e.hint++
		return e.hint - 1, true
	}
	if len(e.traits) > manyTraits {
		return e.positionByMap(key)
	}
	for i := range e.traits {
		if e.traits[i].key == key && !e.traits[i].gone {
			e.hint = i + 1
			return i, true
		}
	}
	return 0, false
}

func (e *edit) positionByMap(key uint32) (int, bool) {
	if e.byKey == nil {
		e.byKey = map[uint32]int{}
	}
	if len(e.byKey) == 0 {
		for i := range e.traits {
			if !e.traits[i].gone {
				e.byKey[e.traits[i].key] = i
			}
		}
	}
	i, ok := e.byKey[key]
	if ok && !e.traits[i].gone {
		e.hint = i + 1
		return i, true
	}
	return 0, false
}

func (e *edit) positionOfName(name []byte) (int, bool) {
	key, ok := e.st.ring.ids[string(name)]
	if !ok {
		return 0, false
	}
	return e.position(key)
}

func (e *edit) positionOfID(id uint64) (int, bool) {
	for i := range e.traits {
		if e.traits[i].id == id {
			return i, true
		}
	}
	return 0, false
}

// add appends a new trait. Ids grow, so the order by id stays.
func (e *edit) add(name, value []byte) *traitEntry {
	e.lastTrait++
	key := e.st.ring.intern(name)
	e.traits = append(e.traits, traitEntry{id: e.lastTrait, key: key, value: value})
	if len(e.byKey) > 0 {
		e.byKey[key] = len(e.traits) - 1
	}
	return &e.traits[len(e.traits)-1]
}

func deletes(value []byte) bool { return len(value) == 0 || string(value) == "null" }

// set writes one trait by key, or deletes it when the value says so.
func (e *edit) set(name, value []byte) *traitEntry {
	i, ok := e.positionOfName(name)
	switch {
	case deletes(value):
		if ok {
			e.traits[i].gone = true
			return &e.traits[i]
		}
		return nil
	case ok:
		e.traits[i].value = value
		return &e.traits[i]
	}
	return e.add(name, value)
}

func (e *edit) setTraits(ops []TraitOp, res *Result) {
	for i := range ops {
		if len(ops[i].Key) == 0 {
			res.Status = StatusInvalid
			return
		}
		e.set(ops[i].Key, ops[i].Value)
	}
}

func (e *edit) setOne(op *Op, res *Result) {
	if op.TraitID == 0 {
		if len(op.Key) == 0 {
			res.Status = StatusInvalid
		} else if t := e.set(op.Key, op.Value); t != nil {
			res.TraitID = t.id
		}
		return
	}
	i, ok := e.positionOfID(op.TraitID)
	if !ok {
		res.Status = StatusMissing
		return
	}
	res.TraitID = op.TraitID
	if len(op.Key) > 0 {
		if other, ok := e.positionOfName(op.Key); ok && other != i {
			res.Status = StatusExists
			return
		}
		e.traits[i].key = e.st.ring.intern(op.Key)
	}
	if deletes(op.Value) {
		e.traits[i].gone = true
		return
	}
	e.traits[i].value = op.Value
}

func (e *edit) deleteOne(op *Op, res *Result) {
	i, ok := e.positionOfID(op.TraitID)
	if op.TraitID == 0 {
		i, ok = e.positionOfName(op.Key)
	}
	if !ok {
		res.Status = StatusMissing
		return
	}
	e.traits[i].gone = true
	res.TraitID = e.traits[i].id
}

func (e *edit) increment(op *Op, res *Result) {
	if len(op.Key) == 0 {
		res.Status = StatusInvalid
		return
	}
	i, ok := e.positionOfName(op.Key)
	var value int64
	if ok {
		var err error
		if value, err = strconv.ParseInt(string(e.traits[i].value), 10, 64); err != nil {
			res.Status = StatusNotInteger
			return
		}
	}
	sum := value + op.Delta
	if (sum > value) != (op.Delta > 0) && op.Delta != 0 {
		res.Status = StatusOverflow
		return
	}
	e.literal = strconv.AppendInt(e.literal[:0], sum, 10)
	t := e.set(op.Key, e.literal)
	res.TraitID, res.Value = t.id, sum
}

func (e *edit) setAlias(alias []byte) {
	e.changed = e.changed || !bytes.Equal(e.rec.alias, alias)
	e.rec.alias = alias
}

func (e *edit) rename(to []byte, res *Result) {
	if len(to) == 0 {
		res.Status = StatusInvalid
		return
	}
	if _, body, ok := e.c.lookup(e.c.key.hash(to), to); ok {
		res.Status, res.Identity = StatusExists, bodyID(body)
		return
	}
	e.rec.identifier, e.changed = to, true
}
