package server_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

// walker makes random admin writes as one user.
type walker struct {
	*testing.T
	r      *rand.Rand
	client *servertest.Client
	user   int
	org    string
	known  map[string][]string // ids by kind
	named  int                 // writes that gave something a name
}

func (w *walker) any(kind string) string {
	if len(w.known[kind]) == 0 {
		return "0"
	}
	return w.known[kind][w.r.IntN(len(w.known[kind]))]
}

func (w *walker) drop(kind, id string) {
	for i, k := range w.known[kind] {
		if k == id {
			w.known[kind] = append(w.known[kind][:i:i], w.known[kind][i+1:]...)
		}
	}
}

// mark begins every name that this user gives.
func (w *walker) mark() string { return fmt.Sprintf("w%d-", w.user) }

// do sends a write; the member of its answer is kept as one of a kind.
func (w *walker) do(method, path, body, kind, member string) {
	a := w.client.Do(method, path, body)
	require.Less(w, a.Status, 500, "%s %s: %s", method, path, a.Raw)
	if a.Status >= 300 {
		return
	}
	if strings.Contains(body, w.mark()) {
		w.named++
	}
	if kind != "" {
		var answer map[string]any
		require.NoError(w, json.Unmarshal([]byte(a.Raw), &answer), a.Raw)
		w.known[kind] = append(w.known[kind], fmt.Sprint(answer[member]))
	}
}

// step makes one write, most of which succeed.
func (w *walker) step(i int) {
	name := fmt.Sprintf("%s%d-%d", w.mark(), i, w.r.IntN(1_000_000))
	project, env, feature := w.any("project"), w.any("env"), w.any("feature")
	at := "/api/v1/projects/" + project
	switch n := w.r.IntN(20); {
	case n == 0 && len(w.known["project"]) < 4 || i == 0:
		w.do("POST", "/api/v1/projects/", fmt.Sprintf(`{"name":%q,"organisation":%s}`, name, w.org), "project", "id")
	case n == 1 || i == 1:
		w.do("POST", "/api/v1/environments/", fmt.Sprintf(`{"name":%q,"project":%s}`, name, w.any("project")), "env", "api_key")
	case n < 5:
		w.do("POST", at+"/features/", fmt.Sprintf(`{"name":%q,"initial_value":"v%d","default_enabled":%t}`, name, i, i%2 == 0), "feature", "id")
	case n == 5:
		w.do("PATCH", at+"/features/"+feature+"/", fmt.Sprintf(`{"description":%q,"is_archived":%t}`, name, i%3 == 0), "", "")
	case n == 6 && w.r.IntN(4) == 0:
		w.do("DELETE", at+"/features/"+feature+"/", "", "", "")
		w.drop("feature", feature)
	case n < 9:
		w.do("POST", at+"/tags/", fmt.Sprintf(`{"label":%q,"color":"#123456"}`, name), "tag", "id")
	case n == 9:
		tag := w.any("tag")
		w.do("DELETE", at+"/tags/"+tag+"/", "", "", "")
		w.drop("tag", tag)
	case n == 10:
		w.do("POST", at+"/segments/", fmt.Sprintf(`{"name":%q,"rules":[{"type":"ALL","rules":[],"conditions":[{"operator":"EQUAL","property":"p","value":"%d"}]}]}`, name, i), "segment", "id")
	case n == 11:
		w.do("PATCH", at+"/segments/"+w.any("segment")+"/", fmt.Sprintf(`{"name":%q}`, name), "", "")
	case n == 12:
		w.do("PATCH", "/api/v1/organisations/"+w.org+"/", fmt.Sprintf(`{"name":%q}`, name), "", "")
	case n == 13:
		w.do("POST", "/api/v1/environments/"+env+"/api-keys/", fmt.Sprintf(`{"name":%q}`, name), "", "")
	case n == 14:
		w.do("PATCH", "/api/v1/auth/users/me/", fmt.Sprintf(`{"first_name":%q}`, name), "", "")
	case n == 15:
		w.do("PATCH", "/api/v1/environments/"+env+"/", fmt.Sprintf(`{"description":%q,"hide_disabled_flags":%t}`, name, i%2 == 0), "", "")
	default:
		a := w.client.Do("GET", "/api/v1/environments/"+env+"/featurestates/", nil)
		var page struct {
			Results []struct{ ID, Feature uint64 }
		}
		if json.Unmarshal([]byte(a.Raw), &page) != nil || len(page.Results) == 0 {
			return
		}
		s := page.Results[w.r.IntN(len(page.Results))]
		w.do("PATCH", fmt.Sprintf("/api/v1/environments/%s/featurestates/%d/", env, s.ID), fmt.Sprintf(`{"enabled":%t,"feature_state_value":"x%d"}`, i%2 == 0, i), "", "")
	}
}

// rows is what the change log tells of the state: fields by model, id and name.
type rows map[string]map[string]any

func rowKey(model string, id any) string { return fmt.Sprint(model, " ", id) }

// TestChangesTellEverything makes thousands of random admin writes as four users at once. Read page by page, the change log alone leads from
// nothing to the rows there are, each old value is the one before, and each write has its author.
func TestChangesTellEverything(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, func(st *settings.Settings) { st.LoginPerMinute = 0 })
	total := 1000
	if text := os.Getenv("FLAGRAFT_WALK"); text != "" {
		var err error
		total, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	var done sync.WaitGroup
	walkers := make([]*walker, 4)
	for u := range 4 {
		email := fmt.Sprintf("walker%d@example.com", u)
		token := n.Client(t).Object("POST", "/api/v1/auth/users/", map[string]any{"email": email, "password": "Sesame-open-2!", "first_name": "W", "last_name": "x"}, 201)["key"].(string)
		c := n.Client(t).With("Authorization", "Token "+token)
		org := c.Object("POST", "/api/v1/organisations/", map[string]any{"name": email}, 201)["id"]
		w := &walker{T: t, r: rand.New(rand.NewPCG(seed, uint64(u))), client: c, user: u, org: fmt.Sprint(org), known: map[string][]string{}}
		walkers[u] = w
		done.Go(func() {
			for i := range total / 4 {
				w.step(i)
			}
		})
	}
	done.Wait()

	told, named := rows{}, make([]int, len(walkers))
	all := readChanges(t, n)
	for i := len(all) - 1; i >= 0; i-- {
		told.apply(t, all[i])
		for u := range walkers {
			if gives(all[i], walkers[u].mark()) {
				require.Equal(t, fmt.Sprintf("walker%d@example.com", u), all[i]["author"].(map[string]any)["name"], "write %v", all[i]["id"])
				named[u]++
			}
		}
	}
	for u, w := range walkers {
		require.Positive(t, w.named)
		require.Equal(t, w.named, named[u], "writes of user %d that gave a name", u)
	}
	told.matches(t, n.State())
}

// readChanges pages through the whole log, the newest first.
func readChanges(t *testing.T, n *servertest.Node) (all []map[string]any) {
	for path := "/api/flagraft/v1/changes/?limit=97"; path != ""; {
		page := n.Admin(t).Object("GET", path, nil, 200)
		for _, c := range page["results"].([]any) {
			all = append(all, c.(map[string]any))
		}
		next, _ := page["next"].(string)
		_, after, found := strings.Cut(next, "/api/")
		if path = ""; found {
			path = "/api/" + after
		}
	}
	return all
}

func (told rows) apply(t *testing.T, write map[string]any) {
	for _, c := range write["changes"].([]any) {
		change := c.(map[string]any)
		key := rowKey(change["model"].(string), change["id"])
		row := told[key]
		if change["change_type"] == "CREATE" {
			require.Nil(t, row, "%s is made twice", key)
			row = map[string]any{}
			told[key] = row
		}
		for _, f := range change["changes"].([]any) {
			field := f.(map[string]any)
			name := field["field"].(string)
			if field["old"] != "(secret)" {
				require.Equal(t, row[name], field["old"], "%s %s before write %v", key, name, write["id"])
			}
			row[name] = field["new"]
		}
		if change["change_type"] == "DELETE" {
			delete(told, key)
		}
	}
}

// gives reports whether a write gave a name with some beginning.
func gives(write map[string]any, mark string) bool {
	for _, c := range write["changes"].([]any) {
		for _, f := range c.(map[string]any)["changes"].([]any) {
			if text, ok := f.(map[string]any)["new"].(string); ok && strings.HasPrefix(text, mark) {
				return true
			}
		}
	}
	return false
}

// matches compares what was told with the rows of some tables.
func (told rows) matches(t *testing.T, s *fsm.State) {
	count := map[string]int{}
	for key := range told {
		model, _, _ := strings.Cut(key, " ")
		count[model]++
	}
	is := func(model string, id uint64, fields map[string]any) {
		row := told[rowKey(model, id)]
		require.NotNil(t, row, "%s %d is not in the log", model, id)
		for name, want := range fields {
			raw, err := json.Marshal(want)
			require.NoError(t, err)
			got, err := json.Marshal(row[name])
			require.NoError(t, err)
			require.JSONEq(t, string(raw), string(got), "%s %d %s", model, id, name)
		}
		count[model]--
	}
	for f := range fsm.Features.All(s) {
		is("Feature", f.ID, map[string]any{"name": f.Name, "project": f.Project, "description": f.Description, "is_archived": f.IsArchived, "initial_value": f.InitialValue})
	}
	for f := range fsm.FeatureStates.All(s) {
		var value any
		if f.Value.String != nil {
			value = *f.Value.String
		}
		is("FeatureState", f.ID, map[string]any{"enabled": f.Enabled, "feature": f.Feature, "environment": f.Environment, "value": value})
	}
	for x := range fsm.Tags.All(s) {
		is("Tag", x.ID, map[string]any{"label": x.Label, "project": x.Project, "uuid": x.UUID})
	}
	for x := range fsm.Segments.All(s) {
		is("Segment", x.ID, map[string]any{"name": x.Name, "project": x.Project})
		require.Len(t, told[rowKey("Segment", x.ID)]["rules"], len(x.Rules))
	}
	for x := range fsm.Environments.All(s) {
		is("Environment", x.ID, map[string]any{"name": x.Name, "api_key": x.APIKey, "description": x.Description, "updated_at": x.UpdatedAt.Std().Format("2006-01-02T15:04:05.000000Z")})
	}
	for x := range fsm.EnvironmentAPIKeys.All(s) {
		is("EnvironmentAPIKey", x.ID, map[string]any{"name": x.Name, "key": "(secret)"})
	}
	for x := range fsm.Organisations.All(s) {
		is("Organisation", x.ID, map[string]any{"name": x.Name})
	}
	for x := range fsm.Users.All(s) {
		is("FFAdminUser", x.ID, map[string]any{"email": x.Email, "first_name": x.FirstName, "password_hash": "(secret)"})
	}
	for _, model := range []string{"Feature", "FeatureState", "Tag", "Segment", "Environment", "EnvironmentAPIKey", "Organisation", "FFAdminUser"} {
		require.Zero(t, count[model], "rows of %s that are not there", model)
	}
}

func TestFeatureHistory(t *testing.T) {
	n := servertest.Start(t)
	admin := n.Admin(t)
	project, key, feature := someEnvironment(t, admin)
	flag := fmt.Sprintf("/api/__future__/environments/%s/features/%v/", key, feature)
	history := fmt.Sprintf("/api/flagraft/v1/environments/%s/features/%v/history/", key, feature)
	admin.Object("PATCH", flag, map[string]any{"environment_default": map[string]any{"enabled": true, "value": map[string]any{"type": "string", "value": "new"}}}, 200)
	segment := admin.Object("POST", fmt.Sprintf("/api/v1/projects/%v/segments/", project), map[string]any{"name": "vip", "rules": []any{map[string]any{
		"type": "ALL", "rules": []any{map[string]any{"type": "ANY", "conditions": []any{map[string]any{"operator": "EQUAL", "property": "p", "value": "1"}}}}}}}, 201)["id"]
	admin.Object("PATCH", flag, map[string]any{"segment_overrides": []any{map[string]any{"segment": map[string]any{"id": segment}, "enabled": false}}}, 200)
	admin.Object("POST", fmt.Sprintf("/api/v1/projects/%v/features/", project), map[string]any{"name": "other"}, 201)

	events := admin.Object("GET", history, nil, 200)["results"].([]any)
	require.Len(t, events, 3)
	change := func(event, i int) map[string]any {
		return events[event].(map[string]any)["changes"].([]any)[i].(map[string]any)
	}
	for i := range 2 {
		require.Equal(t, []any{"segment", "vip", segment}, []any{change(0, i)["scope"], change(0, i)["name"], change(0, i)["target"]})
	}
	switched := change(1, 0)
	require.Equal(t, "default", switched["scope"])
	require.Equal(t, "UPDATE", switched["change_type"])
	require.Contains(t, switched["changes"], map[string]any{"field": "enabled", "old": false, "new": true})
	require.Contains(t, switched["changes"], map[string]any{"field": "value", "old": nil, "new": "new"})
	require.Equal(t, servertest.AdminEmail, events[1].(map[string]any)["author"].(map[string]any)["name"])

	page := admin.Object("GET", history+"?limit=1", nil, 200)
	require.Equal(t, events[0], page["results"].([]any)[0])
	next := strings.TrimPrefix(page["next"].(string), n.Base)
	require.Equal(t, events[1], admin.Object("GET", next, nil, 200)["results"].([]any)[0])
	require.Equal(t, 403, admin.Do("GET", strings.Replace(history, key, "nowhere", 1), nil).Status)
}
