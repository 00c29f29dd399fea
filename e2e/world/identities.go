package world

import (
	"fmt"
	"math/rand/v2"
)

// Overrides is the number of identities with overrides of their own.
const Overrides = 40

// Identity is one of those for whom local and remote evaluation are compared.
type Identity struct {
	Identifier string         `json:"identifier"`
	Traits     map[string]any `json:"traits"`
	Overridden bool           `json:"overridden"`
}

func vip(i int) string { return fmt.Sprintf("vip-%02d", i) }

// personal overrides flags for identities.
func (b *builder) personal() {
	b.feature("personal", false, "for all", nil)
	for i := range Overrides {
		id := b.must("POST", b.environment("identities/"), object{"identifier": vip(i)}, 201).ID("id")
		states := b.environment(fmt.Sprintf("identities/%d/featurestates/", id))
		b.must("POST", states, object{"feature": b.features["personal"], "enabled": true, "feature_state_value": "for " + vip(i)}, 201)
		if i%4 == 0 { // stronger than any segment
			b.must("POST", states, object{"feature": b.features["ranked"], "enabled": true, "feature_state_value": "personal"}, 201)
		}
	}
}

// Identities returns n identities, always the same ones. Their traits are of the
// kind that every client engine treats like the reference: no text that looks like a number, no
// whole number written as a fraction; those with overrides have no false values, which one
// client drops.
func Identities(n int) []Identity {
	r := rand.New(rand.NewPCG(2026, 11)) //nolint:gosec // test data from a fixed seed
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	all := make([]Identity, n)
	for i := range all {
		id := Identity{Identifier: fmt.Sprintf(pick("user-%d", "ann+%d@example.com", "žofie %d", "x/y?%d&z"), i)}
		if id.Overridden = i < Overrides; id.Overridden {
			id.Identifier = vip(i)
		}
		t := map[string]any{
			"plan": pick("free", "free", "gold", "team"), "age": 1 + r.IntN(79), "number": 1 + r.IntN(100_000),
			"email":   fmt.Sprintf("user%d@%s", r.IntN(1000), pick("example.com", "corp.test")),
			"country": pick("CZ", "FR", "DE", "US", "BR"), "version": fmt.Sprintf("1.%d.%d", r.IntN(5), r.IntN(7)),
			"score": float64(r.IntN(40)) + pick2(r, 0.25, 0.5),
		}
		if beta := r.IntN(2) == 0; beta || !id.Overridden {
			t["beta"] = beta
		}
		if r.IntN(5) == 0 {
			t["banned"] = true
		}
		for _, k := range []string{"country", "email", "score", "version"} {
			if r.IntN(12) == 0 {
				delete(t, k)
			}
		}
		id.Traits = t
		all[i] = id
	}
	return all
}

func pick2(r *rand.Rand, a, b float64) float64 {
	if r.IntN(2) == 0 {
		return a
	}
	return b
}
