package sdk

import (
	"bytes"
	"slices"
	"sync/atomic"

	"github.com/flagraft/flagraft/eval"
	"github.com/flagraft/flagraft/fsm"
)

// flagLists are rendered flag lists of one View. Without percentage splits and
// overrides of the identity's own, the segments that match decide the whole list,
// and few combinations of them are common. A place is filled once and keeps what
// it has as long as the View lives; combinations that find all of theirs taken, or
// no room, are rendered each time.
type flagLists struct {
	used   atomic.Int64 // bytes
	places [2][64]atomic.Pointer[flagList]
}

const (
	// maxLists bounds the bytes of one View's lists.
	maxLists = 8 << 20
	// probes is how many places a combination may have, one behind the other. With one,
	// two of sixteen combinations share theirs more often than not.
	probes = 8
)

// flagList is the JSON list for one combination of matching segments.
type flagList struct {
	matched []uint64
	json    []byte
}

// listSlot is a free place for a list; the zero one is none.
type listSlot struct {
	lists   *flagLists
	place   *atomic.Pointer[flagList]
	matched []uint64 // of the evaluation
}

// slotOf returns the list for the segments that matched, and lets seen remember it,
// or the free place for it.
func slotOf(v *fsm.View, ev *eval.Evaluation, server bool, seen known) (listSlot, []byte) {
	matched := ev.Matched()
	at := v.Prepared(listsSlot)
	lists, ok := at.Load().(*flagLists)
	if !ok {
		at.CompareAndSwap(nil, new(flagLists))
		lists = at.Load().(*flagLists)
	}
	const golden = 0x9e3779b97f4a7c15
	var h uint64
	for _, word := range matched {
		h = (h ^ word) * golden
		h ^= h >> 32
	}
	n := int(h * golden >> 58)
	places := lists.of(server)
	for range probes {
		switch have := places[n].Load(); {
		case have == nil:
			return listSlot{lists, &places[n], matched}, nil
		case slices.Equal(have.matched, matched):
			seen.keep(n)
			return listSlot{}, have.json
		}
		n = (n + 1) % len(places)
	}
	return listSlot{}, nil
}

// of are the lists for one kind of key.
func (l *flagLists) of(server bool) *[64]atomic.Pointer[flagList] {
	if server {
		return &l.places[1]
	}
	return &l.places[0]
}

// keep copies a list into the place, if there is one and room.
func (s listSlot) keep(json []byte) {
	if s.lists == nil || s.lists.used.Load() > maxLists {
		return
	}
	if s.place.CompareAndSwap(nil, &flagList{slices.Clone(s.matched), bytes.Clone(json)}) {
		s.lists.used.Add(int64(len(json)))
	}
}
