package admin

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

const featureSegments = "/api/v1/features/feature-segments/"

// link ties a segment to a feature in the harness's environment.
func (h *harness) link(feature, segment uint64) uint64 {
	h.Helper()
	return h.post(featureSegments, fmt.Sprintf(`{"feature":%d,"segment":%d,"environment":1,"priority":9}`, feature, segment), 201).id()
}

// priorities lists the ids of a feature's segments with their priorities, the winner first.
func (h *harness) priorities(feature uint64) (out []string) {
	h.Helper()
	for _, row := range h.get(fmt.Sprintf("%s?environment=1&feature=%d", featureSegments, feature), 200).object()["results"].([]any) {
		r := row.(map[string]any)
		out = append(out, fmt.Sprintf("%v:%.0f", r["id"], r["priority"]))
	}
	return out
}

func TestFeatureSegments(t *testing.T) {
	h := newHarness(t)
	f, a, b := h.feature(`{"name":"f"}`), h.segment("a"), h.segment("b")
	r := h.post(featureSegments, fmt.Sprintf(`{"feature":%d,"segment":%d,"environment":1}`, f, a), 201)
	one, _ := fsm.FeatureSegments.Get(h.node.FSM.State(), 1)
	require.Equal(t, fmt.Sprintf(`{"id":1,"uuid":%q,"feature":%d,"segment":%d,"environment":1,"priority":0}`, one.UUID, f, a), r.Raw)
	require.Equal(t, uint64(2), h.link(f, a), "duplicates are accepted")
	h.link(f, b)
	require.Equal(t, []string{"1:0", "2:1", "3:2"}, h.priorities(f))
	shown := fmt.Sprintf(`{"id":1,"uuid":%q,"segment":%d,"priority":0,"environment":1,"segment_name":"a","is_feature_specific":false}`, one.UUID, a)
	require.Equal(t, shown, h.get(featureSegments+"1/", 200).Raw)
	require.Equal(t, shown, h.get(featureSegments+"get-by-uuid/"+one.UUID.String()+"/", 200).Raw)

	// The first to be moved is shown where it was asked to be, though the second pushed it on.
	n := len(h.audits(0))
	r = h.post(featureSegments+"update-priorities/", `[{"id":3,"priority":0},{"id":1,"priority":1}]`, 200)
	require.Equal(t, []any{1.0, 1.0, 3.0, 0.0}, []any{
		r.list()[0].(map[string]any)["id"], r.list()[0].(map[string]any)["priority"],
		r.list()[1].(map[string]any)["id"], r.list()[1].(map[string]any)["priority"]})
	require.Equal(t, []string{"3:0", "2:1", "1:2"}, h.priorities(f))
	require.Equal(t, []string{fmt.Sprintf("FEATURE %d Segment overrides re-ordered for feature 'f'.", f)}, h.audits(n))
	h.post(featureSegments+"update-priorities/", `[{"id":3,"priority":0}]`, 200)
	require.Len(t, h.audits(n), 1, "nothing changed")
	h.post(featureSegments+"update-priorities/", `[]`, 200).is(`[]`)
	h.post(featureSegments+"update-priorities/", `[{"id":99999,"priority":0}]`, 400).is(`{"non_field_errors":["Some of the provided ids were not found."]}`)

	n = len(h.audits(0))
	h.remove(featureSegments+"3/", 204)
	h.remove(featureSegments+"3/", 404).is(`{"detail":"No FeatureSegment matches the given query."}`)
	require.Equal(t, []string{"2:0", "1:1"}, h.priorities(f))
	require.Equal(t, []string{fmt.Sprintf("FEATURE %d Flag state / Remote config value deleted for feature 'f' and segment 'b'", f)}, h.audits(n))
}

// The front end sends all overrides in the order they were dragged into.
func TestAllPrioritiesAtOnce(t *testing.T) {
	h := newHarness(t)
	f := h.feature(`{"name":"f"}`)
	for _, name := range []string{"a", "b", "c", "d"} {
		h.link(f, h.segment(name))
	}
	h.post(featureSegments+"update-priorities/", `[{"id":4,"priority":0},{"id":3,"priority":1},{"id":1,"priority":2},{"id":2,"priority":3}]`, 200)
	require.Equal(t, []string{"4:0", "3:1", "1:2", "2:3"}, h.priorities(f))
}

func TestFeatureSegmentRefusals(t *testing.T) {
	h := newHarness(t)
	f, other, a := h.feature(`{"name":"f"}`), h.feature(`{"name":"g"}`), h.segment("a")
	special := h.post(segments, fmt.Sprintf(`{"name":"s","feature":%d,"rules":%s}`, f, rule(`{"operator":"IS_SET","property":"a"}`)), 201).id()
	h.get(featureSegments, 400).is(`{"environment":["This field is required."],"feature":["This field is required."]}`)
	h.post(featureSegments, `{"feature":1}`, 403)
	h.post(featureSegments, `{"feature":1,"environment":1}`, 400).is(`{"segment":["This field is required."]}`)
	h.post(featureSegments, fmt.Sprintf(`{"feature":999,"segment":%d,"environment":1}`, a), 400).is(`{"feature":["Invalid pk \"999\" - object does not exist."]}`)
	h.post(featureSegments, fmt.Sprintf(`{"feature":%d,"segment":%d,"environment":1}`, other, special), 400).
		is(fmt.Sprintf(`{"feature":["Can only create segment override(using this segment) for feature %d"]}`, f))
	h.link(f, special)
	id := h.link(other, a)
	h.post(featureSegments+"update-priorities/", fmt.Sprintf(`[{"id":%d,"priority":0},{"id":%d,"priority":1}]`, id-1, id), 400).
		is(`{"non_field_errors":["All feature segments must belong to the same feature & environment."]}`)
	h.do("member", "POST", featureSegments+"update-priorities/", fmt.Sprintf(`[{"id":%d,"priority":0}]`, id)).must(403)
	h.do("member", "GET", fmt.Sprintf("%s%d/", featureSegments, id), nil).must(403)
	h.do("member", "GET", fmt.Sprintf("%s?environment=1&feature=%d", featureSegments, other), nil).must(200).is(`{"count":0,"next":null,"previous":null,"results":[]}`)
	h.api.Env.Options.MaxSegmentOverrides = 2
	h.post(featureSegments, fmt.Sprintf(`{"feature":%d,"segment":%d,"environment":1}`, f, a), 400).
		is(`{"environment":["The environment has reached the maximum allowed segments overrides limit."]}`)
}

func TestCreateSegmentOverride(t *testing.T) {
	h := newHarness(t)
	f, a, b := h.feature(`{"name":"f","initial_value":"42"}`), h.segment("a"), h.segment("b")
	target := fmt.Sprintf("/api/v1/environments/env-key/features/%d/create-segment-override/", f)
	n := len(h.audits(0))
	r := h.post(target, fmt.Sprintf(`{"feature_segment":{"segment":%d,"priority":3},"enabled":true,"feature_state_value":{"type":"int","integer_value":99}}`, a), 201)
	s, _ := fsm.FeatureStates.Get(h.node.FSM.State(), r.id())
	link, _ := fsm.FeatureSegments.Get(h.node.FSM.State(), s.FeatureSegment)
	at := s.CreatedAt.Std().Format("2006-01-02T15:04:05.000000Z")
	require.Equal(t, fmt.Sprintf(`{"id":%d,"feature":%d,"enabled":true,"feature_state_value":{"type":"int","string_value":null,"integer_value":99,"boolean_value":null},`+
		`"feature_segment":{"id":%d,"segment":%d,"priority":3,"uuid":%q},"deleted_at":null,"uuid":%q,"created_at":%q,"updated_at":%[7]q,"live_from":%[7]q,`+
		`"environment":1,"identity":null,"change_request":null,"multivariate_feature_state_values":[]}`, s.ID, f, link.ID, a, link.UUID, s.UUID, at), r.Raw)
	require.Equal(t, []string{
		fmt.Sprintf("FEATURE_STATE %d Flag state / Remote config value updated for feature 'f' and segment 'a'", s.ID),
		fmt.Sprintf("FEATURE_STATE %d Remote config updated for segment override on feature 'f' and segment 'a'.", s.ID),
	}, h.audits(n))
	h.post(target, fmt.Sprintf(`{"feature_segment":{"segment":%d},"feature_state_value":{"type":"int","integer_value":42}}`, b), 201)
	require.Len(t, h.audits(n), 2, "an override that equals the default is not booked")
	require.Equal(t, []string{"1:3", "2:4"}, h.priorities(f))
	h.post(target, fmt.Sprintf(`{"feature_segment":{"segment":%d,"priority":3},"feature_state_value":{}}`, b), 201)
	require.Equal(t, []string{"3:3", "1:4", "2:5"}, h.priorities(f))

	require.Contains(t, h.get(fmt.Sprintf("%s%d/?environment=1", h.features(), f), 200).Raw, `"num_segment_overrides":2,`, "segments, not states")

	h.post(target, `{}`, 400).is(`{"feature_state_value":["This field is required."]}`)
	h.post(target, `{"feature_state_value":{}}`, 400).is(`{"feature_segment":["This field is required."]}`)
	h.post(target, `{"feature_state_value":{},"feature_segment":{"segment":999}}`, 400).
		is(`{"feature_segment":{"segment":["Invalid pk \"999\" - object does not exist."]}}`)
	h.post("/api/v1/environments/env-key/features/999/create-segment-override/", `{}`, 404)
	h.grant(fsm.LevelEnvironment, 1, "UPDATE_FEATURE_STATE")
	h.do("member", "POST", target, `{}`).must(403)
}

// Pointing an override at another segment makes none more.
func TestOverridesMoveAtTheLimit(t *testing.T) {
	h := newHarness(t)
	h.api.Env.Options.MaxSegmentOverrides = 1
	f, a, b := h.feature(`{"name":"f"}`), h.segment("a"), h.segment("b")
	link := h.post("/api/v1/features/feature-segments/", fmt.Sprintf(`{"feature":%d,"segment":%d,"environment":1}`, f, a), 201).id()
	moved := h.put(fmt.Sprintf("/api/v1/features/feature-segments/%d/", link), fmt.Sprintf(`{"feature":%d,"segment":%d,"environment":1}`, f, b), 200)
	require.EqualValues(t, b, moved.object()["segment"])
	h.post("/api/v1/features/feature-segments/", fmt.Sprintf(`{"feature":%d,"segment":%d,"environment":1}`, f, a), 400)
}

// Clients with 32-bit integers could not read the environment document with a larger priority.
func TestNoPriorityPastTheLast(t *testing.T) {
	h := newHarness(t)
	f := h.feature(`{"name":"f"}`)
	override := func(segment, priority string) {
		t.Helper()
		h.post(fmt.Sprintf("/api/v1/environments/env-key/features/%d/create-segment-override/", f),
			fmt.Sprintf(`{"feature_segment":{"segment":%d%s},"feature_state_value":{}}`, h.segment(segment), priority), 201)
	}
	override("a", `,"priority":2147483647`)
	override("b", ``)
	require.Equal(t, []string{"1:2147483646", "2:2147483647"}, h.priorities(f), "b is last, a makes room")
	override("c", `,"priority":7`)
	override("d", `,"priority":2147483646`)
	require.Equal(t, []string{"3:7", "4:2147483645", "1:2147483646", "2:2147483647"}, h.priorities(f), "before the one that had the place")
	override("e", `,"priority":2147483647`)
	require.Equal(t, []string{"3:7", "4:2147483644", "1:2147483645", "5:2147483646", "2:2147483647"}, h.priorities(f))
}

// TestListedOverrideIsTheServedOne: the feature list shows, of a segment that overrides a feature twice, the override that wins, and none
// that is still to come.
func TestListedOverrideIsTheServedOne(t *testing.T) {
	h := newHarness(t)
	f, a, b := h.feature(`{"name":"f"}`), h.segment("a"), h.segment("b")
	target := fmt.Sprintf("/api/v1/environments/env-key/features/%d/create-segment-override/", f)
	override := func(segment uint64, value string) uint64 {
		return h.post(target, fmt.Sprintf(`{"feature_segment":{"segment":%d,"priority":0},"feature_state_value":{"string_value":%q}}`, segment, value), 201).id()
	}
	shown := func(segment uint64) string {
		return h.get(fmt.Sprintf("%s%d/?environment=1&segment=%d", h.features(), f, segment), 200).Raw
	}
	override(a, "older")
	newer := override(a, "newer")
	require.Contains(t, shown(a), fmt.Sprintf(`"segment_feature_state":{"id":%d,"feature_state_value":"newer"`, newer), "it took the first place")
	later := override(b, "later")
	h.patch(fmt.Sprintf("%s%d/", featureStates, later), `{"live_from":"2100-01-01T00:00:00Z"}`, 200)
	require.Contains(t, shown(b), `"segment_feature_state":null,"num_segment_overrides":1,`)
	h.patch(fmt.Sprintf("%s%d/", featureStates, newer), `{"live_from":"2100-01-01T00:00:00Z"}`, 200)
	require.Contains(t, shown(a), `"feature_state_value":"older"`)
}
