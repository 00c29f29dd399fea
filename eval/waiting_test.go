package eval

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVariantsTogetherAreThoseAlone compares features that are hashed together with each
// one hashed by itself: any number of them, some settled, some without variants, some
// overridden, ids that fit a lane and ids that do not.
func TestVariantsTogetherAreThoseAlone(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 11))
	variants := func(key string) *FeatureContext {
		f := &FeatureContext{Key: key, Value: String("control")}
		for i := range random.IntN(4) {
			weight := []int64{0, 20, 33, 100}[random.IntN(4)]
			f.Variants = append(f.Variants, Variant{Value: Int(int64(i)), Weight: Int(weight), Priority: Int(int64(i))})
		}
		return f
	}
	for range 300 {
		spec := &Spec{Key: "key", Segments: []*SegmentContext{{Key: "1", Name: "all", Rules: rulesOf(All)}}}
		for i := range random.IntN(40) {
			f := variants(strings.Repeat("9", random.IntN(20)) + fmt.Sprint(i))
			f.Name = fmt.Sprint("feature ", i)
			spec.Features = append(spec.Features, f)
			if random.IntN(3) == 0 {
				override := variants(f.Key + "0")
				override.Name, override.Priority = f.Name, Int(1)
				spec.Segments[0].Overrides = append(spec.Segments[0].Overrides, override)
			}
		}
		env := Compile(spec, nil)
		var s Subject
		var together, alone Evaluation
		for _, key := range []string{"", "k", strings.Repeat("k", random.IntN(60))} {
			s.Reset(env)
			if key != "" {
				s.SetIdentity("identifier", key)
			}
			env.Evaluate(&s, &together)
			for i, outcome := range together.Outcomes {
				require.Equal(t, env.EvaluateFeature(&s, &alone, i), outcome, "feature %d of %d, identity %q", i, len(spec.Features), key)
				if f := env.Winner(i, outcome); key != "" && f.Variants != nil {
					require.EqualValues(t, SelectVariant(f, key), outcome.Variant)
				}
			}
		}
	}
}

// TestABucketThatIsHashedAgainBesideOthers has the one feature of eight whose first
// bucket would be 100 percent.
func TestABucketThatIsHashedAgainBesideOthers(t *testing.T) {
	spec := &Spec{Key: "key"}
	for i := range 8 {
		f := &FeatureContext{Key: fmt.Sprint(6 + i), Name: fmt.Sprint(i)}
		for percent := range 100 { // one variant for each percent
			f.Variants = append(f.Variants, Variant{Weight: Int(1), Priority: Int(int64(percent))})
		}
		spec.Features = append(spec.Features, f)
	}
	env := Compile(spec, nil)
	var s Subject
	var ev Evaluation
	s.Reset(env)
	s.SetIdentity("identifier", "id7364")
	env.Evaluate(&s, &ev)
	require.EqualValues(t, 57, ev.Outcomes[4].Variant, "57.25… by TestPercentage")
	for i, f := range spec.Features {
		require.EqualValues(t, int(referencePercentage(f.Key, "id7364")), ev.Outcomes[i].Variant)
	}
}
