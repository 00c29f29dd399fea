package compare

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/eval"
)

// evaluate is Unleash's rule: the first strategy whose constraints all hold.
func (b *Bootstrap) evaluate(properties map[string]string) map[string]Flag {
	holds := map[int64]bool{}
	for _, s := range b.Segments {
		holds[s.ID] = !slices.ContainsFunc(s.Constraints, func(c Constraint) bool {
			value, ok := properties[c.Property]
			return c.Operator != In || !ok || !slices.Contains(c.Values, value)
		})
	}
	flags := map[string]Flag{}
	for _, f := range b.Features {
		at := slices.IndexFunc(f.Strategies, func(s Strategy) bool {
			return !slices.ContainsFunc(s.Segments, func(id int64) bool { return !holds[id] })
		})
		out := Flag{Enabled: f.Enabled && (at >= 0 || len(f.Strategies) == 0)}
		if out.Enabled && at >= 0 && len(f.Strategies[at].Variants) > 0 {
			out.Value = f.Strategies[at].Variants[0].Payload.Value
		}
		flags[f.Name] = out
	}
	return flags
}

func testState(name string, enabled bool, value any) (s State) {
	s.Feature.ID, s.Feature.Name = int64(len(name)), name
	s.Enabled, s.Value = enabled, value
	return s
}

// testDocument has segments that several identities are in, some in more than one,
// with priorities that differ from their order.
func testDocument() *Document {
	d := &Document{Key: "key", Name: "Production"}
	for i := range 6 {
		d.Features = append(d.Features, testState(fmt.Sprint("feature_", i), i%2 == 0, fmt.Sprint("value_", i)))
	}
	for i := range 4 {
		s := Segment{ID: int64(10 + i), Name: fmt.Sprint("segment_", i), Rules: []Rule{{
			Type: eval.All, Conditions: []Condition{{"a", eval.Equal, fmt.Sprint(i % 2)}}, Rules: []Rule{{Type: eval.All, Conditions: []Condition{{"b", eval.Equal, fmt.Sprint(i / 2)}}}},
		}}}
		if i == 3 { // holds more often, and together with others
			s.Rules = s.Rules[:1]
			s.Rules[0].Rules = nil
		}
		for f := range 5 {
			o := testState(fmt.Sprint("feature_", f), true, fmt.Sprint("override_", i, "_", f))
			o.Override = &struct {
				Priority int `json:"priority"`
			}{(i + f) % 4}
			s.Overrides = append(s.Overrides, o)
		}
		d.Project.Segments = append(d.Project.Segments, s)
	}
	return d
}

// Constraints must mean what conditions mean: for any traits Unleash's rule gives what
// the engine gives.
func TestUnleashMeansTheSame(t *testing.T) {
	d := testDocument()
	contexts, err := d.Contexts(testProfile)
	require.NoError(t, err)
	for _, values := range []bool{true, false} {
		b, err := d.Unleash(values)
		require.NoError(t, err)
		random := rand.New(rand.NewPCG(1, 2))
		seen := map[string]bool{}
		for range 200 {
			traits := map[string]string{}
			for _, name := range []string{"a", "b", "c"} {
				if v := random.IntN(4); v < 3 { // the last is no trait at all
					traits[name] = fmt.Sprint(v)
				}
			}
			identity, err := json.Marshal(object{"identifier": "ann", "key": "k", "traits": traits})
			require.NoError(t, err)
			context, err := eval.DecodeContext((&Contexts{contexts.Context, []json.RawMessage{identity}}).whole()[0])
			require.NoError(t, err)
			ours := map[string]Flag{}
			for _, f := range eval.Evaluate(context).Flags {
				value, _ := f.Value.AsString()
				ours[f.Name] = Flag{f.Enabled, value}
				seen[value] = true
			}
			require.NoError(t, Same(ours, b.evaluate(traits), values), "%v", traits)
		}
		require.Greater(t, len(seen), 15, "too few outcomes to mean anything")
	}
}

func TestWhatHasNoEqualIsRefused(t *testing.T) {
	for name, change := range map[string]func(*Document){
		"type ANY":          func(d *Document) { d.Project.Segments[0].Rules[0].Type = eval.Any },
		"operator CONTAINS": func(d *Document) { d.Project.Segments[0].Rules[0].Rules[0].Conditions[0].Operator = eval.Contains },
		"off":               func(d *Document) { d.Project.Segments[0].Overrides[0].Enabled = false },
		"no text":           func(d *Document) { d.Features[0].Value = 5.0 },
	} {
		d := testDocument()
		change(d)
		_, err := d.Unleash(true)
		require.ErrorContains(t, err, name)
	}
	_, err := Read([]byte(`{"feature_states":[{"feature":{"name":"f"},"multivariate_feature_state_values":[{}]}]}`))
	require.ErrorContains(t, err, "f is multivariate")
	_, err = Read([]byte(`{`))
	require.Error(t, err)
}

func TestPlain(t *testing.T) {
	d := testDocument()
	b, err := d.Plain().Unleash(false)
	require.NoError(t, err)
	require.Empty(t, b.Segments)
	require.True(t, b.Features[0].Enabled)
	require.False(t, b.Features[1].Enabled, "a feature without strategies would be on for everybody")
	require.Len(t, d.Project.Segments, 4)
}

func TestSame(t *testing.T) {
	ours, err := Flags([]byte(`[{"feature":{"name":"a"},"enabled":true,"feature_state_value":"x"},{"feature":{"name":"b"},"enabled":false,"feature_state_value":"y"}]`))
	require.NoError(t, err)
	identity, err := Flags([]byte(`{"traits":[],"flags":[{"feature_segment":7,"feature":{"name":"a"},"enabled":true,"feature_state_value":"x"},{"feature":{"name":"b"},"enabled":false,"feature_state_value":"y"}]}`))
	require.NoError(t, err)
	require.Equal(t, ours, identity)
	edges, err := EdgeFlags([]byte(`{"toggles":[{"name":"a","enabled":true,"variant":{"name":"x","payload":{"type":"string","value":"x"},"enabled":true}}]}`))
	require.NoError(t, err)
	require.NoError(t, Same(ours, edges, true))
	edges["a"] = Flag{true, "z"}
	require.Error(t, Same(ours, edges, true))
	require.NoError(t, Same(ours, edges, false))
	edges["a"] = Flag{false, "x"}
	require.Error(t, Same(ours, edges, false))
	require.Error(t, Same(ours, map[string]Flag{"a": {true, "x"}, "c": {}}, true))
	for _, read := range []func([]byte) (map[string]Flag, error){Flags, EdgeFlags} {
		_, err = read([]byte(`nope`))
		require.Error(t, err)
	}
}
