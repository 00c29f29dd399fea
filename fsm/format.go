package fsm

import (
	"errors"
	"fmt"
	"time"

	"github.com/flagraft/flagraft/fsm/identity"
)

// Format levels. Everything in the log and in snapshots belongs to a level; a
// cluster is at the level in its state (see [State.Level]) and writes nothing of
// a higher one. Level 2 added the entries that compare state hashes, the table of
// backup schedules (ADR 8) and restores through the log; level 3 the tables behind
// invitations, webhooks, feature versions, metadata and the rest of the admin API;
// level 4 more than five million identities in an environment.
const (
	// BaseLevel is the level every installation is born at, so that nodes of any
	// version can form a cluster together.
	BaseLevel uint8 = 1
	// FormatLevel is the newest level this binary reads and writes.
	FormatLevel uint8 = 4

	manyIdentitiesLevel uint8 = 4
)

// ErrFormatLevel is the error of a write that needs a higher level than the
// cluster's. Nothing was written.
var ErrFormatLevel = errors.New("the cluster's format level is too low for this write")

// levelRaise is the body of the entry that raises the level. Its header carries
// the new level: a binary that does not know it stops there and says why.
type levelRaise struct {
	Level uint8 `cbor:"1,keyasint"`
	Time  Time  `cbor:"2,keyasint"`
}

// NewLevelEntry makes the entry that raises the cluster to a level. Only propose
// it once every member knows that level.
func NewLevelEntry(level uint8, now time.Time) []byte {
	return newEntry(KindFormatLevel, level, must(encMode.Marshal(&levelRaise{Level: level, Time: TimeOf(now)})))
}

// Level returns the format level of the cluster as of this state; 0 before it is born.
func (s *State) Level() uint8 { return s.Genesis.Level }

// identityLimits are those of a level. What an installation wants to allow below
// them is its leader's setting.
func identityLimits(level uint8) identity.Limits {
	l := identity.DefaultLimits()
	if level >= manyIdentitiesLevel {
		l.Identities = identity.MaxIdentities
	}
	return l
}

// applyLevel raises the level; it never falls, so a second entry changes nothing.
func (f *FSM) applyLevel(body []byte) error {
	var l levelRaise
	if err := decodeBody(body, &l); err != nil {
		return err
	}
	if l.Level > FormatLevel {
		return fmt.Errorf("%w: it raises the format level to %d, this binary knows %d", ErrFormat, l.Level, FormatLevel)
	}
	if !f.current.Born() || l.Level <= f.current.Level() {
		return nil
	}
	f.current.Genesis.Level, f.current.Time = l.Level, max(l.Time, f.current.Time)
	return nil
}
