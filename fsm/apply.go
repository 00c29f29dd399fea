package fsm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/flagraft/flagraft/fsm/identity"
)

// Why a changeset was not applied. Both leave the state as it was.
var (
	// ErrFenced says that the changeset was computed on another state than the
	// one it met: another leader wrote in between.
	ErrFenced = errors.New("changeset does not follow the state's last one")
	// ErrIdentityMoved says that an identity changed since it was read.
	ErrIdentityMoved = errors.New("identity changed since it was read")
)

// ChangesetResult is Apply's answer to a changeset: Err is nil, [ErrFenced] or
// [ErrIdentityMoved]; Results are those of the identity operations of each write.
type ChangesetResult struct {
	Err     error
	Results [][]identity.Result
	Touched [][]uint64 // environments, per write
}

// IdentityBatchResult is Apply's answer to an identity batch: one result per
// operation of each sub-batch, nil for a sub-batch that was applied before.
type IdentityBatchResult struct {
	Results [][]identity.Result
}

// apply applies one entry to the state; touched collects the environments it concerns.
func (f *FSM) apply(index uint64, data []byte, touched *Touched) (any, error) {
	kind, body, err := splitEntry(data)
	if err != nil {
		return nil, err
	}
	if f.ids != nil { // here, for the level rises, and the stores are replaced, in several places
		f.ids.SetLimits(identityLimits(f.current.Level()))
	}
	switch kind {
	case KindGenesis:
		return nil, f.applyGenesis(body)
	case KindChangeset:
		return f.applyChangeset(index, body, touched)
	case KindIdentityBatch:
		return f.applyIdentityBatch(index, body)
	case KindUsageBatch:
		return nil, f.applyUsageBatch(body)
	case KindFormatLevel:
		return nil, f.applyLevel(body)
	case KindRestore:
		return f.applyRestore(index, body)
	case KindHashMark:
		return nil, f.applyMark(index, body)
	case KindHashVerdict:
		return nil, f.applyVerdict(body)
	default:
		return nil, unknownKind(kind)
	}
}

// applyGenesis gives the state its origin. A second genesis (two leaders may
// each have proposed one) changes nothing.
func (f *FSM) applyGenesis(body []byte) error {
	var g Genesis
	if err := decodeBody(body, &g); err != nil {
		return err
	}
	if f.current.Born() {
		return nil
	}
	if g.Level > FormatLevel {
		return fmt.Errorf("%w: the installation is at format level %d, this binary knows %d", ErrFormat, g.Level, FormatLevel)
	}
	f.current.Genesis, f.current.Time = g, g.Time
	f.ids = identity.New(g.Seed)
	return nil
}

func (f *FSM) applyChangeset(index uint64, body []byte, touched *Touched) (*ChangesetResult, error) {
	var c changeset
	if err := decodeBody(body, &c); err != nil {
		return nil, err
	}
	if c.Seq != f.current.Seq+1 || !f.current.Born() {
		return &ChangesetResult{Err: ErrFenced}, nil
	}
	for i := range c.Writes {
		holds, err := f.expectationsHold(&c.Writes[i])
		if err != nil {
			return nil, err
		}
		if !holds {
			return &ChangesetResult{Err: ErrIdentityMoved}, nil
		}
	}

	at := max(c.Time, f.current.Time)
	a := f.applier(at)
	result := &ChangesetResult{Results: make([][]identity.Result, len(c.Writes))}
	for i, w := range c.Writes {
		var op identity.Op
		for r := identity.ReadOps(w.Identities, w.IdentityOps); r.NextOp(&op); {
			result.Results[i] = append(result.Results[i], f.ids.Perform(&op, index, int64(at)))
		}
		if err := a.write(index, &w); err != nil {
			return nil, err
		}
		result.Touched = append(result.Touched, a.touched.environments)
		touched.merge(a.touched)
		a.touched = &Touched{}
	}
	f.current.Seq, f.current.Time, f.current.rowsHash, f.current.sizes = c.Seq, at, a.sum, a.sizes
	return result, nil
}

// expectationsHold reports whether every identity that a write names is as the
// transaction saw it.
func (f *FSM) expectationsHold(w *write) (bool, error) {
	var op identity.Op
	r := identity.ReadOps(w.Identities, w.IdentityOps)
	for r.NextOp(&op) {
		if op.ExpectLastChange == 0 {
			continue
		}
		rec, ok := findIdentity(f.ids, &op)
		if !ok || rec.LastChange() != op.ExpectLastChange {
			return false, nil
		}
	}
	if err := r.Err(); err != nil {
		return false, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return true, nil
}

func findIdentity(ids *identity.Stores, op *identity.Op) (identity.Record, bool) {
	st := ids.Environment(op.Environment)
	if op.Identity != 0 {
		return st.ByID(op.Identity)
	}
	return st.Lookup(op.Identifier)
}

// applyIdentityBatch applies the sub-batches of an entry, each once: a node
// sends a sub-batch again when it does not know what became of it.
func (f *FSM) applyIdentityBatch(index uint64, body []byte) (*IdentityBatchResult, error) {
	if !f.current.Born() {
		return &IdentityBatchResult{}, nil
	}
	if len(body) < 8 {
		return nil, fmt.Errorf("%w: identity batch of %d bytes", ErrFormat, len(body))
	}
	at := max(Time(binary.BigEndian.Uint64(body)), f.current.Time)
	f.current.Time = at
	result := &IdentityBatchResult{}
	var sub identity.SubBatch
	var op identity.Op
	r := identity.ReadBatch(body[8:])
	for r.NextSub(&sub) {
		fresh, err := f.once(string(sub.Node), func(s *nodeSequence) *uint64 { return &s.Identity }, sub.Sequence)
		if err != nil {
			return nil, err
		}
		if !fresh {
			result.Results = append(result.Results, nil)
			continue
		}
		results := make([]identity.Result, 0, sub.Ops)
		for r.NextOp(&op) {
			results = append(results, f.ids.Perform(&op, index, int64(at)))
		}
		result.Results = append(result.Results, results)
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return result, nil
}

func (f *FSM) applyUsageBatch(body []byte) error {
	var b usageBatch
	if err := decodeBody(body, &b); err != nil {
		return err
	}
	if !f.current.Born() {
		return nil
	}
	f.current.Time = max(b.Time, f.current.Time)
	fresh, err := f.once(b.Node, func(s *nodeSequence) *uint64 { return &s.Usage }, b.Seq)
	if err != nil || !fresh {
		return err
	}
	a := f.applier(f.current.Time)
	for _, u := range b.Counts {
		if _, ok := Environments.Get(a, u.Environment); !ok {
			continue // deleted while the counts were on their way
		}
		have, ok := UsagesByKey.First(a, u.Environment, byte(u.Kind), u.Feature, u.Bucket, u.Labels)
		if ok {
			u.ID, u.Count = have.ID, have.Count+u.Count
		} else {
			u.ID = a.next(Usages.def)
		}
		if err := a.put(Usages.def, u.ID, must(encMode.Marshal(&u))); err != nil {
			return err
		}
	}
	f.current.rowsHash, f.current.sizes = a.sum, a.sizes
	return nil
}

// once reports whether the batch with that number of a node is new, and
// remembers it.
func (f *FSM) once(node string, field func(*nodeSequence) *uint64, seq uint64) (bool, error) {
	a := f.applier(f.current.Time)
	s, known := nodeSequencesByNode.First(a, node)
	if seq <= *field(&s) {
		return false, nil
	}
	if !known {
		s = nodeSequence{ID: a.next(nodeSequences.def), Node: node}
	}
	*field(&s) = seq
	if err := a.put(nodeSequences.def, s.ID, must(encMode.Marshal(&s))); err != nil {
		return false, err
	}
	f.current.rowsHash, f.current.sizes = a.sum, a.sizes
	return true, nil
}

// applier changes rows for one entry, as of a time. An entry that fails leaves it half done: then the node stops, see [FSM.ApplyBatch].
func (f *FSM) applier(at Time) *rowApplier {
	return &rowApplier{rows: f.rows, at: at, ids: f.ids, sum: f.current.rowsHash, sizes: f.current.sizes, touched: &Touched{}}
}

// rowApplier changes rows while an entry is applied. It is the Reader of the
// half-applied state for the touch functions.
type rowApplier struct {
	rows    *rows
	at      Time
	ids     *identity.Stores
	sum     digest
	touched *Touched
	changes []RowChange // of the write at hand
	sizes   sizes
}

func (a *rowApplier) read() *rows                  { return a.rows }
func (a *rowApplier) Now() Time                    { return a.at }
func (a *rowApplier) Identities() *identity.Stores { return a.ids }

// write applies the rows of one write and records them in the change log.
func (a *rowApplier) write(index uint64, w *write) error {
	a.changes = nil
	for i := range w.Ops {
		if err := a.op(&w.Ops[i]); err != nil {
			return err
		}
	}
	if len(a.changes) == 0 {
		return nil
	}
	entry := ChangeLogEntry{ID: w.ID, Index: index, Time: a.at, Author: w.Author, Changes: a.changes}
	for _, c := range entry.Changes {
		entry.Size += uint64(len(c.Before) + len(c.After) + 16)
	}
	a.insert(ChangeLog.def, w.ID, &stored[ChangeLogEntry]{row: entry, raw: must(encMode.Marshal(&entry))})
	return nil
}

func (a *rowApplier) op(o *op) error {
	def := registry.byNumber[o.Table]
	switch {
	case def == nil:
		return fmt.Errorf("%w: unknown table %d", ErrFormat, o.Table)
	case o.Index != "":
		return a.deleteRange(def, o.Index, o.Key)
	case o.Row == nil:
		a.delete(def, o.ID)
		return nil
	default:
		return a.put(def, o.ID, o.Row)
	}
}

func (a *rowApplier) put(def *tableDef, id uint64, raw []byte) error {
	object, err := def.decode(raw)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	a.insert(def, id, object)
	return nil
}

// insert is put with a row that was decoded.
func (a *rowApplier) insert(def *tableDef, id uint64, object any) {
	a.changed(def, id, a.rows.get(def, id), object)
	a.rows.put(def, object)
}

func (a *rowApplier) delete(def *tableDef, id uint64) {
	if before := a.rows.get(def, id); before != nil {
		a.changed(def, id, before, nil)
		a.rows.remove(def, id)
	}
}

func (a *rowApplier) deleteRange(def *tableDef, index string, key []byte) error {
	at, ok := def.index(index)
	if !ok {
		return fmt.Errorf("%w: table %s has no index %q", ErrFormat, def.name, index)
	}
	for _, o := range slices.Collect(a.rows.with(def, at, key)) {
		a.delete(def, def.rowID(o))
	}
	return nil
}

// changed books a row's change: hash, touched environments, change log.
func (a *rowApplier) changed(def *tableDef, id uint64, before, after any) {
	change := RowChange{Table: def.number, ID: id}
	if before != nil {
		change.Before = before.(rawRow).bytes()
		a.sum = a.sum.sub(hashRow(def.number, id, change.Before))
		a.touch(def, before)
	}
	a.sizes.changed(before, after)
	if after != nil {
		change.After = after.(rawRow).bytes()
		a.sum = a.sum.add(hashRow(def.number, id, change.After))
		a.touch(def, after)
	}
	a.touched.keys = a.touched.keys || keysChanged(def, before, after)
	if !unlogged[def.number] {
		a.changes = append(a.changes, change)
	}
}

func (a *rowApplier) touch(def *tableDef, object any) {
	if def.touch != nil {
		def.touch(a, object, a.touched)
	}
}

// next gives the next id of a table while applying.
func (a *rowApplier) next(def *tableDef) uint64 {
	s, _ := sequences.Get(a, uint64(def.number))
	s.ID, s.Last = uint64(def.number), s.Last+1
	must(struct{}{}, a.put(sequences.def, s.ID, must(encMode.Marshal(&s))))
	return s.Last
}
