package admin

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/credential"
	"github.com/flagraft/flagraft/server/route"
)

// key makes an organisation key and gives the header that uses it.
func (h *harness) key() []route.Header {
	key, prefix, hash := credential.NewMasterKey()
	h.node.Write(h, func(tx *fsm.Tx) error {
		fsm.MasterAPIKeys.Put(tx, fsm.MasterAPIKey{Organisation: h.organisation.ID, Prefix: prefix, Hash: hash, Name: "ci", IsAdmin: true})
		return nil
	})
	return []route.Header{{Name: "Authorization", Value: "Api-Key " + key}, {Name: "Content-Type", Value: "application/json"}}
}

func TestOrganisation(t *testing.T) {
	h := newHarness(t)
	h.post("/api/v1/organisations/", `{}`, 400).is(`{"name":["This field is required."]}`)
	created := h.post("/api/v1/organisations/", `{"name":"Golden Org"}`, 201).object()
	require.Nil(t, created["role"])
	require.EqualValues(t, 1, created["num_seats"])
	require.Equal(t, true, created["persist_trait_data"])
	path := fmt.Sprintf("/api/v1/organisations/%v/", created["id"])

	changed := h.patch(path, `{"name":"Renamed","webhook_notification_email":"ops@example.com"}`, 200).object()
	require.Equal(t, "ADMIN", changed["role"])
	require.Equal(t, "ops@example.com", changed["webhook_notification_email"])
	h.put(path, `{}`, 400).is(`{"name":["This field is required."]}`)
	require.EqualValues(t, 2, h.get("/api/v1/organisations/", 200).object()["count"])
	h.get("/api/v1/organisations/get-by-uuid/"+created["uuid"].(string)+"/", 200)
	h.do("stranger", "GET", "/api/v1/organisations/get-by-uuid/"+created["uuid"].(string)+"/", nil).must(404).
		is(`{"detail":"No Organisation matches the given query."}`)
	metadata := h.get(path+"get-subscription-metadata/", 200).object()
	require.Nil(t, metadata["max_projects"])

	h.remove(path, 204)
	h.get(path, 403)
}

func TestOrganisationRefusals(t *testing.T) {
	h := newHarness(t)
	const denied = `{"detail":"You do not have permission to perform this action."}`
	path := fmt.Sprintf("/api/v1/organisations/%d/", h.organisation.ID)
	h.get("/api/v1/organisations/abc/", 400).is(`["Invalid organisation ID"]`)
	h.get("/api/v1/organisations/9999/", 403).is(denied)
	for _, who := range []string{"member", "stranger"} {
		h.do(who, "GET", path, nil).must(403).is(denied)
		h.do(who, "DELETE", path, nil).must(403)
		h.do(who, "GET", path+"projects/", nil).must(403)
	}
	h.do("member", "GET", path+"users/", nil).must(200)
	h.do("stranger", "GET", path+"users/", nil).must(403).is(denied)
	h.send("POST", "/api/v1/organisations/", `{"name":"From key"}`, h.key()).must(403)
	h.send("GET", path+"my-permissions/", nil, h.key()).must(403)
	h.api.Env.Options.RestrictOrganisationCreateToSuperusers = true
	h.post("/api/v1/organisations/", `{"name":"x"}`, 403)
}

func TestMembers(t *testing.T) {
	h := newHarness(t)
	path := fmt.Sprintf("/api/v1/organisations/%d/", h.organisation.ID)
	users := h.get(path+"users/", 200).list()
	require.Len(t, users, 2)
	require.Equal(t, "ADMIN", users[0].(map[string]any)["role"])
	require.Nil(t, users[0].(map[string]any)["last_login"])
	require.Len(t, h.get(path+"users/?exclude_current=true", 200).list(), 1)

	role := fmt.Sprintf("%susers/%d/update-role/", path, h.member.ID)
	h.post(role, `{"role":"X"}`, 400).is(`{"role":["\"X\" is not a valid choice."]}`)
	require.Equal(t, "ADMIN", h.post(role, `{"role":"ADMIN"}`, 200).object()["role"])
	h.post(role, `{"role":"USER"}`, 200)
	h.do("member", "POST", role, `{"role":"ADMIN"}`).must(403)
	h.post(fmt.Sprintf("%susers/%d/update-role/", path, h.stranger.ID), `{"role":"USER"}`, 404).is(`{"detail":"No FFAdminUser matches the given query."}`)

	h.grant(fsm.LevelProject, h.project.ID, "VIEW_PROJECT")
	h.do("member", "GET", fmt.Sprintf("/api/v1/projects/%d/", h.project.ID), nil).must(200)
	h.post(path+"remove-users/", `[{"id":9999}]`, 400).is(`[{"id":["User with id 9999 does not exist"]}]`)
	h.post(path+"remove-users/", fmt.Sprintf(`[{"id":%d}]`, h.member.ID), 200).is(fmt.Sprintf(`[{"id":%d}]`, h.member.ID))
	h.do("member", "GET", path+"users/", nil).must(403)
	require.Zero(t, fsm.PermissionsByUser.Count(h.node.FSM.State(), h.member.ID))
}

func TestTheLastAdminKeepsTheRole(t *testing.T) {
	h := newHarness(t)
	path := fmt.Sprintf("/api/v1/organisations/%d/", h.organisation.ID)
	role := func(u fsm.User) string { return fmt.Sprintf("%susers/%d/update-role/", path, u.ID) }
	remove := fmt.Sprintf(`[{"id":%d},{"id":%d}]`, h.admin.ID, h.member.ID)
	refusal := fmt.Sprintf(`{"detail":"%s would have no administrator left. Make somebody else one first, or delete the organisation."}`, h.organisation.Name)
	h.post(role(h.admin), `{"role":"USER"}`, 400).is(refusal)
	h.post(path+"remove-users/", remove, 400).is(refusal)
	h.do("admin", "DELETE", "/api/v1/auth/users/me/", `{"delete_orphan_organisations":true}`).must(400).is(refusal)
	h.post(role(h.admin), `{"role":"ADMIN"}`, 200)

	h.post(role(h.member), `{"role":"ADMIN"}`, 200)
	h.post(path+"remove-users/", remove, 400).is(refusal) // both of them
	h.post(role(h.admin), `{"role":"USER"}`, 200)
	h.do("member", "POST", role(h.member), `{"role":"USER"}`).must(400).is(refusal)
	h.do("admin", "DELETE", "/api/v1/auth/users/me/", `{}`).must(204)
	h.do("member", "DELETE", "/api/v1/auth/users/me/", `{"delete_orphan_organisations":true}`).must(204) // who is alone may go
	_, left := fsm.Organisations.Get(h.node.FSM.State(), h.organisation.ID)
	require.False(t, left)
}

// TestLastSuperuser: nobody could make another one.
func TestLastSuperuser(t *testing.T) {
	h := newHarness(t)
	promote := func(u fsm.User) {
		h.node.Write(h, func(tx *fsm.Tx) error {
			u.IsSuperuser = true
			fsm.Users.Put(tx, u)
			return nil
		})
	}
	promote(h.stranger)
	const me = "/api/v1/auth/users/me/"
	h.do("stranger", "DELETE", me, `{}`).must(400).is(`{"detail":"The installation would have no superuser left. Hand the account over instead: change its address and password."}`)
	h.do("stranger", "GET", "/api/flagraft/v1/changes/", nil).must(200)
	promote(h.admin)
	h.do("stranger", "DELETE", me, `{}`).must(204)
	h.do("member", "POST", "/api/v1/organisations/", `{"name":"Left behind"}`).must(201)
	h.do("member", "DELETE", me, `{}`).must(204)
	h.do("admin", "DELETE", me, `{}`).must(400).is(`{"detail":"Organisations would be left to whoever registers next. Delete them with the account ` +
		`(delete_orphan_organisations), or hand it over: change its address and password."}`)
	h.do("admin", "GET", me, nil).must(200)
	h.do("admin", "DELETE", me, `{"delete_orphan_organisations":true}`).must(204) // who is alone may go, with everything
	require.Empty(t, slices.Collect(fsm.Organisations.All(h.node.FSM.State())), "that of the member, who left it behind, goes too")
}

func TestMyPermissions(t *testing.T) {
	h := newHarness(t)
	for _, level := range []string{fmt.Sprintf("organisations/%d", h.organisation.ID), fmt.Sprintf("projects/%d", h.project.ID), "environments/env-key"} {
		h.get("/api/v1/"+level+"/my-permissions/", 200).is(`{"permissions":[],"admin":true,"tag_based_permissions":[]}`)
	}
	const userOnly = `{"detail":"This endpoint can only be used with a user and not Master API Key"}`
	h.send("GET", fmt.Sprintf("/api/v1/projects/%d/my-permissions/", h.project.ID), nil, h.key()).must(400).is(userOnly)
	h.send("GET", "/api/v1/environments/env-key/my-permissions/", nil, h.key()).must(400).is(userOnly)
	h.do("member", "GET", fmt.Sprintf("/api/v1/projects/%d/my-permissions/", h.project.ID), nil).must(404)
	h.do("member", "GET", "/api/v1/environments/env-key/my-permissions/", nil).must(200).is(`{"permissions":[],"admin":false,"tag_based_permissions":[]}`)
	h.do("stranger", "GET", "/api/v1/environments/env-key/my-permissions/", nil).must(403)
	h.grant(fsm.LevelProject, h.project.ID, "VIEW_PROJECT", "CREATE_FEATURE")
	h.do("member", "GET", fmt.Sprintf("/api/v1/projects/%d/my-permissions/", h.project.ID), nil).must(200).
		is(`{"permissions":["VIEW_PROJECT","CREATE_FEATURE"],"admin":false,"tag_based_permissions":[]}`)
	for level, n := range map[string]int{"organisations": 2, "projects": 10, "environments": 7} {
		require.Len(t, h.get("/api/v1/"+level+"/permissions/", 200).list(), n)
	}
}

func TestMasterAPIKeys(t *testing.T) {
	h := newHarness(t)
	path := fmt.Sprintf("/api/v1/organisations/%d/master-api-keys/", h.organisation.ID)
	h.get(path, 200).is(`{"count":0,"next":null,"previous":null,"results":[]}`)
	created := h.post(path, `{"name":"ci"}`, 201).object()
	require.Regexp(t, `^[A-Za-z0-9]{8}\.[A-Za-z0-9]{32}$`, created["key"])
	require.Equal(t, created["prefix"], created["key"].(string)[:8])
	require.EqualValues(t, h.admin.ID, created["created_by"])
	use := []route.Header{{Name: "Authorization", Value: "Api-Key " + created["key"].(string)}}
	require.EqualValues(t, 1, h.send("GET", "/api/v1/organisations/", nil, use).must(200).object()["count"])
	h.send("GET", path, nil, use).must(401).is(`{"detail":"Authentication credentials were not provided."}`)

	h.post(path, `{}`, 400).is(`{"name":["This field is required."]}`)
	h.post(path, `{"name":"n","is_admin":false}`, 400).is(`{"is_admin":["RBAC is not installed, cannot create non-admin key"]}`)
	expired := h.post(path, `{"name":"old","expiry_date":"2020-01-01T00:00:00Z"}`, 201).object()
	require.Equal(t, true, expired["has_expired"])
	require.Equal(t, "2020-01-01T00:00:00Z", expired["expiry_date"])
	refused := []route.Header{{Name: "Authorization", Value: "Api-Key " + expired["key"].(string)}}
	h.send("GET", "/api/v1/organisations/", nil, refused).must(401).is(`{"detail":"Valid Master API Key not found."}`)

	results := h.get(path, 200).object()["results"].([]any)
	require.Equal(t, "old", results[0].(map[string]any)["name"], "newest first")
	require.NotContains(t, results[0], "key")
	detail := path + created["prefix"].(string) + "/"
	h.patch(detail, `{"name":"ci 2"}`, 200)
	require.Equal(t, "ci 2", h.get(detail, 200).object()["name"])
	h.do("member", "GET", path, nil).must(403)
	h.remove(path+expired["prefix"].(string)+"/", 204)
	h.patch(detail, `{"revoked":true}`, 200)
	h.get(detail, 404).is(`{"detail":"No MasterAPIKey matches the given query."}`)
	h.send("GET", "/api/v1/organisations/", nil, use).must(401)
}

// TestKeysThatEndWithTheEpoch: the first instant there is is no missing one, which means never.
func TestKeysThatEndWithTheEpoch(t *testing.T) {
	h := newHarness(t)
	const ended = `{"name":"old","expiry_date":"1970-01-01T00:00:00Z","expires_at":"1970-01-01T00:00:00Z"}`
	require.Equal(t, true, h.post(h.organisationPath()+"master-api-keys/", ended, 201).object()["has_expired"])
	require.NotNil(t, h.post(envPath+"api-keys/", ended, 201).object()["expires_at"])
	link := h.post(h.organisationPath()+"invite-links/", ended, 201).object()["hash"].(string)
	h.do("stranger", "POST", "/api/v1/users/join/link/"+link+"/", `{}`).must(400).is(`{"detail":"Invite has expired"}`)
}
