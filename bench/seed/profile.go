package seed

import (
	"fmt"
	"strconv"
)

// Profile says how much there is of everything.
type Profile struct {
	Features   int `json:"features"`
	Segments   int `json:"segments"`
	Overrides  int `json:"overrides"`  // features that each segment overrides
	Conditions int `json:"conditions"` // of each segment, all must hold
	Traits     int `json:"traits"`     // of each loaded identity
	NewTraits  int `json:"new_traits"` // of identities made while measuring
	Identities int `json:"identities"` // loaded before measuring
}

// Default is the published profile with a million identities.
func Default() Profile {
	return Profile{Features: 50, Segments: 15, Overrides: 50, Conditions: 15, Traits: 15, NewTraits: 5, Identities: 1_000_000}
}

// Quick has fewer identities and is otherwise the same.
func Quick() Profile {
	p := Default()
	p.Identities = 10_000
	return p
}

func (p Profile) String() string {
	return fmt.Sprintf("%d features, %d segments with %d overrides and %d equal conditions each, %d identities with %d traits",
		p.Features, p.Segments, p.Overrides, p.Conditions, p.Identities, p.Traits)
}

// Kinds is the number of kinds of identities: one for each segment and one in none.
// The first identities are of different kinds.
func (p Profile) Kinds() int { return p.Segments + 1 }

// Trait is a trait of an identity.
type Trait struct{ Key, Value string }

// LoadedTraits are the traits of a loaded identity.
func (p Profile) LoadedTraits(n int) (traits []Trait) {
	for i := range p.Traits {
		traits = append(traits, Trait{traitKey(i), p.traitValue(n%p.Kinds(), i)})
	}
	return traits
}

// traitKey and traitValue have a fixed length, so that all answers about one kind of
// identity have one length.
func traitKey(i int) string { return fmt.Sprintf("trait_%02d", i) }

func (p Profile) traitValue(kind, i int) string {
	return fmt.Sprintf("segment_%0*d_value_%02d", p.digits(), kind, i)
}

// digits is the length of a segment's number in texts.
func (p Profile) digits() int { return max(2, len(strconv.Itoa(p.Segments))) }

// identifierDigits is the length of the number in an identifier.
const identifierDigits = 9

// Loaded is the identifier of a loaded identity.
func Loaded(n int) string { return string(appendIdentifier(nil, loaded, n)) }

// appendIdentifier writes a prefix and a number of fixed length.
func appendIdentifier(dst []byte, prefix string, n int) []byte {
	dst = append(dst, prefix...)
	var digits [20]byte
	s := strconv.AppendInt(digits[:0], int64(n), 10)
	for i := len(s); i < identifierDigits; i++ {
		dst = append(dst, '0')
	}
	return append(dst, s...)
}
