package fsm

import "github.com/google/uuid"

// Genesis is what an installation is born with: the first entry of its log. A
// restored backup gets a new Epoch and keeps the rest.
type Genesis struct {
	Cluster uuid.UUID `cbor:"1,keyasint"`
	Epoch   string    `cbor:"2,keyasint"` // 8 characters [a-z0-9]; prefix of index tokens
	Seed    [16]byte  `cbor:"3,keyasint"` // keys the identity store's hash and uuids
	Time    Time      `cbor:"4,keyasint"`
	Level   uint8     `cbor:"5,keyasint"` // format level
}

// sequence is the last id given in one table or to one kind of nested row.
type sequence struct {
	ID   uint64 `cbor:"1,keyasint"` // table number, or one of the nested sequences below
	Last uint64 `cbor:"2,keyasint"`
}

var sequences = newTable[sequence](22, "Sequence", func(s *sequence) *uint64 { return &s.ID }, nil)

// Sequences of rows nested in other rows. Table numbers are below 256.
const (
	sequenceMultivariateValue uint64 = 256
	sequenceSegmentRule       uint64 = 257
	sequenceCondition         uint64 = 258
)

// nodeSequence remembers the last identity and usage batch applied of one node,
// so that a batch sent twice after an unknown outcome is applied once.
type nodeSequence struct {
	ID       uint64 `cbor:"1,keyasint"`
	Node     string `cbor:"2,keyasint"`
	Identity uint64 `cbor:"3,keyasint,omitempty"`
	Usage    uint64 `cbor:"4,keyasint,omitempty"`
}

var (
	nodeSequences       = newTable[nodeSequence](23, "NodeSequence", func(s *nodeSequence) *uint64 { return &s.ID }, nil)
	nodeSequencesByNode = nodeSequences.index("node", func(s *nodeSequence, k Key) (Key, bool) { return k.String(s.Node), true })
)
