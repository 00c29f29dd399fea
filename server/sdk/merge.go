package sdk

import (
	"bytes"

	"github.com/flagraft/flagraft/fsm/identity"
)

// effectiveTrait is one trait that takes part in evaluation and is answered.
type effectiveTrait struct {
	key       string
	stored    *storedKey // key, where the View knows it by number; else nil
	value     []byte     // canonical literal
	id        uint64     // 0: shown as null
	transient bool
	gone      bool // deleted by the request
	fresh     bool // not stored before the request
}

// manyTraits is from where on keys are found by a map: a request's length is the
// client's choice.
const manyTraits = 64

// merge lays the request's traits over the stored ones: stored keys keep their
// place and id, new ones follow, then new transient ones. It reports whether
// storing the request's persistent traits would change what is stored. With
// allTransient nothing of the request is for storing, and a null is no deletion.
func (sc *scratch) merge(rec *identity.Record, allTransient bool) (changed bool) {
	sc.effective = sc.effective[:0]
	if rec != nil {
		for it := rec.Traits(); it.Next(); {
			sc.have(&it)
		}
	}
	sc.index()
	transient := 0
	cursor := 0
	for i := range sc.in.traits {
		t := &sc.in.traits[i]
		if allTransient || t.transient {
			transient++
			continue
		}
		changed = sc.lay(t, &cursor) || changed
	}
	for i := range sc.in.traits {
		if transient == 0 {
			break
		}
		if t := &sc.in.traits[i]; allTransient || t.transient {
			transient--
			sc.layTransient(t)
		}
	}
	return changed
}

// have appends a stored trait.
func (sc *scratch) have(it *identity.TraitIterator) *effectiveTrait {
	sc.effective = append(sc.effective, effectiveTrait{key: it.Key(), stored: sc.keys.key(it.KeyID()), value: it.Value(), id: it.ID()})
	return &sc.effective[len(sc.effective)-1]
}

// lay puts a persistent trait in its place; cursor is where the next is expected.
func (sc *scratch) lay(t *traitInput, cursor *int) (changed bool) {
	at := sc.find(text(t.key), *cursor)
	switch {
	case at < 0 && t.value == nil:
		return false // nothing to delete
	case at < 0:
		at = sc.add(text(t.key))
		sc.effective[at].fresh = true
	}
	*cursor = at + 1
	e := &sc.effective[at]
	t.repeated = e.fresh && e.value != nil
	switch {
	case t.value == nil:
		changed = !e.gone
		e.gone = true
	case e.gone || !bytes.Equal(e.value, t.value):
		changed = true
		e.value, e.gone = t.value, false
	}
	return changed
}

// layTransient puts a transient trait over what is there; null does nothing.
func (sc *scratch) layTransient(t *traitInput) {
	if t.value == nil {
		return
	}
	at := sc.find(text(t.key), len(sc.effective))
	if at < 0 {
		at = sc.add(text(t.key))
	}
	e := &sc.effective[at]
	e.value, e.transient, e.id, e.gone = t.value, true, 0, false
}

// index prepares find for many traits.
func (sc *scratch) index() {
	clear(sc.positions)
	sc.indexed = len(sc.effective)+len(sc.in.traits) >= manyTraits
	if !sc.indexed {
		return
	}
	if sc.positions == nil {
		sc.positions = map[string]int{}
	}
	for i := range sc.effective {
		sc.positions[sc.effective[i].key] = i
	}
}

// find returns the position of a key, looking first where the request would have
// it if it lists the traits in the stored order.
func (sc *scratch) find(key string, cursor int) int {
	if cursor < len(sc.effective) && sc.effective[cursor].key == key {
		return cursor
	}
	if sc.indexed {
		if i, ok := sc.positions[key]; ok {
			return i
		}
		return -1
	}
	for i := range sc.effective {
		if sc.effective[i].key == key {
			return i
		}
	}
	return -1
}

func (sc *scratch) add(key string) int {
	at := len(sc.effective)
	sc.effective = append(sc.effective, effectiveTrait{key: key})
	if sc.indexed {
		sc.positions[key] = at
	}
	return at
}

// mergeAgain is merge once the request is stored: what others had stored and this
// node did not know of is there by now. Of an identity that was known, new traits are
// shown without their ids, as in the reference.
func (sc *scratch) mergeAgain(rec *identity.Record, known bool) {
	sc.fresh = sc.fresh[:0]
	for i := range sc.effective {
		if e := &sc.effective[i]; known && e.fresh {
			sc.fresh = append(sc.fresh, e.key)
		}
	}
	sc.merge(rec, false)
	for _, key := range sc.fresh {
		if at := sc.find(key, len(sc.effective)); at >= 0 {
			sc.effective[at].id = 0
		}
	}
	clear(sc.fresh)
}

// unnumbered has traits found by name: their numbers were those of another View.
func (sc *scratch) unnumbered() {
	for i := range sc.effective {
		sc.effective[i].stored = nil
	}
}
