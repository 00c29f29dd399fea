package sdk

import (
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
)

// known is where it may stand which of the lists of a View (see flagLists) went to an
// identity: a client that repeats what is stored gets the same list from the same View,
// and nothing is evaluated for it. The zero one is nowhere.
//
// It stands in the note of the identity, so that it costs no access to memory that the
// comparison did not have before: from below the place of the list, the kind of
// key, and the number of the View.
type known struct {
	note identity.Note
	mark uint32 // the note without the place
}

const (
	placeBits = 6
	placeMask = 1<<placeBits - 1
	markShift = placeBits + 1
	// maxMarks Views have a number in a store; those after, until it is restored or
	// the process ends, let nothing be remembered.
	maxMarks = 1<<(32-markShift) - 1
)

// viewMark is the number of a View in a store, and of the keys that traits have there:
// deleting one changes traits and leaves the identities as they are.
type viewMark struct {
	store       *identity.Store
	number      uint32 // 0: none
	deletedKeys int
}

// knownOf is for a request that repeats what is stored in the record of sc.
func (s *SDK) knownOf(c caller, sc *scratch) known {
	at := c.view.Prepared(knownSlot)
	m, ok := at.Load().(*viewMark)
	if !ok || m.store != sc.store || m.deletedKeys != sc.record.DeletedKeys() {
		m = &viewMark{sc.store, sc.store.NextMark(maxMarks), sc.record.DeletedKeys()}
		at.Store(m)
	}
	if m.number == 0 {
		return known{}
	}
	mark := m.number << markShift
	if c.server {
		mark |= 1 << placeBits
	}
	return known{sc.record.Note(), mark}
}

// list is the list that was kept, or nil.
func (k known) list(v *fsm.View, server bool) []byte {
	n := k.note.Value()
	if k.mark == 0 || n&^placeMask != k.mark {
		return nil
	}
	lists, ok := v.Prepared(listsSlot).Load().(*flagLists)
	if !ok {
		return nil
	}
	if have := lists.of(server)[n&placeMask].Load(); have != nil {
		return have.json
	}
	return nil
}

// keep remembers the place of the list.
func (k known) keep(place int) {
	if k.mark != 0 {
		k.note.Keep(k.mark | uint32(place))
	}
}
