package admin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

const (
	environmentStates1 = "/api/v1/environments/env-key/featurestates/"
	featureStates      = "/api/v1/features/featurestates/"
)

// updatedAt is the time that clients follow.
func (h *harness) updatedAt() fsm.Time {
	e, _ := fsm.Environments.Get(h.node.FSM.State(), h.environment.ID)
	return e.UpdatedAt
}

func TestEnvironmentFeatureState(t *testing.T) {
	h := newHarness(t)
	f := h.feature(`{"name":"str_flag","initial_value":"hello","default_enabled":true}`)
	h.feature(`{"name":"other"}`)
	s, _ := fsm.FeatureStates.Get(h.node.FSM.State(), 1)
	at := s.CreatedAt.Std().Format("2006-01-02T15:04:05.000000Z")
	const listed = `{"count":1,"next":null,"previous":null,"results":[{"id":1,"feature_state_value":"hello","multivariate_feature_state_values":[],"identity":null,` +
		`"deleted_at":null,"uuid":%q,"enabled":true,"created_at":%q,"updated_at":%[2]q,"live_from":%[2]q,"version":1,"feature":%[3]d,"environment":1,` +
		`"feature_segment":null,"change_request":null,"environment_feature_version":null}]}`
	for _, query := range []string{"feature=1", "feature_name=STR_flag", "feature=1&feature_name=str_flag"} {
		require.Equal(t, fmt.Sprintf(listed, s.UUID, at, f), h.get(environmentStates1+"?"+query, 200).Raw)
	}
	for _, query := range []string{"feature=99999", "feature_name=nope", "feature=2&feature_name=str_flag", "anyIdentity=1"} {
		h.get(environmentStates1+"?"+query, 200).is(`{"count":0,"next":null,"previous":null,"results":[]}`)
	}
	require.EqualValues(t, 2, h.get(environmentStates1+"?feature_name=", 200).object()["count"])
	h.get(environmentStates1+"?feature=abc", 400).is(`{"feature":["A valid integer is required."]}`)
	h.get("/api/v1/environments/nope/featurestates/", 403)
	h.get(environmentStates1+"99999/", 404).is(`{"detail":"No FeatureState matches the given query."}`)
	h.get(environmentStates1+"abc/", 404).is(`{"detail":"Not found."}`)

	n := len(h.audits(0))
	before := h.updatedAt()
	require.Equal(t, fmt.Sprintf(`{"feature":%d,"enabled":false}`, f), h.patch(environmentStates1+"1/", `{"enabled":false,"feature_state_value":"world"}`, 200).Raw)
	require.Equal(t, []string{"FEATURE_STATE 1 Remote config value updated for feature: str_flag", "FEATURE_STATE 1 Flag state updated for feature: str_flag"}, h.audits(n))
	require.Greater(t, h.updatedAt(), before)
	r := h.put(environmentStates1+"1/", `{"feature_state_value":"world"}`, 200)
	require.Contains(t, r.Raw, `{"id":1,"feature_state_value":"world","multivariate_feature_state_values":[],"deleted_at":null,"uuid":`)
	require.True(t, strings.HasSuffix(r.Raw, `"version":1,"feature":1,"environment":1,"identity":null,"feature_segment":null,"change_request":null,"environment_feature_version":null}`), r.Raw)
	require.Len(t, h.audits(n), 2, "nothing changed")
}

func TestRawValues(t *testing.T) {
	h := newHarness(t)
	h.feature(`{"name":"f","initial_value":"hello"}`)
	for _, c := range []struct{ sent, raw, typed string }{
		{`" world "`, `"world"`, `{"type":"unicode","string_value":"world","integer_value":null,"boolean_value":null}`},
		{`5`, `5`, `{"type":"int","string_value":"world","integer_value":5,"boolean_value":null}`},
		{`true`, `true`, `{"type":"bool","string_value":"world","integer_value":5,"boolean_value":true}`},
		{`1.5`, `"1.5"`, `{"type":"unicode","string_value":"1.5","integer_value":5,"boolean_value":true}`},
		{`null`, `null`, `{"type":"unicode","string_value":null,"integer_value":5,"boolean_value":true}`},
		{`"5"`, `"5"`, `{"type":"unicode","string_value":"5","integer_value":5,"boolean_value":true}`},
		{`""`, `""`, `{"type":"unicode","string_value":"","integer_value":5,"boolean_value":true}`},
		{`-2147483648`, `-2147483648`, `{"type":"int","string_value":"","integer_value":-2147483648,"boolean_value":true}`},
	} {
		require.Contains(t, h.put(environmentStates1+"1/", `{"feature_state_value":`+c.sent+`}`, 200).Raw, `"feature_state_value":`+c.raw+`,"multi`)
		require.Contains(t, h.get(featureStates+"?environment=1&feature=1", 200).Raw, `"feature_state_value":`+c.typed+`,"multi`)
	}
	for sent, want := range map[string]string{
		`{"feature_state_value":{"a":1}}`:                                     `{"string_value":["Not a valid string."]}`,
		`{"feature_state_value":99999999999}`:                                 `{"integer_value":["Ensure this value is less than or equal to 2147483647."]}`,
		`{"feature_state_value":-2147483649}`:                                 `{"integer_value":["Ensure this value is greater than or equal to -2147483648."]}`,
		`{"feature_state_value":"` + strings.Repeat("x", 20001) + `"}`:        `{"string_value":["Ensure this field has no more than 20000 characters."]}`,
		`{"enabled":"maybe"}`:                                                 `{"enabled":["Must be a valid boolean."]}`,
		`{"feature":2}`:                                                       `{"feature":["Cannot change the feature of a feature state"]}`,
		`{"environment":2}`:                                                   `{"environment":["Cannot change the environment of a feature state"]}`,
		`{"multivariate_feature_state_values":[{"percentage_allocation":5}]}`: `{"multivariate_feature_state_values":[{"multivariate_feature_option":["This field is required."]}]}`,
	} {
		h.put(environmentStates1+"1/", sent, 400).is(want)
	}
	h.patch(environmentStates1+"1/", `{"multivariate_feature_state_values":null}`, 200)
}

func TestShares(t *testing.T) {
	h := newHarness(t)
	h.feature(`{"name":"plain"}`)
	h.feature(`{"name":"mv","multivariate_options":[{"string_value":"a","default_percentage_allocation":30},{"string_value":"b","default_percentage_allocation":30}]}`)
	n := len(h.audits(0))
	r := h.put(environmentStates1+"2/", `{"multivariate_feature_state_values":[{"id":1,"multivariate_feature_option":1,"percentage_allocation":50},
		{"multivariate_feature_option":2,"percentage_allocation":50}]}`, 200)
	require.Contains(t, r.Raw, `[{"id":1,"multivariate_feature_option":1,"percentage_allocation":50.0},{"id":2,"multivariate_feature_option":2,"percentage_allocation":50.0}]`)
	require.Equal(t, []string{"FEATURE_STATE 2 Multivariate value changed for feature 'mv'.", "FEATURE_STATE 2 Multivariate value changed for feature 'mv'."}, h.audits(n))
	h.put(environmentStates1+"2/", `{"multivariate_feature_state_values":[{"multivariate_feature_option":1,"percentage_allocation":70},
		{"multivariate_feature_option":2,"percentage_allocation":70}]}`, 400).is(`{"non_field_errors":["Multivariate percentage values exceed 100%."]}`)
	h.put(environmentStates1+"1/", `{"multivariate_feature_state_values":[{"multivariate_feature_option":1,"percentage_allocation":7}]}`, 400).
		is(`{"multivariate_feature_state_values":[{"multivariate_feature_option":["Invalid pk \"1\" - object does not exist."]}]}`)
	before := h.updatedAt()
	r = h.put(environmentStates1+"2/", `{"multivariate_feature_state_values":[{"multivariate_feature_option":2,"percentage_allocation":50}]}`, 200)
	require.Contains(t, r.Raw, `"multivariate_feature_state_values":[{"id":2,"multivariate_feature_option":2,"percentage_allocation":50.0}]`)
	require.Greater(t, h.updatedAt(), before)
}

func TestFeatureStateOverrides(t *testing.T) {
	h := newHarness(t)
	f := h.feature(`{"name":"f","initial_value":"hello","default_enabled":true}`)
	a, b := h.link(f, h.segment("a")), h.link(f, h.segment("b"))
	n := len(h.audits(0))
	create := func(link uint64, rest string) string {
		return fmt.Sprintf(`{"feature":%d,"environment":1,"feature_segment":%d,"enabled":true%s}`, f, link, rest)
	}
	r := h.post(featureStates, create(a, `,"feature_state_value":{"type":"unicode","string_value":"pro value","integer_value":null,"boolean_value":null}`), 201)
	require.Contains(t, r.Raw, `"feature_state_value":{"type":"unicode","string_value":"pro value","integer_value":null,"boolean_value":null},"multivariate_feature_state_values":[],"deleted_at":null`)
	require.Contains(t, r.Raw, fmt.Sprintf(`"identity":null,"feature_segment":%d,"change_request":null`, a))
	id := r.id()
	require.Equal(t, []string{fmt.Sprintf("FEATURE_STATE %d Remote config updated for segment override on feature 'f' and segment 'a'.", id)}, h.audits(n))
	r = h.post(featureStates, create(b, `,"feature_state_value":{"type":"int","integer_value":40}`), 201)
	require.Contains(t, r.Raw, `{"type":"int","string_value":"hello","integer_value":40,"boolean_value":null}`, "columns that are not sent start as the feature does")
	h.post(featureStates, create(a, ``), 400).is(`["['Feature state already exists for this environment, feature, version, segment & identity combination']"]`)
	h.post(featureStates, `{"feature":1,"environment":1}`, 400).is(`["['Feature state already exists for this environment, feature, version, segment & identity combination']"]`)
	h.post(featureStates, `{"feature":1}`, 403)
	h.post(featureStates, `{"environment":1}`, 403)
	h.post(featureStates, `{"feature":1,"environment":1,"feature_state_value":"x"}`, 400).
		is(`{"feature_state_value":{"non_field_errors":["Invalid data. Expected a dictionary, but got str."]}}`)
	h.post(featureStates, `{"feature":1,"environment":1,"feature_state_value":{"type":"bad"}}`, 400).is(`{"feature_state_value":{"type":["\"bad\" is not a valid choice."]}}`)
	h.post(featureStates, `{"feature":1,"environment":1,"identity":0}`, 400).is(`{"identity":["Invalid pk \"0\" - object does not exist."]}`)
	h.post(featureStates, `{"feature":1,"environment":1,"identity":7}`, 400).is(`{"non_field_errors":["Identity does not exist in environment."]}`)
	h.post(featureStates, `{"feature":1,"environment":1,"identifier":"nobody"}`, 400).is(`{"non_field_errors":["Invalid identifier"]}`)

	n = len(h.audits(0))
	r = h.patch(fmt.Sprintf("%s%d/", featureStates, id), `{"enabled":false,"feature_state_value":{"string_value":"pro 2"}}`, 200)
	require.Contains(t, r.Raw, `{"type":"unicode","string_value":"pro 2","integer_value":null,"boolean_value":null}`)
	require.Equal(t, []string{
		fmt.Sprintf("FEATURE_STATE %d Remote config updated for segment override on feature 'f' and segment 'a'.", id),
		fmt.Sprintf("FEATURE_STATE %d Flag state / Remote config value updated for feature 'f' and segment 'a'", id),
	}, h.audits(n))
	h.put(fmt.Sprintf("%s%d/", featureStates, id), `{}`, 400).is(`{"feature":["This field is required."]}`)
	require.Equal(t, 405, h.do("admin", "GET", fmt.Sprintf("%s%d/", featureStates, id), nil).Status)
	h.patch(featureStates+"999/", `{}`, 404).is(`{"detail":"No FeatureState matches the given query."}`)
	h.patch(environmentStates1+fmt.Sprint(id)+"/", `{"enabled":true}`, 404)
	uuid := r.object()["uuid"].(string)
	require.Equal(t, id, h.get(featureStates+"get-by-uuid/"+uuid+"/", 200).id())
	require.Equal(t, 3.0, h.get(featureStates+"?environment=1", 200).object()["count"])
	require.Equal(t, 1.0, h.get(fmt.Sprintf("%s?environment=1&feature_segment=%d", featureStates, b), 200).object()["count"])
	h.get(featureStates, 403)

	require.Contains(t, h.get(fmt.Sprintf("%s?environment=1&segment=1", h.features()), 200).Raw,
		fmt.Sprintf(`"segment_feature_state":{"id":%d,"feature_state_value":"pro 2","environment":1,"identity":null,"feature_segment":%d,"enabled":false},"num_segment_overrides":2`, id, a))
	n = len(h.audits(0))
	h.remove(fmt.Sprintf("%s%d/", h.features(), f), 204)
	require.Len(t, h.audits(n), 4)
	require.Zero(t, fsm.FeatureSegmentsByFeature.Count(h.node.FSM.State(), f))
}

func TestStatePermissions(t *testing.T) {
	h := newHarness(t)
	f := h.feature(`{"name":"f"}`)
	link := h.link(f, h.segment("a"))
	override := h.post(featureStates, fmt.Sprintf(`{"feature":%d,"environment":1,"feature_segment":%d}`, f, link), 201).id()
	h.do("member", "GET", environmentStates1, nil).must(403)
	h.do("member", "PATCH", featureStates+"1/", `{}`).must(403)
	h.grant(fsm.LevelEnvironment, 1, "VIEW_ENVIRONMENT", "UPDATE_FEATURE_STATE")
	h.do("member", "GET", environmentStates1, nil).must(200)
	h.do("member", "PATCH", environmentStates1+"1/", `{"enabled":true}`).must(200)
	h.do("member", "PATCH", featureStates+"1/", `{"enabled":true}`).must(200)
	h.do("member", "PATCH", fmt.Sprintf("%s%d/", featureStates, override), `{"enabled":true}`).must(403)
	h.do("member", "POST", featureStates, fmt.Sprintf(`{"feature":%d,"environment":1,"feature_segment":%d}`, f, link)).must(403)
	h.node.Write(t, func(tx *fsm.Tx) error {
		h.environment.UseV2FeatureVersioning = true
		fsm.Environments.Put(tx, h.environment)
		return nil
	})
	h.patch(environmentStates1+"1/", `{"enabled":true}`, 400).is(`{"detail":"This environment uses v2 feature versioning. Use the environment feature version endpoint instead."}`)
}

func TestDefaultStateComesBack(t *testing.T) {
	h := newHarness(t)
	f := h.feature(`{"name":"f","initial_value":"x"}`)
	h.post(environmentStates1, `{"enabled":true}`, 403)
	h.post(environmentStates1, fmt.Sprintf(`{"feature":%d}`, f), 400).is(`["['Feature state already exists for this environment, feature, version, segment & identity combination']"]`)
	h.remove(environmentStates1+"1/", 204)
	r := h.post(environmentStates1, fmt.Sprintf(`{"feature":%d,"enabled":true,"feature_state_value":7}`, f), 201)
	require.Contains(t, r.Raw, `"feature_state_value":7,`)
	require.Contains(t, r.Raw, `"enabled":true`)
}

func TestSegmentPermissionIsNoKeyToIdentityOverrides(t *testing.T) {
	h := newHarness(t)
	f := h.feature(`{"name":"f"}`)
	_, id := h.newIdentity("ann")
	h.grant(fsm.LevelEnvironment, 1, "MANAGE_SEGMENT_OVERRIDES")
	const path = "/api/v1/features/featurestates/"
	h.do("member", "POST", path, fmt.Sprintf(`{"feature":%d,"environment":1,"identity":%d,"enabled":true}`, f, id)).must(403)
	for _, zero := range []string{`0`, `"0"`, `-0`} {
		r := h.do("member", "POST", path, fmt.Sprintf(`{"feature":%d,"environment":1,"identity":%d,"enabled":true,"feature_segment":%s}`, f, id, zero))
		require.Contains(t, []int{400, 403}, r.Status, r.Raw)
	}
	h.send("POST", path, fmt.Sprintf("feature=%d&environment=1&identity=%d&enabled=true&feature_segment=", f, id), []route.Header{
		{Name: "Content-Type", Value: "application/x-www-form-urlencoded"}, {Name: "Authorization", Value: "Token member"}}).must(403)
}
