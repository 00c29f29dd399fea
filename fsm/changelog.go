package fsm

import (
	"fmt"
	"iter"
	"math"
	"sort"
)

// ChangeLogEntry records one admin write: who changed which rows from what to
// what. Applying a changeset writes it; nothing else does. Audit details,
// webhook payloads and history are read from it.
type ChangeLogEntry struct {
	ID      uint64      `cbor:"1,keyasint"`
	Index   uint64      `cbor:"2,keyasint"` // Raft index
	Time    Time        `cbor:"3,keyasint"`
	Author  Author      `cbor:"4,keyasint"`
	Changes []RowChange `cbor:"5,keyasint,omitempty"`
	Size    uint64      `cbor:"6,keyasint"`           // bytes of Changes, for the cap
	Note    string      `cbor:"7,keyasint,omitempty"` // what a restore restored
}

// RowChange is one row before and after a write; nil means the row was not there.
type RowChange struct {
	Table  uint8  `cbor:"1,keyasint"`
	ID     uint64 `cbor:"2,keyasint"`
	Before []byte `cbor:"3,keyasint,omitempty"` // CBOR
	After  []byte `cbor:"4,keyasint,omitempty"` // CBOR
}

// ChangeLog is the table of recorded writes. Its ids only grow, and times never go back with them.
var ChangeLog = newTable[ChangeLogEntry](19, "ChangeLog", func(c *ChangeLogEntry) *uint64 { return &c.ID }, nil)

// changesSince yields the recorded writes from a time on.
func changesSince(r Reader, t Time) iter.Seq[*ChangeLogEntry] {
	last := uint64(0)
	for c := range ChangeLog.RefsBelow(r, math.MaxUint64) {
		last = c.ID
		break
	}
	before := sort.Search(int(last), func(id int) bool {
		for c := range ChangeLog.RefsFrom(r, uint64(id)+1) {
			return c.Time >= t
		}
		return true
	})
	return ChangeLog.RefsFrom(r, uint64(before)+1)
}

// unlogged names the tables whose rows are bookkeeping of the write itself, or
// secrets of one account, and are left out of the change log.
var unlogged = map[uint8]bool{
	ChangeLog.def.number:         true,
	AuditLogs.def.number:         true,
	IdempotencyKeys.def.number:   true,
	sequences.def.number:         true,
	Tokens.def.number:            true,
	OAuthGrants.def.number:       true,
	OAuthTokens.def.number:       true,
	Usages.def.number:            true,
	FeatureExports.def.number:    true, // as long as all the values in it, which are there already
	nodeSequences.def.number:     true,
	SecondFactors.def.number:     true,
	OneTimeTokens.def.number:     true,
	WebhookDeliveries.def.number: true, // of rows that are logged themselves
}

// Model names the table of the change as Flagsmith does ("Feature").
func (c RowChange) Model() string {
	if def := registry.byNumber[c.Table]; def != nil {
		return def.name
	}
	return ""
}

// Rows decodes the row before and after, as values of the table's row type; nil is a row that was not there. Fields with the tag
// `secret:"true"` are not for people, of those with `secret:"url"` only what stands before the path is.
func (c RowChange) Rows() (before, after any, err error) {
	def := registry.byNumber[c.Table]
	if def == nil {
		return nil, nil, fmt.Errorf("%w: unknown table %d", ErrFormat, c.Table)
	}
	if before, err = def.value(c.Before); err != nil {
		return nil, nil, err
	}
	after, err = def.value(c.After)
	return before, after, err
}

// Before decodes the row of table t before the change.
func (t Table[R]) Before(c RowChange) (row R, ok bool) { return t.decodeChange(c.Table, c.Before) }

// After decodes the row of table t after the change.
func (t Table[R]) After(c RowChange) (row R, ok bool) { return t.decodeChange(c.Table, c.After) }

func (t Table[R]) decodeChange(number uint8, raw []byte) (row R, ok bool) {
	if number != t.def.number || raw == nil {
		return row, false
	}
	o, err := t.def.decode(raw)
	if err != nil {
		return row, false
	}
	return o.(*stored[R]).row, true
}
