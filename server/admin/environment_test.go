package admin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
)

const environments = "/api/v1/environments/"

// environment makes an environment through the API.
func (h *harness) newEnvironment(name string) map[string]any {
	h.Helper()
	return h.post(environments, fmt.Sprintf(`{"name":%q,"project":%d}`, name, h.project.ID), 201).object()
}

func TestEnvironment(t *testing.T) {
	h := newHarness(t)
	const denied = `{"detail":"You do not have permission to perform this action."}`
	h.post(environments, `{"name":"Development"}`, 403).is(denied)
	h.post(environments, `{"name":"Development","project":999}`, 403).is(denied)
	h.post(environments, fmt.Sprintf(`{"project":%d}`, h.project.ID), 400).is(`{"name":["This field is required."]}`)
	e := h.newEnvironment("Development")
	require.Regexp(t, "^[2-9A-HJ-NP-Za-km-z]{22}$", e["api_key"])
	require.Equal(t, []any{}, e["metadata"])
	require.Equal(t, true, e["use_identity_composite_key_for_hashing"])
	require.Equal(t, true, e["use_identity_overrides_in_local_eval"])
	h.post(environments, fmt.Sprintf(`{"name":"Development","project":%d}`, h.project.ID), 400).
		is(`{"non_field_errors":["An environment with this name already exists."]}`)
	own := h.post(environments, fmt.Sprintf(`{"name":"Own","project":%d,"api_key":"my-own-api-key"}`, h.project.ID), 201).object()
	require.Equal(t, "my-own-api-key", own["api_key"])
	h.post(environments, fmt.Sprintf(`{"name":"Own 2","project":%d,"api_key":"my-own-api-key"}`, h.project.ID), 400).
		is(`{"api_key":["environment with this api key already exists."]}`)
	for _, key := range []string{"ser.x", "a/b", "permissions", "ü"} {
		h.post(environments, fmt.Sprintf(`{"name":"x","project":%d,"api_key":%q}`, h.project.ID, key), 400)
	}

	path := environments + e["api_key"].(string) + "/"
	require.EqualValues(t, 0, h.get(path, 200).object()["total_segment_overrides"])
	h.get(environments+"nope/", 404).is(`{"detail":"No Environment matches the given query."}`)
	h.get(environments+"get-by-uuid/"+e["uuid"].(string)+"/", 200)
	changed := h.patch(path, `{"banner_text":"hi","banner_colour":"#ff0000","hide_disabled_flags":true,"project":77,"use_v2_feature_versioning":true}`, 200).object()
	require.Equal(t, "hi", changed["banner_text"])
	require.Equal(t, true, changed["hide_disabled_flags"])
	require.EqualValues(t, h.project.ID, changed["project"])
	require.Equal(t, false, changed["use_v2_feature_versioning"])
	require.Nil(t, h.patch(path, `{"hide_disabled_flags":null}`, 200).object()["hide_disabled_flags"])
	require.Equal(t, "hi", h.put(path, `{"name":"Development"}`, 200).object()["banner_text"], "a PUT keeps what it does not name")
	h.put(path, `{}`, 400).is(`{"name":["This field is required."]}`)

	h.remove(path, 204)
	h.get(path, 404)
}

func TestEnvironmentList(t *testing.T) {
	h := newHarness(t)
	const bad = `["Invalid or missing value for project parameter."]`
	for _, q := range []string{"", "?project=999", "?project=abc"} {
		h.get(environments+q, 400).is(bad)
	}
	list := fmt.Sprintf("%s?project=%d", environments, h.project.ID)
	require.EqualValues(t, 1, h.get(list, 200).object()["count"])
	require.EqualValues(t, 0, h.do("member", "GET", list, nil).must(200).object()["count"])
	h.grant(fsm.LevelEnvironment, h.environment.ID, "VIEW_ENVIRONMENT")
	require.EqualValues(t, 1, h.do("member", "GET", list, nil).must(200).object()["count"])
	h.do("member", "GET", environments+"env-key/", nil).must(200)
	h.do("member", "PATCH", environments+"env-key/", `{}`).must(403)
	h.do("member", "DELETE", environments+"env-key/", nil).must(403)
	h.do("stranger", "GET", environments+"env-key/", nil).must(403)
	h.do("member", "POST", environments, fmt.Sprintf(`{"name":"x","project":%d}`, h.project.ID)).must(403)
	h.grant(fsm.LevelProject, h.project.ID, "CREATE_ENVIRONMENT")
	mine := h.do("member", "POST", environments, fmt.Sprintf(`{"name":"x","project":%d}`, h.project.ID)).must(201).object()
	h.do("member", "PATCH", environments+mine["api_key"].(string)+"/", `{"description":"mine"}`).must(200)
}

// TestEnvironmentStates: a new environment has a state of every feature, typed as FACTS §8 says.
func TestEnvironmentStates(t *testing.T) {
	h := newHarness(t)
	text := func(s string) *string { return &s }
	for i, test := range []struct {
		initial *string
		want    any
	}{
		{nil, nil}, {text("5"), int64(5)}, {text("-5"), int64(-5)}, {text("+1"), int64(1)}, {text("007"), int64(7)}, {text("2147483646"), int64(2147483646)},
		{text("2147483647"), "2147483647"}, {text("True"), true}, {text("false"), false}, {text("TRUE"), "TRUE"}, {text("1.5"), "1.5"}, {text("1e3"), "1e3"},
		{text(""), ""}, {text("-"), "-"}, {text("--1"), "--1"}, {text("99999999999999999999"), "99999999999999999999"},
	} {
		require.Equal(t, test.want, plainValue(initialValue(test.initial)), "%d", i)
	}
	h.node.Write(t, func(tx *fsm.Tx) error {
		f := fsm.Features.Put(tx, fsm.Feature{UUID: tx.NewUUID(), Name: "f", Project: h.project.ID, Type: fsm.Multivariate, DefaultEnabled: true, InitialValue: text("5")})
		fsm.MultivariateOptions.Put(tx, fsm.MultivariateOption{UUID: tx.NewUUID(), Feature: f.ID, Value: fsm.FeatureValue{Type: fsm.Unicode}, DefaultPercentageAllocation: 30})
		return nil
	})
	states := func(e map[string]any) []fsm.FeatureState {
		return fsm.FeatureStatesByEnvironment.List(h.node.FSM.State(), uint64(e["id"].(float64)))
	}
	got := states(h.newEnvironment("a"))
	require.Len(t, got, 1)
	require.True(t, got[0].Enabled)
	require.Equal(t, int64(5), *got[0].Value.Integer)
	require.Equal(t, 30.0, got[0].Multivariate[0].Percentage)
	h.patch(fmt.Sprintf("/api/v1/projects/%d/", h.project.ID), `{"prevent_flag_defaults":true}`, 200)
	got = states(h.newEnvironment("b"))
	require.False(t, got[0].Enabled)
	require.True(t, got[0].Value.IsNull())
}

func TestCloneEnvironment(t *testing.T) {
	h := newHarness(t)
	var source fsm.Environment
	h.node.Write(t, func(tx *fsm.Tx) error {
		source = CreateDemo(tx, h.organisation.ID).Environments[1]
		return nil
	})
	path := environments + source.APIKey + "/clone/"
	h.post(path, `{}`, 400).is(`{"name":["This field is required."]}`)
	clone := h.post(path, `{"name":"Cloned"}`, 200).object()
	require.Len(t, clone, 4)
	s := h.node.FSM.State()
	id := uint64(clone["id"].(float64))
	require.Len(t, fsm.FeatureStatesByEnvironment.List(s, id), len(fsm.FeatureStatesByEnvironment.List(s, source.ID)))
	require.Equal(t, 1, fsm.FeatureSegmentsByEnvironment.Count(s, id))
	for _, override := range fsm.FeatureStatesByEnvironment.List(s, id, fsm.StateSegment) {
		segment, ok := fsm.FeatureSegments.Get(s, override.FeatureSegment)
		require.True(t, ok)
		require.Equal(t, id, segment.Environment)
	}
	require.Zero(t, fsm.EnvironmentAPIKeysByEnvironment.Count(s, id))
	h.post(path, `{"name":"Cloned"}`, 200) // names may repeat here
	h.do("member", "POST", path, `{"name":"x"}`).must(403)
}

func TestServerKeys(t *testing.T) {
	h := newHarness(t)
	const path = environments + "env-key/api-keys/"
	h.get(path, 200).is(`[]`)
	h.post(path, `{}`, 400).is(`{"name":["This field is required."]}`)
	created := h.post(path, `{"name":"server"}`, 201).object()
	require.Regexp(t, `^ser\.[2-9A-HJ-NP-Za-km-z]{22}$`, created["key"])
	require.Equal(t, true, created["active"])
	old := h.post(path, `{"name":"old","active":false,"expires_at":"2020-01-01T00:00:00Z"}`, 201).object()
	require.Equal(t, "2020-01-01T00:00:00Z", old["expires_at"])
	detail := fmt.Sprintf("%s%v/", path, created["id"])
	h.do("admin", "GET", detail, nil).must(405)
	require.Equal(t, created["key"], h.put(detail, `{"name":"server 2"}`, 200).object()["key"])
	require.Equal(t, false, h.patch(detail, `{"active":false}`, 200).object()["active"])
	h.remove(detail, 204)
	require.Len(t, h.get(path, 200).list(), 1)
	h.grant(fsm.LevelEnvironment, h.environment.ID, "VIEW_ENVIRONMENT")
	h.do("member", "GET", path, nil).must(403)
	h.get(strings.Replace(path, "env-key", "nope", 1), 403)
}

func TestTraitKeys(t *testing.T) {
	h := newHarness(t)
	h.get(environments+"env-key/trait-keys/", 200).is(`{"keys":[]}`)
	h.node.Write(t, func(tx *fsm.Tx) error {
		tx.Identity(identity.Op{Kind: identity.KindUpsert, Environment: h.environment.ID, Identifier: []byte("a"),
			Traits: []identity.TraitOp{{Key: []byte("plan"), Value: []byte(`"pro"`)}, {Key: []byte("age"), Value: []byte("5")}}}, nil)
		return nil
	})
	require.ElementsMatch(t, []any{"plan", "age"}, h.get(environments+"env-key/trait-keys/", 200).object()["keys"])
	require.Empty(t, h.post(environments+"env-key/delete-traits/", `{"key":"age"}`, 200).Raw)
	h.get(environments+"env-key/trait-keys/", 200).is(`{"keys":["plan"]}`)
	h.post(environments+"env-key/delete-traits/", `{}`, 400).is(`{"detail":"Couldn't delete trait keys."}`)
	h.do("member", "POST", environments+"env-key/delete-traits/", `{"key":"plan"}`).must(403)
}

func TestEnvironmentMetrics(t *testing.T) {
	h := newHarness(t)
	var e fsm.Environment
	h.node.Write(t, func(tx *fsm.Tx) error {
		e = CreateDemo(tx, h.organisation.ID).Environments[0]
		return nil
	})
	list := h.get(environments+e.APIKey+"/metrics/", 200).object()["metrics"].([]any)
	var values []float64
	for _, m := range list {
		values = append(values, m.(map[string]any)["value"].(float64))
	}
	require.Equal(t, []float64{4, 4, 1, 0}, values)
}

func TestCloneOfTheSameNameCanBeChanged(t *testing.T) {
	h := newHarness(t)
	key := h.post("/api/v1/environments/env-key/clone/", `{"name":"Env"}`, 200).object()["api_key"]
	h.patch("/api/v1/environments/env-key/", `{"hide_sensitive_data":true}`, 200)
	h.put(fmt.Sprintf("/api/v1/environments/%v/", key), `{"name":"Env","description":"x"}`, 200)
	other := h.newEnvironment("Other")
	h.patch(fmt.Sprintf("/api/v1/environments/%v/", other["api_key"]), `{"name":"Env"}`, 400)
}

func TestCloneKeepsWhatIsScheduled(t *testing.T) {
	h := newHarness(t)
	f, s := h.feature(`{"name":"f"}`), h.segment("s")
	const later = "2099-01-01T00:00:00Z"
	h.post("/api/v1/features/featurestates/", fmt.Sprintf(`{"feature":%d,"environment":1,"feature_segment":%d,"enabled":true,"live_from":%q}`, f, h.link(f, s), later), 201)
	state := h.get("/api/v1/environments/env-key/featurestates/", 200).object()["results"].([]any)[0].(map[string]any)["id"]
	h.put(fmt.Sprintf("/api/v1/environments/env-key/featurestates/%v/", state), fmt.Sprintf(`{"live_from":%q}`, later), 200)
	clone := h.post("/api/v1/environments/env-key/clone/", `{"name":"clone"}`, 200).object()["id"]
	links, times := 0, []string{}
	for _, row := range h.get(fmt.Sprintf("/api/v1/features/featurestates/?environment=%v", clone), 200).object()["results"].([]any) {
		r := row.(map[string]any)
		times = append(times, r["live_from"].(string))
		if r["feature_segment"] != nil {
			links++
		}
	}
	require.Equal(t, 1, links)
	require.Equal(t, []string{later, later}, times)
}
