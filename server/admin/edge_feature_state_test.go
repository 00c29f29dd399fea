package admin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
)

func TestEdgeFeatureStates(t *testing.T) {
	h := newHarness(t)
	f := h.flag("flag", text("default"))
	path, who := h.newEdgeIdentity(`{"identifier":"alice"}`)
	states := path + "edge-featurestates/"
	h.get(states, 200).is(`[]`)
	before := h.updatedAt()
	created := h.post(states, map[string]any{"feature": f.ID, "enabled": true, "feature_state_value": "mine"}, 201)
	require.Greater(t, h.updatedAt(), before)
	id := created.object()["featurestate_uuid"]
	body := func(value string, enabled bool) string {
		return fmt.Sprintf(`{"feature_state_value":%s,"feature":%d,"multivariate_feature_state_values":[],"enabled":%t,"featurestate_uuid":%q,"identity_uuid":%q}`,
			value, f.ID, enabled, id, who.object()["identity_uuid"])
	}
	require.Equal(t, body(`"mine"`, true), created.Raw)
	h.get(states, 200).is("[" + created.Raw + "]")
	h.get(states+"?feature=999", 200).is(`[]`)
	state := fmt.Sprintf("%s%s/", states, id)
	h.get(state, 200).is(created.Raw)
	h.post(states, map[string]any{"feature": "flag"}, 400).is(`["Feature state already exists."]`)

	for _, c := range []struct{ sent, value string }{
		{`5`, `5`}, {`true`, `true`}, {`"5"`, `"5"`}, {`1.5`, `"1.5"`}, {`[1]`, `"[1]"`}, {`null`, `null`},
	} {
		h.put(state, fmt.Sprintf(`{"feature":%d,"enabled":true,"feature_state_value":%s}`, f.ID, c.sent), 200).is(body(c.value, true))
	}
	h.put(state, `{"feature":"flag"}`, 200).is(body("null", false))
	h.do("admin", "PATCH", state, `{}`).must(405)
	h.remove(state, 204)
	h.get(state, 404).is(`{"detail":"Not found."}`)
	booked := h.booked()
	require.Equal(t, "Feature override created for feature 'flag' and identity 'alice'", booked[0])
	require.Equal(t, "Feature override deleted for feature 'flag' and identity 'alice'", booked[len(booked)-1])
	for a := range fsm.AuditLogs.All(h.node.FSM.State()) {
		require.Equal(t, fsm.AuditEdgeIdentity, a.RelatedObjectType)
		require.Equal(t, who.object()["identity_uuid"], a.RelatedObjectUUID.String())
	}
}

func TestEdgeFeatureStateErrors(t *testing.T) {
	h := newHarness(t)
	f, mv := h.flag("flag", text("default")), h.flag("mv", text("control"), "red", "green")
	path, _ := h.newEdgeIdentity(`{"identifier":"alice"}`)
	states, o := path+"edge-featurestates/", h.options(mv)
	for _, c := range []struct{ sent, want string }{
		{`{}`, `{"feature":["This field is required."]}`},
		{`{"feature":999}`, `{"feature":["Invalid pk \"999\" - object does not exist."]}`},
		{`{"feature":"nope"}`, `{"feature":["Invalid pk \"nope\" - object does not exist."]}`},
		{`{"feature":"FLAG"}`, `{"feature":["Invalid pk \"FLAG\" - object does not exist."]}`},
		{`{"feature":"flag","enabled":"maybe"}`, `{"enabled":["Must be a valid boolean."]}`},
		{`{"feature":"flag","feature_state_value":2147483648}`, `{"feature_state_value":["Ensure this value is less than or equal to 2147483647."]}`},
		{`{"feature":"flag","feature_state_value":"` + strings.Repeat("x", 20001) + `"}`, `{"feature_state_value":["Ensure this field has no more than 20000 characters."]}`},
		{fmt.Sprintf(`{"feature":"mv","multivariate_feature_state_values":[{"multivariate_feature_option":%d,"percentage_allocation":60},{"multivariate_feature_option":%d,"percentage_allocation":60}]}`, o[0], o[1]),
			`{"multivariate_feature_state_values":["Total percentage allocation for feature must be less or equal to 100 percent"]}`},
		{`{"feature":"mv","multivariate_feature_state_values":[{"multivariate_feature_option":99}]}`,
			`{"multivariate_feature_state_values":[{"multivariate_feature_option":["Invalid pk \"99\" - object does not exist."]}]}`},
	} {
		h.post(states, c.sent, 400).is(c.want)
	}
	require.Empty(t, h.booked())
	state := fmt.Sprintf("%s%s/", states, h.post(states, map[string]any{"feature": f.ID}, 201).object()["featurestate_uuid"])
	h.put(state, `{"feature":"mv"}`, 400).is(`{"feature":["Cannot change the feature of a feature state"]}`)
	h.get(states+"5f0c1b9a-0000-4000-8000-000000000000/", 404)

	h.node.Write(t, func(tx *fsm.Tx) error {
		e := h.environment
		e.ID, e.APIKey = 0, "other-key"
		fsm.Environments.Put(tx, e)
		return nil
	})
	h.get(strings.Replace(states, "env-key", "other-key", 1), 403).is(`{"detail":"Identity does not belong to this environment."}`)
	h.get(envPath+"edge-identities/5f0c1b9a-0000-4000-8000-000000000000/edge-featurestates/", 404).is(`{"detail":"Not found."}`)
}

func TestEdgeFeatureStatePermissions(t *testing.T) {
	h := newHarness(t)
	f := h.flag("flag", text("default"))
	path, _ := h.newEdgeIdentity(`{"identifier":"alice"}`)
	state := fmt.Sprintf("%sedge-featurestates/%s/", path, h.post(path+"edge-featurestates/", map[string]any{"feature": f.ID}, 201).object()["featurestate_uuid"])
	h.grant(fsm.LevelEnvironment, h.environment.ID, "VIEW_ENVIRONMENT")
	h.do("member", "GET", state, nil).must(200)
	h.do("member", "GET", path+"edge-featurestates/all/", nil).must(200)
	h.do("member", "PUT", state, map[string]any{"feature": f.ID}).must(403)
	h.do("member", "DELETE", state, nil).must(403)
	h.do("member", "PUT", envPath+"edge-identities-featurestates", map[string]any{"feature": f.ID, "identifier": "new"}).must(403)
	_, created := h.node.FSM.State().Identities().Environment(h.environment.ID).Lookup([]byte("new"))
	require.False(t, created, "a refused write made an identity")
}

func TestCloneEdgeStates(t *testing.T) {
	h := newHarness(t)
	f, g := h.flag("flag", text("default")), h.flag("extra", text("x"))
	source, from := h.newEdgeIdentity(`{"identifier":"source"}`)
	target, _ := h.newEdgeIdentity(`{"identifier":"target"}`)
	original := h.post(source+"edge-featurestates/", map[string]any{"feature": f.ID, "enabled": true, "feature_state_value": 5}, 201)
	h.post(target+"edge-featurestates/", map[string]any{"feature": g.ID}, 201)
	clone := map[string]any{"source_identity_uuid": from.object()["identity_uuid"]}
	answer := h.post(target+"edge-featurestates/clone-from-given-identity/", clone, 200)
	answer.is(h.get(source+"edge-featurestates/all/", 200).Raw)
	copies := h.get(target+"edge-featurestates/", 200).list()
	require.Len(t, copies, 1)
	require.NotEqual(t, original.object()["featurestate_uuid"], copies[0].(map[string]any)["featurestate_uuid"])
	h.post(target+"edge-featurestates/clone-from-given-identity/", map[string]any{"source_identity_uuid": "5f0c1b9a-0000-4000-8000-000000000000"}, 404)
	h.post(target+"edge-featurestates/clone-from-given-identity/", map[string]any{}, 400)
	h.post(source+"edge-featurestates/clone-from-given-identity/", clone, 200).is(answer.Raw)
}

func TestEdgeByIdentifier(t *testing.T) {
	for _, path := range []string{"/api/v1/environments/environments/env-key/edge-identities-featurestates", envPath + "edge-identities-featurestates"} {
		t.Run(path, func(t *testing.T) {
			h := newHarness(t)
			f := h.flag("flag", text("default"))
			h.put(path, `{"feature":"flag"}`, 400).is(`{"identifier":["This field is required."]}`)
			h.put(path, `{"identifier":"new","feature":"nope"}`, 400)
			require.Zero(t, h.node.FSM.State().Identities().Environment(h.environment.ID).Count(), "an error made an identity")

			first := h.put(path, `{"identifier":"new","feature":"flag","enabled":true,"feature_state_value":"a"}`, 200)
			require.Contains(t, first.Raw, fmt.Sprintf(`{"feature_state_value":"a","feature":%d,`, f.ID))
			second := h.put(path, `{"identifier":"new","feature":"flag","feature_state_value":"b"}`, 200)
			require.Equal(t, first.object()["featurestate_uuid"], second.object()["featurestate_uuid"])
			require.Equal(t, 1, h.node.FSM.State().Identities().Environment(h.environment.ID).Count())

			h.do("admin", "DELETE", path, map[string]any{"identifier": "new", "feature": f.ID}).must(204)
			h.do("admin", "DELETE", path, map[string]any{"identifier": "new", "feature": f.ID}).must(204)
			h.do("admin", "DELETE", path, map[string]any{"identifier": "nobody", "feature": f.ID}).must(204)
			h.do("admin", "DELETE", path, map[string]any{"feature": f.ID}).must(400).is(`{"identifier":["This field is required."]}`)
			require.Equal(t, []string{
				"Feature override created for feature 'flag' and identity 'new'",
				"Feature override updated for feature 'flag' and identity 'new'",
				"Feature override deleted for feature 'flag' and identity 'new'",
			}, h.booked())
		})
	}
}

func TestListEdgeOverrides(t *testing.T) {
	h := newHarness(t)
	h.get(envPath+"edge-identity-overrides", 200).is(`{"results":[]}`)
	f, g := h.flag("flag", text("default")), h.flag("other", text("x"))
	path, who := h.newEdgeIdentity(`{"identifier":"alice"}`)
	state := h.post(path+"edge-featurestates/", map[string]any{"feature": f.ID, "enabled": true, "feature_state_value": 5}, 201)
	h.post(path+"edge-featurestates/", map[string]any{"feature": g.ID}, 201)
	h.get(fmt.Sprintf("%sedge-identity-overrides?feature=%d", envPath, f.ID), 200).is(fmt.Sprintf(`{"results":[{"identifier":"alice","identity_uuid":%q,
		"feature_state":{"feature_state_value":5,"feature":%d,"multivariate_feature_state_values":[],"enabled":true,"featurestate_uuid":%q}}]}`,
		who.object()["identity_uuid"], f.ID, state.object()["featurestate_uuid"]))
	require.Len(t, h.get(envPath+"edge-identity-overrides", 200).object()["results"], 2)
	h.get(envPath+"edge-identity-overrides?feature=x", 400)
	h.get("/api/v1/environments/nope/edge-identity-overrides", 403)
}

// TestListsReadOnlyTheirPage lists in an environment of many identities: what a page costs in memory may not depend on how many there are.
func TestListsReadOnlyTheirPage(t *testing.T) {
	h := newHarness(t)
	ids := h.node.FSM.State().Identities()
	for i := range 50_000 { // straight into the store: nothing else writes
		ids.Apply(&identity.Op{Kind: identity.KindUpsert, Environment: h.environment.ID, Identifier: fmt.Appendf(nil, "user-%06d", i)}, 1, 1)
	}
	for _, target := range []string{
		"identities/?page_size=10", "identities/?page_size=10&page=last", "identities/?page_size=10&q=USER-0", "identities/?q=%22user-040000%22",
		"edge-identities/?page_size=10", "edge-identities/?page_size=10&q=user-01",
	} {
		require.Less(t, testing.AllocsPerRun(5, func() { h.get(envPath+target, 200) }), 500.0, target)
	}
}

// An override that is refused does not leave the identity behind that it would have been for.
func TestRefusedOverrideMakesNoIdentity(t *testing.T) {
	h := newHarness(t)
	h.feature(`{"name":"f","initial_value":"v"}`)
	for _, more := range []string{
		fmt.Sprintf(`"feature_state_value":%q`, strings.Repeat("x", 20_001)),
		`"feature_state_value":2147483648`,
		`"multivariate_feature_state_values":[{"multivariate_feature_option":99}]`,
		`"multivariate_feature_state_values":[{"multivariate_feature_option":1},{"multivariate_feature_option":2}]`,
	} {
		h.put("/api/v1/environments/environments/env-key/edge-identities-featurestates", `{"identifier":"nobody","feature":"f",`+more+`}`, 400)
	}
	require.Zero(t, h.node.FSM.State().Identities().Environment(h.environment.ID).Count())
}
