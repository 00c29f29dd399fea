package compare

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/bench/seed"
)

var testProfile = seed.Profile{Segments: 3, Traits: 2}

func TestContexts(t *testing.T) {
	c, err := testDocument().Contexts(testProfile)
	require.NoError(t, err)
	require.Len(t, c.Identities, 4)
	require.JSONEq(t, `{"identifier":"user-000000002","key":"key_user-000000002","traits":{"trait_00":"segment_02_value_00","trait_01":"segment_02_value_01"}}`, string(c.Identities[2]))
	require.Contains(t, string(c.Context), `"conditions":[{"operator":"EQUAL","property":"b","value":"1"}]`)
}

// Both ways of using our engine have the same results, and others are held against them.
func TestOwn(t *testing.T) {
	d := testDocument()
	d.Project.Segments[1].Rules[0] = Rule{Type: "ALL", Conditions: []Condition{{"trait_01", "EQUAL", "segment_02_value_01"}}}
	contexts, err := d.Contexts(testProfile)
	require.NoError(t, err)
	compiled, err := Own(contexts, true)
	require.NoError(t, err)
	call, err := Own(contexts, false)
	require.NoError(t, err)
	require.NoError(t, Agree(compiled, call))
	results, err := compiled.Results()
	require.NoError(t, err)
	require.Equal(t, []string{"segment_1"}, results[2].Segments)
	require.Equal(t, ResultFlag{true, "override_1_3", "TARGETING_MATCH; segment=segment_1"}, results[2].Flags["feature_3"])
	require.Equal(t, ResultFlag{false, "value_3", "DEFAULT"}, results[1].Flags["feature_3"])

	contexts.Identities[2] = contexts.Identities[1]
	changed, err := Own(contexts, true)
	require.NoError(t, err)
	require.ErrorContains(t, Agree(compiled, changed), "differ in context 2")

	for _, e := range []Engine{compiled, call} {
		s, err := e.Run(30 * time.Millisecond)
		require.NoError(t, err)
		require.Positive(t, s.Evaluations)
		require.NoError(t, e.Close())
	}
	require.Equal(t, 500.0, Speed{Evaluations: 1000, CPU: 2}.PerSecond())
}
