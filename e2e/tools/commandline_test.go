package tools

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/nodes"
)

// cli plays the command line: what it finds out on its way is kept for the next commands.
type cli struct {
	*tool
	in           *installation
	project      int64
	environment  cliItem
	feature      int64
	flag         string // path of the flag in the environment
	options      []int64
	segments     [2]int64
	organisation int64
}

// TestCommandLine plays the command line written in Go: signing in as an account, and then every command, once as that
// account and once with a master key.
func TestCommandLine(t *testing.T) {
	in, ctx := install(t, "--max-features", featureLimit)
	t.Run("version", func(t *testing.T) { versionIsNewEnough(in.tool(t, ctx, "")) })
	bearer := ""
	t.Run("login", func(t *testing.T) { bearer = signIn(in.tool(t, ctx, ""), in.tool(t, ctx, "Token "+in.token)) })
	for _, as := range []struct{ name, authorization string }{{"as an account", "Bearer " + bearer}, {"with a master key", "Api-Key " + in.master}} {
		t.Run(as.name, func(t *testing.T) {
			x := in.tool(t, ctx, as.authorization)
			x.client = x.client.With("User-Agent", "flagsmith-cli/2.0.0")
			c := &cli{tool: x, in: in}
			for _, command := range []struct {
				name string
				run  func(*cli)
			}{
				{"status", (*cli).status}, {"organisations", (*cli).organisations}, {"projects", (*cli).projects}, {"environments", (*cli).environments},
				{"features", (*cli).features}, {"segments", (*cli).segmentCommands}, {"flag update", (*cli).updateFlag},
				{"flag reorder and delete", (*cli).reorderFlag}, {"flag errors", (*cli).flagErrors},
				{"identity overrides", (*cli).identityOverrides}, {"edge identity overrides", (*cli).edgeOverrides},
				{"evaluate", (*cli).evaluate}, {"pages", (*cli).pages}, {"missing objects", (*cli).missing}, {"limits", (*cli).limits}, {"clean up", (*cli).cleanUp},
			} {
				if !t.Run(command.name, func(t *testing.T) { c.tool = x.in(t); command.run(c) }) {
					return
				}
			}
		})
	}
	t.Run("logout", func(t *testing.T) { signOut(in.tool(t, ctx, ""), in.tool(t, ctx, "Token "+in.token)) })
}

// versionIsNewEnough: writes need 2.263.0.
func versionIsNewEnough(x *tool) {
	version := x.get("/version/").Text("image_tag")
	var major, minor, patch int
	n, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch)
	require.NoError(x, err, version)
	require.Equal(x, 3, n)
	require.True(x, major > 2 || major == 2 && minor >= 263, version)
}

const commandLine = "flagsmith-cli"

// signIn gets tokens, uses them, renews them and returns an access token. A refused consent gets none.
func signIn(x, account *tool) string {
	denied := newLogin(x, commandLine, "admin-api").browse(account, false)
	require.Equal(x, "access_denied", denied.Get("error"))
	require.Empty(x, denied.Get("code"))

	l := newLogin(x, commandLine, "admin-api")
	first := l.tokens(l.redeem(l.browse(account, true).Get("code"), 200))
	me := &tool{x.T, x.ctx, x.client.With("Authorization", "Bearer "+first.Access)}
	require.Equal(x, nodes.Email, me.get("/api/v1/auth/users/me/").Text("email"))
	second := l.tokens(l.refresh(first.Refresh, 200))
	require.NotEqual(x, first.Refresh, second.Refresh, "refresh tokens rotate")
	require.NotEqual(x, first.Access, second.Access)
	l.tokens(l.refresh(first.Refresh, 200)) // the answer may have been lost
	return second.Access
}

// signOut gets tokens and revokes the refresh token: the access token ends with it.
func signOut(x, account *tool) {
	l := newLogin(x, commandLine, "admin-api")
	got := l.tokens(l.redeem(l.browse(account, true).Get("code"), 200))
	me := &tool{x.T, x.ctx, x.client.With("Authorization", "Bearer "+got.Access)}
	me.get("/api/v1/auth/users/me/")
	l.revoke(got.Refresh)
	me.refused("GET", "/api/v1/auth/users/me/", nil, 401)
	require.Equal(x, "invalid_grant", l.refresh(got.Refresh, 400).Text("error"))
	wrong := newLogin(x, commandLine, "admin-api")
	code := wrong.browse(account, true).Get("code")
	wrong.verifier = random(32)
	require.Equal(x, "invalid_grant", wrong.redeem(code, 400).Text("error"), "another program's code is of no use")
}

// status says who is signed in: an account by its address, a master key by the organisation that is all it sees.
func (c *cli) status() {
	if c.account() {
		require.Equal(c, nodes.Email, c.get("/api/v1/auth/users/me/").Text("email"))
		return
	}
	c.refused("GET", "/api/v1/auth/users/me/", nil, 401)
	require.Equal(c, []int64{c.in.organisation}, ids(all[cliItem](c.tool, "/api/v1/organisations/?page_size=999")))
}

func (c *cli) account() bool {
	return strings.HasPrefix(c.client.Header.Get("Authorization"), "Bearer ")
}

func (c *cli) organisations() {
	for _, o := range all[cliItem](c.tool, "/api/v1/organisations/?page_size=999") {
		if o.ID == c.in.organisation {
			c.organisation = o.ID
			require.Equal(c, "Acme", o.Name)
		}
	}
	require.NotZero(c, c.organisation)
	one := path("/api/v1/organisations/%d/", c.organisation)
	require.Equal(c, "Acme", c.get(one).Text("name"))
	c.send("PATCH", one, object{"name": "Acme"}, 200)
	limits := decode[struct {
		Projects *int `json:"max_projects"`
	}](c.tool, c.get(one+"get-subscription-metadata/"))
	require.Nil(c, limits.Projects, "there is no plan that could limit projects")
}

func (c *cli) projects() {
	made := c.send("POST", "/api/v1/projects/", object{"name": c.Name(), "organisation": c.organisation}, 201)
	c.project = made.ID("id")
	require.Equal(c, c.organisation, made.ID("organisation"))
	require.Equal(c, false, made.Get("use_edge_identities"), "overrides are on the core paths")
	require.Contains(c, ids(all[cliItem](c.tool, path("/api/v1/projects/?organisation=%d&page_size=999", c.organisation))), c.project)
	require.Contains(c, ids(all[cliItem](c.tool, "/api/v1/projects/?page_size=999")), c.project)
	one := path("/api/v1/projects/%d/", c.project)
	c.send("PATCH", one, object{"hide_disabled_flags": true}, 200)
	require.Equal(c, true, c.get(one).Get("hide_disabled_flags"))
	c.send("PATCH", one, object{"hide_disabled_flags": false}, 200)
}

func ids(items []cliItem) (out []int64) {
	for _, i := range items {
		out = append(out, i.ID)
	}
	return out
}

func (c *cli) environments() {
	c.environment = decode[cliItem](c.tool, c.send("POST", "/api/v1/environments/", object{"name": "Production", "project": c.project}, 201))
	one := "/api/v1/environments/" + c.environment.APIKey + "/"
	c.send("PATCH", one, object{"description": "live"}, 200)
	require.Equal(c, "live", c.get(one).Text("description"))
	clone := decode[cliItem](c.tool, c.send("POST", one+"clone/", object{"name": "Copy"}, 200))
	listed := all[cliItem](c.tool, path("/api/v1/environments/?project=%d&page_size=999", c.project))
	require.Equal(c, []cliItem{c.environment, clone}, listed)
	c.send("DELETE", "/api/v1/environments/"+clone.APIKey+"/", nil, 204)

	keys := one + "api-keys/"
	key := c.send("POST", keys, object{"name": "ci"}, 201)
	require.Regexp(c, "^ser[.]", key.Text("key"))
	require.Equal(c, []int64{key.ID("id")}, ids(all[cliItem](c.tool, keys+"?page_size=999")))
	c.send("DELETE", path("%s%d/", keys, key.ID("id")), nil, 204)
	require.Empty(c, all[cliItem](c.tool, keys+"?page_size=999"))
}

func (c *cli) features() {
	features := path("/api/v1/projects/%d/features/", c.project)
	made := c.send("POST", features, object{"name": "banner", "description": "The banner", "initial_value": "plain", "default_enabled": true, "multivariate_options": []object{
		{"type": "unicode", "string_value": "loud", "default_percentage_allocation": 25.5, "key": "loud"}}}, 201)
	c.feature = made.ID("id")
	c.flag = path("/api/__future__/environments/%s/features/%d/", c.environment.APIKey, c.feature)
	require.Equal(c, "MULTIVARIATE", made.Text("type"))
	one := path("%s%d/", features, c.feature)
	c.send("PATCH", one, object{"description": "Changed"}, 200)
	require.Equal(c, "Changed", c.get(one).Text("description"))

	options := one + "mv-options/"
	second := c.send("POST", options, object{"type": "int", "integer_value": 7, "default_percentage_allocation": 10, "feature": c.feature}, 201).ID("id")
	third := c.send("POST", options, object{"type": "bool", "boolean_value": false, "default_percentage_allocation": 5, "feature": c.feature}, 201).ID("id")
	c.send("PATCH", path("%s%d/", options, second), object{"integer_value": 8, "feature": c.feature}, 200)
	c.send("DELETE", path("%s%d/", options, third), nil, 204)
	shown := decode[struct {
		Options []struct {
			ID int64
		} `json:"multivariate_options"`
	}](c.tool, c.get(one))
	require.Len(c, shown.Options, 2)
	require.Equal(c, second, shown.Options[1].ID)
	c.options = []int64{shown.Options[0].ID, second}

	type listed struct {
		ID    int64
		State *struct {
			Enabled bool
			Value   any `json:"feature_state_value"`
		} `json:"environment_feature_state"`
	}
	list := all[listed](c.tool, path("%s?environment=%d&page_size=999", features, c.environment.ID))
	require.Len(c, list, 1)
	require.True(c, list[0].State.Enabled)
	require.Equal(c, "plain", list[0].State.Value)
	require.Len(c, all[listed](c.tool, path("%s?environment=%d&search=bann&page_size=999", features, c.environment.ID)), 1)
	require.Empty(c, all[listed](c.tool, features+"?search=nothing&page_size=999"))
	c.send("PATCH", one, object{"is_archived": true}, 200)
	require.Empty(c, all[listed](c.tool, features+"?is_archived=false&page_size=999"))
	c.send("PATCH", one, object{"is_archived": false}, 200)
}

func (c *cli) segmentCommands() {
	segments := path("/api/v1/projects/%d/segments/", c.project)
	rules := func(value any) []object {
		return []object{{"type": "ALL", "conditions": []object{{"operator": "PERCENTAGE_SPLIT", "value": "25.5"}}, // property is left out
			"rules": []object{{"type": "ANY", "conditions": []object{{"property": "plan", "operator": "IN", "value": value}, {"property": "vip", "operator": "IS_SET", "value": nil}}}}}}
	}
	for i, name := range []string{"gold", "silver"} {
		c.segments[i] = c.send("POST", segments, object{"name": name, "project": c.project, "rules": rules(`["gold","silver"]`)}, 201).ID("id")
	}
	own := c.send("POST", segments, object{"name": "own", "project": c.project, "feature": c.feature, "rules": rules("gold")}, 201).ID("id")
	require.Equal(c, c.segments[:], ids(all[cliItem](c.tool, segments+"?include_feature_specific=false&page_size=999")))
	require.Equal(c, []int64{c.segments[0], c.segments[1], own}, ids(all[cliItem](c.tool, segments+"?include_feature_specific=true&page_size=999")))
	one := path("%s%d/", segments, c.segments[0])
	c.send("PUT", one, object{"name": "gold", "project": c.project, "description": "few", "rules": rules("gold")}, 200)
	got := decode[struct {
		Description string
		Rules       []struct {
			Conditions []struct{ Property, Value *string }
			Rules      []struct {
				Conditions []struct{ Property, Value *string }
			}
		}
	}](c.tool, c.get(one))
	require.Equal(c, "few", got.Description)
	require.Nil(c, got.Rules[0].Conditions[0].Property)
	require.Equal(c, "25.5", *got.Rules[0].Conditions[0].Value)
	require.Equal(c, "gold", *got.Rules[0].Rules[0].Conditions[0].Value)
	c.send("DELETE", path("%s%d/", segments, own), nil, 204)
}

// change sends a partial change; the answer is the whole state, which a GET then shows too.
func (c *cli) change(method string, in cliChange) cliFlag {
	c.Helper()
	a := c.send(method, c.flag, in, 200)
	require.JSONEq(c, string(c.get(c.flag).Body), string(a.Body))
	return decode[cliFlag](c.tool, a)
}

func (c *cli) variants(weights ...json.Number) (out []cliVariant) {
	for i, w := range weights {
		out = append(out, cliVariant{c.options[i], w})
	}
	return out
}

func (c *cli) updateFlag() {
	want := cliFlag{Default: cliState{true, &cliValue{"string", "plain"}, c.variants("25.5", "10.0")}, Overrides: []cliOverride{}}
	require.Equal(c, want, decode[cliFlag](c.tool, c.get(c.flag)))

	want.Default.Enabled = false
	require.Equal(c, want, c.change("PATCH", cliChange{Default: &cliStateChange{Enabled: new(false)}}))
	for _, value := range []cliValue{{"integer", "-5"}, {"boolean", "true"}, {"string", ""}, {"string", "007"}} {
		want.Default.Value = &value
		require.Equal(c, want, c.change("PATCH", cliChange{Default: &cliStateChange{Value: &value}}))
	}
	want.Default.Variants = c.variants("60.5", "0.0")
	require.Equal(c, want, c.change("PATCH", cliChange{Default: &cliStateChange{Variants: want.Default.Variants}}))

	first, second := cliSegment{c.segments[0]}, cliSegment{c.segments[1]}
	got := c.change("PATCH", cliChange{Overrides: []cliOverrideChange{
		{Segment: first, Enabled: new(true), Priority: new(int64(0)), Value: &cliValue{"string", "gold"}, Variants: c.variants("100", "0")},
		{Segment: second, Enabled: new(true), Priority: new(int64(1)), Value: &cliValue{"integer", "2"}, Variants: c.variants("0", "50")},
	}})
	want.Overrides = []cliOverride{
		{first, 0, cliState{true, &cliValue{"string", "gold"}, c.variants("100.0", "0.0")}},
		{second, 1, cliState{true, &cliValue{"integer", "2"}, c.variants("0.0", "50.0")}},
	}
	require.Equal(c, want, got)

	want.Default.Enabled, want.Overrides[1].Enabled = true, false
	require.Equal(c, want, c.change("PATCH", cliChange{Default: &cliStateChange{Enabled: new(true)},
		Overrides: []cliOverrideChange{{Segment: second, Enabled: new(false)}}}), "what is not sent stays")
}

func (c *cli) reorderFlag() {
	first, second := cliSegment{c.segments[0]}, cliSegment{c.segments[1]}
	before := decode[cliFlag](c.tool, c.get(c.flag))
	got := c.change("PATCH", cliChange{Overrides: []cliOverrideChange{{Segment: second, Priority: new(int64(0))}}})
	require.Equal(c, []cliSegment{second, first}, []cliSegment{got.Overrides[0].Segment, got.Overrides[1].Segment})
	require.Equal(c, before.Overrides[1].cliState, got.Overrides[0].cliState)

	type link struct{ Segment, Priority int64 }
	list := path("?environment=%d&feature=%d&page_size=999", c.environment.ID, c.feature)
	require.Equal(c, []link{{second.ID, 0}, {first.ID, 1}}, all[link](c.tool, "/api/v1/features/feature-segments/"+list))
	type state struct {
		Segment *int64  `json:"feature_segment"`
		Value   tfValue `json:"feature_state_value"`
	}
	states := all[state](c.tool, "/api/v1/features/featurestates/"+list)
	require.Len(c, states, 3)
	require.Nil(c, states[0].Segment)

	// The state as it is, sent as a whole, changes nothing; a list without an override removes it, and so does DELETE.
	whole := cliChange{}
	for _, o := range got.Overrides {
		whole.Overrides = append(whole.Overrides, cliOverrideChange{o.Segment, &o.Enabled, &o.Priority, o.Value, o.Variants})
	}
	require.Equal(c, got, c.change("PUT", whole))
	answer := decode[cliFlag](c.tool, c.send("DELETE", path("%ssegment-overrides/%d/", c.flag, second.ID), nil, 200))
	require.Equal(c, got.Default, answer.Default)
	require.Len(c, answer.Overrides, 1)
	require.Equal(c, first, answer.Overrides[0].Segment)
	require.Equal(c, answer, decode[cliFlag](c.tool, c.get(c.flag)))
	require.Empty(c, c.change("PUT", cliChange{Overrides: []cliOverrideChange{}}).Overrides)
}

// flagErrors: a 404 without `detail` would mean a server that is too old.
func (c *cli) flagErrors() {
	change := cliChange{Default: &cliStateChange{Enabled: new(true)}}
	c.refused("PATCH", path("/api/__future__/environments/%s/features/999999/", c.environment.APIKey), change, 404)
	c.refused("PATCH", path("/api/__future__/environments/nowhere/features/%d/", c.feature), change, 404)
	c.refused("DELETE", path("%ssegment-overrides/%d/", c.flag, c.segments[1]), nil, 404)
	unknown := c.send("PATCH", c.flag, cliChange{Overrides: []cliOverrideChange{{Segment: cliSegment{999999}, Enabled: new(true)}}}, 400)
	require.Contains(c, string(unknown.Body), `"segment_overrides":[{"segment":{"id":[`)
	c.send("PATCH", c.flag, cliChange{Default: &cliStateChange{Value: &cliValue{"integer", "many"}}}, 400)
	c.send("PATCH", c.flag, cliChange{Default: &cliStateChange{Variants: c.variants("100", "0.5")}}, 400)
}

func (c *cli) identityOverrides() {
	environment := "/api/v1/environments/" + c.environment.APIKey + "/"
	find := func(identifier string) (found []int64) {
		type identity struct {
			ID         int64
			Identifier string
		}
		for _, i := range all[identity](c.tool, environment+"identities/?"+url.Values{"q": {`"` + identifier + `"`}}.Encode()+"&page_size=999") {
			require.Equal(c, identifier, i.Identifier, "in quotes only the same name is meant")
			found = append(found, i.ID)
		}
		return found
	}
	const ann = "ann+1@example.com & co"
	c.send("POST", environment+"identities/", object{"identifier": ann + "2"}, 201)
	require.Empty(c, find(ann))
	id := c.send("POST", environment+"identities/", object{"identifier": ann}, 201).ID("id")
	require.Equal(c, []int64{id}, find(ann))

	states := path("%sidentities/%d/featurestates/", environment, id)
	mine := func() []cliIdentityState {
		return all[cliIdentityState](c.tool, path("%s?feature=%d&page_size=999", states, c.feature))
	}
	require.Empty(c, mine())
	c.send("POST", states, object{"feature": c.feature, "enabled": true, "feature_state_value": "hers"}, 201)
	require.Len(c, mine(), 1)
	for _, value := range []any{"", float64(12), true} {
		c.send("PUT", path("%s%d/", states, mine()[0].ID), object{"enabled": false, "feature_state_value": value}, 200)
		require.Equal(c, value, mine()[0].Value)
		require.False(c, mine()[0].Enabled)
	}
	everybody := all[cliIdentityState](c.tool, path("%sfeaturestates/?anyIdentity=1&feature=%d&page_size=999", environment, c.feature))
	require.Len(c, everybody, 1)
	who := struct{ Identifier string }{}
	require.NoError(c, json.Unmarshal(everybody[0].Identity, &who))
	require.Equal(c, ann, who.Identifier)
	require.Equal(c, true, everybody[0].Value)
	c.send("DELETE", path("%s%d/", states, mine()[0].ID), nil, 204)
	require.Empty(c, mine())
}

// edgeOverrides are what the command line uses where a project says that it has edge identities.
func (c *cli) edgeOverrides() {
	const bob = "bob@example.com"
	type identity struct {
		UUID       string `json:"identity_uuid"`
		Identifier string
	}
	environment := "/api/v1/environments/" + c.environment.APIKey + "/"
	override := "/api/v1/environments/environments/" + c.environment.APIKey + "/edge-identities-featurestates"
	c.send("PUT", override, object{"identifier": bob, "feature": c.feature, "enabled": true, "feature_state_value": "his"}, 200)
	found := all[identity](c.tool, environment+"edge-identities/?"+url.Values{"q": {`"` + bob + `"`}}.Encode()+"&page_size=999")
	require.Len(c, found, 1)
	states := all[cliIdentityState](c.tool, path("%sedge-identities/%s/edge-featurestates/?feature=%d&page_size=999", environment, found[0].UUID, c.feature))
	require.Len(c, states, 1)
	require.Equal(c, "his", states[0].Value)
	list := func() []struct {
		Identifier string
		State      cliIdentityState `json:"feature_state"`
	} {
		return decode[struct {
			Results []struct {
				Identifier string
				State      cliIdentityState `json:"feature_state"`
			}
		}](c.tool, c.get(path("%sedge-identity-overrides?feature=%d", environment, c.feature))).Results
	}
	require.Len(c, list(), 1)
	require.Equal(c, bob, list()[0].Identifier)
	require.True(c, list()[0].State.Enabled)
	c.send("DELETE", override, object{"identifier": bob, "feature": c.feature}, 204)
	require.Empty(c, list())
}

// evaluate reads the environment's document as an administrator, and flags with the keys of an SDK.
func (c *cli) evaluate() {
	environment := "/api/v1/environments/" + c.environment.APIKey + "/"
	document := c.get(environment + "document/")
	require.Equal(c, c.environment.APIKey, document.Text("api_key"))
	key := c.send("POST", environment+"api-keys/", object{"name": "evaluate"}, 201).Text("key")
	server := &tool{c.T, c.ctx, c.in.follower.Client().With("X-Environment-Key", key)}
	require.Equal(c, document.Get("id"), server.get("/api/v1/environment-document/").Get("id"))
	browser := &tool{c.T, c.ctx, c.in.follower.Client().With("X-Environment-Key", c.environment.APIKey)}
	type shown struct {
		Feature cliItem
		Value   any `json:"feature_state_value"`
	}
	flags := decode[[]shown](browser, browser.get("/api/v1/flags/"))
	require.Len(c, flags, 1)
	require.Equal(c, "007", flags[0].Value)
	answer := browser.send("POST", "/api/v1/identities/", object{"identifier": "carl", "traits": []object{{"trait_key": "plan", "trait_value": "gold"}}}, 200)
	require.Len(c, decode[struct{ Flags []shown }](browser, answer).Flags, 1)
}

// pages follows `next`, of which only path and query count.
func (c *cli) pages() {
	features := path("/api/v1/projects/%d/features/", c.project)
	want := []int64{c.feature}
	for i := range 4 {
		want = append(want, c.send("POST", features, object{"name": path("page_%d", i)}, 201).ID("id"))
	}
	require.Equal(c, want, ids(all[cliItem](c.tool, features+"?is_archived=false&page_size=2")))
	require.Equal(c, want, ids(all[cliItem](c.tool, features+"?is_archived=false&page_size=999")))
	first := decode[struct{ Next *string }](c.tool, c.get(features+"?page_size=2"))
	require.Equal(c, parse(c.tool, c.client.Base).Host, parse(c.tool, *first.Next).Host)
}

// missing objects are told of in `detail`.
func (c *cli) missing() {
	for _, gone := range []string{
		"/api/v1/environments/nowhere/", "/api/v1/environments/nowhere/document/", "/api/v1/projects/999999/",
		path("/api/v1/projects/%d/features/999999/", c.project), path("/api/v1/projects/%d/segments/999999/", c.project),
		path("/api/v1/environments/%s/identities/999999/", c.environment.APIKey), c.flag[:len(c.flag)-1] + "9999/",
	} {
		c.refused(http.MethodGet, gone, nil, 404)
	}
}

// featureLimit is how many features a project may have here.
const featureLimit = "8"

// limits: the command line knows a limit by the words of the refusal, and one of projects also by the numbers of the organisation.
func (c *cli) limits() {
	features := path("/api/v1/projects/%d/features/", c.project)
	for i := range 3 {
		c.send("POST", features, object{"name": path("more_%d", i)}, 201)
	}
	require.Contains(c, string(c.send("POST", features, object{"name": "one_more"}, 400).Body), "maximum allowed")

	set := func(limit any) {
		c.in.tool(c.T, c.ctx, "Token "+c.in.token).send("PATCH", path("/api/flagraft/v1/organisations/%d/", c.organisation), object{"max_projects": limit}, 200)
	}
	projects := all[cliItem](c.tool, path("/api/v1/projects/?organisation=%d&page_size=999", c.organisation))
	set(len(projects))
	require.Contains(c, c.refused("POST", "/api/v1/projects/", object{"name": "One more", "organisation": c.organisation}, 403), "maximum allowed")
	require.EqualValues(c, len(projects), c.get(path("/api/v1/organisations/%d/get-subscription-metadata/", c.organisation)).ID("max_projects"))
	set(nil)
}

func (c *cli) cleanUp() {
	for _, s := range c.segments {
		c.send("DELETE", path("/api/v1/projects/%d/segments/%d/", c.project, s), nil, 204)
	}
	c.send("DELETE", path("/api/v1/projects/%d/features/%d/", c.project, c.feature), nil, 204)
	c.send("DELETE", "/api/v1/environments/"+c.environment.APIKey+"/", nil, 204)
	c.send("DELETE", path("/api/v1/projects/%d/", c.project), nil, 204)
	c.refused("GET", path("/api/v1/projects/%d/", c.project), nil, 404)
	require.NotContains(c, ids(all[cliItem](c.tool, "/api/v1/projects/?page_size=999")), c.project)
}
