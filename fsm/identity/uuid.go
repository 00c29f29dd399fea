package identity

import "encoding/binary"

// UUID is an identity's public id in binary form; convertible to uuid.UUID.
type UUID [16]byte

const (
	halfMask      = 1<<61 - 1
	feistelRounds = 6
)

// uuidKey maps integer ids to version-4 UUIDs and back: a Feistel permutation of the 122 free bits with a keyed PRF, so
// a uuid costs no memory, needs no index and cannot be guessed without the seed. Of the 122 bits 58 are zero before the
// permutation; a uuid that was not made with this key decodes to something else there and is refused.
type uuidKey struct{ key sipKey }

func (u uuidKey) encode(id uint64) UUID {
	l, r := id>>61, id&halfMask
	for i := range uint64(feistelRounds) {
		l, r = r, l^(u.key.prf(i, r)&halfMask)
	}
	return packUUID(l, r)
}

func (u uuidKey) decode(uuid UUID) (id uint64, ok bool) {
	l, r, ok := unpackUUID(uuid)
	if !ok {
		return 0, false
	}
	for i := uint64(feistelRounds); i > 0; i-- {
		l, r = r^(u.key.prf(i-1, l)&halfMask), l
	}
	if l > 7 {
		return 0, false
	}
	return l<<61 | r, true
}

// packUUID lays 122 bits around the version (4) and variant (10) bits of RFC 9562.
func packUUID(l, r uint64) (u UUID) {
	hi := l<<3 | r>>58 // 64 bits: the first 48 as they are, then 12 after the version, 4 go to the low half
	lo := r & (1<<58 - 1)
	binary.BigEndian.PutUint64(u[:8], hi>>16<<16|4<<12|hi>>4&0xfff)
	binary.BigEndian.PutUint64(u[8:], 2<<62|(hi&0xf)<<58|lo)
	return u
}

func unpackUUID(u UUID) (l, r uint64, ok bool) {
	a, b := binary.BigEndian.Uint64(u[:8]), binary.BigEndian.Uint64(u[8:])
	if a>>12&0xf != 4 || b>>62 != 2 {
		return 0, 0, false
	}
	hi := a>>16<<16 | (a&0xfff)<<4 | b>>58&0xf
	return hi >> 3, (hi&7)<<58 | b&(1<<58-1), true
}
