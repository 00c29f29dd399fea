package admin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// upload sends a file of features as somebody.
func (h *harness) upload(token string, environment uint64, strategy, file string) reply {
	h.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, err := w.CreateFormFile("file", "features.json")
	require.NoError(h, err)
	_, err = part.Write([]byte(file))
	require.NoError(h, err)
	require.NoError(h, w.WriteField("strategy", strategy))
	require.NoError(h, w.Close())
	return h.send("POST", fmt.Sprintf("/api/v1/features/feature-import/%d", environment), body.String(), []route.Header{
		{Name: "Content-Type", Value: w.FormDataContentType()}, {Name: "Authorization", Value: "Token " + token}})
}

// secondEnvironment makes one more environment in the project.
func (h *harness) secondEnvironment() uint64 {
	return h.post("/api/v1/environments/", `{"name":"Second","project":1}`, 201).id()
}

// export exports an environment and downloads the file.
func (h *harness) export(environment uint64, tags string) reply {
	h.Helper()
	id := h.post("/api/v1/features/create-feature-export/", fmt.Sprintf(`{"environment_id":%d,"tag_ids":[%s]}`, environment, tags), 201).id()
	return h.get(fmt.Sprintf("/api/v1/features/download-feature-export/%d/", id), 200)
}

func TestFeatureExport(t *testing.T) {
	h := newHarness(t)
	tag := h.post("/api/v1/projects/1/tags/", `{"label":"t"}`, 201).id()
	h.post("/api/v1/projects/1/features/", fmt.Sprintf(`{"name":"alpha","default_enabled":true,"initial_value":"v","tags":[%d]}`, tag), 201)
	h.post("/api/v1/projects/1/features/", `{"name":"beta","initial_value":"7","multivariate_options":[{"type":"unicode","string_value":"x","default_percentage_allocation":30}]}`, 201)
	h.post("/api/v1/projects/1/features/", `{"name":"gone","is_archived":true}`, 201)
	const create, list = "/api/v1/features/create-feature-export/", "/api/v1/projects/1/feature-exports/"
	h.post(create, `{"tag_ids":[]}`, 403)
	h.post(create, `{"environment_id":1}`, 400).is(`{"tag_ids":["This field is required."]}`)
	h.do("member", "POST", create, `{"environment_id":1,"tag_ids":[]}`).must(403)
	made := h.post(create, `{"environment_id":1,"tag_ids":[]}`, 201)
	at := made.object()["created_at"].(string)
	shown := func(status string) string {
		return fmt.Sprintf(`{"id":1,"name":"Env | %s %s UTC","environment_id":1,"status":%q,"created_at":%q}`, at[:10], at[11:16], status, at)
	}
	made.is(shown("PROCESSING"))
	h.get(list, 200).is(`{"count":1,"next":null,"previous":null,"results":[` + shown("SUCCESS") + `]}`)

	const alpha = `{"name":"alpha","default_enabled":true,"is_server_key_only":false,"initial_value":"v","value":"v","type":"unicode","enabled":true,"multivariate":[]}`
	file := h.get("/api/v1/features/download-feature-export/1/", 200)
	require.Equal(t, `[`+alpha+`,{"name":"beta","default_enabled":false,"is_server_key_only":false,"initial_value":"7","value":7,"type":"int","enabled":false,`+
		`"multivariate":[{"percentage_allocation":30.0,"default_percentage_allocation":30.0,"value":"x","type":"unicode"}]}]`, file.Raw)
	require.Equal(t, "attachment; filename=feature_export.1.json", file.Answer.Header("Content-Disposition"))
	h.export(1, fmt.Sprint(tag)).is(`[` + alpha + `]`)

	h.get("/api/v1/features/download-feature-export/9/", 404)
	h.do("member", "GET", "/api/v1/features/download-feature-export/1/", nil).must(403)
	h.do("member", "GET", list, nil).must(403)
	h.grant(fsm.LevelProject, 1, "VIEW_PROJECT")
	require.Contains(t, h.do("member", "GET", list, nil).must(200).Raw, `"count":0`)
	h.grant(fsm.LevelEnvironment, 1)
	require.Contains(t, h.do("member", "GET", list, nil).must(200).Raw, `"count":2`)
	for range maxTransfers {
		h.do("member", "POST", create, `{"environment_id":1,"tag_ids":[]}`).must(201)
	}
	require.Equal(t, float64(maxTransfers), h.get(list, 200).object()["count"])
	h.get("/api/v1/features/download-feature-export/1/", 404)
}

// TestFeatureRoundTrip moves features from one project into another and wants them exported again as they were.
func TestFeatureRoundTrip(t *testing.T) {
	h := newHarness(t)
	h.post("/api/v1/projects/1/features/", `{"name":"text","default_enabled":true,"initial_value":"<é> & more","is_server_key_only":true}`, 201)
	h.post("/api/v1/projects/1/features/", `{"name":"none"}`, 201)
	h.post("/api/v1/projects/1/features/", `{"name":"flag","initial_value":true}`, 201)
	h.post("/api/v1/projects/1/features/", `{"name":"many","initial_value":"7","multivariate_options":[{"type":"unicode","string_value":"x","default_percentage_allocation":30},
		{"type":"bool","boolean_value":true,"default_percentage_allocation":12.5}]}`, 201)
	file := h.export(1, "").Raw
	require.Contains(t, file, `"initial_value":"<é> & more","value":"<\u00e9> & more"`, "as it is: escaped, HTML would exceed what an import takes")
	h.post("/api/v1/projects/", `{"name":"Other","organisation":1}`, 201)
	e := h.post("/api/v1/environments/", `{"name":"There","project":2}`, 201).id()
	made := h.upload("admin", e, "SKIP", file).must(201)
	made.is(fmt.Sprintf(`{"id":1,"environment_id":%d,"strategy":"SKIP","status":"PROCESSING","created_at":%q}`, e, made.object()["created_at"]))
	require.Equal(t, file, h.export(e, "").Raw)
	h.get("/api/v1/projects/2/feature-imports/", 200).is(fmt.Sprintf(`{"count":1,"next":null,"previous":null,
		"results":[{"id":1,"environment_id":%d,"strategy":"SKIP","status":"SUCCESS","created_at":%q}]}`, e, made.object()["created_at"]))
	h.upload("admin", e, "OVERWRITE_DESTRUCTIVE", file).must(201)
	require.Equal(t, file, h.export(e, "").Raw)
}

func TestFeatureImportRefusals(t *testing.T) {
	h := newHarness(t)
	h.post("/api/v1/features/feature-import/1", `{}`, 400).is(`{"file":["No file was submitted."],"strategy":["This field is required."]}`)
	h.post("/api/v1/features/feature-import/1", `{"strategy":"SKIP"}`, 400).is(`{"file":["No file was submitted."]}`)
	h.post("/api/v1/features/feature-import/1", `{"strategy":"SKIP","file":"x"}`, 400).
		is(`{"file":["The submitted data was not a file. Check the encoding type on the form."]}`)
	h.upload("admin", 1, "MERGE", "[]").must(400).is(`{"strategy":["\"MERGE\" is not a valid choice."]}`)
	h.upload("admin", 1, "SKIP", "").must(400).is(`{"file":["The submitted file is empty."]}`)
	h.upload("admin", 1, "SKIP", string(make([]byte, maxImportSize+1))).must(400).is(`{"file":["File size is too large."]}`)
	feature := func(name, value, kind, more string) string {
		return fmt.Sprintf(`{"name":%q,"value":%s,"type":%q,"multivariate":[%s]}`, name, value, kind, more)
	}
	for _, bad := range []string{`{}`, `[`, `[] x`, `[]]`, `[]}x`, `null`, `[{}]`, `[` + strings.Replace(feature("name", "1", "int", ""), "name\",", "\xe9\",", 1) + `]`, `[` + feature("a", "\"\xe9\"", "unicode", "") + `]`, `[` + feature("a", `"cut \ud83d"`, "unicode", "") + `]`, `[` + feature("a", "1", "unicode", "") + `]`, `[` + feature("a", `"x"`, "int", "") + `]`,
		`[` + feature("a", "99999999999", "int", "") + `]`, `[` + feature("a", "1", "bool", "") + `]`, `[` + feature("a", "1", "float", "") + `]`,
		`[` + feature("a", "1", "int", "") + `,` + feature("A", "1", "int", "") + `]`,
		`[` + feature("a", "1", "int", `{"percentage_allocation":60,"value":1,"type":"int"},{"percentage_allocation":60,"value":2,"type":"int"}`) + `]`,
		`[` + feature("a", "1", "int", `{"percentage_allocation":-1,"value":1,"type":"int"}`) + `]`} {
		require.Contains(t, h.upload("admin", 1, "SKIP", bad).must(400).Raw, `{"file":["The file is no export of features: `, bad)
	}
	h.upload("admin", 1, "SKIP", `{}`).must(400).is(`{"file":["The file is no export of features: object stands at byte 1 where something else is expected"]}`)
	h.patch("/api/v1/projects/1/", `{"feature_name_regex":"[a-z]+"}`, 200)
	h.upload("admin", 1, "SKIP", `[`+feature("good", "1", "int", "")+`,`+feature("b4d", "1", "int", "")+`]`).must(400).
		is(`{"file":["b4d: Feature name must match regex: [a-z]+"]}`)
	require.Contains(t, h.get("/api/v1/projects/1/features/", 200).Raw, `"count":0`, "all or nothing")
	h.api.Env.Options.MaxFeatures = 1
	h.upload("admin", 1, "SKIP", `[`+feature("good", "1", "int", "")+`,`+feature("more", "1", "int", "")+`]`).must(400).
		is(`{"project":["The Project has reached the maximum allowed features limit."]}`)
	h.grant(fsm.LevelProject, 1)
	h.upload("member", 1, "SKIP", `[]`).must(403)
	h.upload("admin", 9, "SKIP", `[]`).must(403)
	h.do("stranger", "GET", "/api/v1/projects/1/feature-imports/", nil).must(403)
}

// TestFeatureImportOverwrites wants the overrides of the environment gone and everything elsewhere as it was.
func TestFeatureImportOverwrites(t *testing.T) {
	h := newHarness(t)
	second := h.secondEnvironment()
	h.post("/api/v1/projects/1/features/", `{"name":"f","initial_value":"old","multivariate_options":[{"type":"unicode","string_value":"x","default_percentage_allocation":30}]}`, 201)
	segment := h.post("/api/v1/projects/1/segments/", `{"name":"s","rules":[{"type":"ALL","rules":[]}]}`, 201).id()
	anna := h.post("/api/v1/environments/env-key/identities/", `{"identifier":"anna"}`, 201).id()
	h.post("/api/v1/environments/env-key/features/1/create-segment-override/",
		fmt.Sprintf(`{"enabled":true,"feature_state_value":{"type":"unicode","string_value":"o"},"feature_segment":{"segment":%d}}`, segment), 201)
	h.post(fmt.Sprintf("/api/v1/environments/env-key/identities/%d/featurestates/", anna), `{"feature":1,"enabled":true,"feature_state_value":"mine"}`, 201)
	elsewhere := h.export(second, "").Raw
	file := `[{"name":"f","default_enabled":true,"is_server_key_only":true,"initial_value":"other","value":false,"type":"bool","enabled":true,
		"multivariate":[{"percentage_allocation":20,"default_percentage_allocation":10,"value":5,"type":"int"}]}]`
	h.upload("admin", 1, "SKIP", file).must(201)
	require.Equal(t, elsewhere, h.export(1, "").Raw, "what is there is left alone")
	h.upload("admin", 1, "OVERWRITE_DESTRUCTIVE", file).must(201)

	state := h.node.FSM.State()
	require.Zero(t, fsm.FeatureStatesByEnvironment.Count(state, uint64(1), fsm.StateSegment))
	require.Zero(t, fsm.FeatureStatesByEnvironment.Count(state, uint64(1), fsm.StateIdentity))
	var got []map[string]any
	require.NoError(t, json.Unmarshal([]byte(h.export(1, "").Raw), &got))
	require.Equal(t, []any{false, "bool", true, "old"}, []any{got[0]["value"], got[0]["type"], got[0]["enabled"], got[0]["initial_value"]})
	shares, err := json.Marshal(got[0]["multivariate"])
	require.NoError(t, err)
	require.JSONEq(t, `[{"percentage_allocation":0,"default_percentage_allocation":30,"value":"x","type":"unicode"},
		{"percentage_allocation":20,"default_percentage_allocation":10,"value":5,"type":"int"}]`, string(shares))
	require.Contains(t, h.get("/api/v1/projects/1/audit/", 200).Raw, "Remote config value updated for feature: f")

	var there []map[string]any
	require.NoError(t, json.Unmarshal([]byte(h.export(second, "").Raw), &there))
	require.Equal(t, []any{"old", false}, []any{there[0]["value"], there[0]["enabled"]})
}

func FuzzReadTransfer(f *testing.F) {
	f.Add([]byte(`[{"name":"f","initial_value":null,"value":7,"type":"int","enabled":true,"multivariate":[{"percentage_allocation":1,"value":"x","type":"unicode"}]}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		features, err := readTransfer(data)
		if err != nil {
			return
		}
		again, err := json.Marshal(features)
		require.NoError(t, err)
		second, err := readTransfer(again)
		require.NoError(t, err, "%s", again)
		require.Len(t, second, len(features))
	})
}

func TestImportLeavesSharesWhole(t *testing.T) {
	h := newHarness(t)
	h.secondEnvironment()
	f := h.post("/api/v1/projects/1/features/", `{"name":"m","multivariate_options":[{"string_value":"a","default_percentage_allocation":100}]}`, 201).id()
	h.upload("admin", 1, "OVERWRITE_DESTRUCTIVE", `[{"name":"m","value":null,"type":"unicode","enabled":true,"multivariate":[{"percentage_allocation":50,"default_percentage_allocation":50,"value":"b","type":"unicode"}]}]`)
	for s := range fsm.FeatureStatesByFeature.All(h.node.FSM.State(), f) {
		total := 0.0
		for _, v := range s.Multivariate {
			total += v.Percentage
		}
		require.LessOrEqual(t, total, 100.0, "environment %d", s.Environment)
	}
}

func TestImportObeysTheValueLimit(t *testing.T) {
	h := newHarness(t)
	h.secondEnvironment()
	long := strings.Repeat("x", 30_000)
	h.post("/api/v1/projects/1/features/", fmt.Sprintf(`{"name":"n","initial_value":%q}`, long), 400)
	h.upload("admin", 1, "SKIP", fmt.Sprintf(`[{"name":"n","initial_value":%q,"value":null,"type":"unicode","enabled":true,"multivariate":[]}]`, long)).must(400)
}

// An import that adds options never makes the default shares of a feature exceed the whole.
func TestImportedOptionsLeaveRoom(t *testing.T) {
	h := newHarness(t)
	f := h.post("/api/v1/projects/1/features/", `{"name":"f","initial_value":"v","multivariate_options":[{"type":"unicode","string_value":"x","default_percentage_allocation":80}]}`, 201).id()
	h.upload("admin", 1, "OVERWRITE_DESTRUCTIVE", `[{"name":"f","value":"v","type":"unicode","enabled":true,
		"multivariate":[{"percentage_allocation":60,"default_percentage_allocation":60,"value":"y","type":"unicode"}]}]`).must(201)
	e := h.secondEnvironment()
	total := 0.0
	for s := range fsm.FeatureStatesByEnvironment.All(h.node.FSM.State(), e, fsm.StateDefault, f) {
		for _, v := range s.Multivariate {
			total += v.Percentage
		}
	}
	require.LessOrEqual(t, total, 100.0)
	h.patch(fmt.Sprintf("/api/v1/projects/1/features/%d/mv-options/2/", f), `{"key":"second"}`, 200)
}

// Two options of one value stay two.
func TestImportKeepsEqualOptions(t *testing.T) {
	h := newHarness(t)
	h.post("/api/v1/projects/1/features/", `{"name":"f","initial_value":"v","multivariate_options":[{"type":"unicode","string_value":"x","default_percentage_allocation":30},
		{"type":"unicode","string_value":"x","default_percentage_allocation":20}]}`, 201)
	file := h.export(1, "").Raw
	h.post("/api/v1/projects/", `{"name":"Other","organisation":1}`, 201)
	e := h.post("/api/v1/environments/", `{"name":"There","project":2}`, 201).id()
	for range 2 {
		h.upload("admin", e, "OVERWRITE_DESTRUCTIVE", file).must(201)
		require.Equal(t, file, h.export(e, "").Raw)
	}
}

// The length of a name counts in characters, as where features are made.
func TestImportOfLongNames(t *testing.T) {
	h := newHarness(t)
	h.post("/api/v1/projects/1/features/", fmt.Sprintf(`{"name":%q}`, strings.Repeat("é", 1500)), 201)
	file := h.export(1, "").Raw
	h.upload("admin", 1, "SKIP", file).must(201)
}

// Overwriting leaves nothing behind that was to come.
func TestOverwritingReplacesWhatIsScheduled(t *testing.T) {
	h := newHarness(t)
	f := h.feature(`{"name":"f","initial_value":"v"}`)
	state := fsm.FeatureStatesByEnvironment.List(h.node.FSM.State(), uint64(1), fsm.StateDefault, f)[0]
	h.put(fmt.Sprintf("/api/v1/features/featurestates/%d/", state.ID),
		fmt.Sprintf(`{"feature":%d,"environment":1,"enabled":false,"live_from":"2100-01-01T00:00:00Z","feature_state_value":{"type":"unicode","string_value":"later"}}`, f), 200)
	h.upload("admin", 1, "OVERWRITE_DESTRUCTIVE", `[{"name":"f","value":"new","type":"unicode","enabled":true}]`).must(201)
	states := fsm.FeatureStatesByEnvironment.List(h.node.FSM.State(), uint64(1), fsm.StateDefault, f)
	require.Len(t, states, 1)
	require.Equal(t, "new", *states[0].Value.String)
	require.LessOrEqual(t, states[0].LiveFrom, states[0].UpdatedAt)
}

// A default that was deleted comes back with its row in the audit log, and clients hear of it, also when it is what the feature starts with.
func TestOverwritingBringsBackADefault(t *testing.T) {
	h := newHarness(t)
	f := h.feature(`{"name":"f","initial_value":"v"}`)
	state := fsm.FeatureStatesByEnvironment.List(h.node.FSM.State(), uint64(1), fsm.StateDefault, f)[0]
	h.remove(fmt.Sprintf("/api/v1/environments/env-key/featurestates/%d/", state.ID), 204)
	before, rows := h.updatedAt(), fsm.AuditLogsByProject.Count(h.node.FSM.State(), h.project.ID)
	h.upload("admin", 1, "OVERWRITE_DESTRUCTIVE", `[{"name":"f","value":"v","type":"unicode","enabled":false}]`).must(201)
	require.Equal(t, 1, fsm.FeatureStatesByEnvironment.Count(h.node.FSM.State(), uint64(1), fsm.StateDefault, f))
	require.Greater(t, h.updatedAt(), before)
	require.Equal(t, rows+1, fsm.AuditLogsByProject.Count(h.node.FSM.State(), h.project.ID))
}

// Where an environment keeps versions, overwriting publishes one; what was live before can be looked at, what was to come is gone.
func TestOverwritingWithVersions(t *testing.T) {
	h := newVersioned(t)
	_, ann := h.newIdentity("ann")
	h.node.Write(t, func(tx *fsm.Tx) error {
		fsm.FeatureStates.Put(tx, fsm.FeatureState{UUID: tx.NewUUID(), Feature: h.id, Environment: 1, Identity: ann, LiveFrom: tx.Now(), Version: 1})
		return nil
	})
	h.create(fmt.Sprintf(`{"publish_immediately":true,"feature_states_to_create":[{"feature_segment":{"segment":%d},"feature_state_value":{}}]}`, h.segmentID))
	h.create(`{"publish_immediately":true,"live_from":"2100-01-01T00:00:00Z"}`)
	h.upload("admin", 1, "OVERWRITE_DESTRUCTIVE", `[{"name":"f","value":"new","type":"unicode","enabled":false,
		"multivariate":[{"percentage_allocation":60,"default_percentage_allocation":40,"value":"y","type":"unicode"}]}]`).must(201)
	require.Equal(t, []string{"false new"}, h.live())
	require.Equal(t, "new", h.served())
	state := h.node.FSM.State()
	require.EqualValues(t, 60, fsm.StatesInPlace(state, 1, h.id)[0].State.Multivariate[0].Percentage)
	require.Zero(t, fsm.FeatureStatesByEnvironment.Count(state, uint64(1), fsm.StateIdentity, h.id))
	versions := h.get(h.list, 200).object()["results"].([]any)
	require.Len(t, versions, 3)
	for _, v := range versions {
		require.True(t, v.(map[string]any)["is_live"].(bool))
	}
	log := h.get("/api/v1/projects/1/audit/", 200).object()["results"].([]any)[0].(map[string]any)["log"]
	require.Equal(t, "New version published for feature: f", log)
}
