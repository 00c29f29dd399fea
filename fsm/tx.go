package fsm

import (
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm/identity"
)

// Tx is one admin write while it runs on the leader: it reads what the writes
// before it left, including those of the same turn, and collects what it
// changes. Nothing is visible to anybody else until the log has it. A Tx is
// valid only inside the function it was given to and on its goroutine.
type Tx struct {
	rows       *rows     // of the turn, with what it writes; nil once it is over
	undo       []undone  // what brings them back to how it found them, latest last
	before     *beforeTx // nil: nobody asked yet
	state      *State
	now        Time
	author     Author
	writeID    uint64
	given      counters // by this transaction
	turn       counters // by those before it in the turn
	ops        []op
	last       map[rowKey]int // position of the last op per row, while no range came after it
	identities []identity.Op
	applied    []func(identity.Result)
	bytes      int
	parts      int   // how many things it does that need not be done by one transaction; 0: it is one thing
	divided    bool  // they are to be done by several
	level      uint8 // the format level that its rows need
}

type rowKey struct {
	table uint8
	id    uint64
}

// undone is a row as it was before one change of it; nil: it was not there.
type undone struct {
	def *tableDef
	id  uint64
	row any
}

// restore makes the row what it was.
func (u *undone) restore(r *rows) {
	if u.row == nil {
		r.remove(u.def, u.id)
	} else {
		r.put(u.def, u.row)
	}
}

func (tx *Tx) read() *rows {
	if tx.rows == nil {
		panic("fsm: a transaction is read that is over")
	}
	return tx.rows
}

// rollback takes everything back that the transaction did to the rows of its turn.
func (tx *Tx) rollback() {
	for i := len(tx.undo) - 1; i >= 0; i-- {
		tx.undo[i].restore(tx.rows)
	}
}

// Now returns the time of the transaction; every timestamp it writes is this one.
func (tx *Tx) Now() Time { return tx.now }

// Author returns who the transaction is made for.
func (tx *Tx) Author() Author { return tx.author }

// SetAuthor changes who the transaction is made for: authentication happens
// inside it.
func (tx *Tx) SetAuthor(a Author) { tx.author = a }

// Divide has what the transaction does done by several, which is possible for
// what falls due at once; it reports false where it is not. Nothing of this one is
// written then.
func (tx *Tx) Divide() bool {
	tx.divided = tx.divided || tx.parts > 1
	return tx.divided
}

// Genesis returns what the installation was born with.
func (tx *Tx) Genesis() Genesis { return tx.state.Genesis }

// Identities returns the identity stores as of the last applied entry; they do
// not show what this transaction does to them.
func (tx *Tx) Identities() *identity.Stores { return tx.state.identities }

// Identity adds an identity operation. It is carried out when the entry is
// applied; then, before the write is answered, applied (which may be nil) gets
// its result. An operation with ExpectLastChange that no longer holds makes the
// Writer run the whole transaction again.
func (tx *Tx) Identity(o identity.Op, applied func(identity.Result)) {
	tx.identities = append(tx.identities, o)
	tx.applied = append(tx.applied, applied)
}

// nextID gives the next id of a table, for rows that are put without one. It steps over rows that were put with an id of their own.
func (tx *Tx) nextID(def *tableDef) uint64 {
	for {
		if id := tx.next(uint64(def.number)); tx.rows.get(def, id) == nil {
			return id
		}
	}
}

// NextEnvironmentID reserves the id of an [Environment] that is put later: its
// identities can come first.
func (tx *Tx) NextEnvironmentID() uint64 { return tx.nextID(Environments.def) }

// NextMultivariateValueID gives the next id of a [MultivariateValue].
func (tx *Tx) NextMultivariateValueID() uint64 { return tx.next(sequenceMultivariateValue) }

// NextSegmentRuleID gives the next id of a [SegmentRule].
func (tx *Tx) NextSegmentRuleID() uint64 { return tx.next(sequenceSegmentRule) }

// NextConditionID gives the next id of a [Condition].
func (tx *Tx) NextConditionID() uint64 { return tx.next(sequenceCondition) }

func (tx *Tx) next(id uint64) uint64 {
	last := tx.lastGiven(id) + 1
	tx.given[id] = last
	return last
}

// lastGiven is the last number of a sequence that any transaction was given.
func (tx *Tx) lastGiven(id uint64) uint64 {
	if last, ok := tx.given[id]; ok {
		return last
	}
	if last, ok := tx.turn[id]; ok {
		return last
	}
	s, _ := sequences.Get(tx, id)
	return s.Last
}

// counters are the last numbers given of sequences, by their ids. The log needs the last
// of a turn only, so they are no rows before its end.
type counters map[uint64]uint64

// ops puts the counters into the table of sequences.
func (c counters) ops() (list []op) {
	for _, id := range slices.Sorted(maps.Keys(c)) {
		list = append(list, op{Table: sequences.def.number, ID: id, Row: must(encMode.Marshal(&sequence{ID: id, Last: c[id]}))})
	}
	return list
}

// Audit adds a row to Flagsmith's audit log and moves on updated_at of the
// environment it names, or of every environment of its project: that is what
// clients' polling and realtime follow.
func (tx *Tx) Audit(a AuditLog) {
	tx.AuditOnly(a)
	if a.Environment != 0 {
		tx.TouchEnvironment(a.Environment)
		return
	}
	tx.TouchProject(a.Project)
}

// AuditOnly is [Tx.Audit] without moving updated_at, for the few kinds that do not.
func (tx *Tx) AuditOnly(a AuditLog) {
	a.CreatedDate, a.Write = tx.now, tx.writeID
	if a.Author == 0 { // else who asked for what falls due now
		a.Author = tx.author.User
	}
	if p, ok := Projects.Get(tx, a.Project); ok {
		a.Organisation = p.Organisation
	}
	AuditLogs.Put(tx, a)
}

// TouchEnvironment sets an environment's updated_at to the transaction's time,
// or just past its old value: it only grows.
func (tx *Tx) TouchEnvironment(id uint64) {
	if e, ok := Environments.Get(tx, id); ok {
		e.UpdatedAt = max(tx.now, e.UpdatedAt+1)
		Environments.Put(tx, e)
	}
}

// TouchProject is [Tx.TouchEnvironment] for every environment of a project.
func (tx *Tx) TouchProject(id uint64) {
	for _, e := range EnvironmentsByProject.List(tx, id) {
		tx.TouchEnvironment(e.ID)
	}
}

// NewUUID returns a random uuid: chosen here, by the proposer, never in apply.
func (tx *Tx) NewUUID() uuid.UUID { return uuid.New() }

func (tx *Tx) put(def *tableDef, id uint64, row any) {
	tx.level = max(tx.level, def.level)
	raw := must(encMode.Marshal(row))
	object := must(def.decode(raw)) // a copy of its own: the caller keeps nothing of the state
	tx.undo = append(tx.undo, undone{def, id, tx.rows.get(def, id)})
	tx.rows.put(def, object)
	tx.log(op{Table: def.number, ID: id, Row: raw})
}

func (tx *Tx) remove(def *tableDef, id uint64) {
	before := tx.rows.get(def, id)
	if before == nil {
		return
	}
	tx.undo = append(tx.undo, undone{def, id, before})
	tx.rows.remove(def, id)
	tx.log(op{Table: def.number, ID: id})
}

func (tx *Tx) removeRange(def *tableDef, index int, k Key) {
	found := slices.Collect(tx.rows.with(def, index, k))
	if len(found) == 0 {
		return
	}
	for _, o := range found {
		id := def.rowID(o)
		tx.undo = append(tx.undo, undone{def, id, o})
		tx.rows.remove(def, id)
	}
	tx.ops = append(tx.ops, op{Table: def.number, Index: def.indexes[index].name, Key: k})
	clear(tx.last)
}

// log appends o, or replaces the row's last op: within a write only the last
// state of a row matters (counters and updated_at change many times).
func (tx *Tx) log(o op) {
	tx.bytes += len(o.Row)
	k := rowKey{o.Table, o.ID}
	if i, ok := tx.last[k]; ok {
		tx.bytes -= len(tx.ops[i].Row)
		tx.ops[i] = o
		return
	}
	tx.last[k] = len(tx.ops)
	tx.ops = append(tx.ops, o)
	tx.bytes += 16
}

// finish closes the transaction's books and reports whether it did anything that
// the log must carry.
func (tx *Tx) finish() (write, bool) {
	if len(tx.ops) == 0 && len(tx.identities) == 0 && len(tx.given) == 0 { // numbers that were given are rows, too
		return write{}, false
	}
	tx.given[uint64(ChangeLog.def.number)] = tx.writeID
	w := write{ID: tx.writeID, Author: tx.author, Ops: tx.ops}
	w.IdentityOps = len(tx.identities)
	for i := range tx.identities {
		w.Identities = identity.AppendOp(w.Identities, &tx.identities[i])
	}
	return w, true
}
