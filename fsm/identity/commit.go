package identity

import "bytes"

// commit stores the edit when it changed something and completes the result.
func (e *edit) commit(index uint64, res *Result) {
	traitsChanged, size, before := e.measure()
	if !e.changed && !traitsChanged {
		return
	}
	if limit := e.s.limits.TraitBytes; size > limit && size > before {
		*res = Result{Status: StatusOverTraits, Identity: e.old.id, LastChange: e.old.lastChange}
		return
	}
	if !e.existed {
		slot, ok := e.newSlot()
		if !ok {
			*res = Result{Status: StatusOverIdentities}
			return
		}
		e.slot = slot
		e.s.lastIdentity++
	}
	e.s.lastTrait = e.lastTrait
	e.rec.lastChange = index
	e.account()
	e.store()
	res.Created, res.Changed, res.LastChange = !e.existed, true, index
}

// newSlot gives the slot of the identity that the edit creates. Where slots are used up by identities that are gone, the
// store is packed first: which those are depends on when this node was last restored, and what is refused must not.
func (e *edit) newSlot() (uint32, bool) {
	slot, ok := e.c.nextSlot(e.rec.id, e.s.epoch)
	if !ok {
		e.s.list(e.c)
		e.st.rebuild(e.s.key, e.s.epoch)
		e.c = e.st.core.Load()
		slot, ok = e.c.nextSlot(e.rec.id, e.s.epoch)
	}
	return slot, ok
}

// measure reports whether a trait changed and the trait bytes after and before.
func (e *edit) measure() (changed bool, size, before int) {
	for i := range e.traits {
		t := &e.traits[i]
		if !t.isNew() {
			before += len(e.st.ring.keys[t.oldKey].name) + len(t.old)
		}
		if t.gone {
			changed = changed || !t.isNew()
			continue
		}
		changed = changed || t.isNew() || t.changed()
		size += len(e.st.ring.keys[t.key].name) + len(t.value)
	}
	return changed, size, before
}

// account brings the sums and key counters up to date and drops the traits that are gone.
func (e *edit) account() {
	var delta Sum
	if e.existed {
		delta.sub(recordSum(e.st.environment, &e.old))
	}
	delta.add(recordSum(e.st.environment, &e.rec))
	kept := e.traits[:0]
	for _, t := range e.traits {
		stays := !t.gone
		if stays && !t.isNew() && !t.changed() {
			kept = append(kept, t)
			continue
		}
		if !t.isNew() {
			e.st.countTrait(e.rec.id, t.id, t.oldKey, t.old, -1, &delta)
		}
		if stays {
			e.st.countTrait(e.rec.id, t.id, t.key, t.value, 1, &delta)
			kept = append(kept, t)
		}
	}
	e.traits = kept
	e.st.sum.add(delta)
	e.s.sum.add(delta)
}

// countTrait adds (n = 1) or takes (n = -1) one trait to its key's counters and to delta.
func (st *Store) countTrait(identity, trait uint64, key uint32, value []byte, n int64, delta *Sum) {
	h := traitSum(identity, trait, st.ring.keys[key].sum, value)
	st.ring.keys[key].refs.Add(n)
	if n > 0 {
		delta.add(h)
		st.ring.sums[key].add(h)
	} else {
		delta.sub(h)
		st.ring.sums[key].sub(h)
	}
}

// store writes the record and the indexes that the change concerns.
func (e *edit) store() {
	st, c := e.st, e.c
	if len(st.ring.keys) != len(st.keys.Load().keys) {
		st.keys.Store(st.ring.table()) // before the record that uses the new keys
	}
	e.buf = appendRecord(e.buf[:0], &e.rec, e.traits)
	snapshots := e.s.snapshots.Load() > 0
	segs := c.segs.Load()
	renamed := e.existed && !bytes.Equal(e.old.identifier, e.rec.identifier)
	aliased := !bytes.Equal(e.old.alias, e.rec.alias)
	if e.existed && !renamed && !aliased {
		c.put(e.slot, e.buf, e.s.epoch, snapshots)
		return
	}
	if e.existed {
		st.moving.Lock()
		st.moves.Add(1)
		defer func() {
			st.moves.Add(1)
			st.moving.Unlock()
		}()
	}
	if renamed {
		e.s.list(c)
		c.names.remove(segs, e.slot)
		c.indexRemove(c.key.hash(e.old.identifier), e.slot)
	}
	if aliased && len(e.old.alias) > 0 {
		c.aliases.remove(segs, e.slot)
	}
	c.put(e.slot, e.buf, e.s.epoch, snapshots)
	if renamed || !e.existed {
		c.indexInsert(c.key.hash(e.rec.identifier), e.slot)
	}
	if renamed {
		c.names.insert(segs, e.slot)
	}
	if aliased && len(e.rec.alias) > 0 {
		c.aliases.insert(segs, e.slot)
	}
	if !e.existed {
		e.s.toList(c, e.slot)
		st.count.Add(1)
	}
}

// delete removes the identity from everything.
func (e *edit) delete() {
	st, c := e.st, e.c
	var delta Sum
	delta.sub(recordSum(st.environment, &e.old))
	for i := range e.traits {
		t := &e.traits[i]
		st.countTrait(e.old.id, t.id, t.oldKey, t.old, -1, &delta)
	}
	st.sum.add(delta)
	e.s.sum.add(delta)
	segs := c.segs.Load()
	e.s.list(c)
	c.names.remove(segs, e.slot)
	if len(e.old.alias) > 0 {
		c.aliases.remove(segs, e.slot)
	}
	c.indexRemove(c.key.hash(e.old.identifier), e.slot)
	c.remove(e.slot, e.s.epoch, e.s.snapshots.Load() > 0)
	st.count.Add(-1)
	if int(segs.n.Load()) > rebuildSegments && c.given > rebuildSparse*st.Count() {
		st.rebuild(e.s.key, e.s.epoch)
	}
}

const (
	rebuildSegments = 32
	rebuildSparse   = 4
)

// rebuild packs the records of a store whose slots are mostly empty. It costs about a microsecond per record that is
// left, paid for by the three or more deletions each stands for.
func (st *Store) rebuild(key sipKey, epoch uint64) {
	var p packer
	p.epoch = epoch
	segs := st.core.Load().segs.Load()
	for i := range int(segs.n.Load()) {
		seg := segs.ptr[i].Load()
		if seg == nil {
			continue
		}
		for at := range uint32(seg.n) {
			if loc := seg.loc(at); loc != 0 {
				_, whole := recordBody(seg.data[loc:])
				p.add(seg.data[loc : int(loc)+whole])
			}
		}
	}
	c, err := indexSegments(key, p.finish(), nil)
	if err != nil {
		return // keeps the sparse one; identifiers are unique, so this does not happen
	}
	st.core.Store(c)
}

// packer fills segments with records in slot order.
type packer struct {
	epoch uint64
	list  []*segment
	buf   []byte
	locs  []uint32
}

func (p *packer) add(rec []byte) {
	if len(p.locs) == segmentSize || len(p.buf) >= closeBytes {
		p.flush()
	}
	if len(p.locs) == 0 {
		p.buf = append(p.buf[:0], make([]byte, arenaStart)...)
	}
	p.locs = append(p.locs, uint32(len(p.buf)))
	p.buf = append(p.buf, rec...)
}

func (p *packer) flush() {
	data := arena(len(p.buf))
	copy(data, p.buf)
	seg := &segment{words: make([]uint64, segmentSize), data: data, used: len(p.buf), live: len(p.buf) - arenaStart,
		n: len(p.locs), count: len(p.locs), epoch: p.epoch}
	for at, loc := range p.locs {
		seg.place(uint32(at), loc)
	}
	p.list = append(p.list, seg.inOrder())
	p.locs = p.locs[:0]
}

func (p *packer) finish() []*segment {
	if len(p.locs) > 0 {
		p.flush()
	}
	return p.list
}
