package admin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

const experiments = "/api/experiments/environments/env-key/"

func futureFlag(feature uint64) string {
	return fmt.Sprintf("/api/__future__/environments/env-key/features/%d/", feature)
}

// bothKinds runs a test in an environment without versions and in one with them: the flag API does the same in both.
func bothKinds(t *testing.T, run func(*testing.T, *harness)) {
	for _, versioned := range []bool{false, true} {
		t.Run(fmt.Sprint("versioned ", versioned), func(t *testing.T) {
			h := newHarness(t)
			if versioned {
				h.post("/api/v1/environments/env-key/enable-v2-versioning/", nil, 202)
			}
			run(t, h)
		})
	}
}

func TestFlag(t *testing.T) {
	bothKinds(t, func(t *testing.T, h *harness) {
		f, a, b := h.feature(`{"name":"f","initial_value":"v","default_enabled":true}`), h.segment("a"), h.segment("b")
		path := futureFlag(f)
		h.get(path, 200).is(`{"environment_default":{"enabled":true,"value":{"type":"string","value":"v"},"variants":[]},"segment_overrides":[]}`)
		h.patch(path, `{"environment_default":{"enabled":false}}`, 200).
			is(`{"environment_default":{"enabled":false,"value":{"type":"string","value":"v"},"variants":[]},"segment_overrides":[]}`)
		override := func(segment uint64, rest string) string { return fmt.Sprintf(`{"segment":{"id":%d}%s}`, segment, rest) }
		h.patch(path, fmt.Sprintf(`{"environment_default":{"value":{"type":"integer","value":"-5"}},"segment_overrides":[%s,%s]}`,
			override(a, `,"enabled":true,"value":{"type":"boolean","value":"True"}`), override(b, `,"priority":0,"value":{"type":"string","value":" x "}`)), 200).
			is(fmt.Sprintf(`{"environment_default":{"enabled":false,"value":{"type":"integer","value":"-5"},"variants":[]},"segment_overrides":[
				{"segment":{"id":%d},"priority":0,"enabled":false,"value":{"type":"string","value":" x "},"variants":[]},
				{"segment":{"id":%d},"priority":1,"enabled":true,"value":{"type":"boolean","value":"true"},"variants":[]}]}`, b, a))
		h.patch(path, fmt.Sprintf(`{"segment_overrides":[%s]}`, override(a, `,"priority":0`)), 200)
		order := func() (out []uint64) {
			for _, s := range fsm.StatesInPlace(h.node.FSM.State(), h.environment.ID, f)[1:] {
				out = append(out, s.Link.Segment)
			}
			return out
		}
		require.Equal(t, []uint64{a, b}, order())

		// PUT resets what is left out and drops what is not listed.
		h.put(path, fmt.Sprintf(`{"environment_default":{"value":null},"segment_overrides":[%s]}`, override(b, `,"priority":5,"enabled":true`)), 200).
			is(fmt.Sprintf(`{"environment_default":{"enabled":true,"value":null,"variants":[]},"segment_overrides":[
				{"segment":{"id":%d},"priority":5,"enabled":true,"value":{"type":"string","value":"v"},"variants":[]}]}`, b))
		h.put(path, `{"environment_default":{}}`, 200).is(fmt.Sprintf(`{"environment_default":{"enabled":true,"value":{"type":"string","value":"v"},"variants":[]},
			"segment_overrides":[{"segment":{"id":%d},"priority":5,"enabled":true,"value":{"type":"string","value":"v"},"variants":[]}]}`, b))
		h.put(path, fmt.Sprintf(`{"segment_overrides":[%s,%s]}`, override(a, ``), override(b, ``)), 200)
		require.Equal(t, []uint64{a, b}, order(), "in the order of the list")

		for body, want := range map[string]string{
			`{"environment_default":{"value":{"type":"integer","value":"x"}}}`:             `{"environment_default":{"value":["'x' is not a valid integer"]}}`,
			`{"environment_default":{"value":{"type":"integer","value":"2147483648"}}}`:    `{"environment_default":{"value":["Ensure this value is less than or equal to 2147483647."]}}`,
			`{"environment_default":{"value":{"type":"boolean","value":"yes"}}}`:           `{"environment_default":{"value":["'yes' is not a valid boolean"]}}`,
			`{"environment_default":{"value":{"type":"float","value":"1"}}}`:               `{"environment_default":{"value":{"type":["\"float\" is not a valid choice."]}}}`,
			`{"segment_overrides":[{"enabled":true}]}`:                                     `{"segment_overrides":[{"segment":["This field is required."]}]}`,
			`{"segment_overrides":[{"segment":{"id":99},"enabled":true}]}`:                 `{"segment_overrides":[{"segment":{"id":["Segment not found."]}}]}`,
			fmt.Sprintf(`{"segment_overrides":[%s,%s]}`, override(a, ``), override(a, ``)): `{"segment_overrides":[{},{"segment":["Duplicate segment_id values are not allowed"]}]}`,
			`{"environment_default":{"variants":[{"id":7,"weight":5}]}}`:                   `{"environment_default":{"variants":[{"id":["Invalid pk \"7\" - object does not exist."]}]}}`,
		} {
			h.patch(path, body, 400).is(want)
		}

		h.remove(fmt.Sprintf("%ssegment-overrides/%d/", path, a), 200).is(fmt.Sprintf(`{"environment_default":{"enabled":true,"value":{"type":"string","value":"v"},"variants":[]},
			"segment_overrides":[{"segment":{"id":%d},"priority":%d,"enabled":false,"value":{"type":"string","value":"v"},"variants":[]}]}`, b, h.priority(f)))
		h.remove(fmt.Sprintf("%ssegment-overrides/%d/", path, a), 404).is(`{"detail":"Segment override not found."}`)
		h.remove(path+"segment-overrides/99/", 404)
	})
}

// priority is that of the feature's only override.
func (h *harness) priority(feature uint64) int64 {
	h.Helper()
	links := fsm.FeatureSegmentsByEnvironment.List(h.node.FSM.State(), h.environment.ID, feature)
	require.Len(h, links, 1)
	return links[0].Priority
}

func TestFlagVariants(t *testing.T) {
	bothKinds(t, func(t *testing.T, h *harness) {
		f := h.feature(`{"name":"mv","multivariate_options":[{"string_value":"a","default_percentage_allocation":30},{"string_value":"b","default_percentage_allocation":20}]}`)
		g := h.segment("g")
		path := futureFlag(f)
		variants := func(r reply) string {
			return fmt.Sprint(r.object()["environment_default"].(map[string]any)["variants"])
		}
		require.Equal(t, "[map[id:1 weight:30] map[id:2 weight:20]]", variants(h.get(path, 200)))
		require.Equal(t, "[map[id:1 weight:60] map[id:2 weight:40]]",
			variants(h.patch(path, `{"environment_default":{"variants":[{"id":2,"weight":40},{"id":1,"weight":60}]}}`, 200)))
		h.patch(path, `{"environment_default":{"variants":[{"id":2,"weight":70},{"id":1,"weight":60}]}}`, 400).
			is(`{"environment_default":{"non_field_errors":["Multivariate percentage values exceed 100%."]}}`)
		require.Equal(t, "[map[id:1 weight:30] map[id:2 weight:20]]", variants(h.put(path, `{"environment_default":{}}`, 200)))
		h.post(experiments+"update-flag-v2/", fmt.Sprintf(`{"feature":{"name":"mv"},"environment_default":{"enabled":true,"value":{"type":"string","value":"x"}},
			"segment_overrides":[{"segment_id":%d,"enabled":true,"value":{"type":"string","value":"y"},
			"multivariate_feature_state_values":[{"multivariate_feature_option":1,"percentage_allocation":100}]}]}`, g), 204)
		require.Contains(t, h.get(path, 200).Raw, `"variants":[{"id":1,"weight":100.0}]`)
	})
}

func TestFlagPermissions(t *testing.T) {
	h := newHarness(t)
	f, a := h.feature(`{"name":"f"}`), h.segment("a")
	path := futureFlag(f)
	overrides := fmt.Sprintf(`{"segment_overrides":[{"segment":{"id":%d}}]}`, a)
	h.do("member", "GET", path, nil).must(404)
	h.do("member", "PATCH", path, `{}`).must(404)
	h.get("/api/__future__/environments/nope/features/1/", 404)
	h.get(futureFlag(99), 404)
	h.grant(fsm.LevelEnvironment, h.environment.ID, "VIEW_ENVIRONMENT")
	h.do("member", "GET", path, nil).must(200)
	h.do("member", "PATCH", path, `{}`).must(404)
	h.grant(fsm.LevelEnvironment, h.environment.ID, "UPDATE_FEATURE_STATE")
	h.do("member", "PATCH", path, `{"environment_default":{"enabled":true}}`).must(200)
	h.do("member", "PATCH", path, overrides).must(403)
	h.do("member", "DELETE", fmt.Sprintf("%ssegment-overrides/%d/", path, a), nil).must(403)
	h.grant(fsm.LevelEnvironment, h.environment.ID, "MANAGE_SEGMENT_OVERRIDES")
	h.do("member", "PUT", path, overrides).must(200)
	h.do("stranger", "POST", experiments+"update-flag-v1/", `{}`).must(403)
	h.post("/api/experiments/environments/nope/update-flag-v1/", `{}`, 403)
}

func TestFlagUpdate(t *testing.T) {
	bothKinds(t, func(t *testing.T, h *harness) {
		f, a, b := h.feature(`{"name":"f","initial_value":"v"}`), h.segment("a"), h.segment("b")
		live := func() []string { return shown(fsm.StatesInPlace(h.node.FSM.State(), h.environment.ID, f)) }
		const one, many, drop = experiments + "update-flag-v1/", experiments + "update-flag-v2/", experiments + "delete-segment-override/"
		require.Empty(t, h.post(one, `{"feature":{"name":"f"},"enabled":true,"value":{"type":"boolean","value":"true"}}`, 204).Raw)
		h.post(one, fmt.Sprintf(`{"feature":{"id":%d},"segment":{"id":%d,"priority":1},"enabled":false,"value":{"type":"string","value":"seg"}}`, f, a), 204)
		require.Equal(t, []string{"true true", fmt.Sprintf("segment %d at 1: false seg", a)}, live())
		h.post(many, fmt.Sprintf(`{"feature":{"name":"f"},"environment_default":{"enabled":false,"value":{"type":"integer","value":"8"}},"segment_overrides":[
			{"segment_id":%d,"priority":2,"enabled":true,"value":{"type":"integer","value":"9"}},
			{"segment_id":%d,"priority":1,"enabled":true,"value":{"type":"string","value":"b"}}]}`, a, b), 204)
		require.Equal(t, []string{"false 8", fmt.Sprintf("segment %d at 1: true b", b), fmt.Sprintf("segment %d at 2: true 9", a)}, live())
		h.post(drop, fmt.Sprintf(`{"feature":{"name":"f"},"segment":{"id":%d}}`, b), 204)
		h.post(drop, fmt.Sprintf(`{"feature":{"name":"f"},"segment":{"id":%d}}`, b), 404).is(fmt.Sprintf(`{"detail":"Segment override for segment %d does not exist"}`, b))
		require.Len(t, live(), 2)
		value := `"enabled":true,"value":{"type":"integer","value":"1"}`
		for body, want := range map[string]string{
			`{}`: `{"feature":["This field is required."],"enabled":["This field is required."],"value":["This field is required."]}`,
			`{"feature":{"name":"nope"},` + value + `}`:                                      `["Feature '{'name': 'nope'}' not found in project"]`,
			`{"feature":{"name":"f","id":1},` + value + `}`:                                  `{"feature":{"non_field_errors":["Provide either 'name' or 'id', not both"]}}`,
			`{"feature":{},` + value + `}`:                                                   `{"feature":{"non_field_errors":["Either 'name' or 'id' is required for feature identification"]}}`,
			`{"feature":{"name":"f"},"enabled":true,"value":{"type":"integer","value":"x"}}`: `{"value":{"non_field_errors":["'x' is not a valid integer"]}}`,
			`{"feature":{"name":"f"},"segment":{"id":99999},` + value + `}`:                  `{"segment_id":["Segment with id 99999 not found in project"]}`,
			`{"feature":{"name":"f"},"segment":{"id":99999,"priority":-1},` + value + `}`:    `{"segment":{"priority":["Ensure this value is greater than or equal to 0."]}}`,
		} {
			h.post(one, body, 400).is(want)
		}
		twice := fmt.Sprintf(`{"segment_id":%d,%s}`, a, value)
		h.post(many, `{"feature":{"name":"f"},"environment_default":{`+value+`},"segment_overrides":[`+twice+`,`+twice+`]}`, 400).
			is(`{"segment_overrides":["Duplicate segment_id values are not allowed"]}`)
	})
}

// TestFlagInVersions: each write of the flag API in a versioned environment is a version of its own.
func TestFlagInVersions(t *testing.T) {
	h := newVersioned(t)
	n := len(h.audits(0))
	h.patch(futureFlag(h.id), `{"environment_default":{"enabled":false}}`, 200)
	require.Equal(t, []string{"EF_VERSION 0 New version published for feature: f"}, h.audits(n))
	v, _ := fsm.ServingVersion(h.node.FSM.State(), h.environment.ID, h.id)
	require.Equal(t, []uint64{h.admin.ID, h.admin.ID}, []uint64{v.CreatedBy, v.PublishedBy})
	h.patch(futureFlag(h.id), `{}`, 200)
	h.remove(futureFlag(h.id)+"segment-overrides/1/", 404)
	require.Equal(t, 2, fsm.FeatureVersionsByEnvironment.Count(h.node.FSM.State(), h.environment.ID, h.id), "what changes nothing makes none")
	require.Equal(t, []string{"false v"}, h.live())
}

// TestFlagTakesUpEmptyOverride: a feature segment that was never given a state does not stand beside the override that is made for it.
func TestFlagTakesUpEmptyOverride(t *testing.T) {
	h := newHarness(t)
	f, a := h.feature(`{"name":"f"}`), h.segment("a")
	h.link(f, a)
	h.post(experiments+"update-flag-v1/", fmt.Sprintf(`{"feature":{"id":%d},"segment":{"id":%d},"enabled":true,"value":{"type":"string","value":"x"}}`, f, a), 204)
	require.Equal(t, int64(0), h.priority(f))
}

func TestPatchNeedsWholeElements(t *testing.T) {
	h := newHarness(t)
	f := h.post("/api/v1/projects/1/features/", `{"name":"m","multivariate_options":[{"string_value":"a","default_percentage_allocation":60}]}`, 201).id()
	h.patch(fmt.Sprintf("/api/__future__/environments/env-key/features/%d/", f), `{"environment_default":{"variants":[{"id":1}]}}`, 400)
	st := h.get("/api/v1/environments/env-key/featurestates/", 200).object()["results"].([]any)[0].(map[string]any)["id"]
	h.patch(fmt.Sprintf("/api/v1/environments/env-key/featurestates/%v/", st), `{"multivariate_feature_state_values":[{"multivariate_feature_option":1}]}`, 400)
	for s := range fsm.FeatureStatesByFeature.All(h.node.FSM.State(), f) {
		require.Equal(t, 60.0, s.Multivariate[0].Percentage)
	}
}

func TestPatchNeedsWholeValues(t *testing.T) {
	h := newHarness(t)
	f := h.feature(`{"name":"n","initial_value":"5"}`)
	h.patch(fmt.Sprintf("/api/__future__/environments/env-key/features/%d/", f), `{"environment_default":{"value":{"value":"7"}}}`, 400)
	h.patch(fmt.Sprintf("/api/__future__/environments/env-key/features/%d/", f), `{"environment_default":{"value":{"type":"string"}}}`, 400)
}

// TestFlagPutAgain: a PUT without priorities puts the overrides in the order of the list, and the same PUT changes nothing.
func TestFlagPutAgain(t *testing.T) {
	bothKinds(t, func(t *testing.T, h *harness) {
		f, a, b, c := h.feature(`{"name":"f"}`), h.segment("a"), h.segment("b"), h.segment("c")
		override := func(segment uint64) string { return fmt.Sprintf(`{"segment":{"id":%d},"enabled":true}`, segment) }
		put := func(segments ...uint64) string {
			var list []string
			for _, s := range segments {
				list = append(list, override(s))
			}
			return h.put(futureFlag(f), `{"segment_overrides":[`+strings.Join(list, ",")+`]}`, 200).Raw
		}
		first := put(a, b, c)
		require.Contains(t, first, `"priority":2`)
		require.Equal(t, first, put(a, b, c))
		require.Equal(t, first, put(a, b, c))
		put(c, b, a)
		require.Equal(t, first, put(a, b, c))
	})
}

// TestVariantTwice: a state has one share of an option, whichever way it is written.
func TestVariantTwice(t *testing.T) {
	h := newHarness(t)
	f := h.feature(`{"name":"mv","multivariate_options":[{"string_value":"a","default_percentage_allocation":30},{"string_value":"b","default_percentage_allocation":20}]}`)
	h.patch(futureFlag(f), `{"environment_default":{"variants":[{"id":1,"weight":30},{"id":1,"weight":40}]}}`, 400).
		is(`{"environment_default":{"variants":[{},{"id":["The option is given twice."]}]}}`)
	h.put("/api/v1/environments/env-key/featurestates/1/", `{"multivariate_feature_state_values":[{"multivariate_feature_option":1,"percentage_allocation":30},{"multivariate_feature_option":1,"percentage_allocation":40}]}`, 400).
		is(`{"multivariate_feature_state_values":[{},{"multivariate_feature_option":["The option is given twice."]}]}`)
}

// TestFlagPutPriorities: a PUT with priorities leaves the overrides with those, gaps between them too.
func TestFlagPutPriorities(t *testing.T) {
	bothKinds(t, func(t *testing.T, h *harness) {
		f, a, b, d := h.feature(`{"name":"f"}`), h.segment("a"), h.segment("b"), h.segment("d")
		put := func(x, y, z int) string {
			var got string
			for _, o := range h.put(futureFlag(f), fmt.Sprintf(`{"segment_overrides":[{"segment":{"id":%d},"priority":%d},{"segment":{"id":%d},"priority":%d},
				{"segment":{"id":%d},"priority":%d}]}`, a, x, b, y, d, z), 200).object()["segment_overrides"].([]any) {
				got += fmt.Sprintf("%v at %v ", o.(map[string]any)["segment"].(map[string]any)["id"], o.(map[string]any)["priority"])
			}
			return got
		}
		put(3, 2, 1)
		require.Equal(t, fmt.Sprintf("%d at 5 %d at 7 %d at 10 ", b, d, a), put(10, 5, 7))
	})
}
