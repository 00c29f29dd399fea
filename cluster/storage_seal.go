package cluster

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"
)

// A seal says what has to be in the log file: from which entry to which, and
// the values of Raft and the node (term, vote, …). It is written in every
// transaction, with a checksum and the transaction's number, because bbolt has
// none for its pages: a term that lost a bit, or a last entry that is gone, would
// go unnoticed, and the node would vote twice or forget what it acknowledged.
//
// The values also stand as they are beside it, for binaries that know no seal.
// One of those may have written later; then the seal's number is old, and the
// plain values count.
type seal struct {
	first, last uint64 // 0: the log is empty
	conf        map[string][]byte
}

var keySeal = []byte("flagraft.seal")

const sealMagic = "flagraft seal 1\n"

// Raft's own keys; all others are the node's.
var (
	keyVoteTerm = []byte("LastVoteTerm")
	keyVoteCand = []byte("LastVoteCand")
)

const nodeKeys = "flagraft."

func raftKey(key []byte) bool {
	return string(key) == "CurrentTerm" || bytes.Equal(key, keyVoteTerm) || bytes.Equal(key, keyVoteCand)
}

func (s *seal) encode(tx uint64) []byte {
	out := []byte(sealMagic)
	out = binary.BigEndian.AppendUint64(out, tx)
	out = binary.BigEndian.AppendUint64(out, s.first)
	out = binary.BigEndian.AppendUint64(out, s.last)
	for _, k := range slices.Sorted(maps.Keys(s.conf)) {
		out = binary.AppendUvarint(out, uint64(len(k)))
		out = append(out, k...)
		out = binary.AppendUvarint(out, uint64(len(s.conf[k])))
		out = append(out, s.conf[k]...)
	}
	return binary.BigEndian.AppendUint32(out, crc32.Checksum(out, castagnoli))
}

var errSeal = errors.New("the seal fails its checksum")

func decodeSeal(raw []byte) (s *seal, tx uint64, err error) {
	const head = len(sealMagic) + 24
	if len(raw) < head+4 || string(raw[:len(sealMagic)]) != sealMagic {
		return nil, 0, errSeal
	}
	body, sum := raw[:len(raw)-4], binary.BigEndian.Uint32(raw[len(raw)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return nil, 0, errSeal
	}
	number := func(i int) uint64 { return binary.BigEndian.Uint64(body[len(sealMagic)+8*i:]) }
	s = &seal{first: number(1), last: number(2), conf: map[string][]byte{}}
	for rest := body[head:]; len(rest) > 0; {
		var k, v []byte
		if k, rest, err = cutField(rest); err != nil {
			return nil, 0, err
		}
		if v, rest, err = cutField(rest); err != nil {
			return nil, 0, err
		}
		s.conf[string(k)] = bytes.Clone(v)
	}
	return s, number(0), nil
}

func cutField(from []byte) (field, rest []byte, err error) {
	size, n := binary.Uvarint(from)
	if n <= 0 || size > uint64(len(from)-n) {
		return nil, nil, errSeal
	}
	return from[n : n+int(size)], from[n+int(size):], nil
}

// writeTo writes the seal and the plain values that are not there yet.
func (s *seal) writeTo(conf *bbolt.Bucket, tx uint64) error {
	for k, v := range s.conf {
		if old := conf.Get([]byte(k)); old == nil || !bytes.Equal(old, v) {
			if err := conf.Put([]byte(k), v); err != nil {
				return err
			}
		}
	}
	return conf.Put(keySeal, s.encode(tx))
}

// readSeal reads the seal of a file whose newest transaction is tx. current is
// false if a binary without seals wrote last; then only conf is set.
func readSeal(conf *bbolt.Bucket, tx uint64) (s *seal, current bool, err error) {
	plain, err := plainValues(conf)
	if err != nil {
		return nil, false, err
	}
	raw := conf.Get(keySeal)
	if raw == nil {
		return &seal{conf: plain}, false, nil
	}
	s, at, err := decodeSeal(raw)
	switch {
	case err != nil:
		return nil, false, fmt.Errorf("%w: %w", ErrCorrupt, err)
	case at > tx:
		return nil, false, fmt.Errorf("%w: the file is of transaction %d, its seal of %d", ErrCorrupt, tx, at)
	case at < tx:
		return &seal{conf: plain}, false, nil
	case !maps.EqualFunc(plain, s.conf, bytes.Equal):
		return nil, false, fmt.Errorf("%w: a stored value is not the one sealed", ErrCorrupt)
	}
	return s, true, nil
}

func plainValues(conf *bbolt.Bucket) (map[string][]byte, error) {
	plain := map[string][]byte{}
	err := conf.ForEach(func(k, v []byte) error {
		switch {
		case bytes.Equal(k, keySeal):
		case !raftKey(k) && !strings.HasPrefix(string(k), nodeKeys), bytes.HasPrefix(v, []byte(sealMagic)):
			return fmt.Errorf("%w: unknown value %q", ErrCorrupt, k)
		default:
			plain[string(k)] = bytes.Clone(v)
		}
		return nil
	})
	return plain, err
}

// checkLog reads every entry: there is no gap, each has its checksum, terms do not
// fall, and first and last are those of the seal. Without a current seal they
// are what is found.
func (s *seal) checkLog(logs *bbolt.Bucket, current bool) error {
	var first, last, term uint64
	err := logs.ForEach(func(k, v []byte) error {
		var l raft.Log
		if err := decodeLog(v, &l); err != nil {
			return fmt.Errorf("%w: the entry behind %d cannot be read: %w", ErrCorrupt, last, err)
		}
		if !bytes.Equal(k, indexKey(l.Index)) || (last != 0 && l.Index != last+1) {
			return fmt.Errorf("%w: entry %d stands behind %d", ErrCorrupt, l.Index, last)
		}
		if _, err := checkStamp(&l); err != nil {
			return err
		}
		if l.Term < term {
			return fmt.Errorf("%w: entry %d has term %d after %d", ErrCorrupt, l.Index, l.Term, term)
		}
		if last == 0 {
			first = l.Index
		}
		last, term = l.Index, l.Term
		return nil
	})
	switch {
	case err != nil:
		return err
	case !current:
		s.first, s.last = first, last
	case s.first != first || s.last != last:
		return fmt.Errorf("%w: entries %d to %d were stored, found are %d to %d", ErrCorrupt, s.first, s.last, first, last)
	}
	return nil
}
