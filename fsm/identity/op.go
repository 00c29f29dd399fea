package identity

// Kind says what an Op does. The values are written to the log: never renumber them.
type Kind uint8

// Kinds. "By identifier" and "by id" name the two ways to address an identity (Op.Identifier, Op.Identity).
const (
	// KindUpsert creates the identity when missing (by identifier only) and applies Op.Traits in order. Without
	// traits it only touches: create if missing.
	KindUpsert Kind = 1
	// KindCreate creates Op.Identifier with Op.Alias and Op.Traits; StatusExists when it is there already.
	KindCreate Kind = 2
	// KindDelete removes the identity with its traits.
	KindDelete Kind = 3
	// KindRename gives the identity the identifier Op.NewIdentifier; StatusExists (with the holder's id in
	// Result.Identity) when an identity, itself included, has it already.
	KindRename Kind = 4
	// KindSetAlias sets the dashboard alias; an empty Op.Alias clears it. The caller lower-cases and limits it.
	KindSetAlias Kind = 5
	// KindSetTrait writes Op.Value to the trait Op.TraitID (Op.Key, when not empty, renames it: StatusExists if another
	// trait has that key) or, without an id, to the trait Op.Key, which is created when missing. By identifier it
	// creates a missing identity.
	KindSetTrait Kind = 6
	// KindDeleteTrait removes the trait Op.TraitID or Op.Key; StatusMissing when there is none.
	KindDeleteTrait Kind = 7
	// KindIncrement adds Op.Delta to the integer trait Op.Key, which starts at 0 when missing. By identifier it
	// creates a missing identity.
	KindIncrement Kind = 8
	// KindDeleteTraitKey removes the trait Op.Key from every identity of the environment in constant time. It moves
	// no identity's LastChange. Result.Count tells how many had it.
	KindDeleteTraitKey Kind = 9
	// KindDropEnvironment removes the environment with all its identities. Result.Count tells how many.
	KindDropEnvironment Kind = 10
	// KindSetFlags replaces the identity's caller-defined flags by Op.Flags.
	KindSetFlags Kind = 11

	kindMax = KindSetFlags
)

// TraitOp is one trait of an upsert or create.
type TraitOp struct {
	Key []byte
	// Value is a canonical JSON literal (CanonicalValue); empty or null deletes the trait.
	Value []byte
}

// Op is one operation on the store. Apply borrows the slices only while it runs.
type Op struct {
	Kind        Kind
	Environment uint64
	// Identity addresses by integer id when not 0, else Identifier addresses.
	Identity      uint64
	Identifier    []byte
	NewIdentifier []byte
	Alias         []byte
	Flags         uint8
	Traits        []TraitOp
	TraitID       uint64
	Key           []byte
	Value         []byte
	Delta         int64
	// ExpectLastChange, when not 0, refuses the operation with StatusConflict unless the identity exists and its
	// LastChange is this.
	ExpectLastChange uint64
}

// Status is the outcome of an Op. The values travel between nodes: never renumber them.
type Status uint8

// Outcomes. Nothing is stored unless the status is StatusOK.
const (
	StatusOK Status = iota
	// StatusMissing: no such environment, identity or trait.
	StatusMissing
	// StatusExists: the identifier (or, for a renamed trait, the key) is taken.
	StatusExists
	// StatusConflict: the identity changed since ExpectLastChange.
	StatusConflict
	// StatusOverIdentities: the environment holds Limits.Identities already.
	StatusOverIdentities
	// StatusOverTraits: the identity's traits would exceed Limits.TraitBytes.
	StatusOverTraits
	// StatusNotInteger: increment of a trait that is no integer of 64 bits.
	StatusNotInteger
	// StatusOverflow: the increment leaves the range of 64-bit integers.
	StatusOverflow
	// StatusInvalid: the operation is malformed (unknown kind, no identifier, no key).
	StatusInvalid
	// StatusOverKeys: the environment has Caps.TraitKeys distinct trait keys already.
	StatusOverKeys

	statusMax = StatusOverKeys
)

var statusNames = [...]string{"ok", "missing", "exists", "conflict", "over identities", "over traits",
	"not an integer", "overflow", "invalid", "over trait keys"}

// String names the status for logs.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return "unknown"
}

// Result is what Apply reports of one Op.
type Result struct {
	Status Status
	// Created: the identity was created by this operation.
	Created bool
	// Changed: the state changed. An upsert that finds everything as asked changes nothing.
	Changed bool
	// Identity is the integer id of the identity concerned, 0 when there is none.
	Identity uint64
	// TraitID is the trait that KindSetTrait, KindDeleteTrait or KindIncrement concerned.
	TraitID uint64
	// LastChange is the identity's last-change index after the operation.
	LastChange uint64
	// Value is the trait's value after an increment.
	Value int64
	// Count: traits or identities removed by KindDeleteTraitKey and KindDropEnvironment.
	Count uint64
}

// Limits are the caps that Apply enforces. They decide results, so every node must hold the same at the same index:
// set them from replicated state or constants only.
type Limits struct {
	// TraitBytes bounds the sum of len(key)+len(value literal) over one identity's traits. Keep it below 1 MB: a segment
	// holds 2,048 identities and is copied as a whole.
	TraitBytes int
	// Identities bounds the identities of one environment, up to MaxIdentities.
	Identities int
}

// MaxIdentities is what the layout of one environment has room for, with records of up to 2 KB: 26 bits number the slots.
const MaxIdentities = 60_000_000

// DefaultLimits are 64 KB of traits an identity and 5 million identities an environment.
func DefaultLimits() Limits { return Limits{TraitBytes: 64 << 10, Identities: 5_000_000} }
