package fsm

import (
	"iter"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tidwall/btree"
)

// rows are the rows of all tables. A fork of them costs little more than a pointer for
// each table, and neither side sees what the other changes afterwards.
//
// Rows that are read by more than one goroutine are never changed: who has published some
// goes on with a fork, see [rows.frozen].
type rows struct {
	tables []*tableRows // by tableDef.place; nil: none
	owned  []bool       // those that only these rows have: they are changed in place. nil: none
}

// tableRows are the rows of one table, by id and by the key of each index.
type tableRows struct {
	// IsoCopy marks the tree that it copies. It is the only thing that is done to trees others
	// read, by whoever forks; readers do not look at the mark.
	forking sync.Mutex
	byID    *btree.Map[uint64, any]
	indexes []*btree.Map[string, any]
	changes *btree.Map[uint64, uint64] // see [rows.mark]

	old, key Key // scratch of put and remove
	reading  int // sequences under way, while the table is owned
}

// treeDegree: a node of a tree has up to twice as many entries. A change copies a node for each level.
const treeDegree = 12

func newRows() *rows { return &rows{tables: make([]*tableRows, len(registry.all))} }

// fork is a copy that may be changed.
func (r *rows) fork() *rows {
	if r.owned != nil {
		clear(r.owned) // both have the same trees now
	}
	return &rows{tables: slices.Clone(r.tables), owned: make([]bool, len(r.tables))}
}

// frozen is a copy for any number of readers.
func (r *rows) frozen() *rows {
	if r.owned != nil {
		clear(r.owned)
	}
	return &rows{tables: slices.Clone(r.tables)}
}

func (t *tableRows) fork() *tableRows {
	t.forking.Lock()
	defer t.forking.Unlock()
	f := &tableRows{byID: t.byID.IsoCopy(), indexes: make([]*btree.Map[string, any], len(t.indexes)), changes: t.changes.IsoCopy()}
	for i, x := range t.indexes {
		f.indexes[i] = x.IsoCopy()
	}
	return f
}

// table has the rows of a table to change them.
func (r *rows) table(def *tableDef) *tableRows {
	t := r.tables[def.place]
	switch {
	case t == nil:
		t = &tableRows{byID: btree.NewMap[uint64, any](treeDegree), changes: btree.NewMap[uint64, uint64](treeDegree)}
		for range def.indexes {
			t.indexes = append(t.indexes, btree.NewMap[string, any](treeDegree))
		}
	case !r.owned[def.place] || t.reading > 0: // a sequence that is under way goes on over what was there
		t = t.fork()
	default:
		return t
	}
	r.tables[def.place], r.owned[def.place] = t, true
	return t
}

// put inserts a row or replaces the one with its id.
func (r *rows) put(def *tableDef, object any) {
	t, id := r.table(def), def.rowID(object)
	before, _ := t.byID.Set(id, object)
	for i := range def.indexes {
		x, in, was := &def.indexes[i], false, false
		t.key, in = x.entry(t.key[:0], object, id)
		if before != nil {
			t.old, was = x.entry(t.old[:0], before, id)
		}
		if was && (!in || string(t.old) != string(t.key)) {
			t.indexes[i].Delete(alias(t.old))
		}
		if in {
			t.indexes[i].Set(string(t.key), object)
		}
	}
	t.note(def, before, object)
}

// remove removes the row with an id, if there is one.
func (r *rows) remove(def *tableDef, id uint64) {
	if r.get(def, id) == nil {
		return
	}
	t := r.table(def)
	before, _ := t.byID.Delete(id)
	for i := range def.indexes {
		var was bool
		if t.old, was = def.indexes[i].entry(t.old[:0], before, id); was {
			t.indexes[i].Delete(alias(t.old))
		}
	}
	t.note(def, before, nil)
}

// get returns the row with an id, or nil.
func (r *rows) get(def *tableDef, id uint64) any {
	t := r.tables[def.place]
	if t == nil {
		return nil
	}
	object, _ := t.byID.Get(id)
	return object
}

// count is the number of rows of a table.
func (r *rows) count(def *tableDef) int {
	if t := r.tables[def.place]; t != nil {
		return t.byID.Len()
	}
	return 0
}

// all yields the rows of a table by ascending id.
func (r *rows) all(def *tableDef) iter.Seq[any] { return r.from(def, 0) }

// from yields the rows of a table with an id from one on, the smallest first.
func (r *rows) from(def *tableDef, id uint64) iter.Seq[any] {
	return r.sequence(def, func(t *tableRows, yield func(any) bool) {
		t.byID.Ascend(id, func(_ uint64, object any) bool { return yield(object) })
	})
}

// below yields the rows of a table with an id below one, the largest first.
func (r *rows) below(def *tableDef, id uint64) iter.Seq[any] {
	return r.sequence(def, func(t *tableRows, yield func(any) bool) {
		if id > 0 {
			t.byID.Descend(id-1, func(_ uint64, object any) bool { return yield(object) })
		}
	})
}

// with yields the rows whose key in an index starts with another, in key order, then by id.
func (r *rows) with(def *tableDef, index int, key Key) iter.Seq[any] {
	prefix := alias(key)
	return r.sequence(def, func(t *tableRows, yield func(any) bool) {
		t.indexes[index].Ascend(prefix, func(at string, object any) bool {
			return strings.HasPrefix(at, prefix) && yield(object)
		})
	})
}

// span tells where in an index the keys that start with another are: from the first on, so many.
// It looks at some forty keys however many there are.
func (r *rows) span(def *tableDef, index int, key Key) (first, n int) {
	t := r.tables[def.place]
	if t == nil {
		return 0, 0
	}
	x, prefix := t.indexes[index], alias(key)
	at := func(i int) string { k, _, _ := x.GetAt(i); return k }
	first = sort.Search(x.Len(), func(i int) bool { return at(i) >= prefix })
	return first, sort.Search(x.Len()-first, func(i int) bool { return !strings.HasPrefix(at(first+i), prefix) })
}

// slice yields so many rows of an index from a place on.
func (r *rows) slice(def *tableDef, index, first, n int) iter.Seq[any] {
	return r.sequence(def, func(t *tableRows, yield func(any) bool) {
		if from, _, ok := t.indexes[index].GetAt(first); ok && n > 0 {
			t.indexes[index].Ascend(from, func(_ string, object any) bool {
				n--
				return yield(object) && n > 0
			})
		}
	})
}

func (r *rows) sequence(def *tableDef, run func(*tableRows, func(any) bool)) iter.Seq[any] {
	return func(yield func(any) bool) {
		t := r.tables[def.place]
		if t == nil {
			return
		}
		if r.owned != nil && r.owned[def.place] {
			t.reading++
			defer func() { t.reading-- }()
		}
		run(t, yield)
	}
}

// lastMark numbers changes over all rows of the process, so that the same number is
// the same change.
var lastMark atomic.Uint64

// mark is the same for two rows only when those of a table that [tableDef.mark] gives
// this number are the same in both; 0 before the first.
func (r *rows) mark(def *tableDef, of uint64) uint64 {
	t := r.tables[def.place]
	if t == nil {
		return 0
	}
	mark, _ := t.changes.Get(of)
	return mark
}

func (t *tableRows) note(def *tableDef, before, after any) {
	if def.mark == nil {
		return
	}
	for _, object := range []any{before, after} {
		if object == nil {
			continue
		}
		if of, marked := def.mark(object); marked {
			t.changes.Set(of, lastMark.Add(1))
		}
	}
}

// entry is the key under which an index has a row: the row's id makes it the only one.
func (x *indexDef) entry(dst Key, object any, id uint64) (Key, bool) {
	key, in := x.key(object, dst)
	return key.Uint(id), in
}

// alias is b as a text, for as long as b is not written to.
func alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
