package admin

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
)

const envPath = "/api/v1/environments/env-key/"

// newIdentity creates an identity and gives its path and id.
func (h *harness) newIdentity(name string) (path string, id uint64) {
	h.Helper()
	id = h.post(envPath+"identities/", map[string]any{"identifier": name}, 201).id()
	return fmt.Sprintf("%sidentities/%d/", envPath, id), id
}

// edgePath is the path of an identity by uuid.
func (h *harness) edgePath(id uint64) string {
	u := h.node.FSM.State().Identities().UUIDOf(id)
	return fmt.Sprintf("%sedge-identities/%x-%x-%x-%x-%x/", envPath, u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

func TestIdentityLifecycle(t *testing.T) {
	h := newHarness(t)
	path, id := h.newIdentity("alice")
	body := fmt.Sprintf(`{"id":%d,"identifier":"alice","environment":%d}`, id, h.environment.ID)
	h.get(path, 200).is(body)

	exists := `{"identifier":"Identity with identifier 'alice' already exists in this environment"}`
	h.post(envPath+"identities/", map[string]any{"identifier": " alice "}, 400).is(exists)
	h.patch(path, map[string]any{"identifier": "alice"}, 400).is(exists)
	h.post(envPath+"identities/", map[string]any{}, 400).is(`{"identifier":["This field is required."]}`)
	h.post(envPath+"identities/", map[string]any{"identifier": ""}, 400).is(`{"identifier":["This field may not be blank."]}`)
	h.post(envPath+"identities/", map[string]any{"identifier": strings.Repeat("x", 2001)}, 400).
		is(`{"identifier":["Ensure this field has no more than 2000 characters."]}`)

	h.patch(path, map[string]any{}, 200).is(body)
	h.put(path, map[string]any{"identifier": "bob"}, 200).is(strings.Replace(body, "alice", "bob", 1))
	h.get(path, 200).is(strings.Replace(body, "alice", "bob", 1))

	h.remove(path, 204)
	h.get(path, 404).is(`{"detail":"No Identity matches the given query."}`)
	h.remove(path, 404)
	h.get(envPath+"identities/nan/", 404).is(`{"detail":"Not found."}`)
}

func TestIdentityPermissions(t *testing.T) {
	h := newHarness(t)
	path, id := h.newIdentity("alice")
	denied := `{"detail":"You do not have permission to perform this action."}`
	for _, call := range []struct{ method, path string }{
		{"GET", envPath + "identities/"}, {"POST", envPath + "identities/"}, {"GET", path}, {"PUT", path}, {"PATCH", path}, {"DELETE", path},
		{"GET", path + "traits/"}, {"POST", path + "traits/"}, {"DELETE", path + "traits/1/"},
		{"GET", path + "featurestates/"}, {"POST", path + "featurestates/"}, {"GET", path + "featurestates/all/"},
		{"POST", path + "featurestates/clone-from-given-identity/"}, {"PUT", path + "featurestates/1/"}, {"DELETE", path + "featurestates/1/"},
		{"GET", envPath + "edge-identities/"}, {"POST", envPath + "edge-identities/"}, {"GET", h.edgePath(id)}, {"PUT", h.edgePath(id)},
		{"DELETE", h.edgePath(id)}, {"GET", h.edgePath(id) + "list-traits/"}, {"PUT", h.edgePath(id) + "update-traits/"},
		{"GET", h.edgePath(id) + "edge-featurestates/"}, {"POST", h.edgePath(id) + "edge-featurestates/"},
		{"GET", h.edgePath(id) + "edge-featurestates/5f0c1b9a-0000-4000-8000-000000000000/"},
		{"PUT", h.edgePath(id) + "edge-featurestates/5f0c1b9a-0000-4000-8000-000000000000/"},
		{"DELETE", h.edgePath(id) + "edge-featurestates/5f0c1b9a-0000-4000-8000-000000000000/"},
		{"GET", h.edgePath(id) + "edge-featurestates/all/"}, {"POST", h.edgePath(id) + "edge-featurestates/clone-from-given-identity/"},
		{"GET", envPath + "edge-identity-overrides"}, {"PUT", envPath + "edge-identities-featurestates"},
		{"DELETE", "/api/v1/environments/environments/env-key/edge-identities-featurestates"},
	} {
		t.Run(call.method+" "+call.path, func(t *testing.T) {
			h := &harness{T: t, node: h.node, api: h.api, table: h.table}
			h.do("", call.method, call.path, nil).must(401)
			h.do("stranger", call.method, call.path, nil).must(403).is(denied)
			h.do("member", call.method, call.path, nil).must(403).is(denied)
		})
	}
	h.get("/api/v1/environments/nope/identities/", 403).is(denied)
	h.get("/api/v1/environments/nope/edge-identities/", 404).is(`{"detail":"No Environment matches the given query."}`)

	h.grant(fsm.LevelEnvironment, h.environment.ID, "VIEW_IDENTITIES")
	h.do("member", "GET", path, nil).must(200)
	h.do("member", "GET", envPath+"edge-identity-overrides", nil).must(200)
	h.do("member", "DELETE", path, nil).must(403)
	h.do("member", "PATCH", h.edgePath(id), map[string]any{"dashboard_alias": "x"}).must(403)
}

func TestListIdentities(t *testing.T) {
	h := newHarness(t)
	h.get(envPath+"identities/", 200).is(`{"count":0,"next":null,"previous":null,"results":[]}`)
	ids := map[string]uint64{}
	for _, name := range []string{"old-user", "alice", "Bulk1", "bulk2", `quoted"one`} {
		_, ids[name] = h.newIdentity(name)
	}
	item := func(name string) string {
		return fmt.Sprintf(`{"id":%d,"identifier":%q,"environment":%d}`, ids[name], name, h.environment.ID)
	}
	list := func(query string) reply { return h.get(envPath+"identities/?"+query, 200) }
	list("page_size=2").is(`{"count":5,"next":"http://server` + envPath + `identities/?page=2&page_size=2","previous":null,
		"results":[` + item("old-user") + "," + item("alice") + `]}`)
	list("page_size=2&page=3").is(`{"count":5,"next":null,"previous":"http://server` + envPath + `identities/?page=2&page_size=2",
		"results":[` + item(`quoted"one`) + `]}`)
	list("q=BUL").is(`{"count":2,"next":null,"previous":null,"results":[` + item("Bulk1") + "," + item("bulk2") + `]}`)
	list("q=bul&page_size=1&page=2").is(`{"count":2,"next":null,"previous":"http://server` + envPath + `identities/?page_size=1&q=bul",
		"results":[` + item("bulk2") + `]}`)
	list("q=bul&page_size=1&page=last").is(`{"count":2,"next":null,"previous":"http://server` + envPath + `identities/?page_size=1&q=bul",
		"results":[` + item("bulk2") + `]}`)
	list("q=" + url.QueryEscape(`"alice"`)).is(`{"count":1,"next":null,"previous":null,"results":[` + item("alice") + `]}`)
	list("q=" + url.QueryEscape(`"bulk"`)).is(`{"count":0,"next":null,"previous":null,"results":[]}`)
	h.get(envPath+"identities/?page=4&page_size=2", 404).is(`{"detail":"Invalid page."}`)
	h.get(envPath+"identities/?q=bul&page=2", 404).is(`{"detail":"Invalid page."}`)
	h.get(envPath+"identities/?q=bul&page=x", 404)
}

// TestIdentityTakenMeanwhile has SDK traffic take the identifier between the transaction and its application: the answer is still the
// refusal. It also sees that the ids of an answer given under an Idempotency-Key are in the repeated one.
func TestIdentityTakenMeanwhile(t *testing.T) {
	h := newHarness(t)
	taken := false
	h.node.Proposer.Fail = func([]byte) error {
		if !taken { // what the Writer proposes meets a store that has changed since the transaction ran
			taken = true
			h.node.FSM.State().Identities().Apply(&identity.Op{Kind: identity.KindUpsert, Environment: h.environment.ID, Identifier: []byte("race")}, 1, 1)
		}
		return nil
	}
	h.post(envPath+"identities/", map[string]any{"identifier": "race"}, 400).
		is(`{"identifier":"Identity with identifier 'race' already exists in this environment"}`)
}

// TestIdentityTurns has one turn of the Writer hold a deletion and a new override of the same identity: the override must not outlive it.
func TestIdentityTurns(t *testing.T) {
	h := newHarness(t)
	f := h.flag("flag", fsm.FeatureValue{Type: fsm.Unicode})
	for i := range 20 {
		path, id := h.newIdentity(fmt.Sprintf("victim-%d", i))
		done := make(chan reply, 2)
		go func() { done <- h.do("admin", "DELETE", path, nil) }()
		go func() {
			done <- h.do("admin", "POST", path+"featurestates/", map[string]any{"feature": f.ID, "enabled": true})
		}()
		a, b := <-done, <-done
		require.Contains(t, []int{201 + 204, 404 + 204}, a.Status+b.Status, a.Raw+b.Raw)
		_, left := fsm.FeatureStatesByIdentity.First(h.node.FSM.State(), id)
		require.False(t, left, "an override outlived its identity")
	}
}
