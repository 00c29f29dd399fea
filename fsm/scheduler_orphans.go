package fsm

import (
	"time"

	"github.com/flagraft/flagraft/fsm/identity"
)

const (
	orphansEvery = 30 * time.Second
	// orphansSeen is how often identities of no environment are seen before they go, in a
	// quarter of an hour: an import stores them before their environment, and takes five
	// minutes at most. They are counted, since the clock may be set meanwhile.
	orphansSeen = 30
)

// orphanedIdentities removes identities whose environment is not there: an SDK's
// write that was under way while the environment was deleted makes them again, and
// an import whose leader died leaves them behind.
func (s *Scheduler) orphanedIdentities(r Reader, now Time) func(*Tx) {
	if waits(s.orphansDue, now, orphansEvery) {
		return nil
	}
	var gone []uint64
	seen := map[uint64]int{}
	for _, e := range r.Identities().Environments() {
		if Environments.Ref(r, e) != nil {
			continue
		}
		if seen[e] = s.orphans[e] + 1; seen[e] > orphansSeen {
			gone = append(gone, e)
		}
	}
	if len(gone) == 0 {
		s.orphans, s.orphansDue = seen, now.Add(orphansEvery)
		return nil
	}
	return func(tx *Tx) {
		for _, e := range gone {
			tx.Identity(identity.Op{Kind: identity.KindDropEnvironment, Environment: e}, nil)
		}
	}
}
