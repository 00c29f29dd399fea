package identity

import (
	"encoding/binary"
	"math/bits"
)

// Sum is an order-free 128-bit hash: the lane-wise sum of a hash per record and per trait. Equal states have equal sums
// whatever batches and snapshots led to them. It finds divergence, it does not withstand forgery.
type Sum struct{ A, B uint64 }

func (s *Sum) add(o Sum) { s.A += o.A; s.B += o.B }
func (s *Sum) sub(o Sum) { s.A -= o.A; s.B -= o.B }

const (
	mulA = 0xa0761d6478bd642f
	mulB = 0xe7037ed1a0b428db
)

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// hasher absorbs words into two independent lanes.
type hasher struct{ a, b uint64 }

func newHasher(kind uint64) hasher {
	return hasher{0x8ebc6af09c88c6e3 + kind, 0x589965cc75374cc3 ^ kind}
}

func (h *hasher) word(w uint64) {
	h.a = mix(h.a^w, mulA) + 0x2545f4914f6cdd1d
	h.b = mix(h.b^w, mulB) + 0x9e3779b97f4a7c15
}

func (h *hasher) bytes(b []byte) {
	n := uint64(len(b))
	for len(b) > 8 {
		h.word(binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	h.a += n
	h.b ^= n * mulA
	h.word(last8(b))
}

// last8 reads up to eight bytes; together with their number they are unambiguous.
func last8(b []byte) uint64 {
	switch n := len(b); {
	case n == 8:
		return binary.LittleEndian.Uint64(b)
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint32(b[n-4:]))<<(8*(n-4))
	case n > 0:
		return uint64(b[0]) | uint64(b[n/2])<<(8*(n/2)) | uint64(b[n-1])<<(8*(n-1))
	}
	return 0
}

func (h *hasher) sum() Sum { return Sum{mix(h.a, mulB), mix(h.b, mulA)} }

// Domains of the hashes that add up to a state's sum.
const (
	domainRecord = 1
	domainTrait  = 2
	domainKey    = 3
	domainState  = 4
)

func keySum(name string) Sum {
	h := newHasher(domainKey)
	h.bytes([]byte(name))
	return h.sum()
}

// traitSum covers one trait with its owner; separate from the record's so that a key can be dropped in constant time.
func traitSum(identity, trait uint64, key Sum, value []byte) Sum {
	h := newHasher(domainTrait)
	h.word(identity)
	h.word(trait)
	h.a ^= key.A
	h.b ^= key.B
	h.bytes(value)
	return h.sum()
}

// recordSum covers everything of a record but its traits.
func recordSum(environment uint64, r *Record) Sum {
	h := newHasher(domainRecord)
	h.word(environment)
	h.word(r.id)
	h.word(uint64(r.created))
	h.word(r.lastChange)
	h.word(uint64(r.flags))
	h.bytes(r.identifier)
	h.bytes(r.alias)
	return h.sum()
}
