package fsm

// SecondFactor is an account's authenticator app. It protects the account once a code of it was confirmed.
type SecondFactor struct {
	ID          uint64   `cbor:"1,keyasint"`
	User        uint64   `cbor:"2,keyasint"`
	Method      string   `cbor:"3,keyasint"` // "app"
	Secret      string   `cbor:"4,keyasint"` // base32: it must be there to compute codes
	IsActive    bool     `cbor:"5,keyasint,omitempty"`
	BackupCodes [][]byte `cbor:"6,keyasint,omitempty"` // SHA-256 of those not used yet
	LastStep    uint64   `cbor:"7,keyasint,omitempty"` // time step of the last code that signed in
}

// SecondFactors is the table of second factors.
var (
	SecondFactors       = newTable[SecondFactor](27, "MFAMethod", func(f *SecondFactor) *uint64 { return &f.ID }, nil).since(3)
	SecondFactorsByUser = SecondFactors.index("user", func(f *SecondFactor, k Key) (Key, bool) { return k.Uint(f.User), true })
)
