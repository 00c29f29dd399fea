package server_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/portable"
	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

const exportPath, importPath = "/api/flagraft/v1/export/", "/api/flagraft/v1/import/"

// furnished is a node with the demo project, and in it every kind of thing that an export holds.
func furnished(t *testing.T) (*servertest.Node, *servertest.Client) {
	t.Helper()
	n := servertest.Start(t, func(st *settings.Settings) { st.Demo = true })
	atLevel(t, n)
	c := n.Admin(t)
	var project fsm.Project
	var development fsm.Environment
	for e := range fsm.Environments.All(n.State()) {
		if e.Name == "Development" {
			development = e
			project, _ = fsm.Projects.Get(n.State(), e.Project)
		}
	}
	tag := c.Object("POST", fmt.Sprintf("/api/v1/projects/%d/tags/", project.ID), map[string]any{"label": "a <b> & c", "color": "#123456"}, 201)
	c.Object("POST", fmt.Sprintf("/api/v1/projects/%d/features/", project.ID), map[string]any{"name": "tagged", "initial_value": "7", "tags": []any{tag["id"]}}, 201)
	sdk := n.Client(t).With("X-Environment-Key", development.APIKey)
	for i := range 3 {
		sdk.Object("POST", "/api/v1/identities/", map[string]any{"identifier": fmt.Sprintf("who-%d ✓", i), "traits": []map[string]any{
			{"trait_key": "plan", "trait_value": "premium"}, {"trait_key": "n", "trait_value": i}, {"trait_key": "f", "trait_value": 1.5}, {"trait_key": "b", "trait_value": true}}}, 200)
	}
	edge := fmt.Sprintf("/api/v1/environments/%s/edge-identities/", development.APIKey)
	who := c.Object("GET", edge, nil, 200)["results"].([]any)[0].(map[string]any)["identity_uuid"]
	c.Object("POST", fmt.Sprintf("%s%v/edge-featurestates/", edge, who), map[string]any{"feature": "page_size", "enabled": false, "feature_state_value": 99}, 201)
	c.Object("PATCH", fmt.Sprintf("/api/v1/organisations/%d/", project.Organisation), map[string]any{"force_2fa": true, "webhook_notification_email": "ops@example.com"}, 200)
	custom(c, project.Organisation, project.ID)
	versioned(n, c, project.ID)
	return n, c
}

// custom makes custom fields of the organisation and of the project, alike by name, and fills them in.
func custom(c *servertest.Client, organisation, project uint64) {
	field := func(owner any, kind int, requiredBy ...map[string]any) any {
		f := c.Object("POST", "/api/v1/metadata/fields/", map[string]any{"name": "ticket", "type": "str", "description": "d", "organisation": organisation, "project": owner}, 201)
		return c.Object("POST", fmt.Sprintf("/api/v1/organisations/%d/metadata-model-fields/", organisation), map[string]any{"field": f["id"], "content_type": kind,
			"is_required_for": append([]map[string]any{}, requiredBy...)}, 201)["id"]
	}
	features := fmt.Sprintf("/api/v1/projects/%d/features/", project)
	byOrganisation, byProject := map[string]any{"content_type": 27, "object_id": organisation}, map[string]any{"content_type": 43, "object_id": project}
	all, own := field(nil, 55, byOrganisation, byProject), field(project, 89)
	c.Object("POST", features, map[string]any{"name": "with_ticket", "metadata": []map[string]any{{"model_field": all, "field_value": "T-1"}}}, 201)
	c.Object("POST", fmt.Sprintf("/api/v1/projects/%d/segments/", project), map[string]any{"name": "with ticket", "rules": []any{map[string]any{"type": "ALL", "rules": []any{}}},
		"metadata": []map[string]any{{"model_field": own, "field_value": "T-2"}}}, 201)
}

// versioned makes an environment with versions: of the feature page_size one that is past, one that is live, a scheduled one with an override, and a draft.
func versioned(n *servertest.Node, c *servertest.Client, project uint64) {
	e := c.Object("POST", "/api/v1/environments/", map[string]any{"name": "Versioned", "project": project}, 201)
	c.Do("POST", fmt.Sprintf("/api/v1/environments/%v/enable-v2-versioning/", e["api_key"]), nil)
	var feature, segment uint64
	for f := range fsm.FeaturesByProject.All(n.State(), project) {
		if f.Name == "page_size" {
			feature = f.ID
		}
	}
	for g := range fsm.SegmentsByProject.All(n.State(), project) {
		segment = g.ID
	}
	list := fmt.Sprintf("/api/v1/environments/%v/features/%d/versions/", e["id"], feature)
	create := func(value string) string {
		v := c.Object("POST", list, map[string]any{"segment_ids_to_delete_overrides": []any{}, "feature_states_to_create": []any{map[string]any{
			"feature_segment": map[string]any{"segment": segment}, "enabled": true, "feature_state_value": map[string]any{"type": "unicode", "string_value": value}}}}, 201)
		return fmt.Sprintf("%s%v/", list, v["uuid"])
	}
	c.Object("POST", list, map[string]any{"publish_immediately": true}, 201)
	c.Object("POST", create("scheduled")+"publish/", map[string]any{"live_from": "2199-01-01T00:00:00Z"}, 200)
	create("a draft")
}

// sameButWhen leaves out of an export what tells of its moment.
func sameButWhen(raw string) string {
	return regexp.MustCompile(`(?m)^  "(index|time)": .*$`).ReplaceAllString(raw, "")
}

// TestExportImportExport takes an export to an empty node: its own export is the same, and clients get the same flags.
func TestExportImportExport(t *testing.T) {
	source, c := furnished(t)
	const everything = exportPath + "?identities=true&secrets=true"
	exported := c.Do("GET", everything, nil)
	require.Equal(t, 200, exported.Status, exported.Raw)
	require.Contains(t, exported.Raw, "a <b> & c", "people read it")
	require.Contains(t, exported.Raw, `"force_2fa": true`)
	require.Contains(t, exported.Raw, `"webhook_notification_email": "ops@example.com"`)
	var d portable.Document
	require.NoError(t, json.Unmarshal([]byte(exported.Raw), &d))
	require.Len(t, d.Organisations, 1)
	p := d.Organisations[0].Projects[0]
	require.Len(t, p.Environments, 3)
	require.Len(t, p.CustomFields, 2)
	phases := map[string]int{}
	for _, v := range p.Environments[2].Versions {
		phases[v.Phase]++
		require.Equal(t, v.Phase == "live", v.Default == nil)
	}
	require.Equal(t, map[string]int{"live": len(p.Features), "scheduled": 1, "draft": 1}, phases)
	require.Len(t, p.Environments[0].Identities, 3)
	require.NotEmpty(t, p.Segments)
	require.NotEmpty(t, p.Environments[0].SegmentOverrides)
	require.NotEmpty(t, p.Environments[1].ServerKeys)

	target := servertest.Start(t, func(st *settings.Settings) { st.OrganisationName = "Other" })
	atLevel(t, target)
	to := target.Admin(t)
	imported := to.Do("POST", importPath, exported.Raw)
	require.Equal(t, 200, imported.Status, imported.Raw)
	require.Regexp(t, "^"+target.State().Genesis.Epoch+"-[1-9]", imported.Header.Get("Flagraft-Index"))
	var answer struct{ Projects []portable.Imported }
	require.NoError(t, json.Unmarshal([]byte(imported.Raw), &answer))
	made := answer.Projects[0]
	require.Equal(t, 3, made.Identities)
	again := to.Do("GET", everything+"&organisation="+fmt.Sprint(made.Organisation), nil)
	require.Equal(t, sameButWhen(exported.Raw), sameButWhen(again.Raw))

	for _, e := range p.Environments {
		for _, who := range []string{"", "who-0 ✓", "who-1 ✓"} {
			require.Equal(t, flagsOf(t, source, e.APIKey, who), flagsOf(t, target, e.APIKey, who), "%s %s", e.Name, who)
		}
	}
	twice := to.Do("POST", importPath, exported.Raw)
	require.Equal(t, 400, twice.Status)
	require.Contains(t, twice.Raw, `it has a project`)

	// Beside itself: names and keys that are taken.
	d.Organisations[0].Name = "A second one"
	raw, err := json.Marshal(d)
	require.NoError(t, err)
	second := to.Object("POST", importPath, string(raw), 200)["projects"].([]any)[0].(map[string]any)
	for _, e := range second["environments"].([]any) {
		require.Equal(t, true, e.(map[string]any)["new_key"])
	}
}

// flagsOf are the names and values an environment serves to an identity, or without one.
func flagsOf(t *testing.T, n *servertest.Node, key, who string) map[string]string {
	t.Helper()
	c := n.Client(t).With("X-Environment-Key", key)
	var list []any
	if who == "" {
		list = c.List("GET", "/api/v1/flags/", nil, 200)
	} else {
		list = c.Object("POST", "/api/v1/identities/", map[string]any{"identifier": who, "traits": []any{}}, 200)["flags"].([]any)
	}
	out := map[string]string{}
	for _, f := range list {
		f := f.(map[string]any)
		out[f["feature"].(map[string]any)["name"].(string)] = fmt.Sprint(f["enabled"], f["feature_state_value"])
	}
	return out
}

// TestExportWithoutSecrets holds neither server keys nor identities unless they are asked for.
func TestExportWithoutSecrets(t *testing.T) {
	_, c := furnished(t)
	raw := c.Do("GET", exportPath, nil).Raw
	require.NotContains(t, raw, "ser.")
	require.NotContains(t, raw, "who-")
	require.Equal(t, 404, c.Do("GET", exportPath+"?organisation=99", nil).Status)
	require.Equal(t, 400, c.Do("GET", exportPath+"?organisation=x", nil).Status)
}

// TestExportOfThen goes back in the change log.
func TestExportOfThen(t *testing.T) {
	n, c := furnished(t)
	before := c.Do("GET", exportPath, nil).Raw
	var d portable.Document
	require.NoError(t, json.Unmarshal([]byte(before), &d))
	then := n.State().Time.Std().Format(time.RFC3339Nano)
	environment := d.Organisations[0].Projects[0].Environments[0]
	c.Do("DELETE", fmt.Sprintf("/api/v1/environments/%s/", environment.APIKey), nil)
	var feature fsm.Feature
	for feature = range fsm.Features.All(n.State()) {
		break
	}
	require.Equal(t, 204, c.Do("DELETE", fmt.Sprintf("/api/v1/projects/%d/features/%d/", feature.Project, feature.ID), nil).Status)
	now := c.Do("GET", exportPath, nil).Raw
	require.NotContains(t, now, environment.APIKey)
	require.Equal(t, sameButWhen(before), sameButWhen(c.Do("GET", exportPath+"?as_of="+then, nil).Raw))
	require.Equal(t, sameButWhen(before), sameButWhen(c.Do("GET", exportPath+fmt.Sprintf("?index=%d", d.Index), nil).Raw))
	ahead := time.Now().Add(10 * time.Second).UTC().Format(time.RFC3339) // by a clock that is a little ahead
	require.Equal(t, sameButWhen(now), sameButWhen(c.Do("GET", exportPath+"?as_of="+ahead, nil).Raw))
	require.Equal(t, 400, c.Do("GET", exportPath+"?as_of=2199-01-01T00:00:00Z", nil).Status)
	require.Equal(t, 400, c.Do("GET", exportPath+"?index=1000000", nil).Status)
	for _, early := range []string{"?as_of=2001-01-01T00:00:00Z", "?index=0"} { // an export of nothing would look like one
		a := c.Do("GET", exportPath+early, nil)
		require.Equal(t, 400, a.Status, a.Raw)
		require.Contains(t, a.Raw, "does not reach back that far")
	}
	require.Equal(t, 400, c.Do("GET", exportPath+"?identities=true&index=3", nil).Status)
	require.Equal(t, 400, c.Do("GET", exportPath+"?as_of=yesterday", nil).Status)
}

// TestImportRefusesWholly refuses what cannot be imported and leaves nothing of it.
func TestImportRefusesWholly(t *testing.T) {
	_, c := furnished(t)
	good := c.Do("GET", exportPath+"?identities=true", nil).Raw
	n := servertest.Start(t)
	atLevel(t, n)
	to := n.Admin(t)
	for name, change := range map[string][2]string{
		"another format":   {`"format": "flagraft-export"`, `"format": "other"`},
		"a typing error":   {`"is_archived"`, `"is_archivd"`},
		"no such feature":  {`"feature": "banner_text"`, `"feature": "banner"`},
		"unknown operator": {`"operator": "EQUAL"`, `"operator": "ALMOST"`},
		"unknown type":     {`"type": "int"`, `"type": "number"`},
		"null character":   {`"a <b> & c"`, `"a\u0000"`},
		"bad share":        {`"percentage_allocation": 25`, `"percentage_allocation": 90`},
		"half a pair":      {`"a <b> & c"`, `"a\ud83d"`},
		"not UTF-8":        {`"a <b> & c"`, "\"a\xe9\""},
		"cut":              {`}`, ``},
		"no such field":    {`"field": 1,`, `"field": 2,`},
		"type of a field":  {`"type": "str"`, `"type": "text"`},
		"phase":            {`"phase": "draft"`, `"phase": "done"`},
		"second live one":  {`"phase": "draft"`, `"phase": "live"`},
		"never live":       {`"live_from": "2199-01-01T00:00:00Z",`, ``},
		"no versions":      {`"use_v2_feature_versioning": true`, `"use_v2_feature_versioning": false`},
	} {
		bad := strings.ReplaceAll(good, change[0], change[1])
		require.NotEqual(t, good, bad, name)
		a := to.Do("POST", importPath, bad)
		require.Equal(t, 400, a.Status, "%s: %s", name, a.Raw)
	}
	require.True(t, n.State().Empty())
	require.Empty(t, n.State().Identities().Environments())
	large := to.Do("POST", importPath, strings.Repeat(" ", 17<<20))
	require.Equal(t, 413, large.Status)
	require.Contains(t, large.Raw, "at most 16777216 bytes")

	// Identities that are refused late take the project with them.
	long := `"traits": {"big": "` + strings.Repeat("x", 70_000) + `", `
	a := to.Do("POST", importPath, strings.ReplaceAll(good, `"traits": {`, long))
	require.Equal(t, 400, a.Status, a.Raw)
	require.True(t, n.State().Empty())
	require.Empty(t, n.State().Identities().Environments())
}

// TestImportedEnvironmentsKeepTheirIDs: what is made after an import, and an import that is repeated, leave it alone.
func TestImportedEnvironmentsKeepTheirIDs(t *testing.T) {
	_, c := furnished(t)
	raw := c.Do("GET", exportPath+"?identities=true", nil).Raw
	n := servertest.Start(t)
	atLevel(t, n)
	to := n.Admin(t)
	made := to.Object("POST", importPath, raw, 200)["projects"].([]any)[0].(map[string]any)
	identities := func() (count int) {
		for _, e := range n.State().Identities().Environments() {
			count += n.State().Identities().Environment(e).Count()
		}
		return count
	}
	environments := func() (keys []string) {
		for e := range fsm.Environments.All(n.State()) {
			keys = append(keys, fmt.Sprint(e.ID, e.APIKey))
		}
		return keys
	}
	before := environments()
	require.Len(t, before, 3)
	require.Equal(t, 3, identities())

	require.Equal(t, 400, to.Do("POST", importPath, raw).Status, "the project is there")
	require.Equal(t, 3, identities(), "a repeated import takes no identities away")

	to.Object("POST", "/api/v1/environments/", map[string]any{"name": "new", "project": made["project"]}, 201)
	require.Subset(t, environments(), before)
	to.Object("POST", importPath, strings.ReplaceAll(raw, `"name": "Demo"`, `"name": "Second"`), 200)
	require.Subset(t, environments(), before)
	require.Len(t, environments(), 7)
}

// Organisations of one name stay apart in an import, also when it is repeated: the members of one are not shown the projects of the other.
func TestOrganisationsOfOneNameAreImportedApart(t *testing.T) {
	from := servertest.Start(t).Admin(t)
	for range 2 {
		org := from.Object("POST", "/api/v1/organisations/", map[string]any{"name": "Acme"}, 201)["id"]
		from.Object("POST", "/api/v1/projects/", map[string]any{"name": "web", "organisation": org}, 201)
	}
	raw := from.Do("GET", exportPath, nil).Raw
	n := servertest.Start(t)
	to := n.Admin(t)
	made := to.Object("POST", importPath, raw, 200)["projects"].([]any)
	require.Len(t, made, 2)
	require.NotEqual(t, made[0].(map[string]any)["organisation"], made[1].(map[string]any)["organisation"])
	to.Object("POST", importPath, strings.ReplaceAll(raw, `"name": "web"`, `"name": "app"`), 200)
	projects := map[string]int{}
	for o := range fsm.Organisations.All(n.State()) {
		for range fsm.ProjectsByOrganisation.All(n.State(), o.ID) {
			projects[fmt.Sprint(o.Name, o.ID)]++
		}
	}
	require.Len(t, projects, 2, "%v", projects)
}

// TestImportRefusesWhatIsThereTwice and would be two rows where the admin API has one.
func TestImportRefusesWhatIsThereTwice(t *testing.T) {
	t.Parallel()
	document := func(change func(e *portable.Environment)) string {
		v := portable.Value{Type: "unicode"}
		e := portable.Environment{Name: "E", APIKey: "key", States: []portable.State{{Feature: "f", Value: v}, {Feature: "g", Value: v,
			Variants: []portable.Variant{{Option: 1, Percentage: 10}}}},
			Identities: []portable.Identity{{Identifier: "who", Overrides: []portable.State{{Feature: "f", Value: v}}}}}
		change(&e)
		raw, err := json.Marshal(portable.Document{Format: portable.Format, Version: portable.Version, Identities: true, Organisations: []portable.Organisation{{Name: "O",
			Projects: []portable.Project{{Name: "P", Environments: []portable.Environment{e}, Features: []portable.Feature{
				{Name: "f", Type: "STANDARD"}, {Name: "g", Type: "MULTIVARIATE", Options: []portable.Option{{Number: 1, Value: v}}}}}}}}})
		require.NoError(t, err)
		return string(raw)
	}
	n := servertest.Start(t)
	atLevel(t, n)
	c := n.Admin(t)
	for want, change := range map[string]func(e *portable.Environment){
		`environment \"E\": feature \"f\" has two states in one place`: func(e *portable.Environment) { e.States = append(e.States, e.States[0]) },
		`identity \"who\": feature \"f\" has two states in one place`: func(e *portable.Environment) {
			e.Identities[0].Overrides = append(e.Identities[0].Overrides, e.Identities[0].Overrides[0])
		},
		`a state of feature \"g\" has two parts for option 1`: func(e *portable.Environment) {
			e.States[1].Variants = append(e.States[1].Variants, e.States[1].Variants[0])
		},
	} {
		a := c.Do("POST", importPath, document(change))
		require.Equal(t, 400, a.Status, a.Raw)
		require.Contains(t, a.Raw, want)
	}
	require.True(t, n.State().Empty())
	require.Equal(t, 200, c.Do("POST", importPath, document(func(*portable.Environment) {})).Status)
}

// TestImportRefusesWhatTheAdminAPIDoes and would leave an environment that no client reaches, or a project whose export cannot be imported.
func TestImportRefusesWhatTheAdminAPIDoes(t *testing.T) {
	t.Parallel()
	key, control, regex := "a", "control", "("
	document := func(change func(p *portable.Project)) string {
		v := portable.Value{Type: "unicode"}
		p := portable.Project{Name: "P", Environments: []portable.Environment{{Name: "E", APIKey: "key"}}, Features: []portable.Feature{
			{Name: "f", Type: "MULTIVARIATE", Options: []portable.Option{{Number: 1, Value: v, Percentage: 60, Key: &key}, {Number: 2, Value: v, Percentage: 40}}}}}
		change(&p)
		raw, err := json.Marshal(portable.Document{Format: portable.Format, Version: portable.Version,
			Organisations: []portable.Organisation{{Name: "O", Projects: []portable.Project{p}}}})
		require.NoError(t, err)
		return string(raw)
	}
	n := servertest.Start(t)
	atLevel(t, n)
	c := n.Admin(t)
	refuses := func(want string, change func(p *portable.Project)) {
		a := c.Do("POST", importPath, document(change))
		require.Equal(t, 400, a.Status, a.Raw)
		require.Contains(t, a.Raw, want)
	}
	refuses(`the options of feature \"f\" add up to 120 percent`, func(p *portable.Project) { p.Features[0].Options[1].Percentage = 60 })
	refuses("reserved or another option's", func(p *portable.Project) { p.Features[0].Options[1].Key = &key })
	refuses("reserved or another option's", func(p *portable.Project) { p.Features[0].Options[1].Key = &control })
	refuses("feature_name_regex", func(p *portable.Project) { p.FeatureNameRegex = &regex })
	for _, bad := range []string{" key", "key\n", "clé", "a/b", "..", "permissions", "ser.key", ""} {
		refuses("its api_key", func(p *portable.Project) { p.Environments[0].APIKey = bad })
	}
	require.True(t, n.State().Empty())
	require.Equal(t, 200, c.Do("POST", importPath, document(func(*portable.Project) {})).Status)
}

// TestImportKeepsToLimits refuses projects beyond the limits that are set, of the installation and of the organisation.
func TestImportKeepsToLimits(t *testing.T) {
	t.Parallel()
	source, c := furnished(t)
	for e := range fsm.Environments.All(source.State()) {
		if e.UseV2FeatureVersioning {
			continue
		}
		condition := map[string]any{"operator": "EQUAL", "property": "plan", "value": "gold"}
		segment := c.Object("POST", fmt.Sprintf("/api/v1/projects/%d/segments/", e.Project), map[string]any{"name": "gold " + e.Name, "rules": []map[string]any{
			{"type": "ALL", "rules": []map[string]any{{"type": "ANY", "conditions": []any{condition, condition}}}}}}, 201)
		for f := range fsm.FeaturesByProject.All(source.State(), e.Project) {
			c.Object("POST", fmt.Sprintf("/api/v1/environments/%s/features/%d/create-segment-override/", e.APIKey, f.ID), map[string]any{
				"feature_segment": map[string]any{"segment": segment["id"]}, "enabled": true, "feature_state_value": map[string]any{"type": "unicode", "string_value": "x"}}, 201)
			break
		}
	}
	raw := c.Do("GET", exportPath, nil).Raw
	for want, set := range map[string]func(*settings.Settings){
		"features, which exceeds the maximum of 1":                   func(st *settings.Settings) { st.MaxFeatures = 1 },
		"segments, which exceeds the maximum of 1":                   func(st *settings.Settings) { st.MaxSegments = 1 },
		`segment overrides in environment \"Development\", which ex`: func(st *settings.Settings) { st.MaxSegmentOverrides = 1 },
		"characters in a value of feature":                           func(st *settings.Settings) { st.FeatureValueLimit = 1 },
		"conditions in segment":                                      func(st *settings.Settings) { st.SegmentConditions = 1 },
	} {
		n := servertest.Start(t, set)
		a := n.Admin(t).Do("POST", importPath, raw)
		require.Equal(t, 400, a.Status, want)
		require.Contains(t, a.Raw, want)
		require.True(t, n.State().Empty(), want)
	}

	n := servertest.Start(t)
	atLevel(t, n)
	to := n.Admin(t)
	organisation := to.Object("POST", importPath, raw, 200)["projects"].([]any)[0].(map[string]any)["organisation"]
	to.Object("PATCH", fmt.Sprintf("/api/flagraft/v1/organisations/%v/", organisation), map[string]any{"max_projects": 1}, 200)
	var d portable.Document
	require.NoError(t, json.Unmarshal([]byte(raw), &d))
	d.Organisations[0].Projects[0].Name = "A second one"
	second, err := json.Marshal(d)
	require.NoError(t, err)
	a := to.Do("POST", importPath, string(second))
	require.Equal(t, 400, a.Status)
	require.Contains(t, a.Raw, "it has the maximum allowed number of projects")
}

// What the API lets be can be taken elsewhere.
func TestEveryExportCanBeImported(t *testing.T) {
	for name, prepare := range map[string]func(c *servertest.Client, key string, project any){
		"two environments of one name": func(c *servertest.Client, key string, _ any) {
			c.Object("POST", "/api/v1/environments/"+key+"/clone/", map[string]any{"name": "Env"}, 200)
		},
		"a default state that was deleted": func(c *servertest.Client, key string, project any) {
			c.Object("POST", fmt.Sprintf("/api/v1/projects/%v/features/", project), map[string]any{"name": "f"}, 201)
			s := c.Object("GET", "/api/v1/environments/"+key+"/featurestates/", nil, 200)["results"].([]any)[0].(map[string]any)
			require.Equal(t, 204, c.Do("DELETE", fmt.Sprintf("/api/v1/environments/%s/featurestates/%v/", key, s["id"]), nil).Status)
		},
		"a draft of a feature without default state": func(c *servertest.Client, key string, project any) {
			f := c.Object("POST", fmt.Sprintf("/api/v1/projects/%v/features/", project), map[string]any{"name": "f"}, 201)
			s := c.Object("GET", "/api/v1/environments/"+key+"/featurestates/", nil, 200)["results"].([]any)[0].(map[string]any)
			require.Equal(t, 204, c.Do("DELETE", fmt.Sprintf("/api/v1/environments/%s/featurestates/%v/", key, s["id"]), nil).Status)
			require.Equal(t, 202, c.Do("POST", "/api/v1/environments/"+key+"/enable-v2-versioning/", nil).Status)
			e := c.Object("GET", "/api/v1/environments/"+key+"/", nil, 200)
			c.Object("POST", fmt.Sprintf("/api/v1/environments/%v/features/%v/versions/", e["id"], f["id"]), map[string]any{}, 201)
		},
		"segment overrides that the API lets be twice, or of a feature that the segment is not for any more": func(c *servertest.Client, key string, project any) {
			features := fmt.Sprintf("/api/v1/projects/%v/features/", project)
			f, g := c.Object("POST", features, map[string]any{"name": "f"}, 201), c.Object("POST", features, map[string]any{"name": "g"}, 201)
			rules := []any{map[string]any{"type": "ALL", "rules": []any{}}}
			segments := fmt.Sprintf("/api/v1/projects/%v/segments/", project)
			s := c.Object("POST", segments, map[string]any{"name": "s", "rules": rules}, 201)
			for range 2 {
				c.Object("POST", fmt.Sprintf("/api/v1/environments/%s/features/%v/create-segment-override/", key, f["id"]), map[string]any{
					"feature_segment": map[string]any{"segment": s["id"]}, "enabled": true, "feature_state_value": map[string]any{"type": "unicode", "string_value": "x"}}, 201)
			}
			c.Object("PATCH", fmt.Sprintf("%s%v/", segments, s["id"]), map[string]any{"feature": g["id"]}, 200)
		},
		"long texts of identities": func(c *servertest.Client, key string, _ any) {
			c.With("X-Environment-Key", key).Object("POST", "/api/v1/identities/", map[string]any{"identifier": strings.Repeat("é", 1100), "traits": []map[string]any{
				{"trait_key": strings.Repeat("é", 150), "trait_value": "x"}}}, 200)
		},
	} {
		t.Run(name, func(t *testing.T) {
			start := func() *servertest.Client {
				n := servertest.Start(t, func(*settings.Settings) {})
				atLevel(t, n)
				return n.Admin(t)
			}
			c := start()
			o := c.Object("POST", "/api/v1/organisations/", map[string]any{"name": "Org"}, 201)
			p := c.Object("POST", "/api/v1/projects/", map[string]any{"name": "P", "organisation": o["id"]}, 201)
			e := c.Object("POST", "/api/v1/environments/", map[string]any{"name": "Env", "project": p["id"]}, 201)
			prepare(c, e["api_key"].(string), p["id"])
			exported := c.Do("GET", exportPath+fmt.Sprintf("?identities=true&organisation=%v", o["id"]), nil)
			require.Equal(t, 200, exported.Status)
			other := start()
			made := other.Do("POST", importPath, json.RawMessage(exported.Raw))
			require.Equal(t, 200, made.Status, made.Raw)
			var done struct{ Projects []portable.Imported }
			require.NoError(t, json.Unmarshal([]byte(made.Raw), &done))
			again := other.Do("GET", exportPath+fmt.Sprintf("?identities=true&organisation=%d", done.Projects[0].Organisation), nil)
			require.Equal(t, sameButWhen(exported.Raw), sameButWhen(again.Raw))
		})
	}
}
