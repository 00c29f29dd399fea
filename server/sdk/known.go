package sdk

import (
	"hash/maphash"
	"math/bits"
	"math/rand/v2"
	"sync/atomic"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
)

// knownLists remembers which of the lists of a View (see flagLists) went to whom:
// a client that repeats what is stored gets the same list from the same View, and
// nothing is evaluated for it. It is a table of words without chains, in which the
// newest of two that meet stays. A word is the place of the list in its lowest six
// bits, and above them those of a keyed hash of the body, the identity's id, the
// View and the kind of key; the lower bits of the hash are the word's number, so
// that 64 bits tell two requests apart.
type knownLists struct {
	words []atomic.Uint64
	salt  uint64 // of the View
}

// Bounds of a table, in words of 8 bytes; between them it has one for each
// identity, or up to two.
const (
	minKnown = 1 << 10
	maxKnown = 1 << 20
)

const placeMask = 1<<6 - 1

// known is one word's place, for a request; the zero one is none.
type known struct {
	word *atomic.Uint64
	hash uint64
}

// knownOf finds where it stands what list is for a body that repeats what is stored
// of the identity with an id.
func (s *SDK) knownOf(c caller, body []byte, id uint64) known {
	at := c.view.Prepared(knownSlot)
	k, ok := at.Load().(*knownLists)
	if !ok {
		k = newKnownLists(c, s.FSM.State().Identities().Environment(c.view.Environment.ID))
		at.Store(k)
	}
	const golden = 0x9e3779b97f4a7c15
	h := maphash.Bytes(s.seed, body) ^ bits.RotateLeft64(id*golden, 32) ^ k.salt
	if c.server {
		h = ^h
	}
	return known{&k.words[h&uint64(len(k.words)-1)], h}
}

// newKnownLists is for a new View: it takes over the words of the one before, of
// which none counts any more.
func newKnownLists(c caller, store *identity.Store) *knownLists {
	k := &knownLists{salt: rand.Uint64()}
	n := 1 << bits.Len(uint(store.Count()))
	n = min(max(n, minKnown), maxKnown)
	if before, ok := c.live.Attached().Load().(*knownLists); ok && len(before.words) >= n {
		k.words = before.words
		return k
	}
	k.words = make([]atomic.Uint64, n)
	c.live.Attached().Store(k)
	return k
}

// list is the list that was kept, or nil.
func (k known) list(v *fsm.View, server bool) []byte {
	if k.word == nil {
		return nil
	}
	w := k.word.Load()
	if (w^k.hash)&^placeMask != 0 {
		return nil
	}
	lists, ok := v.Prepared(listsSlot).Load().(*flagLists)
	if !ok {
		return nil
	}
	if have := lists.of(server)[w&placeMask].Load(); have != nil {
		return have.json
	}
	return nil
}

// keep remembers the place of the list.
func (k known) keep(place int) {
	if k.word != nil {
		k.word.Store(k.hash&^placeMask | uint64(place))
	}
}
