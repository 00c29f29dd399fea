package identity

import (
	"encoding/binary"
	"math/bits"
)

// sipKey keys SipHash.
type sipKey struct{ k0, k1 uint64 }

type sipState struct{ v0, v1, v2, v3 uint64 }

func (s *sipState) round() {
	s.v0 += s.v1
	s.v1 = bits.RotateLeft64(s.v1, 13) ^ s.v0
	s.v0 = bits.RotateLeft64(s.v0, 32)
	s.v2 += s.v3
	s.v3 = bits.RotateLeft64(s.v3, 16) ^ s.v2
	s.v0 += s.v3
	s.v3 = bits.RotateLeft64(s.v3, 21) ^ s.v0
	s.v2 += s.v1
	s.v1 = bits.RotateLeft64(s.v1, 17) ^ s.v2
	s.v2 = bits.RotateLeft64(s.v2, 32)
}

func (k sipKey) start() sipState {
	return sipState{k.k0 ^ 0x736f6d6570736575, k.k1 ^ 0x646f72616e646f6d, k.k0 ^ 0x6c7967656e657261, k.k1 ^ 0x7465646279746573}
}

// hash is SipHash-1-3 of b: identifiers come from outside, so the index needs a keyed hash against flooding.
func (k sipKey) hash(b []byte) uint64 {
	s, n := k.start(), len(b)
	for len(b) >= 8 {
		w := binary.LittleEndian.Uint64(b)
		s.v3 ^= w
		s.round()
		s.v0 ^= w
		b = b[8:]
	}
	w := uint64(n) << 56
	for i, c := range b {
		w |= uint64(c) << (8 * i)
	}
	s.v3 ^= w
	s.round()
	s.v0 ^= w
	s.v2 ^= 0xff
	s.round()
	s.round()
	s.round()
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3
}

// prf is SipHash-2-4 of the two words a, b: the round function of the uuid permutation.
func (k sipKey) prf(a, b uint64) uint64 {
	s := k.start()
	for _, w := range [3]uint64{a, b, 16 << 56} {
		s.v3 ^= w
		s.round()
		s.round()
		s.v0 ^= w
	}
	s.v2 ^= 0xff
	for range 4 {
		s.round()
	}
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3
}
