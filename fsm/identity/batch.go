package identity

import (
	"encoding/binary"
	"errors"
)

// An IdentityBatch is a version byte and sub-batches, one per turn of a node's batcher. All numbers are varints, byte
// strings have their length in front.
//
//	sub-batch  length of the rest, node, sequence, time (zigzag µs), number of ops, ops
//	op         kind, environment, mask of the fields that follow, fields in the order of the bits
//
// A node encodes operations with AppendOp as they come and closes a turn with AppendSubBatch; the leader joins the
// sub-batches of all nodes behind AppendBatch's header without looking inside.

// batchVersion starts every batch.
const batchVersion = 1

// ErrBatch says that the bytes are no batch.
var ErrBatch = errors.New("identity: malformed batch")

const (
	hasIdentity = 1 << iota
	hasIdentifier
	hasTraits
	hasKey
	hasValue
	hasTraitID
	hasNewIdentifier
	hasAlias
	hasFlags
	hasDelta
	hasExpect

	maskMax = 1<<iota - 1
)

// SubBatch is the header of what one node sent in one turn.
type SubBatch struct {
	// Node is the sender, Sequence counts its turns: together they let the FSM apply each once.
	Node     []byte
	Sequence uint64
	// Time in µs since the Unix epoch is the time of the operations.
	Time int64
	// Ops is the number of operations.
	Ops int
}

// AppendBatch appends the header of a batch; sub-batches follow.
func AppendBatch(dst []byte) []byte { return append(dst, batchVersion) }

// AppendSubBatch appends a sub-batch with its encoded operations, of which head.Ops tells the number.
func AppendSubBatch(dst []byte, head SubBatch, ops []byte) []byte {
	var tail [3 * binary.MaxVarintLen64]byte
	t := binary.AppendUvarint(tail[:0], head.Sequence)
	t = binary.AppendVarint(t, head.Time)
	t = binary.AppendUvarint(t, uint64(head.Ops))
	var node [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(node[:], uint64(len(head.Node)))
	dst = binary.AppendUvarint(dst, uint64(n+len(head.Node)+len(t)+len(ops)))
	dst = append(dst, node[:n]...)
	dst = append(dst, head.Node...)
	dst = append(dst, t...)
	return append(dst, ops...)
}

// AppendOp appends one encoded operation.
func AppendOp(dst []byte, op *Op) []byte {
	mask := op.mask()
	dst = append(dst, byte(op.Kind))
	dst = binary.AppendUvarint(dst, op.Environment)
	dst = binary.AppendUvarint(dst, mask)
	if mask&hasIdentity != 0 {
		dst = binary.AppendUvarint(dst, op.Identity)
	}
	if mask&hasIdentifier != 0 {
		dst = appendBytes(dst, op.Identifier)
	}
	if mask&hasTraits != 0 {
		dst = binary.AppendUvarint(dst, uint64(len(op.Traits)))
		for i := range op.Traits {
			dst = appendBytes(dst, op.Traits[i].Key)
			dst = appendBytes(dst, op.Traits[i].Value)
		}
	}
	if mask&hasKey != 0 {
		dst = appendBytes(dst, op.Key)
	}
	if mask&hasValue != 0 {
		dst = appendBytes(dst, op.Value)
	}
	if mask&hasTraitID != 0 {
		dst = binary.AppendUvarint(dst, op.TraitID)
	}
	if mask&hasNewIdentifier != 0 {
		dst = appendBytes(dst, op.NewIdentifier)
	}
	if mask&hasAlias != 0 {
		dst = appendBytes(dst, op.Alias)
	}
	if mask&hasFlags != 0 {
		dst = append(dst, op.Flags)
	}
	if mask&hasDelta != 0 {
		dst = binary.AppendVarint(dst, op.Delta)
	}
	if mask&hasExpect != 0 {
		dst = binary.AppendUvarint(dst, op.ExpectLastChange)
	}
	return dst
}

func (op *Op) mask() (m uint64) {
	set := func(bit uint64, yes bool) {
		if yes {
			m |= bit
		}
	}
	set(hasIdentity, op.Identity != 0)
	set(hasIdentifier, len(op.Identifier) > 0)
	set(hasTraits, len(op.Traits) > 0)
	set(hasKey, len(op.Key) > 0)
	set(hasValue, len(op.Value) > 0)
	set(hasTraitID, op.TraitID != 0)
	set(hasNewIdentifier, len(op.NewIdentifier) > 0)
	set(hasAlias, len(op.Alias) > 0)
	set(hasFlags, op.Flags != 0)
	set(hasDelta, op.Delta != 0)
	set(hasExpect, op.ExpectLastChange != 0)
	return m
}

// BatchReader iterates over an encoded batch without allocating; what it gives borrows the batch's bytes.
//
//	for r := ReadBatch(data); r.NextSub(&sub); {
//		for r.NextOp(&op) { … }
//	}
//	// r.Err()
type BatchReader struct {
	in   decoder // behind the current sub-batch
	sub  decoder // rest of the current sub-batch
	left int
}

// ReadBatch starts to read a batch.
func ReadBatch(data []byte) BatchReader {
	r := BatchReader{in: decoder{b: data}}
	if r.in.byte() != batchVersion {
		r.in.bad = true
	}
	return r
}

// ReadOps starts to read operations that are not framed (AppendOp one after the other), as a changeset carries them.
// NextOp gives them without NextSub.
func ReadOps(data []byte, n int) BatchReader { return BatchReader{sub: decoder{b: data}, left: n} }

// NextSub moves to the next sub-batch; false at the end or at an error. Operations not read are skipped.
func (r *BatchReader) NextSub(head *SubBatch) bool {
	if r.Err() != nil || len(r.in.b) == 0 {
		return false
	}
	r.sub = decoder{b: r.in.bytes()}
	head.Node = r.sub.bytes()
	head.Sequence = r.sub.uvarint()
	head.Time = r.sub.varint()
	r.left = r.sub.count(3)
	head.Ops = r.left
	r.sub.bad = r.sub.bad || r.in.bad
	return !r.sub.bad
}

// NextOp decodes the next operation of the sub-batch into op, whose Traits are used again; false at the end or at an
// error.
func (r *BatchReader) NextOp(op *Op) bool {
	if r.sub.bad {
		return false
	}
	if r.left == 0 {
		r.sub.bad = len(r.sub.b) > 0
		return false
	}
	r.left--
	r.sub.op(op)
	return !r.sub.bad
}

// Err is ErrBatch when the bytes read so far were no batch.
func (r *BatchReader) Err() error {
	if r.in.bad || r.sub.bad {
		return ErrBatch
	}
	return nil
}

func (d *decoder) op(op *Op) {
	*op = Op{Kind: Kind(d.byte()), Environment: d.uvarint(), Traits: op.Traits[:0]}
	mask := d.uvarint()
	if op.Kind == 0 || op.Kind > kindMax || mask > maskMax {
		d.bad = true
		return
	}
	if mask&hasIdentity != 0 {
		op.Identity = d.uvarint()
	}
	if mask&hasIdentifier != 0 {
		op.Identifier = d.bytes()
	}
	if mask&hasTraits != 0 {
		for n := d.count(2); n > 0 && !d.bad; n-- {
			op.Traits = append(op.Traits, TraitOp{Key: d.bytes(), Value: d.bytes()})
		}
	}
	if mask&^(hasIdentity|hasIdentifier|hasTraits) != 0 {
		d.rareFields(op, mask)
	}
}

func (d *decoder) rareFields(op *Op, mask uint64) {
	if mask&hasKey != 0 {
		op.Key = d.bytes()
	}
	if mask&hasValue != 0 {
		op.Value = d.bytes()
	}
	if mask&hasTraitID != 0 {
		op.TraitID = d.uvarint()
	}
	if mask&hasNewIdentifier != 0 {
		op.NewIdentifier = d.bytes()
	}
	if mask&hasAlias != 0 {
		op.Alias = d.bytes()
	}
	if mask&hasFlags != 0 {
		op.Flags = d.byte()
	}
	if mask&hasDelta != 0 {
		op.Delta = d.varint()
	}
	if mask&hasExpect != 0 {
		op.ExpectLastChange = d.uvarint()
	}
}
