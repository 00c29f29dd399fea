package admin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

// features is the list of the harness's project.
func (h *harness) features() string {
	return fmt.Sprintf("/api/v1/projects/%d/features/", h.project.ID)
}

// feature creates one and returns its id.
func (h *harness) feature(body string) uint64 {
	h.Helper()
	return h.post(h.features(), body, 201).id()
}

// audits gives the texts of the audit log from row skip on, as "TYPE id text".
func (h *harness) audits(skip int) []string {
	var out []string
	for a := range fsm.AuditLogs.All(h.node.FSM.State()) {
		out = append(out, fmt.Sprintf("%s %d %s", a.RelatedObjectType, a.RelatedObjectID, a.Log))
	}
	return out[min(skip, len(out)):]
}

// names gives the names in a page of results.
func (r reply) names() []string {
	r.Helper()
	out := []string{}
	for _, row := range r.object()["results"].([]any) {
		out = append(out, row.(map[string]any)["name"].(string))
	}
	return out
}

func TestFeatureCreate(t *testing.T) {
	h := newHarness(t)
	r := h.post(h.features(), `{"name":" str_flag ","initial_value":"hello","default_enabled":true,"nope":1,"id":9}`, 201)
	f, _ := fsm.Features.Get(h.node.FSM.State(), r.id())
	require.Equal(t, fmt.Sprintf(`{"id":%d,"name":"str_flag","type":"STANDARD","default_enabled":true,"initial_value":"hello","created_date":%q,`+
		`"description":null,"tags":[],"multivariate_options":[],"is_archived":false,"owners":[{"id":%d,"email":"admin@example.com",`+
		`"first_name":"","last_name":"","last_login":null,"uuid":%q}],"group_owners":[],"uuid":%q,"project":%d,"environment_feature_state":null,`+
		`"segment_feature_state":null,"num_segment_overrides":0,"num_identity_overrides":null,"is_num_identity_overrides_complete":true,`+
		`"is_server_key_only":false,"last_modified_in_any_environment":null,"last_modified_in_current_environment":null,"metadata":[]}`,
		f.ID, f.CreatedDate.Std().Format("2006-01-02T15:04:05.000000Z"), h.admin.ID, h.admin.UUID, f.UUID, h.project.ID), r.Raw)
	state, ok := fsm.FeatureStatesByEnvironment.First(h.node.FSM.State(), h.environment.ID, fsm.StateDefault, f.ID)
	require.True(t, ok)
	require.True(t, state.Enabled)
	require.Equal(t, []string{
		fmt.Sprintf("FEATURE %d New Flag / Remote Config created: str_flag", f.ID),
		fmt.Sprintf("FEATURE_STATE %d New Flag / Remote Config created: str_flag", state.ID),
	}, h.audits(0))
}

func TestFeatureInitialValue(t *testing.T) {
	h := newHarness(t)
	for i, c := range []struct{ sent, shown, value string }{
		{`42`, `"42"`, `42`}, {`"7"`, `"7"`, `7`}, {`true`, `"True"`, `true`}, {`0`, `"0"`, `0`}, {`1.5`, `"1.5"`, `"1.5"`},
		{`99999999999`, `"99999999999"`, `"99999999999"`}, {`"-5"`, `"-5"`, `-5`}, {`{"a":1}`, `"{'a': 1}"`, `"{'a': 1}"`}, {`null`, `null`, `null`},
		{`""`, `""`, `""`}, {`"false"`, `"false"`, `false`}, {`"+1"`, `"+1"`, `1`}, {`"007"`, `"007"`, `7`}, {`" 5 "`, `"5"`, `5`},
		{`"2147483647"`, `"2147483647"`, `"2147483647"`}, {`"1e3"`, `"1e3"`, `"1e3"`},
	} {
		r := h.post(h.features(), fmt.Sprintf(`{"name":"f%d","initial_value":%s}`, i, c.sent), 201)
		require.Contains(t, r.Raw, `"initial_value":`+c.shown+`,`)
		listed := h.get(fmt.Sprintf("/api/v1/environments/env-key/featurestates/?feature=%d", r.id()), 200)
		require.Contains(t, listed.Raw, `"feature_state_value":`+c.value+`,"multi`, c.sent)
	}
}

func TestFeatureRefusals(t *testing.T) {
	h := newHarness(t)
	h.feature(`{"name":"taken"}`)
	other := h.node
	other.Write(t, func(tx *fsm.Tx) error {
		expression := "^[a-z0-9_-]+$"
		h.project.FeatureNameRegex = &expression
		fsm.Projects.Put(tx, h.project)
		return nil
	})
	for body, want := range map[string]string{
		`{}`:                                 `{"name":["This field is required."]}`,
		`{"name":"Bad Name!"}`:               `{"name":["Feature name must match regex: ^[a-z0-9_-]+$"]}`,
		`{"name":"taken"}`:                   `{"name":["Feature with that name already exists for this project. Note that feature names are case insensitive."]}`,
		`{"name":"x","type":"NOPE"}`:         `{"type":["\"NOPE\" is not a valid choice."]}`,
		`{"name":"x","tags":[9999]}`:         `{"tags":["Invalid pk \"9999\" - object does not exist."]}`,
		`{"name":"x","initial_value":false}`: `{"initial_value":["Not a valid string."]}`,
		`{"name":"x","owners":[9999]}`:       `{"owners":["Invalid pk \"9999\" - object does not exist."]}`,
		`{"name":"x","multivariate_options":[{"type":"float"},{}]}`:                                                       `{"multivariate_options":[{"type":["\"float\" is not a valid choice."]},{}]}`,
		`{"name":"x","multivariate_options":[{"default_percentage_allocation":60},{"default_percentage_allocation":60}]}`: `{"multivariate_options":["Invalid percentage allocation"]}`,
		`null`: `{"non_field_errors":["No data provided"]}`,
	} {
		h.post(h.features(), body, 400).is(want)
	}
	h.post("/api/v1/projects/9999/features/", `{"name":"x"}`, 403)
	h.get("/api/v1/projects/9999/features/", 404).is(`{"detail":"No Project matches the given query."}`)
	h.get(h.features()+"99999/", 404).is(`{"detail":"No Feature matches the given query."}`)
	h.do("stranger", "GET", h.features(), nil).must(404)
	h.do("member", "POST", h.features(), `{"name":"x"}`).must(403)
	h.grant(fsm.LevelProject, h.project.ID, "CREATE_FEATURE")
	h.do("member", "POST", h.features(), `{"name":"x","multivariate_options":[{}]}`).must(403).
		is(`{"detail":"User must be project admin to modify / create MV options."}`)
	h.do("member", "POST", h.features(), `{"name":"x"}`).must(201)
	h.api.Env.Options.MaxFeatures = 2
	h.post(h.features(), `{"name":"y"}`, 400).is(`{"project":["The Project has reached the maximum allowed features limit."]}`)
}

func TestFeatureWithOptions(t *testing.T) {
	h := newHarness(t)
	id := h.feature(`{"name":"mv","initial_value":"blue","multivariate_options":[{"type":"unicode","string_value":"red","default_percentage_allocation":30},
		{"type":"int","integer_value":5,"default_percentage_allocation":30}]}`)
	r := h.get(fmt.Sprintf("%s%d/", h.features(), id), 200)
	require.Contains(t, r.Raw, `"type":"MULTIVARIATE"`)
	require.Contains(t, r.Raw, `"type":"int","integer_value":5,"string_value":null,"boolean_value":null,"default_percentage_allocation":30.0,"key":null}]`)
	require.Len(t, h.audits(0), 5)
	require.Equal(t, fmt.Sprintf("FEATURE %d Multivariate option added to feature 'mv'.", id), h.audits(0)[2])
	require.Equal(t, fmt.Sprintf("FEATURE %d Flag / Remote Config updated: mv", id), h.audits(0)[4])
	state, _ := fsm.FeatureStatesByEnvironment.First(h.node.FSM.State(), h.environment.ID, fsm.StateDefault, id)
	require.Len(t, state.Multivariate, 2)
	first := state.Multivariate[0].Option

	h.put(fmt.Sprintf("%s%d/", h.features(), id), fmt.Sprintf(`{"multivariate_options":[{"id":%d,"string_value":"pink"},
		{"type":"bool","boolean_value":true,"default_percentage_allocation":70}]}`, first), 200)
	options := fsm.MultivariateOptionsByFeature.List(h.node.FSM.State(), id)
	require.Len(t, options, 2)
	require.Equal(t, first, options[0].ID)
	require.Equal(t, "pink", *options[0].Value.String)
	require.True(t, *options[1].Value.Boolean)
	h.patch(fmt.Sprintf("%s%d/", h.features(), id), `{"multivariate_options":[]}`, 200)
	f, _ := fsm.Features.Get(h.node.FSM.State(), id)
	require.Equal(t, fsm.Standard, f.Type)
}

func TestFeatureUpdate(t *testing.T) {
	h := newHarness(t)
	id := h.feature(`{"name":"f","initial_value":"v"}`)
	target := fmt.Sprintf("%s%d/", h.features(), id)
	n := len(h.audits(0))
	r := h.patch(target, `{"description":"patched","name":"ignored","initial_value":"ignored","default_enabled":true}`, 200)
	require.NotContains(t, r.Raw, "is_num_identity_overrides_complete")
	require.Contains(t, r.Raw, `"name":"f","type":"STANDARD","default_enabled":false,"initial_value":"v"`)
	require.Contains(t, r.Raw, `"metadata":[],"code_references_counts":[]}`)
	h.put(target, `{"description":"patched"}`, 200)
	h.patch(target, `{"tags":[]}`, 200)
	require.Equal(t, []string{fmt.Sprintf("FEATURE %d Flag / Remote Config updated: f", id)}, h.audits(n))
	uuid := h.get(target, 200).object()["uuid"].(string)
	require.Equal(t, id, h.get("/api/v1/features/get-by-uuid/"+uuid+"/", 200).id())
	h.do("stranger", "GET", "/api/v1/features/get-by-uuid/"+uuid+"/", nil).must(404)
}

func TestFeatureOwners(t *testing.T) {
	h := newHarness(t)
	id := h.feature(`{"name":"f"}`)
	target := fmt.Sprintf("%s%d/", h.features(), id)
	r := h.post(target+"add-owners/", fmt.Sprintf(`{"user_ids":[%d]}`, h.member.ID), 200)
	require.Len(t, r.object()["owners"], 2)
	r = h.post(target+"remove-owners/", fmt.Sprintf(`{"user_ids":[%d,%d]}`, h.member.ID, h.admin.ID), 200)
	require.Empty(t, r.object()["owners"])
	h.post(target+"add-owners/", fmt.Sprintf(`{"user_ids":[%d]}`, h.stranger.ID), 400).is(`{"non_field_errors":["Some users not found"]}`)
	h.post(target+"add-group-owners/", `{"group_ids":[9]}`, 400).is(`{"non_field_errors":["Some groups not found"]}`)
	h.node.Write(t, func(tx *fsm.Tx) error {
		fsm.Groups.Put(tx, fsm.Group{Organisation: h.organisation.ID, Name: "Team"})
		h.project.EnforceFeatureOwners = true
		fsm.Projects.Put(tx, h.project)
		return nil
	})
	require.Equal(t, []any{map[string]any{"id": 1.0, "name": "Team"}}, h.post(target+"add-group-owners/", `{"group_ids":[1]}`, 200).object()["group_owners"])
	h.post(h.features(), `{"name":"no_owner"}`, 400).
		is(`{"non_field_errors":["This project requires at least one owner or group owner when creating a feature."]}`)
	h.post(h.features(), `{"name":"owned","group_owners":[1]}`, 201)
}

func TestFeatureList(t *testing.T) {
	h := newHarness(t)
	h.node.Write(t, func(tx *fsm.Tx) error {
		for range 2 {
			fsm.Tags.Put(tx, fsm.Tag{UUID: tx.NewUUID(), Project: h.project.ID, Type: "NONE"})
		}
		return nil
	})
	h.feature(`{"name":"b_text","initial_value":"Hello","default_enabled":true,"tags":[1,2]}`)
	h.feature(`{"name":"a_int","initial_value":"12","tags":[1]}`)
	h.feature(`{"name":"c_bool","initial_value":"true"}`)
	h.patch(h.features()+"3/", `{"is_archived":true}`, 200)
	for query, want := range map[string][]string{
		"":                             {"b_text", "a_int", "c_bool"},
		"sort_field=name":              {"a_int", "b_text", "c_bool"},
		"sort_direction=DESC":          {"c_bool", "a_int", "b_text"},
		"search=_I":                    {"a_int"},
		"tags=1":                       {"b_text", "a_int"},
		"tags=1,2":                     {"b_text"},
		"tags=2,9&tag_strategy=UNION":  {"b_text"},
		"tags=":                        {"c_bool"},
		"is_archived=true":             {"c_bool"},
		"type=MULTIVARIATE":            {},
		"owners=1":                     {"b_text", "a_int", "c_bool"},
		"owners=2&group_owners=4":      {},
		"environment=1&is_enabled=1":   {"b_text"},
		"environment=1&value_search=h": {"b_text"},
		"environment=1&value_search=1": {},
		"environment=1&value_search=12&is_enabled=false": {"a_int"},
		"environment=1&value_search=TRUE":                {"c_bool"},
		"page_size=2&page=2":                             {"c_bool"},
		"environment=1&is_enabled=null&lifecycle_stage=&sort_field=&tag_strategy=&segment=&page_size=1": {"b_text"},
	} {
		require.Equal(t, want, h.get(h.features()+"?"+query, 200).names(), query)
	}
	for query, want := range map[string]string{
		"sort_field=id":   `{"sort_field":["\"id\" is not a valid choice."]}`,
		"tags=a":          `{"tags":["Tag IDs must be integers."]}`,
		"environment=key": `{"environment":["A valid integer is required."]}`,
		"environment=999": `{"environment":["Invalid pk \"999\" - object does not exist."]}`,
		"is_enabled=true": `["Environment is required in order to filter by state search or by state enabled"]`,
	} {
		h.get(h.features()+"?"+query, 400).is(want)
	}
	require.Contains(t, h.get(h.features()+"2/?environment=1", 200).Raw,
		`"environment_feature_state":{"id":2,"feature_state_value":12,"environment":1,"identity":null,"feature_segment":null,"enabled":false}`)
}

func TestFeatureDelete(t *testing.T) {
	h := newHarness(t)
	id := h.feature(`{"name":"f","multivariate_options":[{"default_percentage_allocation":10}]}`)
	keep := h.feature(`{"name":"keep"}`)
	n := len(h.audits(0))
	h.remove(fmt.Sprintf("%s%d/", h.features(), id), 204)
	h.remove(fmt.Sprintf("%s%d/", h.features(), id), 404).is(`{"detail":"No Feature matches the given query."}`)
	s := h.node.FSM.State()
	require.Zero(t, fsm.MultivariateOptionsByFeature.Count(s, id)+fsm.FeatureStatesByFeature.Count(s, id))
	require.Equal(t, 1, fsm.FeatureStatesByFeature.Count(s, keep))
	require.Equal(t, []string{"FEATURE_STATE 1 Flag / Remote Config Deleted: f", "FEATURE 1 Flag / Remote Config Deleted: f"}, h.audits(n))
	h.feature(`{"name":"f"}`)
}

// TestFeatureOfVeryManyIdentitiesIsDeleted: a row in the audit log for each override would be more than a write may hold.
func TestFeatureOfVeryManyIdentitiesIsDeleted(t *testing.T) {
	h := newHarness(t)
	h.hooks()
	f := h.feature(`{"name":"` + strings.Repeat("f", 1_500) + `"}`)
	const overrides = 12_000 // 18 MB of rows
	for from := uint64(0); from < overrides; from += 6_000 {
		h.node.Write(t, func(tx *fsm.Tx) error {
			for i := range uint64(6_000) {
				fsm.FeatureStates.Put(tx, fsm.FeatureState{UUID: tx.NewUUID(), Feature: f, Environment: h.environment.ID, Identity: from + i + 1,
					Value: fsm.FeatureValue{Type: fsm.Unicode}, LiveFrom: tx.Now(), UpdatedAt: tx.Now()})
			}
			return nil
		})
	}
	before := len(h.audits(0))
	h.remove(fmt.Sprintf("%s%d/", h.features(), f), 204)
	require.Zero(t, fsm.FeatureStatesByFeature.Count(h.node.FSM.State(), f))
	audits := h.audits(before)
	require.Len(t, audits, maxRemovals+3, "its default, a thousand overrides, the others and itself")
	require.Contains(t, audits[maxRemovals+1], fmt.Sprintf("' and %d more identities", overrides-maxRemovals))
}
