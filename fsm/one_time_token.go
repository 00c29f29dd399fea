package fsm

// Purpose is what a one-time token is good for.
type Purpose uint8

// The purposes. The numbers are part of the log format.
const (
	PurposePassword   Purpose = 1 // a new password, asked for by mail
	PurposeEmail      Purpose = 2 // a new address, asked for by mail
	PurposeActivation Purpose = 3 // the first sign-in
	PurposeSecondStep Purpose = 4 // a sign-in whose password was right
)

// OneTimeToken is proof that its holder reads an account's mail, or knows its password. Only its hash is kept. User 0 is nobody: see package
// admin.
type OneTimeToken struct {
	ID      uint64   `cbor:"1,keyasint"`
	User    uint64   `cbor:"2,keyasint"`
	Purpose Purpose  `cbor:"3,keyasint"`
	Hash    [32]byte `cbor:"4,keyasint"`
	Created Time     `cbor:"5,keyasint"`
	Expires Time     `cbor:"6,keyasint"`
}

// OneTimeTokens is the table of one-time tokens.
var (
	OneTimeTokens       = newTable[OneTimeToken](28, "OneTimeToken", func(t *OneTimeToken) *uint64 { return &t.ID }, nil).since(3)
	OneTimeTokensByUser = OneTimeTokens.index("user", func(t *OneTimeToken, k Key) (Key, bool) {
		return k.Uint(t.User).Byte(byte(t.Purpose)), true
	})
)
