package admin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
)

const segments = "/api/v1/projects/1/segments/"

// rule is a body's usual rule around conditions.
func rule(conditions string) string {
	return `[{"type":"ALL","rules":[{"type":"ANY","rules":[],"conditions":[` + conditions + `]}],"conditions":[]}]`
}

// segment creates one with a condition on plan and returns its id.
func (h *harness) segment(name string) uint64 {
	h.Helper()
	return h.post(segments, fmt.Sprintf(`{"name":%q,"rules":%s}`, name, rule(`{"operator":"EQUAL","property":"plan","value":"pro"}`)), 201).id()
}

func TestSegmentCreate(t *testing.T) {
	h := newHarness(t)
	r := h.post(segments, `{"name":"np","project":77,"rules":[{"type":"ALL","rules":[{"type":"ALL","rules":[],"conditions":[
		{"operator":"EQUAL","property":"a","value":5},{"operator":"EQUAL","property":"a"},{"operator":"IN","property":null,"value":null},
		{"operator":"IS_SET","property":"a","value":""}]}],"conditions":[]}]}`, 201)
	s, _ := fsm.Segments.Get(h.node.FSM.State(), 1)
	at := s.CreatedAt.Std().Format("2006-01-02T15:04:05.000000Z")
	require.Equal(t, fmt.Sprintf(`{"id":1,"uuid":%q,"created_at":%q,"updated_at":%q,"name":"np","description":null,"project":1,"feature":null,"version_of":1,`+
		`"rules":[{"id":1,"type":"ALL","rules":[{"id":2,"type":"ALL","conditions":[{"id":1,"operator":"EQUAL","property":"a","value":"5","description":null},`+
		`{"id":2,"operator":"EQUAL","property":"a","value":"None","description":null},{"id":3,"operator":"IN","property":null,"value":"None","description":null},`+
		`{"id":4,"operator":"IS_SET","property":"a","value":"","description":null}]}],"conditions":[]}],"metadata":[],"membership_counts":[],"managed_by":""}`,
		s.UUID, at, at), r.Raw)
	require.Equal(t, []string{"SEGMENT 1 New Segment created: np"}, h.audits(0))
	require.Equal(t, uint64(1), h.get("/api/v1/segments/get-by-uuid/"+s.UUID.String()+"/", 200).id())
	h.do("stranger", "GET", "/api/v1/segments/get-by-uuid/"+s.UUID.String()+"/", nil).must(404)
}

func TestSegmentRefusals(t *testing.T) {
	h := newHarness(t)
	many := strings.TrimSuffix(strings.Repeat(`{"operator":"EQUAL","property":"a","value":"b"},`, 101), ",")
	condition := `{"operator":"EQUAL","property":"a","value":"b"}`
	for body, want := range map[string]string{
		`{"name":"x"}`:                      `{"rules":["This field is required."]}`,
		`{"name":"x","rules":[]}`:           `{"rules":{"non_field_errors":["This list may not be empty."]}}`,
		`{"rules":` + rule(condition) + `}`: `{"name":["This field is required."]}`,
		`{"name":"x","rules":` + rule(`{"operator":"NOPE","property":"a","value":"b"}`) + `}`:                                      `{"rules":[{"rules":[{"conditions":[{"operator":["\"NOPE\" is not a valid choice."]}]}]}]}`,
		`{"name":"x","rules":` + rule(condition+`,{"property":"a","value":"b"}`) + `}`:                                             `{"rules":[{"rules":[{"conditions":[{},{"operator":["This field is required."]}]}]}]}`,
		`{"name":"x","rules":` + rule(`{"operator":"EQUAL","property":"","value":"b"}`) + `}`:                                      `{"rules":[{"rules":[{"conditions":[{"property":["This field may not be blank."]}]}]}]}`,
		`{"name":"x","rules":` + rule(`{"operator":"EQUAL","property":"a","value":"`+strings.Repeat("x", 1001)+`"}`) + `}`:         `{"rules":[{"rules":[{"conditions":[{"value":["Ensure this field has no more than 1000 characters."]}]}]}]}`,
		`{"name":"x","rules":[{"type":"SOME","conditions":[]}]}`:                                                                   `{"rules":[{"type":["\"SOME\" is not a valid choice."]}]}`,
		`{"name":"x","rules":[{"type":"ALL","rules":[{"type":"ANY","rules":[{"type":"ANY","conditions":[` + condition + `]}]}]}]}`: `{"segment":["Rules must not be nested more than 2 levels deep."]}`,
		`{"name":"x","rules":` + rule(many) + `}`:                                                                                  `{"segment":["The segment has 101 conditions, which exceeds the maximum condition count of 100."]}`,
		`{"name":"x","feature":0,"rules":` + rule(condition) + `}`:                                                                 `{"feature":["Invalid pk \"0\" - object does not exist."]}`,
		`{"name":"x","feature":99999,"rules":` + rule(condition) + `}`:                                                             `{"feature":["Invalid pk \"99999\" - object does not exist."]}`,
	} {
		h.post(segments, body, 400).is(want)
	}
	h.get(segments+"1/members/", 404).is(`{"detail":"Not found."}`)
	h.get(segments+"9/", 404).is(`{"detail":"No Segment matches the given query."}`)
	h.do("member", "GET", segments, nil).must(404)
	h.grant(fsm.LevelProject, 1, "VIEW_PROJECT")
	h.do("member", "GET", segments, nil).must(200)
	h.do("member", "POST", segments, `{"name":"x","rules":`+rule(condition)+`}`).must(403)
	h.segment("one")
	h.api.Env.Options.MaxSegments = 1
	h.post(segments, `{"name":"x","rules":`+rule(condition)+`}`, 400).is(`{"project":["The project has reached the maximum allowed segments limit."]}`)
}

func TestSegmentUpdate(t *testing.T) {
	h := newHarness(t)
	id := h.segment("pro")
	target := fmt.Sprintf("%s%d/", segments, id)
	h.patch(target, `{"name":"pro!","description":"d"}`, 200)
	require.Equal(t, []string{"SEGMENT 2 New Segment created: pro", "SEGMENT 1 Segment updated: pro!"}, h.audits(1))
	before, _ := fsm.Segments.Get(h.node.FSM.State(), id)
	h.patch(target, `{"rules":`+rule(`{"operator":"EQUAL","property":"plan","value":"pro"},{"operator":"EQUAL","property":"plan","value":"gold"}`)+`}`, 200)
	after, _ := fsm.Segments.Get(h.node.FSM.State(), id)
	require.NotEqual(t, before.Rules[0].ID, after.Rules[0].ID)
	r, n := after.Rules[0], after.Rules[0].Rules[0]
	h.put(target, fmt.Sprintf(`{"name":"pro","rules":[{"id":%d,"type":"ALL","rules":[{"id":%d,"type":"ANY","conditions":[
		{"id":%d,"operator":"EQUAL","property":"plan","value":"pro"},{"id":%d,"operator":"EQUAL","property":"plan","value":"gold","delete":true},
		{"id":%[3]d,"operator":"EQUAL","property":"plan","value":"twice"}]},{"type":"ANY","delete":true}],"conditions":[]}]}`,
		r.ID, n.ID, n.Conditions[0].ID, n.Conditions[1].ID), 200)
	kept, _ := fsm.Segments.Get(h.node.FSM.State(), id)
	require.Equal(t, r.ID, kept.Rules[0].ID)
	require.Len(t, kept.Rules[0].Rules, 1)
	require.Len(t, kept.Rules[0].Rules[0].Conditions, 2)
	require.Equal(t, n.Conditions[0].ID, kept.Rules[0].Rules[0].Conditions[0].ID)
	require.Greater(t, kept.Rules[0].Rules[0].Conditions[1].ID, n.Conditions[1].ID)
	require.Equal(t, "d", *kept.Description)
	h.patch(target, `{"rules":[{"conditions":[]}]}`, 400).is(`{"rules":[{"type":["This field is required."]}]}`)

	clone := h.post(target+"clone/", `{"name":"copy"}`, 201)
	require.NotEqual(t, id, clone.id())
	require.Contains(t, clone.Raw, `"name":"copy","description":"d"`)
	h.post(target+"clone/", `{}`, 400).is(`{"name":["This field is required."]}`)
}

func TestSegmentList(t *testing.T) {
	h := newHarness(t)
	h.segment("Plan is pro")
	h.post(segments, `{"name":"not gold","rules":`+rule(`{"operator":"NOT_EQUAL","property":"plan","value":"gold"}`)+`}`, 201)
	f := h.feature(`{"name":"f"}`)
	h.post(segments, fmt.Sprintf(`{"name":"special","feature":%d,"rules":%s}`, f, rule(`{"operator":"EQUAL","property":"plan","value":"gold"}`)), 201)
	var id uint64
	h.node.Write(t, func(tx *fsm.Tx) error {
		tx.Identity(identity.Op{Kind: identity.KindUpsert, Environment: h.environment.ID, Identifier: []byte("anna"),
			Traits: []identity.TraitOp{{Key: []byte("plan"), Value: []byte(`"gold"`)}}}, func(r identity.Result) { id = r.Identity })
		return nil
	})
	for query, want := range map[string][]string{
		"":                               {"Plan is pro", "not gold", "special"},
		"q=PLAN":                         {"Plan is pro"},
		"include_feature_specific=false": {"Plan is pro", "not gold"},
		"page_size=2&page=2":             {"special"},
		fmt.Sprintf("identity=%d", id):   {"special"},
		"identity=" + uuid.UUID(h.node.FSM.State().Identities().UUIDOf(id)).String(): {"special"},
	} {
		require.Equal(t, want, h.get(segments+"?"+query, 200).names(), query)
	}
	h.get(segments+"?identity=999999", 400).is(`{"identity":["Invalid pk \"999999\" - object does not exist."]}`)
}

func TestSegmentDelete(t *testing.T) {
	h := newHarness(t)
	a, b, f := h.segment("a"), h.segment("b"), h.feature(`{"name":"f"}`)
	for _, s := range []uint64{a, b} {
		h.post(fmt.Sprintf("/api/v1/environments/env-key/features/%d/create-segment-override/", f),
			fmt.Sprintf(`{"feature_segment":{"segment":%d},"enabled":true,"feature_state_value":{"type":"int","integer_value":1}}`, s), 201)
	}
	h.get(fmt.Sprintf("%s%d/associated-features/?environment=1", segments, a), 200).
		is(fmt.Sprintf(`{"count":1,"next":null,"previous":null,"results":[{"id":2,"feature":%d,"environment":1}]}`, f))
	h.get(fmt.Sprintf("%s%d/associated-features/?environment=7", segments, a), 200).is(`{"count":0,"next":null,"previous":null,"results":[]}`)
	n := len(h.audits(0))
	h.remove(fmt.Sprintf("%s%d/", segments, a), 204)
	require.Equal(t, []string{
		fmt.Sprintf("FEATURE %d Flag state / Remote config value deleted for feature 'f' and segment 'a'", f),
		fmt.Sprintf("SEGMENT %d Segment deleted: a", a),
	}, h.audits(n))
	links := fsm.FeatureSegmentsByFeature.List(h.node.FSM.State(), f)
	require.Len(t, links, 1)
	require.Equal(t, b, links[0].Segment)
	require.Zero(t, links[0].Priority)
	h.remove(fmt.Sprintf("%s%d/", segments, a), 404)
}

func TestFeatureTakesItsSegmentsAlong(t *testing.T) {
	h := newHarness(t)
	a, b, s := h.feature(`{"name":"a"}`), h.feature(`{"name":"b"}`), h.segment("s")
	link := h.link(a, s)
	h.post("/api/v1/features/featurestates/", fmt.Sprintf(`{"feature":%d,"environment":1,"feature_segment":%d,"enabled":true}`, a, link), 201)
	h.patch(fmt.Sprintf("/api/v1/projects/1/segments/%d/", s), fmt.Sprintf(`{"feature":%d}`, b), 200)
	h.remove(fmt.Sprintf("/api/v1/projects/1/features/%d/", b), 204)
	h.get(fmt.Sprintf("/api/v1/projects/1/segments/%d/", s), 404)
	require.Empty(t, h.get(fmt.Sprintf("%s?environment=1&feature=%d", featureSegments, a), 200).object()["results"])
	require.Equal(t, 0.0, h.get("/api/v1/environments/env-key/", 200).object()["total_segment_overrides"])
}
