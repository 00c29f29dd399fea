package admin

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

// versioned is a harness whose environment keeps versions, with a feature "f" of the value "v" and a segment "s".
type versioned struct {
	*harness
	id, segmentID uint64
	list          string // path of the feature's versions
}

func newVersioned(t *testing.T) *versioned {
	h := newHarness(t)
	v := &versioned{harness: h, id: h.feature(`{"name":"f","initial_value":"v","default_enabled":true}`), segmentID: h.segment("s")}
	v.list = fmt.Sprintf("/api/v1/environments/%d/features/%d/versions/", h.environment.ID, v.id)
	h.post("/api/v1/environments/env-key/enable-v2-versioning/", nil, 202)
	return v
}

// create makes a version and returns its path.
func (v *versioned) create(body string) string {
	v.Helper()
	return v.list + v.post(v.list, body, 201).object()["uuid"].(string) + "/"
}

// live is what the feature does, default first: "true v", "segment 1: false x".
func (v *versioned) live() (out []string) {
	v.Helper()
	return shown(fsm.StatesInPlace(v.node.FSM.State(), v.environment.ID, v.id))
}

func shown(states []fsm.FeatureVersionState) (out []string) {
	for _, s := range states {
		text := fmt.Sprint(s.State.Enabled, " ", plainValue(s.State.Value))
		if s.Link.Segment != 0 {
			text = fmt.Sprintf("segment %d at %d: %s", s.Link.Segment, s.Link.Priority, text)
		}
		out = append(out, text)
	}
	return out
}

// served is what the View serves by default.
func (v *versioned) served() any {
	v.Helper()
	live, ok := v.node.Views.ByID(v.environment.ID)
	require.True(v, ok)
	return plainValue(live.View().Features[0].Default.State.Value)
}

func TestVersioningIsTurnedOnAndOff(t *testing.T) {
	h := newHarness(t)
	f := h.feature(`{"name":"f","initial_value":"v"}`)
	const on, off = "/api/v1/environments/env-key/enable-v2-versioning/", "/api/v1/environments/env-key/disable-v2-versioning/"
	list := fmt.Sprintf("/api/v1/environments/%d/features/%d/versions/", h.environment.ID, f)
	h.post(list, `{}`, 400).is(`{"environment":"Environment must use v2 feature versioning."}`)
	h.get(list, 200).is(`{"count":0,"next":null,"previous":null,"results":[]}`)
	h.post(off, nil, 400).is(`{"detail":"Environment is not using v2 versioning."}`)
	for _, token := range []string{"member", "stranger"} {
		h.do(token, "POST", on, nil).must(403)
	}
	before := h.updatedAt()
	require.Empty(t, h.post(on, nil, 202).Raw)
	require.Greater(t, h.updatedAt(), before)
	h.post(on, nil, 400).is(`{"detail":"Environment already using v2 versioning."}`)
	require.Equal(t, true, h.get("/api/v1/environments/env-key/", 200).object()["use_v2_feature_versioning"])
	first, ok := fsm.ServingVersion(h.node.FSM.State(), h.environment.ID, f)
	require.True(t, ok)
	at := first.CreatedAt.Std().Format("2006-01-02T15:04:05.000000Z")
	require.JSONEq(t, fmt.Sprintf(`{"count":1,"next":null,"previous":null,"results":[{"created_at":%[1]q,"updated_at":%[1]q,"published":true,"live_from":%[1]q,
		"uuid":%[2]q,"is_live":true,"published_by":null,"created_by":null,"description":null}]}`, at, first.UUID), h.get(list, 200).Raw)
	states := h.get(environmentStates1, 200).object()["results"].([]any)
	require.Equal(t, first.UUID.String(), states[0].(map[string]any)["environment_feature_version"])
	require.Equal(t, float64(1), states[0].(map[string]any)["version"])

	// New features and clones have a version from the start.
	g := h.feature(`{"name":"g"}`)
	_, ok = fsm.ServingVersion(h.node.FSM.State(), h.environment.ID, g)
	require.True(t, ok)
	clone := h.post("/api/v1/environments/env-key/clone/", `{"name":"c"}`, 200).id()
	copied, ok := fsm.ServingVersion(h.node.FSM.State(), clone, f)
	require.True(t, ok)
	require.NotEqual(t, first.UUID, copied.UUID)
	s, _ := fsm.FeatureStatesByEnvironment.First(h.node.FSM.State(), clone, fsm.StateDefault, f)
	require.Equal(t, copied.ID, s.FeatureVersion)

	h.do("member", "POST", off, nil).must(403)
	h.post(off, nil, 202)
	require.Empty(t, fsm.FeatureVersionsByEnvironment.List(h.node.FSM.State(), h.environment.ID))
	require.Nil(t, h.get(environmentStates1, 200).object()["results"].([]any)[0].(map[string]any)["environment_feature_version"])
	h.patch(environmentStates1+"1/", `{"enabled":true}`, 200)
}

func TestOverrideMadeAnewKeepsItsSeed(t *testing.T) {
	h := newVersioned(t)
	override := fmt.Sprintf(`{"enabled":true,"feature_state_value":{"type":"int","integer_value":7},"feature_segment":{"segment":%d}}`, h.segmentID)
	seed := func() uint64 {
		states := fsm.StatesInPlace(h.node.FSM.State(), h.environment.ID, h.id)
		require.Len(t, states, 2)
		return states[1].State.HashSeed()
	}
	behind := h.create(`{}`) // made before there is an override
	draft := h.create(`{}`)
	first := h.post(draft+"featurestates/", override, 201).id()
	h.post(draft+"publish/", `{}`, 200)
	require.Equal(t, first, seed())

	draft = h.create(`{}`)
	copied := h.get(draft+"featurestates/", 200).list()[1].(map[string]any)["id"].(float64)
	h.remove(fmt.Sprintf("%sfeaturestates/%.0f/", draft, copied), 204)
	h.post(draft+"featurestates/", override, 201)
	h.post(draft+"publish/", `{}`, 200)
	require.Equal(t, first, seed())

	h.post(behind+"featurestates/", override, 201)
	h.post(behind+"publish/", `{}`, 200)
	require.Equal(t, first, seed())
}

func TestDraftIsServedOncePublished(t *testing.T) {
	h := newVersioned(t)
	first, _ := fsm.ServingVersion(h.node.FSM.State(), h.environment.ID, h.id)
	draft := h.create(`{"description":"what for"}`)
	alone := "/api/v1/environment-feature-versions/" + strings.Split(draft, "/")[8] + "/"
	r := h.get(alone, 200).object()
	require.Equal(t, []any{false, false, nil, float64(h.admin.ID), "what for", first.UUID.String(), float64(h.id), float64(h.environment.ID)},
		[]any{r["published"], r["is_live"], r["live_from"], r["created_by"], r["description"], r["previous_version_uuid"], r["feature"], r["environment"]})
	state := h.get(draft+"featurestates/", 200).list()[0].(map[string]any)
	id := uint64(state["id"].(float64))
	require.Nil(t, state["feature_segment"])
	put := h.put(fmt.Sprintf("%sfeaturestates/%d/", draft, id), `{"enabled":false,"feature_state_value":{"type":"unicode","string_value":"new"}}`, 200).object()
	require.Equal(t, []any{false, nil, nil}, []any{put["enabled"], put["live_from"], put["feature_segment"]})
	h.put(fmt.Sprintf("%sfeaturestates/%d/", draft, id), `{"enabled":false}`, 400).is(`{"feature_state_value":["This field is required."]}`)
	h.patch(fmt.Sprintf("%sfeaturestates/%d/", draft, id), `{"feature_state_value":{"type":"bad"}}`, 400).
		is(`{"feature_state_value":{"type":["\"bad\" is not a valid choice."]}}`)
	over := h.post(draft+"featurestates/", fmt.Sprintf(`{"enabled":true,"feature_state_value":{"type":"int","integer_value":7},"feature_segment":{"segment":%d}}`, h.segmentID), 201)
	h.remove(fmt.Sprintf("%sfeaturestates/%d/", draft, id), 400).is(`{"detail":"Cannot delete environment default feature state."}`)
	require.Equal(t, []string{"true v"}, h.live(), "drafts are not served")
	require.Equal(t, "v", h.served())
	require.Empty(t, h.get(fmt.Sprintf("%s?environment=1&feature=%d", featureSegments, h.id), 200).object()["results"])

	n, before := len(h.audits(0)), h.updatedAt()
	h.post(draft+"publish/", `{}`, 200)
	require.Equal(t, []string{"false new", fmt.Sprintf("segment %d at 0: true 7", h.segmentID)}, h.live())
	require.Equal(t, "new", h.served())
	require.Greater(t, h.updatedAt(), before)
	require.Equal(t, []string{"EF_VERSION 0 New version published for feature: f"}, h.audits(n))
	live, _ := fsm.FeatureStates.Get(h.node.FSM.State(), id)
	require.Equal(t, uint64(1), live.HashSeed(), "nobody gets another variant")
	overridden, ok := fsm.FeatureStates.Get(h.node.FSM.State(), over.id())
	require.True(t, ok)
	require.Equal(t, fsm.StateSegment, overridden.Kind())
	require.Nil(t, h.get(fmt.Sprintf("%s%d/", environmentStates1, id), 200).object()["version"])

	// The version before keeps what it had.
	first, _ = fsm.FeatureVersions.Get(h.node.FSM.State(), first.ID)
	require.Equal(t, []string{"true v"}, shown(fsm.StatesOf(h.node.FSM.State(), first)))
	past := h.get(h.list+first.UUID.String()+"/featurestates/", 200).list()[0].(map[string]any)
	require.Equal(t, "v", past["feature_state_value"].(map[string]any)["string_value"])
	h.get(fmt.Sprintf("%s%d/", environmentStates1, 1), 404)

	for _, path := range []string{draft, h.list + first.UUID.String() + "/"} {
		h.remove(path, 400).is(`{"detail":"Cannot delete a live version."}`)
		h.post(path+"publish/", `{}`, 400).is(`{"detail":"Cannot modify published version."}`)
		h.post(path+"featurestates/", `{"feature_state_value":{},"feature_segment":{"segment":1}}`, 400).is(`{"detail":"Cannot modify published version."}`)
		h.patch(fmt.Sprintf("%sfeaturestates/%d/", path, id), `{"enabled":true}`, 400).is(`{"detail":"Cannot modify published version."}`)
		h.remove(fmt.Sprintf("%sfeaturestates/%d/", path, over.id()), 400).is(`{"detail":"Cannot modify published version."}`)
	}
	list := h.get(h.list+"?is_live=true", 200).object()
	require.Equal(t, 2.0, list["count"])
	require.Equal(t, 0.0, h.get(h.list+"?is_live=false", 200).object()["count"])
	shownFeature := h.get(fmt.Sprintf("%s?environment=%d", h.features(), h.environment.ID), 200).object()["results"].([]any)[0].(map[string]any)
	require.NotNil(t, shownFeature["last_modified_in_any_environment"])
	require.Equal(t, shownFeature["last_modified_in_any_environment"], shownFeature["last_modified_in_current_environment"])
}

func TestVersionInOneRequest(t *testing.T) {
	h := newVersioned(t)
	other := h.segment("t")
	value := func(s string) string {
		return fmt.Sprintf(`"feature_state_value":{"type":"unicode","string_value":%q}`, s)
	}
	r := h.post(h.list, fmt.Sprintf(`{"publish_immediately":true,"feature_states_to_create":[{"feature_segment":{"segment":%d},"enabled":true,%s},
		{"feature_segment":{"segment":%d,"priority":0},"enabled":false,%s}],"feature_states_to_update":[{"feature_segment":null,"enabled":false,%s}],
		"segment_ids_to_delete_overrides":[]}`, h.segmentID, value("s"), other, value("t"), value("d")), 201).object()
	require.Equal(t, []any{true, true, float64(h.admin.ID)}, []any{r["published"], r["is_live"], r["published_by"]})
	require.Equal(t, []string{"false d", fmt.Sprintf("segment %d at 0: false t", other), fmt.Sprintf("segment %d at 1: true s", h.segmentID)}, h.live())

	h.post(h.list, fmt.Sprintf(`{"publish_immediately":true,"feature_states_to_update":[{"feature_segment":{"segment":%d,"priority":5},"enabled":true,%s}],
		"segment_ids_to_delete_overrides":[%d,%d]}`, other, value("u"), h.segmentID, 999), 201)
	require.Equal(t, []string{"false d", fmt.Sprintf("segment %d at 5: true u", other)}, h.live())
	for body, want := range map[string]string{
		fmt.Sprintf(`{"feature_states_to_create":[{"feature_segment":{"segment":%d},%s}]}`, other, value("x")):       `{"message":"An unresolvable conflict occurred: segment override already exists for segment 't'"}`,
		fmt.Sprintf(`{"feature_states_to_update":[{"feature_segment":{"segment":%d},%s}]}`, h.segmentID, value("x")): `{"message":"An unresolvable conflict occurred: segment override does not exist for segment 's'."}`,
		fmt.Sprintf(`{"feature_states_to_create":[{%s}]}`, value("x")):                                               `{"message":"Cannot create FeatureState objects that are not segment overrides."}`,
		fmt.Sprintf(`{"feature_states_to_create":[{"feature_segment":{"segment":99},%s}]}`, value("x")):              `{"feature_states_to_create":[{"feature_segment":{"segment":["Invalid pk \"99\" - object does not exist."]}}]}`,
		`{"feature_states_to_update":[{"enabled":true}]}`:                                                            `{"feature_states_to_update":[{"feature_state_value":["This field is required."]}]}`,
		`{"live_from":"soon"}`: `{"live_from":["Datetime has wrong format. Use one of these formats instead: YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z]."]}`,
	} {
		h.post(h.list, body, 400).is(want)
	}
	require.Equal(t, 3, fsm.FeatureVersionsByEnvironment.Count(h.node.FSM.State(), h.environment.ID, h.id), "what was refused left nothing")
}

func TestScheduledVersion(t *testing.T) {
	h := newVersioned(t)
	later := time.Now().Add(time.Hour).UTC().Format("2006-01-02T15:04:05.000000Z")
	draft := h.create(`{}`)
	h.post(draft+"publish/", fmt.Sprintf(`{"live_from":%q}`, later), 200).is(fmt.Sprintf(`{"live_from":%q}`, later))
	newest := h.get(h.list, 200).object()["results"].([]any)[0].(map[string]any)
	require.Equal(t, []any{true, false, later}, []any{newest["published"], newest["is_live"], newest["live_from"]})
	require.Equal(t, 1.0, h.get(h.list+"?is_live=false", 200).object()["count"])
	h.post(draft+"featurestates/", `{"feature_state_value":{},"feature_segment":{"segment":1}}`, 400).is(`{"detail":"Cannot modify published version."}`)
	require.Equal(t, []string{"true v"}, h.live())
	h.remove(draft, 204) // taken back
	h.get(draft+"featurestates/", 404)

	// A scheduled version may be published earlier after all; one from the past does not take the place of a newer one.
	draft = h.create(fmt.Sprintf(`{"live_from":%q,"publish_immediately":true,"feature_states_to_update":[{"enabled":false,"feature_state_value":{}}]}`, later))
	require.Equal(t, []string{"true v"}, h.live())
	h.post(draft+"publish/", `{"live_from":null}`, 200)
	require.Equal(t, []string{"false v"}, h.live())
	old := h.create(`{"live_from":"2020-01-01T00:00:00Z","publish_immediately":true,"feature_states_to_update":[{"enabled":true,"feature_state_value":{}}]}`)
	require.Equal(t, []string{"false v"}, h.live())
	require.Equal(t, "true", fmt.Sprint(h.get(old+"featurestates/", 200).list()[0].(map[string]any)["enabled"]))
}

func TestVersionsNeedPermission(t *testing.T) {
	h := newVersioned(t)
	draft := h.create(`{}`)
	alone := "/api/v1/environment-feature-versions/" + strings.Split(draft, "/")[8] + "/"
	h.do("member", "GET", h.list, nil).must(404)
	h.do("member", "GET", alone, nil).must(403)
	h.do("stranger", "GET", draft+"featurestates/", nil).must(403)
	h.grant(fsm.LevelProject, h.project.ID, "VIEW_PROJECT")
	h.grant(fsm.LevelEnvironment, h.environment.ID, "VIEW_ENVIRONMENT")
	h.do("member", "GET", h.list, nil).must(200)
	h.do("member", "GET", alone, nil).must(200)
	h.do("member", "GET", draft+"featurestates/", nil).must(200)
	h.do("member", "POST", h.list, `{}`).must(403)
	h.do("member", "POST", draft+"publish/", `{}`).must(403)
	h.do("member", "DELETE", draft, nil).must(403)
	h.grant(fsm.LevelEnvironment, h.environment.ID, "UPDATE_FEATURE_STATE")
	h.do("member", "POST", draft+"publish/", `{}`).must(200)
	h.get("/api/v1/environments/99/features/1/versions/", 404)
	h.get("/api/v1/environments/1/features/99/versions/", 404).is(`{"detail":"No Feature matches the given query."}`)
	h.get("/api/v1/environment-feature-versions/"+uuid.NewString()+"/", 404).is(`{"detail":"No EnvironmentFeatureVersion matches the given query."}`)
	h.get("/api/v1/environment-feature-versions/nope/", 404)
	h.get(h.list+uuid.NewString()+"/featurestates/", 404)
	h.post(h.list+uuid.NewString()+"/publish/", `{}`, 404)
}

// TestPlainDoorsOfVersionedEnvironments: what versions hold is written through versions only; identity overrides are beside them.
func TestPlainDoorsOfVersionedEnvironments(t *testing.T) {
	h := newVersioned(t)
	h.create(fmt.Sprintf(`{"publish_immediately":true,"feature_states_to_create":[{"feature_segment":{"segment":%d},"feature_state_value":{}}]}`, h.segmentID))
	states := fsm.StatesInPlace(h.node.FSM.State(), h.environment.ID, h.id)
	id, over, link := states[0].ID, states[1].ID, states[1].Link.ID
	want := fmt.Sprintf(`{"detail":%q}`, MsgUsesV2)
	path := fmt.Sprintf("%s%d/", environmentStates1, id)
	h.put(path, `{"enabled":false}`, 400).is(want)
	h.patch(path, `{"enabled":false}`, 400).is(want)
	h.remove(path, 400).is(want)
	h.patch(fmt.Sprintf("%s%d/", featureStates, over), `{"enabled":true}`, 400).is(want)
	h.post(fmt.Sprintf("/api/v1/environments/env-key/features/%d/create-segment-override/", h.id), `{"feature_state_value":{},"feature_segment":{"segment":1}}`, 400).is(want)
	h.remove(fmt.Sprintf("%s%d/", featureSegments, link), 400).is(want)
	h.post(featureSegments+"update-priorities/", fmt.Sprintf(`[{"id":%d,"priority":4}]`, link), 400).is(want)

	identity, _ := h.newIdentity("ann")
	own := h.post(identity+"featurestates/", fmt.Sprintf(`{"feature":%d,"enabled":false}`, h.id), 201).id()
	h.create(`{"publish_immediately":true}`)
	_, there := fsm.FeatureStates.Get(h.node.FSM.State(), own)
	require.True(t, there, "identity overrides are outside versions")
}

func TestWhatVersionsHoldGoesWithIt(t *testing.T) {
	h := newVersioned(t)
	draft := h.create(fmt.Sprintf(`{"feature_states_to_create":[{"feature_segment":{"segment":%d},"feature_state_value":{}}]}`, h.segmentID))
	option := h.post(fmt.Sprintf("%s%d/mv-options/", h.features(), h.id), fmt.Sprintf(`{"feature":%d,"type":"unicode","string_value":"x","default_percentage_allocation":30}`, h.id), 201).id()
	shares := func() string {
		return fmt.Sprint(h.get(draft+"featurestates/", 200).list()[0].(map[string]any)["multivariate_feature_state_values"])
	}
	require.Contains(t, shares(), "percentage_allocation:30")
	h.remove(fmt.Sprintf("%s%d/mv-options/%d/", h.features(), h.id, option), 204)
	require.Equal(t, "[]", shares())
	require.Len(t, h.get(draft+"featurestates/", 200).list(), 2)
	h.remove(fmt.Sprintf("/api/v1/projects/%d/segments/%d/", h.project.ID, h.segmentID), 204)
	require.Len(t, h.get(draft+"featurestates/", 200).list(), 1)
	left := func() int {
		n := 0
		for range fsm.FeatureVersions.All(h.node.FSM.State()) {
			n++
		}
		for range fsm.FeatureVersionStates.All(h.node.FSM.State()) {
			n++
		}
		return n
	}
	require.Positive(t, left())
	h.remove(fmt.Sprintf("%s%d/", h.features(), h.id), 204)
	require.Zero(t, left())
	h.feature(`{"name":"g"}`)
	require.Positive(t, left())
	h.remove("/api/v1/environments/env-key/", 204)
	require.Zero(t, left())
}

func TestStatesAreLiveAfterVersions(t *testing.T) {
	h := newHarness(t)
	f := h.feature(`{"name":"f"}`)
	h.post("/api/v1/environments/env-key/enable-v2-versioning/", nil, 202)
	h.post(fmt.Sprintf("/api/v1/environments/1/features/%d/versions/", f), `{"publish_immediately":true}`, 201)
	h.post("/api/v1/environments/env-key/disable-v2-versioning/", nil, 202)
	require.NotNil(t, h.get("/api/v1/environments/env-key/featurestates/", 200).object()["results"].([]any)[0].(map[string]any)["live_from"])
}

func TestVersionOfADeletedAuthor(t *testing.T) {
	h := newHarness(t)
	f := h.feature(`{"name":"f"}`)
	h.post("/api/v1/environments/env-key/enable-v2-versioning/", nil, 202)
	h.grant(fsm.LevelProject, 1)
	path := fmt.Sprintf("/api/v1/environments/1/features/%d/versions/", f)
	h.do("member", "POST", path, `{"publish_immediately":true}`).must(201)
	h.do("member", "DELETE", "/api/v1/auth/users/me/", `{}`).must(204)
	require.Nil(t, h.get(path, 200).object()["results"].([]any)[0].(map[string]any)["published_by"])
}

// TestVersionPriorityNull: null is no priority, as where an override is made.
func TestVersionPriorityNull(t *testing.T) {
	v := newVersioned(t)
	other := v.segment("t")
	override := func(segment uint64, rest string) string {
		return fmt.Sprintf(`{"feature_segment":{"segment":%d%s},"enabled":true,"feature_state_value":{"string_value":"x"}}`, segment, rest)
	}
	v.create(`{"publish_immediately":true,"feature_states_to_create":[` + override(v.segmentID, `,"priority":null`) + "," + override(other, `,"priority":null`) + `]}`)
	want := v.live()
	require.Contains(t, want[2], "at 1")
	v.create(`{"publish_immediately":true,"feature_states_to_update":[` + override(other, `,"priority":null`) + `]}`)
	require.Equal(t, want, v.live())
}

// TestVersionStatesAreSeenWithTheEnvironment: the list takes VIEW_ENVIRONMENT alone, writing more.
func TestVersionStatesAreSeenWithTheEnvironment(t *testing.T) {
	v := newVersioned(t)
	path := v.create(`{}`) + "featurestates/"
	v.do("member", "GET", path, nil).must(403)
	v.grant(fsm.LevelEnvironment, v.environment.ID, "VIEW_ENVIRONMENT")
	v.do("member", "GET", path, nil).must(200).is(v.get(path, 200).Raw)
	v.do("member", "POST", path, `{}`).must(403)
	v.grant(fsm.LevelEnvironment, v.environment.ID, "UPDATE_FEATURE_STATE")
	v.do("member", "POST", path, `{}`).must(403)
}

// TestVersionBringsBackADefault: one that was deleted before the environment kept versions.
func TestVersionBringsBackADefault(t *testing.T) {
	h := newHarness(t)
	f := h.feature(`{"name":"f","default_enabled":true,"multivariate_options":[{"string_value":"a","default_percentage_allocation":30}]}`)
	h.remove(envPath+"featurestates/1/", 204)
	h.post(envPath+"enable-v2-versioning/", nil, 202)
	list := fmt.Sprintf("/api/v1/environments/%d/features/%d/versions/", h.environment.ID, f)
	h.post(list, `{"publish_immediately":true,"feature_states_to_update":[{"feature_segment":null,"feature_state_value":{"string_value":"x"}}]}`, 201)
	h.get(futureFlag(f), 200).is(`{"environment_default":{"enabled":true,"value":{"type":"string","value":"x"},"variants":[{"id":1,"weight":30.0}]},"segment_overrides":[]}`)
}

// becomeLive has the Scheduler do at a time what is due by then, and gives the audit row of the version that became live.
func (v *versioned) becomeLive(due time.Time) map[string]any {
	v.Helper()
	clock := func() time.Time { return due.Add(time.Second) }
	late := fsm.NewScheduler(v.node.FSM, v.node.LateWriter(v.T, clock, Announce), clock, fsm.DefaultRetention(), v.api.Env.Log)
	v.Cleanup(late.Stop)
	late.Lead(true)
	newest := func() map[string]any {
		return v.get("/api/v1/projects/1/audit/", 200).object()["results"].([]any)[0].(map[string]any)
	}
	require.Eventually(v, func() bool { return newest()["related_object_type"] == "EF_VERSION" }, 10*time.Second, time.Millisecond)
	return newest()
}

// The audit row and the events of a version that was scheduled name who published it, whoever wrote it.
func TestScheduledVersionNamesItsPublisher(t *testing.T) {
	h := newVersioned(t)
	due := time.Now().Add(time.Hour)
	h.create(fmt.Sprintf(`{"publish_immediately":true,"live_from":%q,"feature_states_to_update":[{"enabled":false,"feature_state_value":{}}]}`,
		due.UTC().Format(time.RFC3339)))
	env, _ := h.hooks()
	row := h.becomeLive(due)
	require.Equal(t, "admin@example.com", row["author"].(map[string]any)["email"])
	require.False(t, row["is_system_event"].(bool))
	require.Equal(t, "FLAG_UPDATED", h.waiting(env)[0].Type)
	require.Equal(t, "admin@example.com", h.waiting(env)[0].Data["changed_by"])
}

// A key has no account to be the author, but what it scheduled is not the installation's doing.
func TestVersionScheduledByAKeyIsNoSystemEvent(t *testing.T) {
	h := newVersioned(t)
	due := time.Now().Add(time.Hour)
	h.send("POST", h.list, fmt.Sprintf(`{"publish_immediately":true,"live_from":%q}`, due.UTC().Format(time.RFC3339)), h.key()).must(201)
	row := h.becomeLive(due)
	require.Nil(t, row["author"])
	require.False(t, row["is_system_event"].(bool))
}

// TestVersionOfAScheduledState: what a version says of a state that was scheduled before the environment kept versions is live with the version.
func TestVersionOfAScheduledState(t *testing.T) {
	h := newHarness(t)
	f := h.feature(`{"name":"f"}`)
	h.patch(envPath+"featurestates/1/", `{"live_from":"2099-01-01T00:00:00Z"}`, 200)
	h.post(envPath+"enable-v2-versioning/", nil, 202)
	shown := func() any {
		return h.get(fmt.Sprintf("%s%d/?environment=%d", h.features(), f, h.environment.ID), 200).object()["environment_feature_state"]
	}
	list := fmt.Sprintf("/api/v1/environments/%d/features/%d/versions/", h.environment.ID, f)
	h.post(list, `{"publish_immediately":true}`, 201)
	require.Nil(t, shown(), "untouched, it comes at its time")
	h.post(list, `{"publish_immediately":true,"feature_states_to_update":[{"enabled":true,"feature_state_value":{"string_value":"x"}}]}`, 201)
	require.NotNil(t, shown())
}
