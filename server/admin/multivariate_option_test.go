package admin

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

func TestMultivariateOptions(t *testing.T) {
	h := newHarness(t)
	f := h.feature(`{"name":"mv","initial_value":"blue"}`)
	target := fmt.Sprintf("%s%d/mv-options/", h.features(), f)
	n := len(h.audits(0))
	r := h.post(target, fmt.Sprintf(`{"type":"unicode","string_value":"yellow","default_percentage_allocation":60,"feature":%d,"key":"yellow-key"}`, f), 201)
	o, _ := fsm.MultivariateOptions.Get(h.node.FSM.State(), 1)
	require.Equal(t, fmt.Sprintf(`{"id":1,"uuid":%q,"type":"unicode","integer_value":null,"string_value":"yellow","boolean_value":null,`+
		`"default_percentage_allocation":60.0,"key":"yellow-key","feature":%d}`, o.UUID, f), r.Raw)
	require.Equal(t, []string{fmt.Sprintf("FEATURE %d Multivariate option added to feature 'mv'.", f), fmt.Sprintf("FEATURE %d Flag / Remote Config updated: mv", f)}, h.audits(n))
	require.Equal(t, r.Raw, h.get(target+"1/", 200).Raw)
	require.Equal(t, r.Raw, h.get("/api/v1/multivariate/options/get-by-uuid/"+o.UUID.String()+"/", 200).Raw)
	h.do("stranger", "GET", "/api/v1/multivariate/options/get-by-uuid/"+o.UUID.String()+"/", nil).must(404)
	s, _ := fsm.FeatureStates.Get(h.node.FSM.State(), 1)
	require.Equal(t, 60.0, s.Multivariate[0].Percentage)
	for body, want := range map[string]string{
		`{"string_value":"x","default_percentage_allocation":50,"feature":1}`:                     `{"default_percentage_allocation":["Invalid percentage allocation"]}`,
		`{"string_value":"x","default_percentage_allocation":10}`:                                 `{"feature":["This field is required."]}`,
		`{"string_value":"x","feature":1}`:                                                        `{"default_percentage_allocation":["Invalid percentage allocation"]}`,
		`{"string_value":"x","default_percentage_allocation":-1,"feature":1}`:                     `{"default_percentage_allocation":["Ensure this value is greater than or equal to 0."]}`,
		`{"string_value":"x","default_percentage_allocation":1,"feature":1,"key":"yellow-key"}`:   `{"key":["Multivariate option with this key already exists for the feature."]}`,
		`{"string_value":"x","default_percentage_allocation":1,"feature":1,"key":"control"}`:      `{"key":["\"control\" is a reserved variant key."]}`,
		`{"type":"float","string_value":"x","default_percentage_allocation":1,"feature":1}`:       `{"type":["\"float\" is not a valid choice."]}`,
		`{"type":"int","integer_value":2147483648,"default_percentage_allocation":1,"feature":1}`: `{"integer_value":["Ensure this value is less than or equal to 2147483647."]}`,
	} {
		h.post(target, body, 400).is(want)
	}
	r = h.put(target+"1/", `{"type":"unicode","string_value":"yellower","default_percentage_allocation":5,"feature":1}`, 200)
	require.Contains(t, r.Raw, `"string_value":"yellower","boolean_value":null,"default_percentage_allocation":5.0,"key":"yellow-key"`)
	before := h.updatedAt()
	h.patch(target+"1/", `{"string_value":"yellowest"}`, 200)
	require.Greater(t, h.updatedAt(), before)
	before = h.updatedAt()
	h.patch(target+"1/", `{"string_value":"yellowest","default_percentage_allocation":6}`, 200)
	h.patch(fmt.Sprintf("%s%d/", h.features(), f), `{"multivariate_options":[{"id":1,"string_value":"yellowest","default_percentage_allocation":5}]}`, 200)
	require.Equal(t, before, h.updatedAt(), "clients see nothing of that")
	h.patch(target+"1/", `{"key":"other-key"}`, 200)
	require.Greater(t, h.updatedAt(), before)

	// Its default share is small now, but the environment has given away 60.
	h.post(target, `{"string_value":"x","default_percentage_allocation":50,"feature":1}`, 400).is(`{"default_percentage_allocation":["Invalid percentage allocation"]}`)
	h.post(target, `{"string_value":"x","default_percentage_allocation":40,"feature":1}`, 201)
	n = len(h.audits(0))
	h.remove(target+"1/", 204)
	h.remove(target+"1/", 404).is(`{"detail":"No MultivariateFeatureOption matches the given query."}`)
	h.remove(target+"2/", 204)
	require.Equal(t, []string{
		fmt.Sprintf("FEATURE %d Multivariate option removed from feature 'mv'.", f),
		fmt.Sprintf("FEATURE %d Multivariate option removed from feature 'mv'.", f),
		fmt.Sprintf("FEATURE %d Flag / Remote Config updated: mv", f),
	}, h.audits(n))
	s, _ = fsm.FeatureStates.Get(h.node.FSM.State(), 1)
	require.Empty(t, s.Multivariate)
}

func TestMultivariateOptionPermissions(t *testing.T) {
	h := newHarness(t)
	f := h.feature(`{"name":"mv","multivariate_options":[{"string_value":"a"}]}`)
	target := fmt.Sprintf("%s%d/mv-options/", h.features(), f)
	h.get(fmt.Sprintf("%s99/mv-options/", h.features()), 404).is(`{"detail":"No Feature matches the given query."}`)
	h.do("member", "GET", target, nil).must(403)
	h.grant(fsm.LevelProject, 1, "VIEW_PROJECT", "CREATE_FEATURE")
	h.do("member", "GET", target, nil).must(200)
	h.do("member", "GET", target+"1/", nil).must(403)
	h.do("member", "PATCH", target+"1/", `{"string_value":"b"}`).must(200)
}

// Shares whose decimals make up the whole fit, in whichever order floats add them up.
func TestSharesOfTheWholeFit(t *testing.T) {
	h := newHarness(t)
	option := func(value string, share float64) map[string]any {
		return map[string]any{"type": "unicode", "string_value": value, "default_percentage_allocation": share}
	}
	shares := func(feature uint64) (all []float64) {
		for s := range fsm.FeatureStatesByEnvironment.All(h.node.FSM.State(), uint64(1), fsm.StateDefault, feature) {
			for _, v := range s.Multivariate {
				all = append(all, v.Percentage)
			}
		}
		return all
	}
	f := h.post("/api/v1/projects/1/features/", map[string]any{"name": "f", "multivariate_options": []any{option("a", 20.1), option("b", 20.2)}}, 201)
	options := append(f.object()["multivariate_options"].([]any), option("c", 59.7))
	h.patch(fmt.Sprintf("/api/v1/projects/1/features/%d/", f.id()), map[string]any{"multivariate_options": options}, 200)
	require.Equal(t, []float64{20.1, 20.2, 59.7}, shares(f.id()))

	g := h.post("/api/v1/projects/1/features/", map[string]any{"name": "g"}, 201).id()
	for value, share := range []float64{20.1, 20.2, 59.7} {
		o := option(fmt.Sprint(value), share)
		o["feature"] = g
		h.post(fmt.Sprintf("/api/v1/projects/1/features/%d/mv-options/", g), o, 201)
	}
	require.Equal(t, []float64{20.1, 20.2, 59.7}, shares(g))
}

// TestTypeStaysWithOptions: the options of a feature are served, so its type cannot be sent away from under them.
func TestTypeStaysWithOptions(t *testing.T) {
	h := newHarness(t)
	f := h.post("/api/v1/projects/1/features/", `{"name":"f"}`, 201).id()
	path := fmt.Sprintf("/api/v1/projects/1/features/%d/", f)
	o := h.post(path+"mv-options/", fmt.Sprintf(`{"feature":%d,"string_value":"o","default_percentage_allocation":100}`, f), 201).id()
	require.Equal(t, "MULTIVARIATE", h.patch(path, `{"type":"STANDARD"}`, 200).object()["type"])
	require.Equal(t, "MULTIVARIATE", h.put(path, `{"name":"f","type":"STANDARD","description":"d"}`, 200).object()["type"])
	h.remove(fmt.Sprintf("%smv-options/%d/", path, o), 204)
	require.Equal(t, "STANDARD", h.get(path, 200).object()["type"])
}
