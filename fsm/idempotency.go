package fsm

// IdempotencyKey remembers the answer to a write so that a repeated request with
// the same key gets it again instead of writing twice.
type IdempotencyKey struct {
	ID          uint64   `cbor:"1,keyasint"`
	Scope       string   `cbor:"2,keyasint"` // the caller's identity: keys of two callers never meet
	Key         string   `cbor:"3,keyasint"` // from format level 2 a keyed hash of it
	Fingerprint [32]byte `cbor:"4,keyasint"` // HMAC of method, path, query and body
	Status      int      `cbor:"5,keyasint"`
	Header      []byte   `cbor:"6,keyasint,omitempty"`
	Body        []byte   `cbor:"7,keyasint,omitempty"` // from format level 2 encrypted, see server/admin
	Created     Time     `cbor:"8,keyasint"`
}

// IdempotencyKeys is the table of remembered answers.
var (
	IdempotencyKeys       = newTable[IdempotencyKey](20, "IdempotencyKey", func(i *IdempotencyKey) *uint64 { return &i.ID }, nil)
	IdempotencyKeysByKey  = IdempotencyKeys.index("key", func(i *IdempotencyKey, k Key) (Key, bool) { return k.String(i.Scope).String(i.Key), true })
	IdempotencyKeysByTime = IdempotencyKeys.index("time", func(i *IdempotencyKey, k Key) (Key, bool) { return k.Uint(uint64(i.Created)), true })
)
