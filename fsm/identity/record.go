package identity

import (
	"bytes"
	"encoding/binary"
)

// Record is a view of one identity: a value, cheap to copy, over immutable bytes. It stays valid and unchanged for as
// long as it is held, whatever is written meanwhile. The slices it gives must not be modified.
type Record struct {
	id         uint64
	lastChange uint64
	created    int64
	identifier []byte
	alias      []byte
	traits     []byte // encoded traits
	count      uint32 // encoded traits, deleted keys included
	flags      uint8
	keys       *keyTable
	uuids      *uuidKey
	note       Note
}

// ID is the integer id, unique over all environments.
func (r *Record) ID() uint64 { return r.id }

// UUID is the public id, derived from the integer id.
func (r *Record) UUID() UUID { return r.uuids.encode(r.id) }

// Identifier is the identifier as the SDK sent it.
func (r *Record) Identifier() []byte { return r.identifier }

// Alias is the dashboard alias, empty when there is none.
func (r *Record) Alias() []byte { return r.alias }

// Created is the creation time in µs since the Unix epoch.
func (r *Record) Created() int64 { return r.created }

// LastChange is the Raft index of the last change of the identity or one of its traits (KindDeleteTraitKey excepted).
func (r *Record) LastChange() uint64 { return r.lastChange }

// Flags are the caller-defined flags.
func (r *Record) Flags() uint8 { return r.flags }

// Note is the note that is kept with this version, of a record from [Store.Lookup].
func (r *Record) Note() Note { return r.note }

// DeletedKeys counts the trait keys that were deleted from all identities before: the one
// change of a record's traits that is no change of the record.
func (r *Record) DeletedKeys() int {
	if r.keys == nil {
		return 0
	}
	return r.keys.dead
}

// Traits iterates over the traits in the order of their ids without allocating:
//
//	for it := rec.Traits(); it.Next(); { use(it.Key(), it.Value()) }
func (r *Record) Traits() TraitIterator {
	return TraitIterator{rest: r.traits, left: r.count, keys: r.keys}
}

// TraitCount counts the traits.
func (r *Record) TraitCount() int {
	if r.keys == nil || r.keys.dead == 0 {
		return int(r.count)
	}
	n := 0
	for it := r.Traits(); it.Next(); {
		n++
	}
	return n
}

// Trait returns the literal and id of the trait with this key.
func (r *Record) Trait(key string) (value []byte, id uint64, ok bool) {
	for it := r.Traits(); it.Next(); {
		if it.Key() == key {
			return it.value, it.id, true
		}
	}
	return nil, 0, false
}

// TraitByID returns the key and literal of the trait with this id.
func (r *Record) TraitByID(id uint64) (key string, value []byte, ok bool) {
	for it := r.Traits(); it.Next(); {
		if it.id == id {
			return it.Key(), it.value, true
		}
	}
	return "", nil, false
}

// maxHasSteps bounds Has for long lists in another order than stored.
const maxHasSteps = 4096

// Has reports whether an upsert of these traits would change nothing. It is quick when they come in the stored order;
// for a long list in disorder it may say false although nothing differs, and then the upsert finds that out.
func (r *Record) Has(traits []TraitOp) bool {
	steps, at := 0, r.Traits()
	more := at.Next()
	for i := range traits {
		t := &traits[i]
		if !more || at.Key() != string(t.Key) {
			at, more = r.Traits(), false
			for at.Next() {
				if steps++; at.Key() == string(t.Key) {
					more = true
					break
				}
			}
			if steps > maxHasSteps {
				return false
			}
		}
		if more == deletes(t.Value) || more && !bytes.Equal(at.value, t.Value) {
			return false
		}
		if !more {
			at = r.Traits()
		}
		more = at.Next()
	}
	return true
}

// TraitIterator walks over a record's traits.
type TraitIterator struct {
	rest  []byte
	value []byte
	id    uint64
	left  uint32
	key   uint32
	keys  *keyTable
}

// Next moves to the next trait; false at the end.
func (it *TraitIterator) Next() bool {
	for it.left > 0 {
		it.left--
		delta, n := uvarint(it.rest)
		key, m := uvarint(it.rest[n:])
		size, k := uvarint(it.rest[n+m:])
		at := n + m + k
		end := at + int(size)
		it.id += delta
		it.key = uint32(key)
		it.value = it.rest[at:end:end]
		it.rest = it.rest[end:]
		if !it.keys.keys[it.key].dead {
			return true
		}
	}
	return false
}

// ID is the trait's integer id, unique over all environments and stable.
func (it *TraitIterator) ID() uint64 { return it.id }

// Key is the trait's key.
func (it *TraitIterator) Key() string { return it.keys.keys[it.key].name }

// KeyID is the number of the key within its environment: small, dense, the same for all identities of a *Store and
// never used for another key (see Store.KeyName).
func (it *TraitIterator) KeyID() uint32 { return it.key }

// Value is the canonical JSON literal.
func (it *TraitIterator) Value() []byte { return it.value }

// Encoded record: bodyLen, identifierLen, identifier, header byte (bit 0: alias follows, the rest: flags<<1 as a
// uvarint), id, lastChange, created (zigzag), [aliasLen, alias], number of traits, then per trait: id minus the one
// before, key number, literal length, literal. All numbers are varints. This is the snapshot's form too.

// appendRecord appends the encoded form of r with the given traits.
func appendRecord(dst []byte, r *Record, traits []traitEntry) []byte {
	const room = binary.MaxVarintLen64
	start := len(dst)
	dst = append(dst, make([]byte, room)...)
	dst = appendBytes(dst, r.identifier)
	head := uint64(r.flags) << 1
	if len(r.alias) > 0 {
		head |= 1
	}
	dst = binary.AppendUvarint(dst, head)
	dst = binary.AppendUvarint(dst, r.id)
	dst = binary.AppendUvarint(dst, r.lastChange)
	dst = binary.AppendVarint(dst, r.created)
	if len(r.alias) > 0 {
		dst = appendBytes(dst, r.alias)
	}
	dst = binary.AppendUvarint(dst, uint64(len(traits)))
	var last uint64
	for i := range traits {
		t := &traits[i]
		dst = binary.AppendUvarint(dst, t.id-last)
		dst = binary.AppendUvarint(dst, uint64(t.key))
		dst = appendBytes(dst, t.value)
		last = t.id
	}
	var size [room]byte
	n := binary.PutUvarint(size[:], uint64(len(dst)-start-room))
	copy(dst[start:], size[:n])
	return append(dst[:start+n], dst[start+room:]...)
}

func appendBytes(dst, b []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(b)))
	return append(dst, b...)
}

// recordBody cuts the body and the whole encoded length of the record that starts b.
func recordBody(b []byte) (body []byte, whole int) {
	size, n := uvarint(b)
	whole = n + int(size)
	return b[n:whole:whole], whole
}

// bodyIdentifier is the identifier of a body, which starts with it so that a lookup reads one cache line.
func bodyIdentifier(body []byte) []byte {
	size, n := uvarint(body)
	return body[n : n+int(size)]
}

func bodyMatches(body, identifier []byte) bool { return bytes.Equal(bodyIdentifier(body), identifier) }

// parseBody splits a trusted body (one this package wrote or validated).
func parseBody(b []byte) (r Record) {
	size, n := uvarint(b)
	end := n + int(size)
	r.identifier = b[n:end:end]
	b = b[end:]
	head, n := uvarint(b)
	b = b[n:]
	r.flags = uint8(head >> 1)
	r.id, n = uvarint(b)
	b = b[n:]
	r.lastChange, n = uvarint(b)
	b = b[n:]
	r.created, n = binary.Varint(b)
	b = b[n:]
	if head&1 != 0 {
		size, n := uvarint(b)
		end := n + int(size)
		r.alias = b[n:end:end]
		b = b[end:]
	}
	count, n := uvarint(b)
	r.count = uint32(count)
	r.traits = b[n:]
	return r
}

// bodyID reads the integer id of a body.
func bodyID(b []byte) uint64 {
	size, n := uvarint(b)
	b = b[n+int(size):]
	_, n = uvarint(b)
	id, _ := uvarint(b[n:])
	return id
}

// bodyHasAlias reads the header bit only.
func bodyHasAlias(b []byte) bool {
	size, n := uvarint(b)
	return b[n+int(size)]&1 != 0
}

// bodyAlias reads the alias of a body, nil when it has none.
func bodyAlias(b []byte) []byte {
	r := parseBody(b)
	return r.alias
}

// uvarint is binary.Uvarint of trusted bytes, quick for one.
func uvarint(b []byte) (uint64, int) {
	if b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	return binary.Uvarint(b)
}
