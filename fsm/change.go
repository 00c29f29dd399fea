package fsm

// Change is what a transaction made of one row: nil means that the row was not,
// or is no longer, there.
type Change[R any] struct {
	ID            uint64
	Before, After *R
}

// Changes lists the rows of the table that the transaction changed so far, in
// the order in which it first wrote to them; rows that it both made and removed
// are left out. The rows must not be written to.
func (t Table[R]) Changes(tx *Tx) []Change[R] {
	var changes []Change[R]
	var seen map[uint64]bool
	before := tx.Before()
	note := func(id uint64) {
		if seen[id] {
			return
		}
		if seen == nil {
			seen = map[uint64]bool{}
		}
		seen[id] = true
		if c := (Change[R]{id, t.Ref(before, id), t.Ref(tx, id)}); c.Before != nil || c.After != nil {
			changes = append(changes, c)
		}
	}
	for i := range tx.ops {
		switch o := &tx.ops[i]; {
		case o.Table != t.def.number:
		case o.Index == "":
			note(o.ID)
		default:
			at, _ := t.def.index(o.Index) // of an op that this transaction made
			for row := range refs[R](before.read().with(t.def, at, o.Key)) {
				note(*t.id(row))
			}
		}
	}
	return changes
}

// Before is the state that the transaction began with.
func (tx *Tx) Before() Reader {
	return &beforeTx{tx}
}

// beforeTx reads what was there before a transaction.
type beforeTx struct{ *Tx }

func (b *beforeTx) read() *rows { return b.before }
