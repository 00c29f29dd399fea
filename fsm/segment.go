package fsm

import "github.com/google/uuid"

// Segment is a set of rules over traits.
type Segment struct {
	ID          uint64        `cbor:"1,keyasint"`
	UUID        uuid.UUID     `cbor:"2,keyasint"`
	Name        string        `cbor:"3,keyasint"`
	Description *string       `cbor:"4,keyasint,omitempty"`
	Project     uint64        `cbor:"5,keyasint"`
	Feature     uint64        `cbor:"6,keyasint,omitempty"` // set: only for this feature
	Rules       []SegmentRule `cbor:"7,keyasint"`
	CreatedAt   Time          `cbor:"8,keyasint"`
	UpdatedAt   Time          `cbor:"9,keyasint"`
	Version     int64         `cbor:"10,keyasint"`
}

// SegmentRule combines conditions and nested rules; at most two levels deep.
type SegmentRule struct {
	ID         uint64        `cbor:"1,keyasint"` // from Tx.NextSegmentRuleID
	Type       string        `cbor:"2,keyasint"` // ALL, ANY, NONE
	Rules      []SegmentRule `cbor:"3,keyasint,omitempty"`
	Conditions []Condition   `cbor:"4,keyasint,omitempty"`
}

// Condition compares a trait with a value; see package eval.
type Condition struct {
	ID          uint64  `cbor:"1,keyasint"` // from Tx.NextConditionID
	Operator    string  `cbor:"2,keyasint"`
	Property    *string `cbor:"3,keyasint,omitempty"`
	Value       *string `cbor:"4,keyasint,omitempty"`
	Description *string `cbor:"5,keyasint,omitempty"`
}

// Segments is the table of segments.
var (
	Segments = newTable(17, "Segment", func(s *Segment) *uint64 { return &s.ID },
		func(r Reader, s *Segment, t *Touched) { t.project(r, s.Project) })
	SegmentsByProject = Segments.index("project", func(s *Segment, k Key) (Key, bool) { return k.Uint(s.Project), true })
	SegmentsByUUID    = Segments.index("uuid", func(s *Segment, k Key) (Key, bool) { return k.UUID(s.UUID), true })
)

// NextSegmentID takes the next id of a [Segment] without a row: each update of a
// segment uses one up for the revision that Flagsmith's audit log names.
func (tx *Tx) NextSegmentID() uint64 { return tx.nextID(Segments.def) }
