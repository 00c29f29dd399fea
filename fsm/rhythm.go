package fsm

import (
	"slices"
	"time"
)

// A node sends its next batch as soon as it has the answer to the last one, so under
// load the batches of all nodes come right after a commit: the leader's own at once, the
// others' a moment later, when an entry with the leader's alone is under way. They would
// wait for that one and go out with the next, so that every second entry is small and
// everybody waits twice. Waiting a moment for them lets all nodes share each entry.
const (
	gatherShare = 4                    // a part of the time that the last entry took may be waited, from its end on
	gatherMost  = 5 * time.Millisecond // however long it took
)

// rhythm is what the leader knows of when its nodes send batches.
type rhythm struct {
	last  [2][]string // nodes with batches in the last two entries
	until time.Time   // then they are waited for no more
}

// note takes in an entry that was proposed.
func (r *rhythm) note(batches []*batchRequest, proposed Span, err error) {
	r.last[0], r.last[1] = r.last[1], r.last[0][:0]
	if err != nil {
		r.until = time.Time{} // there may be nothing to come, or another leader
		return
	}
	for _, b := range batches {
		r.last[1] = append(r.last[1], b.node)
	}
	r.until = proposed.Ended.Add(min(proposed.Ended.Sub(proposed.Began)/gatherShare, gatherMost))
}

// misses tells whether a node of the last two entries has no batch in hand.
func (r *rhythm) misses(batches []*batchRequest) bool {
	for _, nodes := range r.last {
		for _, node := range nodes {
			if !slices.ContainsFunc(batches, func(b *batchRequest) bool { return b.node == node }) {
				return true
			}
		}
	}
	return false
}
