package identity

import (
	"encoding/binary"
	"errors"
)

// ErrResults says that the bytes are no results.
var ErrResults = errors.New("identity: malformed results")

const (
	resultCreated = 1 << iota
	resultChanged
	resultTrait
	resultValue
	resultCount
)

// AppendResult appends one encoded result; the leader answers a node's turn with one per operation.
func AppendResult(dst []byte, r *Result) []byte {
	var mask byte
	set := func(bit byte, yes bool) {
		if yes {
			mask |= bit
		}
	}
	set(resultCreated, r.Created)
	set(resultChanged, r.Changed)
	set(resultTrait, r.TraitID != 0)
	set(resultValue, r.Value != 0)
	set(resultCount, r.Count != 0)
	dst = append(dst, byte(r.Status), mask)
	dst = binary.AppendUvarint(dst, r.Identity)
	dst = binary.AppendUvarint(dst, r.LastChange)
	if mask&resultTrait != 0 {
		dst = binary.AppendUvarint(dst, r.TraitID)
	}
	if mask&resultValue != 0 {
		dst = binary.AppendVarint(dst, r.Value)
	}
	if mask&resultCount != 0 {
		dst = binary.AppendUvarint(dst, r.Count)
	}
	return dst
}

// DecodeResults appends the results encoded in data to dst.
func DecodeResults(dst []Result, data []byte) ([]Result, error) {
	d := decoder{b: data}
	for len(d.b) > 0 {
		r := Result{Status: Status(d.byte())}
		mask := d.byte()
		r.Created, r.Changed = mask&resultCreated != 0, mask&resultChanged != 0
		r.Identity, r.LastChange = d.uvarint(), d.uvarint()
		if mask&resultTrait != 0 {
			r.TraitID = d.uvarint()
		}
		if mask&resultValue != 0 {
			r.Value = d.varint()
		}
		if mask&resultCount != 0 {
			r.Count = d.uvarint()
		}
		if d.bad || r.Status > statusMax {
			return dst, ErrResults
		}
		dst = append(dst, r)
	}
	if d.bad {
		return dst, ErrResults
	}
	return dst, nil
}
