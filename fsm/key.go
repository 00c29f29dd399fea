package fsm

import (
	"encoding/binary"
	"fmt"

	"github.com/google/uuid"
)

// Key builds the bytes of one index key. Numbers are fixed-width big-endian and
// strings end in NUL, so that keys sort by their parts and any leading parts of
// a key are a prefix of it.
type Key []byte

// keySize is what most keys have room in, with the id that tells rows of the same key apart.
const keySize = 64

// Uint appends a number.
func (k Key) Uint(v uint64) Key {
	return binary.BigEndian.AppendUint64(k, v)
}

// String appends a text. A NUL inside s would end it early; the HTTP decoder
// refuses NUL in every text, see server/route.
func (k Key) String(s string) Key {
	return append(append(k, s...), 0)
}

// UUID appends a uuid.
func (k Key) UUID(u uuid.UUID) Key { return k.Bytes(u[:]) }

// Bytes appends a hash, or another part that always has the same length.
func (k Key) Bytes(b []byte) Key {
	return append(k, b...)
}

// Byte appends one byte.
func (k Key) Byte(b byte) Key { return append(k, b) }

// keyOf builds a key from the argument types indexes are asked with.
func keyOf(parts ...any) Key {
	k := make(Key, 0, keySize)
	for _, p := range parts {
		switch v := p.(type) {
		case uint64:
			k = k.Uint(v)
		case string:
			k = k.String(v)
		case uuid.UUID:
			k = k.UUID(v)
		case [32]byte:
			k = k.Bytes(v[:])
		case Level:
			k = k.Byte(byte(v))
		case Purpose:
			k = k.Byte(byte(v))
		case Time:
			k = k.Uint(uint64(v))
		case ContentType:
			k = k.Uint(uint64(v))
		case byte:
			k = k.Byte(v)
		default:
			panic(fmt.Sprintf("fsm: %T is no index key part", p))
		}
	}
	return k
}
