package fsm

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrTooEarly is the error for a moment that the change log does not reach back to.
var ErrTooEarly = errors.New("the change log does not reach back that far")

// AsOf returns the rows as they were after the last write for which kept reports
// true: the writes since are undone from the change log. What the change log
// leaves out (tokens, audit, usage, answers) and the identities are those of now.
// It goes back neither past what retention removed nor past a restore: then the
// error is an [ErrTooEarly].
func (s *State) AsOf(kept func(index uint64, at Time) bool) (*State, error) {
	past := *s
	entries := slices.Collect(ChangeLog.Refs(s)) // by id: in the order of the log
	if len(entries) == 0 && !kept(s.Index, s.Time) {
		if last, _ := sequences.Get(s, uint64(ChangeLog.def.number)); last.Last > 0 {
			return nil, fmt.Errorf("%w: it is empty", ErrTooEarly)
		}
	}
	past.rows = s.rows.fork()
	for i, e := range slices.Backward(entries) {
		if kept(e.Index, e.Time) {
			past.Index, past.Time = e.Index, e.Time
			break
		}
		if e.Note != "" || i == 0 { // nothing was there before the first write of all, either
			return nil, fmt.Errorf("%w: it begins at %s, index %d", ErrTooEarly, e.Time.Std().Format(time.RFC3339), e.Index)
		}
		for _, c := range slices.Backward(e.Changes) {
			if err := undo(past.rows, c); err != nil {
				return nil, err
			}
		}
		past.Index, past.Time = e.Index-1, min(past.Time, e.Time-1)
	}
	past.rows = past.rows.frozen()
	return &past, nil
}

// undo puts a row back to what it was before a change.
func undo(r *rows, c RowChange) error {
	def := registry.byNumber[c.Table]
	if def == nil {
		return fmt.Errorf("%w: unknown table %d", ErrFormat, c.Table)
	}
	if c.Before != nil {
		object, err := def.decode(c.Before)
		if err != nil {
			return err
		}
		r.put(def, object)
		return nil
	}
	r.remove(def, c.ID)
	return nil
}
