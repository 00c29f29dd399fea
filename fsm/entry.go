package fsm

import (
	"errors"
	"fmt"
)

// Kind is the first byte of every log entry.
type Kind uint8

// The kinds of log entry. Numbers are part of the log format: append only.
const (
	KindGenesis       Kind = 1
	KindChangeset     Kind = 2
	KindIdentityBatch Kind = 3
	KindUsageBatch    Kind = 4
	KindFormatLevel   Kind = 5 // from level 2 on, and with the new level in its header
	KindHashMark      Kind = 6 // from level 2 on
	KindRestore       Kind = 7 // from level 2 on
	KindHashVerdict   Kind = 8 // from level 2 on
)

// kinds is the registry of entry kinds; the determinism test covers each.
var kinds = []Kind{KindGenesis, KindChangeset, KindIdentityBatch, KindUsageBatch, KindFormatLevel, KindHashMark, KindRestore, KindHashVerdict}

// String names the operation for whoever reads it in the log of a node.
func (k Kind) String() string {
	switch k {
	case KindGenesis:
		return "the beginning of the installation"
	case KindChangeset:
		return "admin changes"
	case KindIdentityBatch:
		return "identities and traits"
	case KindUsageBatch:
		return "usage counts"
	case KindFormatLevel:
		return "a rise of the format level"
	case KindHashMark:
		return "a mark of state hashes"
	case KindRestore:
		return "a part of a restore"
	case KindHashVerdict:
		return "a comparison of state hashes"
	default:
		return fmt.Sprintf("operation %d, which this binary does not know", uint8(k))
	}
}

// ErrFormat is the error for an entry this binary cannot read: damaged, or
// written by a newer one.
var ErrFormat = errors.New("log entry is not readable")

const headerSize = 2

// newEntry starts an entry: kind, the format level it needs, then the body. A
// node below that level stops rather than guess.
func newEntry(kind Kind, level uint8, body []byte) []byte {
	return append([]byte{byte(kind), level}, body...)
}

func splitEntry(data []byte) (Kind, []byte, error) {
	if len(data) < headerSize {
		return 0, nil, fmt.Errorf("%w: %d bytes", ErrFormat, len(data))
	}
	if data[1] > FormatLevel {
		return 0, nil, fmt.Errorf("%w: it needs format level %d, this binary knows %d", ErrFormat, data[1], FormatLevel)
	}
	return Kind(data[0]), data[headerSize:], nil
}

func unknownKind(k Kind) error { return fmt.Errorf("%w: unknown kind %d", ErrFormat, k) }

// changeset is the body of an admin entry: the writes of one Writer turn, in
// order. It is applied as a whole or, when Seq is not the state's next or an
// identity moved, not at all.
type changeset struct {
	Seq    uint64  `cbor:"1,keyasint"`
	Time   Time    `cbor:"2,keyasint"`
	Writes []write `cbor:"3,keyasint"`
}

// write is what one transaction did.
type write struct {
	ID          uint64 `cbor:"1,keyasint"` // of its change-log entry
	Author      Author `cbor:"2,keyasint"`
	Ops         []op   `cbor:"3,keyasint,omitempty"`
	Identities  []byte `cbor:"4,keyasint,omitempty"` // operations, in package identity's form
	IdentityOps int    `cbor:"5,keyasint,omitempty"` // how many
}

// op is one change of rows, in the order they were made: Row put, or the row
// deleted when Row is nil, or all rows deleted whose key in Index starts with Key.
type op struct {
	Table uint8  `cbor:"1,keyasint"`
	ID    uint64 `cbor:"2,keyasint,omitempty"`
	Row   []byte `cbor:"3,keyasint,omitempty"`
	Index string `cbor:"4,keyasint,omitempty"`
	Key   []byte `cbor:"5,keyasint,omitempty"`
}

// usageBatch is the body of a usage entry.
type usageBatch struct {
	Node   string  `cbor:"1,keyasint"`
	Seq    uint64  `cbor:"2,keyasint"`
	Time   Time    `cbor:"3,keyasint"`
	Counts []Usage `cbor:"4,keyasint"` // without ids
}

func decodeBody(body []byte, into any) error {
	if err := decMode.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return nil
}
