package tools

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// world is a configuration as it was applied.
type world struct {
	project      tfProject
	environment  tfEnvironment
	tag          tfTag
	segments     [2]tfSegment
	feature      tfFeature
	plain        tfFeature // without values, for null and ""
	options      [2]tfOption
	state        tfState
	overrides    [2]tfState
	key          tfServerKey
	identity     tfIdentity
	traits       []tfTrait
	group        int64
	featureAlone string // path of the feature's only state in the environment
}

// TestTerraform applies a configuration, plans again, changes everything in place, plans again, and destroys it.
func TestTerraform(t *testing.T) {
	in, ctx := install(t)
	p := newProvider(t, in.tool(t, ctx, "Api-Key "+in.master))
	w := &world{}
	steps := []struct {
		name string
		step func(*provider, *installation, *world)
	}{
		{"data sources", dataSources},
		{"create project and environment", createPlace}, {"create tag and segments", createTargets}, {"create feature", createFeature},
		{"create feature states", createStates}, {"create keys and identities", createIdentity},
		{"plan", func(p *provider, _ *installation, _ *world) { p.plan() }},
		{"update", updateEverything},
		{"plan after update", func(p *provider, _ *installation, _ *world) { p.plan() }},
		{"destroy", destroyEverything},
	}
	for _, s := range steps {
		if !t.Run(s.name, func(t *testing.T) { p.tool = p.in(t); s.step(p, in, w) }) {
			return
		}
	}
	require.Empty(t, p.state)
}

// dataSources reads what a configuration does not make: the organisation, its users and groups.
func dataSources(p *provider, in *installation, w *world) {
	organisation := p.get("/api/v1/organisations/get-by-uuid/" + in.uuid + "/")
	require.Equal(p, in.organisation, organisation.ID("id"))
	require.Equal(p, "Acme", organisation.Text("name"))
	users := decode[[]struct {
		ID    int64
		Email string
	}](p.tool, p.get(path("/api/v1/organisations/%d/users/", in.organisation)))
	require.Len(p, users, 1)
	require.Equal(p, in.user, users[0].ID)
	w.group = p.send("POST", path("/api/v1/organisations/%d/groups/", in.organisation), object{"name": "Owners"}, 201).ID("id")
}

func createPlace(p *provider, in *installation, w *world) {
	w.project = apply(p, "POST", "/api/v1/projects/", tfProject{Name: "Terraform", Organisation: in.organisation, HideDisabledFlags: true,
		FeatureNameRegex: new("[a-z_]+"), StaleFlagsLimitDays: 45, Realtime: true},
		func(plan *tfProject, got tfProject) { plan.ID, plan.UUID = got.ID, got.UUID })
	keepAt(p, "project", w.project, "/api/v1/projects/get-by-uuid/"+w.project.UUID+"/")

	w.environment = apply(p, "POST", "/api/v1/environments/", tfEnvironment{Name: "Production", Project: w.project.ID, Description: new(""),
		BannerText: new("careful"), HideDisabledFlags: new(false), HideSensitiveData: true, AllowClientTraits: false, CompositeKey: true},
		func(plan *tfEnvironment, got tfEnvironment) {
			plan.ID, plan.UUID, plan.APIKey = got.ID, got.UUID, got.APIKey
		})
	keepAt(p, "environment", w.environment, "/api/v1/environments/get-by-uuid/"+w.environment.UUID+"/")
	// Another one of which nothing optional is said: null stays null.
	bare := apply(p, "POST", "/api/v1/environments/", tfEnvironment{Name: "Bare", Project: w.project.ID, AllowClientTraits: true, CompositeKey: true},
		func(plan *tfEnvironment, got tfEnvironment) {
			plan.ID, plan.UUID, plan.APIKey = got.ID, got.UUID, got.APIKey
		})
	keepAt(p, "bare environment", bare, "/api/v1/environments/get-by-uuid/"+bare.UUID+"/")
	p.destroy("bare environment", "/api/v1/environments/"+bare.APIKey+"/", "/api/v1/environments/get-by-uuid/"+bare.UUID+"/")
}

func createTargets(p *provider, _ *installation, w *world) {
	require.Equal(p, w.project.ID, p.get("/api/v1/projects/get-by-uuid/"+w.project.UUID+"/").ID("id"), "the provider looks the project up by its uuid")
	tags := path("/api/v1/projects/%d/tags/", w.project.ID)
	w.tag = apply(p, "POST", tags, tfTag{Project: w.project.ID, Label: "Payments", Description: new(""), Colour: "#FF6837"},
		func(plan *tfTag, got tfTag) { plan.ID, plan.UUID = got.ID, got.UUID })
	keepAt(p, "tag", w.tag, tags+"get-by-uuid/"+w.tag.UUID+"/")

	for i, plan := range []tfSegment{
		{Name: "premium in Europe", Description: new("with a purse"), Rules: tfBlocks[tfRule]{{Type: "ALL", Rules: tfBlocks[tfRule]{
			{Type: "ANY", Conditions: tfBlocks[tfCondition]{{"EQUAL", new("plan"), new("premium")}, {"IN", new("country"), new("DE,FR")}}},
			{Type: "NONE", Conditions: tfBlocks[tfCondition]{{"IS_SET", new("blocked"), new("")}, {"GREATER_THAN", new("age"), new("25.5")}}},
		}}}},
		{Name: "a quarter", Rules: tfBlocks[tfRule]{
			{Type: "ANY", Conditions: tfBlocks[tfCondition]{{"PERCENTAGE_SPLIT", nil, new("25.5")}, {"IS_NOT_SET", new("vip"), new("")}}},
			{Type: "ALL", Conditions: tfBlocks[tfCondition]{{"MODULO", new("n"), new("2|0")}}},
		}},
	} {
		plan.Project = w.project.ID
		s := apply(p, "POST", path("/api/v1/projects/%d/segments/", w.project.ID), plan, adoptSegment)
		p.keepSegment(s)
		w.segments[i] = s
	}
}

func adoptSegment(plan *tfSegment, got tfSegment) { plan.ID, plan.UUID = got.ID, got.UUID }

// keepSegment reads a segment as the client does: with its project, for that one's uuid.
func (p *provider) keepSegment(want tfSegment) {
	p.Helper()
	keep(p, "segment "+want.UUID, want, func() tfSegment {
		got := decode[tfSegment](p.tool, p.get("/api/v1/segments/get-by-uuid/"+want.UUID+"/"))
		p.get(path("/api/v1/projects/%d/", got.Project))
		return got
	})
}

func createFeature(p *provider, in *installation, w *world) {
	features := path("/api/v1/projects/%d/features/", w.project.ID)
	adopt := func(plan *tfFeature, got tfFeature) { plan.ID, plan.UUID = got.ID, got.UUID }
	w.plain = apply(p, "POST", features, tfFeature{Project: w.project.ID, Name: "plain", Type: "STANDARD", InitialValue: new("")}, adopt)
	p.keepFeature("plain", w.plain)
	nothing := apply(p, "POST", features, tfFeature{Project: w.project.ID, Name: "nothing", Type: "STANDARD", Description: new("")}, adopt)
	p.keepFeature("nothing", nothing)
	p.destroy("feature nothing", path("%s%d/", features, nothing.ID), "/api/v1/features/get-by-uuid/"+nothing.UUID+"/")

	w.feature = apply(p, "POST", features, tfFeature{Project: w.project.ID, Name: "button", Type: "STANDARD", Description: new("The button"), InitialValue: new("blue"),
		DefaultEnabled: true, ServerKeyOnly: true, Owners: tfIDs{in.user}, Tags: tfIDs{w.tag.ID}}, adopt)
	p.keepFeature("button", w.feature)

	options := path("%s%d/mv-options/", features, w.feature.ID)
	for i, plan := range []tfOption{
		{Type: "unicode", String: new(""), Percentage: "25.5", Key: new("empty")},
		{Type: "int", Integer: new(int64(7)), Percentage: "10.25"},
	} {
		require.Equal(p, w.feature.ID, p.get("/api/v1/features/get-by-uuid/"+w.feature.UUID+"/").ID("id"), "the provider looks the feature up by its uuid")
		plan.Feature = w.feature.ID
		o := apply(p, "POST", options, plan, adoptOption)
		p.keepOption(o, w.feature.UUID)
		w.options[i] = o
	}
	w.feature.Type = "MULTIVARIATE" // since it has an option
	p.keepFeature("button", w.feature)
}

func adoptOption(plan *tfOption, got tfOption) { plan.ID, plan.UUID = got.ID, got.UUID }

func (p *provider) keepFeature(name string, want tfFeature) {
	p.Helper()
	keep(p, "feature "+name, want, func() tfFeature {
		got := decode[tfFeature](p.tool, p.get("/api/v1/features/get-by-uuid/"+want.UUID+"/"))
		p.get(path("/api/v1/projects/%d/", got.Project))
		return got
	})
}

// keepOption reads an option, and the feature whose uuid the configuration names.
func (p *provider) keepOption(want tfOption, feature string) {
	p.Helper()
	keep(p, "option "+want.UUID, want, func() tfOption {
		a := p.get("/api/v1/multivariate/options/get-by-uuid/" + want.UUID + "/")
		require.Equal(p, "MULTIVARIATE", p.get("/api/v1/features/get-by-uuid/"+feature+"/").Text("type"))
		require.Contains(p, string(a.Body), `"default_percentage_allocation":`+want.Percentage.String()+",", "a share stays the number that it was")
		return decode[tfOption](p.tool, a)
	})
}

// createStates sets the environment's own state, which is there already, and adds two segment overrides.
func createStates(p *provider, _ *installation, w *world) {
	w.featureAlone = path("/api/v1/environments/%s/featurestates/?feature=%d", w.environment.APIKey, w.feature.ID)
	own := p.ownState(w)
	require.Equal(p, tfValue{Type: "unicode", String: new("blue")}, own.Value)
	for _, value := range []tfValue{{Type: "int", Integer: new(int64(-7))}, {Type: "bool", Boolean: new(false)}, {Type: "unicode", String: new("")}} {
		w.state = p.setState(tfState{ID: own.ID, UUID: own.UUID, Feature: own.Feature, Environment: own.Environment, Enabled: value.Type != "int", Value: value})
		require.Equal(p, value, p.ownState(w).Value, "the list shows the value alone")
	}
	p.keepState("state", w.state)

	for i := range w.overrides {
		environment := p.get("/api/v1/environments/" + w.environment.APIKey + "/").ID("id")
		require.Equal(p, w.environment.ID, environment)
		link := apply(p, "POST", "/api/v1/features/feature-segments/", tfFeatureSegment{Feature: w.feature.ID, Segment: w.segments[i].ID, Environment: environment,
			Priority: int64(i)}, func(plan *tfFeatureSegment, got tfFeatureSegment) { plan.ID = got.ID })
		o := apply(p, "POST", "/api/v1/features/featurestates/", tfState{Feature: w.feature.ID, Environment: environment, FeatureSegment: &link.ID, Enabled: i == 0,
			Value: tfValue{Type: "int", Integer: new(int64(i))}}, func(plan *tfState, got tfState) { plan.ID, plan.UUID = got.ID, got.UUID })
		o.Segment, o.Priority = link.Segment, link.Priority
		p.keepState(path("override %d", i), o)
		w.overrides[i] = o
	}
	require.Equal(p, w.state.ID, p.ownState(w).ID)
}

// ownState finds the environment's own state: the only row of the list, and its value is a bare scalar there.
func (p *provider) ownState(w *world) tfState {
	p.Helper()
	page := decode[struct {
		Count   int
		Next    *string
		Results []struct {
			tfState
			Value any `json:"feature_state_value"`
		}
	}](p.tool, p.get(w.featureAlone))
	require.Equal(p, 1, page.Count)
	require.Nil(p, page.Next)
	require.Len(p, page.Results, 1)
	row := page.Results[0]
	require.Nil(p, row.FeatureSegment)
	switch v := row.Value.(type) {
	case string:
		row.tfState.Value = tfValue{Type: "unicode", String: &v}
	case bool:
		row.tfState.Value = tfValue{Type: "bool", Boolean: &v}
	case float64:
		row.tfState.Value = tfValue{Type: "int", Integer: new(int64(v))}
	default:
		require.Fail(p, "no scalar", "%v", v)
	}
	return row.tfState
}

// setState writes a state as the provider does. Of the value only the member of its type counts: the server keeps what
// the others were.
func (p *provider) setState(plan tfState) tfState {
	p.Helper()
	got := decode[tfState](p.tool, p.send("PUT", path("/api/v1/features/featurestates/%d/", plan.ID), plan, 200))
	got.Value, got.Segment, got.Priority = got.Value.typed(), plan.Segment, plan.Priority
	require.Equal(p, plan, got, "inconsistent result after apply")
	return got
}

// typed keeps the member that the type names.
func (v tfValue) typed() tfValue {
	switch v.Type {
	case "int":
		return tfValue{Type: v.Type, Integer: v.Integer}
	case "bool":
		return tfValue{Type: v.Type, Boolean: v.Boolean}
	}
	return tfValue{Type: v.Type, String: v.String}
}

// keepState reads a state, and of an override the segment and the priority.
func (p *provider) keepState(name string, want tfState) {
	p.Helper()
	keep(p, name, want, func() tfState {
		a := p.get("/api/v1/features/featurestates/get-by-uuid/" + want.UUID + "/")
		require.NotNil(p, a.Get("feature_state_value"), "the provider panics without a value")
		got := decode[tfState](p.tool, a)
		got.Value = got.Value.typed()
		if got.FeatureSegment != nil {
			link := decode[tfFeatureSegment](p.tool, p.get(path("/api/v1/features/feature-segments/%d/", *got.FeatureSegment)))
			got.Segment, got.Priority = link.Segment, link.Priority
		}
		return got
	})
}

func createIdentity(p *provider, _ *installation, w *world) {
	environment := "/api/v1/environments/" + w.environment.APIKey + "/"
	w.key = apply(p, "POST", environment+"api-keys/", tfServerKey{Active: true, Name: "backend"},
		func(plan *tfServerKey, got tfServerKey) { plan.ID, plan.Key = got.ID, got.Key })
	require.Regexp(p, "^ser[.]", w.key.Key)
	p.keepKey(w)

	w.identity = apply(p, "POST", environment+"identities/", tfIdentity{Identifier: "ann+tf@example.com"},
		func(plan *tfIdentity, got tfIdentity) { plan.ID = got.ID })
	keepAt(p, "identity", w.identity, path("%sidentities/%d/", environment, w.identity.ID))
	traits := path("%sidentities/%d/traits/", environment, w.identity.ID)
	for _, plan := range []tfTrait{
		{Key: "name", Type: "unicode", String: new("")}, {Key: "n", Type: "int", Integer: new(int64(-3))},
		{Key: "vip", Type: "bool", Boolean: new(false)}, {Key: "score", Type: "float", Float: new(json.Number("25.5"))},
	} {
		w.traits = append(w.traits, apply(p, "POST", traits, plan, func(plan *tfTrait, got tfTrait) { plan.ID = got.ID }))
	}
	p.keepTraits(w)
}

// keepKey reads the keys of the environment, a bare array.
func (p *provider) keepKey(w *world) {
	p.Helper()
	keep(p, "key", []tfServerKey{w.key}, func() []tfServerKey {
		return decode[[]tfServerKey](p.tool, p.get("/api/v1/environments/"+w.environment.APIKey+"/api-keys/"))
	})
}

// keepTraits reads the traits of the identity, which come in pages.
func (p *provider) keepTraits(w *world) {
	p.Helper()
	keep(p, "traits", w.traits, func() []tfTrait {
		return decode[struct{ Results []tfTrait }](p.tool, p.get(path("/api/v1/environments/%s/identities/%d/traits/", w.environment.APIKey, w.identity.ID))).Results
	})
}

// updateEverything changes each resource in place.
func updateEverything(p *provider, in *installation, w *world) {
	w.project.Name, w.project.HideDisabledFlags, w.project.FeatureNameRegex, w.project.StaleFlagsLimitDays = "Renamed", false, nil, 0
	w.project = apply(p, "PUT", path("/api/v1/projects/%d/", w.project.ID), w.project, nil)
	keepAt(p, "project", w.project, "/api/v1/projects/get-by-uuid/"+w.project.UUID+"/")

	w.environment.Description, w.environment.BannerText, w.environment.BannerColour = nil, new(""), new("#ff0000")
	w.environment.HideDisabledFlags, w.environment.AllowClientTraits = nil, true
	w.environment = apply(p, "PUT", "/api/v1/environments/"+w.environment.APIKey+"/", w.environment, nil)
	keepAt(p, "environment", w.environment, "/api/v1/environments/get-by-uuid/"+w.environment.UUID+"/")

	tags := path("/api/v1/projects/%d/tags/", w.project.ID)
	w.tag.Description, w.tag.Colour = nil, "#000000"
	w.tag = apply(p, "PUT", path("%s%d/", tags, w.tag.ID), w.tag, nil)
	keepAt(p, "tag", w.tag, tags+"get-by-uuid/"+w.tag.UUID+"/")

	s := w.segments[0]
	s.Description = new("")
	s.Rules = tfBlocks[tfRule]{{Type: "ANY", Rules: tfBlocks[tfRule]{{Type: "ALL", Conditions: tfBlocks[tfCondition]{{"REGEX", new("email"), new(".*@example[.]com")}}}}}}
	w.segments[0] = apply(p, "PUT", path("/api/v1/projects/%d/segments/%d/", w.project.ID, s.ID), s, nil)
	p.keepSegment(w.segments[0])

	w.updateFeature(p, in)

	w.state.Enabled, w.state.Value = false, tfValue{Type: "unicode", String: new("red")}
	w.state = p.setState(w.state)
	p.keepState("state", w.state)
	// The second override is moved before the first, which only hears of it.
	o := w.overrides[1]
	o.Enabled, o.Value, o.Priority = true, tfValue{Type: "bool", Boolean: new(true)}, 0
	w.overrides[1] = p.setState(o)
	w.overrides[0].Priority = 1
	p.send("POST", "/api/v1/features/feature-segments/update-priorities/", []object{{"id": o.FeatureSegment, "priority": o.Priority}}, 200)
	for i, o := range w.overrides {
		p.keepState(path("override %d", i), o)
	}

	w.key.Active, w.key.Name = false, "retired"
	w.key = apply(p, "PUT", path("/api/v1/environments/%s/api-keys/%d/", w.environment.APIKey, w.key.ID), w.key, nil)
	p.keepKey(w)
	last := &w.traits[len(w.traits)-1]
	last.Float = new(json.Number("-0.5"))
	p.send("PUT", path("/api/v1/environments/%s/identities/%d/traits/%d/", w.environment.APIKey, w.identity.ID, last.ID), last, 200)
	p.keepTraits(w)
}

// updateFeature changes the feature, then its owners: a PUT leaves them as they are.
func (w *world) updateFeature(p *provider, in *installation) {
	feature := path("/api/v1/projects/%d/features/%d/", w.project.ID, w.feature.ID)
	w.feature.Description, w.feature.IsArchived, w.feature.ServerKeyOnly, w.feature.Tags = new(""), true, false, nil
	sent := w.feature
	sent.Owners = nil
	got := decode[tfFeature](p.tool, p.send("PUT", feature, sent, 200))
	require.Equal(p, w.feature, got, "inconsistent result after apply")

	p.send("POST", feature+"remove-owners/", object{"user_ids": []int64{in.user}}, 200)
	p.send("POST", feature+"add-group-owners/", object{"group_ids": []int64{w.group}}, 200)
	w.feature.Owners, w.feature.GroupOwners = nil, tfIDs{w.group}
	p.keepFeature("button", w.feature)
	p.send("POST", feature+"add-owners/", object{"user_ids": []int64{in.user}}, 200)
	p.send("POST", feature+"remove-group-owners/", object{"group_ids": []int64{w.group}}, 200)
	w.feature.Owners, w.feature.GroupOwners = tfIDs{in.user}, nil
	p.keepFeature("button", w.feature)

	o := w.options[0]
	o.Type, o.String, o.Boolean, o.Percentage, o.Key = "bool", nil, new(true), "33.75", nil
	w.options[0] = apply(p, "PUT", path("%smv-options/%d/", feature, o.ID), o, nil)
	p.keepOption(w.options[0], w.feature.UUID)
}

// destroyEverything deletes what depends on others first.
func destroyEverything(p *provider, _ *installation, w *world) {
	environment, project := "/api/v1/environments/"+w.environment.APIKey+"/", path("/api/v1/projects/%d/", w.project.ID)
	identity := path("%sidentities/%d/", environment, w.identity.ID)
	for _, trait := range w.traits {
		one := path("%straits/%d/", identity, trait.ID)
		p.send("DELETE", one, nil, 204)
		p.refused("GET", one, nil, 404)
	}
	delete(p.state, "traits")
	p.destroy("identity", identity, identity)
	p.send("DELETE", path("%sapi-keys/%d/", environment, w.key.ID), nil, 204)
	require.Equal(p, "[]", string(p.get(environment+"api-keys/").Body))
	delete(p.state, "key")
	for i, o := range w.overrides {
		link := path("/api/v1/features/feature-segments/%d/", *o.FeatureSegment)
		p.destroy(path("override %d", i), link, link, "/api/v1/features/featurestates/get-by-uuid/"+o.UUID+"/")
	}
	require.Equal(p, w.state.ID, p.ownState(w).ID, "the state of the environment stays")

	feature := path("%sfeatures/%d/", project, w.feature.ID)
	for _, o := range w.options {
		p.destroy("option "+o.UUID, path("%smv-options/%d/", feature, o.ID), "/api/v1/multivariate/options/get-by-uuid/"+o.UUID+"/")
	}
	w.feature.Type = "STANDARD" // without options again
	p.keepFeature("button", w.feature)
	delete(p.state, "state") // nothing is sent: it goes with the feature
	p.destroy("feature button", feature, "/api/v1/features/get-by-uuid/"+w.feature.UUID+"/", "/api/v1/features/featurestates/get-by-uuid/"+w.state.UUID+"/")
	p.destroy("feature plain", path("%sfeatures/%d/", project, w.plain.ID), "/api/v1/features/get-by-uuid/"+w.plain.UUID+"/")
	for _, s := range w.segments {
		p.destroy("segment "+s.UUID, path("%ssegments/%d/", project, s.ID), "/api/v1/segments/get-by-uuid/"+s.UUID+"/")
	}
	p.destroy("tag", path("%stags/%d/", project, w.tag.ID), path("%stags/get-by-uuid/%s/", project, w.tag.UUID))
	p.destroy("environment", environment, "/api/v1/environments/get-by-uuid/"+w.environment.UUID+"/")
	p.destroy("project", project, "/api/v1/projects/get-by-uuid/"+w.project.UUID+"/")
}
