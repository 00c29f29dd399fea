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
	for i := range tx.undo {
		u := &tx.undo[i]
		if u.def != t.def || seen[u.id] {
			continue
		}
		if seen == nil {
			seen = map[uint64]bool{}
		}
		seen[u.id] = true
		c := Change[R]{ID: u.id, After: t.Ref(tx, u.id)}
		if u.row != nil {
			c.Before = &u.row.(*stored[R]).row
		}
		if c.Before != nil || c.After != nil {
			changes = append(changes, c)
		}
	}
	return changes
}

// Before is the state that the transaction began with.
func (tx *Tx) Before() Reader {
	if tx.before == nil {
		b := &beforeTx{tx, tx.rows.fork()}
		for i := len(tx.undo) - 1; i >= 0; i-- {
			tx.undo[i].restore(b.rows)
		}
		tx.before = b
	}
	return tx.before
}

// beforeTx reads what was there before a transaction.
type beforeTx struct {
	*Tx
	rows *rows
}

func (b *beforeTx) read() *rows { return b.rows }
