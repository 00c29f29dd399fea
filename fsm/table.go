package fsm

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/fxamacker/cbor/v2"
)

// Table is the typed handle of one table of the replicated state. Handles are
// package variables (Tags, Features, …); they hold no data: every call names
// the [Reader] or [Tx] it works on.
//
// Rows are returned by value. Slices and pointers inside a row are shared with
// the state: replace them, never write through them.
type Table[R any] struct {
	def *tableDef
	id  func(*R) *uint64
}

// Index is one secondary index of a table. Lookups may name any leading parts
// of the key; results come in key order, then by id.
type Index[R any] struct {
	table Table[R]
	at    int // in tableDef.indexes
}

// tableDef is what the state knows of a table without its row type.
type tableDef struct {
	number  uint8 // in log entries and snapshots: never reused, never changed
	level   uint8 // the format level that the table came with
	place   int   // among the tables of this binary
	name    string
	indexes []indexDef
	decode  func(raw []byte) (object any, err error)
	rowID   func(object any) uint64
	touch   func(r Reader, object any, t *Touched)
	// mark: rows of the same number that are there at once, or false; see [rows.mark].
	mark func(object any) (of uint64, marked bool)
}

// indexDef is what the state knows of an index; key reports false for rows it leaves out.
type indexDef struct {
	name string
	key  func(object any, k Key) (Key, bool)
}

// stored is a row as the state holds it: the row and the bytes it was decoded from,
// which snapshots, hashes and the change log copy.
type stored[R any] struct {
	row R
	raw []byte
}

func (s *stored[R]) bytes() []byte { return s.raw }

func (s *stored[R]) value() any { return s.row }

// rawRow is any *stored row.
type rawRow interface {
	bytes() []byte
	value() any
}

// value decodes a row; nil is nil.
func (d *tableDef) value(raw []byte) (any, error) {
	if raw == nil {
		return nil, nil
	}
	o, err := d.decode(raw)
	if err != nil {
		return nil, err
	}
	return o.(rawRow).value(), nil
}

var (
	encMode = must(cbor.EncOptions{Sort: cbor.SortBytewiseLexical, Time: cbor.TimeUnixMicro}.EncMode())
	decMode = must(cbor.DecOptions{MaxArrayElements: 1 << 20, MaxMapPairs: 1 << 20}.DecMode())
	// rowMode is for rows, of our own making: the change log has all that a write deleted in one.
	rowMode = must(cbor.DecOptions{MaxArrayElements: math.MaxInt32, MaxMapPairs: 1 << 20}.DecMode())
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// newTable declares a table. number is part of the log format. touch names the
// environments whose Views depend on a row (nil: none).
func newTable[R any](number uint8, name string, id func(*R) *uint64, touch func(r Reader, row *R, t *Touched)) Table[R] {
	def := &tableDef{
		number: number,
		level:  BaseLevel,
		name:   name,
		rowID:  func(o any) uint64 { return *id(&o.(*stored[R]).row) },
		decode: func(raw []byte) (any, error) {
			s := &stored[R]{raw: raw}
			if err := rowMode.Unmarshal(raw, &s.row); err != nil {
				return nil, fmt.Errorf("decode row of %s: %w", name, err)
			}
			return s, nil
		},
	}
	if touch != nil {
		def.touch = func(r Reader, o any, t *Touched) { touch(r, &o.(*stored[R]).row, t) }
	}
	registry.add(def)
	return Table[R]{def: def, id: id}
}

// since says that the table came with a later format level than the first:
// below it nothing is written to the table, and snapshots leave it out.
func (t Table[R]) since(level uint8) Table[R] {
	t.def.level = level
	return t
}

// marked says by which number [Table.mark] tells rows apart; false: not at all.
func (t Table[R]) marked(of func(row *R) (uint64, bool)) Table[R] {
	t.def.mark = func(o any) (uint64, bool) { return of(&o.(*stored[R]).row) }
	return t
}

// index declares a secondary index; key reports false for rows it leaves out.
func (t Table[R]) index(name string, key func(row *R, k Key) (Key, bool)) Index[R] {
	t.def.indexes = append(t.def.indexes, indexDef{name, func(o any, k Key) (Key, bool) { return key(&o.(*stored[R]).row, k) }})
	return Index[R]{table: t, at: len(t.def.indexes) - 1}
}

// Name returns the model's name as Flagsmith writes it ("Feature").
func (t Table[R]) Name() string { return t.def.name }

// Get returns the row with that id.
func (t Table[R]) Get(r Reader, id uint64) (row R, ok bool) {
	if p := t.Ref(r, id); p != nil {
		return *p, true
	}
	return row, false
}

// Ref returns the row with that id in place. It is for readers that must not
// copy and for identity comparison: an unchanged row keeps its address from
// state to state. The row must not be written to.
func (t Table[R]) Ref(r Reader, id uint64) *R {
	o := r.read().get(t.def, id)
	if o == nil {
		return nil
	}
	return &o.(*stored[R]).row
}

// All yields every row by ascending id.
func (t Table[R]) All(r Reader) iter.Seq[R] { return values(t.Refs(r)) }

// Refs is [Table.All] without copying the rows; see [Table.Ref].
func (t Table[R]) Refs(r Reader) iter.Seq[*R] { return refs[R](r.read().all(t.def)) }

// RefsBelow yields the rows with an id below one, the largest first.
func (t Table[R]) RefsBelow(r Reader, id uint64) iter.Seq[*R] {
	return refs[R](r.read().below(t.def, id))
}

// RefsFrom yields the rows from an id on, the smallest first.
func (t Table[R]) RefsFrom(r Reader, id uint64) iter.Seq[*R] {
	return refs[R](r.read().from(t.def, id))
}

// mark is the same for two states whose rows that are marked with a number are the same;
// it may differ although they are.
func (t Table[R]) mark(r Reader, of uint64) uint64 { return r.read().mark(t.def, of) }

// Put inserts or replaces a row. A row whose id is 0 gets the table's next id.
// It returns the row as stored.
func (t Table[R]) Put(tx *Tx, row R) R {
	id := t.id(&row)
	if *id == 0 {
		*id = tx.nextID(t.def)
	}
	tx.put(t.def, *id, &row)
	return row
}

// Delete removes the row with that id, if there is one.
func (t Table[R]) Delete(tx *Tx, id uint64) { tx.remove(t.def, id) }

// All yields the rows whose key starts with parts. The table must not be
// written to while the sequence runs: collect first (see [Index.List]).
func (x Index[R]) All(r Reader, parts ...any) iter.Seq[R] { return values(x.Refs(r, parts...)) }

// Refs is [Index.All] without copying the rows; see [Table.Ref].
func (x Index[R]) Refs(r Reader, parts ...any) iter.Seq[*R] {
	return refs[R](r.read().with(x.table.def, x.at, keyOf(parts...)))
}

// List returns the rows whose key starts with parts.
func (x Index[R]) List(r Reader, parts ...any) []R {
	rows := []R{}
	for row := range x.All(r, parts...) {
		rows = append(rows, row)
	}
	return rows
}

// First returns the first row whose key starts with parts.
func (x Index[R]) First(r Reader, parts ...any) (row R, ok bool) {
	for p := range x.Refs(r, parts...) {
		return *p, true
	}
	return row, false
}

// Count returns how many rows have a key that starts with parts. It does not look at them.
func (x Index[R]) Count(r Reader, parts ...any) int {
	_, n := r.read().span(x.table.def, x.at, keyOf(parts...))
	return n
}

// Slice is the rows of [Index.Refs] from one place up to another, without looking at those
// before. It holds what there is of them.
func (x Index[R]) Slice(r Reader, from, to int, parts ...any) []*R {
	first, n := r.read().span(x.table.def, x.at, keyOf(parts...))
	from, to = max(from, 0), min(to, n)
	return slices.Collect(refs[R](r.read().slice(x.table.def, x.at, first+from, to-from)))
}

// DeleteAll removes the rows whose key starts with parts as one range in the
// log, however many they are.
func (x Index[R]) DeleteAll(tx *Tx, parts ...any) {
	tx.removeRange(x.table.def, x.at, keyOf(parts...))
}

func refs[R any](objects iter.Seq[any]) iter.Seq[*R] {
	return func(yield func(*R) bool) {
		for o := range objects {
			if !yield(&o.(*stored[R]).row) {
				return
			}
		}
	}
}

func values[R any](refs iter.Seq[*R]) iter.Seq[R] {
	return func(yield func(R) bool) {
		for p := range refs {
			if !yield(*p) {
				return
			}
		}
	}
}
