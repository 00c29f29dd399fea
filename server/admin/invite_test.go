package admin

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

func (h *harness) organisationPath() string {
	return fmt.Sprintf("/api/v1/organisations/%d/", h.organisation.ID)
}

// mailedHash is the secret in the last mail.
func (h *harness) mailedHash() string {
	h.Helper()
	require.NotEmpty(h, h.mails)
	_, rest, ok := strings.Cut(h.mails[len(h.mails)-1].body, "https://site.example/invite/")
	require.True(h, ok, h.mails)
	return strings.TrimSpace(rest)
}

func TestInvite(t *testing.T) {
	h := newHarness(t)
	list := h.organisationPath() + "invites/"
	h.get(list, 200).is(`{"count":0,"next":null,"previous":null,"results":[]}`)
	group := h.post(h.groups(), `{"name":"Team"}`, 201).id()
	h.post(h.groups(), `{"name":"Everybody","is_default":true}`, 201)
	h.post(list, `{}`, 400).is(`{"email":["This field is required."]}`)
	h.post(list, `{"email":"x","role":"KING"}`, 400).is(`{"email":["Enter a valid email address."],"role":["\"KING\" is not a valid choice."]}`)
	h.post(list, `{"email":"a@example.com","permission_groups":[99]}`, 400).is(`{"permission_groups":["Invalid pk \"99\" - object does not exist."]}`)
	require.Empty(t, h.mails)

	invite := h.post(list, map[string]any{"email": "Stranger@example.com", "role": "ADMIN", "permission_groups": []uint64{group}}, 201)
	created := invite.object()
	require.Equal(t, "ADMIN", created["role"])
	require.NotContains(t, invite.Raw, h.mailedHash())
	require.Equal(t, "Stranger@example.com", h.mails[0].to)
	h.post(list, `{"email":"stranger@EXAMPLE.com"}`, 400).is(`{"email":["Invite for email stranger@EXAMPLE.com already exists"]}`)
	one := h.get(fmt.Sprintf("%s%d/", list, invite.id()), 200).object()
	require.NotContains(t, one, "role")
	by := one["invited_by"].(map[string]any)
	require.Equal(t, "admin@example.com", by["email"])
	require.Equal(t, "ADMIN", by["role"])

	hash := h.mailedHash()
	require.Empty(t, h.post(fmt.Sprintf("%s%d/resend/", list, invite.id()), nil, 200).Raw)
	require.Len(t, h.mails, 2)
	require.Equal(t, hash, h.mailedHash())

	h.do("", "POST", "/api/v1/users/join/"+hash+"/", nil).must(401)
	h.do("member", "POST", "/api/v1/users/join/"+hash+"/", nil).must(400).is(`{"detail":"Registered email does not match invited email"}`)
	h.do("stranger", "POST", "/api/v1/users/join/nope/", nil).must(404).is(`{"detail":"No Invite matches the given query."}`)
	joined := h.do("stranger", "POST", "/api/v1/users/join/"+hash+"/", nil).must(200).object()
	require.Equal(t, "ADMIN", joined["role"])
	require.EqualValues(t, 3, joined["num_seats"])
	require.EqualValues(t, 2, h.do("stranger", "GET", h.groups()+"my-groups/", nil).must(200).object()["count"])
	h.do("stranger", "POST", "/api/v1/users/join/"+hash+"/", nil).must(404) // used up

	second := h.post(list, `{"email":"b@example.com"}`, 201)
	require.Equal(t, "USER", second.object()["role"])
	h.remove(fmt.Sprintf("%s%d/", list, second.id()), 204)
	h.get(fmt.Sprintf("%s%d/", list, second.id()), 404).is(`{"detail":"No Invite matches the given query."}`)
}

func TestInvites(t *testing.T) {
	h := newHarness(t)
	path := h.organisationPath() + "invite/"
	out := h.post(path, `{"invites":[{"email":"a@example.com","role":"ADMIN"}],"emails":["b@example.com"],"frontend_base_url":"http://evil.example"}`, 201).list()
	require.Len(t, out, 2)
	first := out[0].(map[string]any)
	require.Equal(t, "ADMIN", first["role"])
	require.Equal(t, map[string]any{"id": float64(h.admin.ID), "email": "admin@example.com", "first_name": "", "last_name": ""}, first["invited_by"])
	require.Len(t, h.mails, 2)
	require.NotContains(t, h.mails[0].body, "evil")
	h.post(path, `{"invites":[{"email":"c@example.com"},{"email":"b@example.com"}]}`, 400).is(`{"emails":["Invite for email b@example.com already exists"]}`)
	require.Len(t, h.mails, 2, "nothing of a refused request is mailed")
	require.EqualValues(t, 2, h.get(h.organisationPath()+"invites/", 200).object()["count"])
	h.post(path, `{"invites":[{}]}`, 400).is(`{"invites":[{"email":["This field is required."]}]}`)

	h.do("member", "POST", path, `{"emails":["d@example.com"]}`).must(403).is(`{"detail":"You do not have permission to perform this action."}`)
	h.send("POST", path, `{"emails":["d@example.com"]}`, h.key()).must(403)
	byKey := h.send("POST", h.organisationPath()+"invites/", `{"email":"d@example.com"}`, h.key()).must(201)
	require.Nil(t, h.get(fmt.Sprintf("%sinvites/%d/", h.organisationPath(), byKey.id()), 200).object()["invited_by"])
	for _, target := range []string{"invites/", "invite-links/", fmt.Sprintf("invites/%d/", byKey.id())} {
		h.do("member", "GET", h.organisationPath()+target, nil).must(403).is(`{"detail":"User does not have sufficient privileges to perform this action"}`)
	}
	for range invitesPerMinute {
		h.do("admin", "POST", fmt.Sprintf("%sinvites/%d/resend/", h.organisationPath(), byKey.id()), nil)
	}
	h.post(path, `{"emails":["e@example.com"]}`, 429)

	h.remove(h.organisationPath(), 204)
	for range fsm.Invites.Refs(h.node.FSM.State()) {
		t.Fatal("an invitation outlived its organisation")
	}
}

func TestInviteLink(t *testing.T) {
	h := newHarness(t)
	list := h.organisationPath() + "invite-links/"
	h.get(list, 200).is(`[]`)
	h.post(list, `{"role":"KING"}`, 400).is(`{"role":["\"KING\" is not a valid choice."]}`)
	link := h.post(list, `{"role":"ADMIN"}`, 201)
	hash := link.object()["hash"].(string)
	require.Regexp(t, `^[2-9A-HJ-NP-Za-km-z]{22}$`, hash)
	old := h.post(list, `{"expires_at":"2020-01-01T00:00:00Z"}`, 201).object()
	require.Equal(t, "USER", old["role"])
	require.Len(t, h.get(list, 200).list(), 2)

	join := func(who, hash string) reply { return h.do(who, "POST", "/api/v1/users/join/link/"+hash+"/", `{}`) }
	join("stranger", "nope").must(404).is(`{"detail":"No InviteLink matches the given query."}`)
	join("stranger", old["hash"].(string)).must(400).is(`{"detail":"Invite has expired"}`)
	require.Equal(t, "ADMIN", join("stranger", hash).must(200).object()["role"])
	require.Equal(t, "USER", join("member", hash).must(200).object()["role"], "a member keeps the role")
	h.send("POST", "/api/v1/users/join/link/"+hash+"/", nil, h.key()).must(401)

	h.api.Env.Options.DisableInviteLinks = true
	join("member", hash).must(403).is(`{"detail":"Invite links are disabled."}`)
	h.post(list, `{}`, 403)
	h.api.Env.Options.DisableInviteLinks = false
	h.remove(fmt.Sprintf("%s%d/", list, link.id()), 204)
	h.remove(fmt.Sprintf("%s%d/", list, link.id()), 404).is(`{"detail":"No InviteLink matches the given query."}`)
	join("stranger", hash).must(404)
}

func TestRegistrationByInvite(t *testing.T) {
	h := newHarness(t)
	h.api.Env.Options.AllowRegistrationWithoutInvite = false
	register := func(email, hash string) reply {
		return h.do("", "POST", "/api/v1/auth/users/", map[string]any{"email": email, "password": "Sesame-open-2!", "first_name": "A", "last_name": "B", "invite_hash": hash})
	}
	register("a@example.com", "").must(403)
	h.post(h.organisationPath()+"invites/", `{"email":"A@example.com"}`, 201)
	register("a@example.com", "").must(201)
	link := h.post(h.organisationPath()+"invite-links/", map[string]any{"expires_at": time.Now().Add(time.Hour)}, 201).object()
	register("b@example.com", "nope").must(403)
	register("b@example.com", link["hash"].(string)).must(201)
	old := h.post(h.organisationPath()+"invite-links/", `{"expires_at":"2020-01-01T00:00:00Z"}`, 201).object()
	register("c@example.com", old["hash"].(string)).must(403)
}

func TestOnboardingStatus(t *testing.T) {
	h := newHarness(t)
	const path = "/api/v1/environments/env-key/onboarding-status/"
	h.do("", "GET", path, nil).must(200).is(`{"first_evaluated_at":null,"first_evaluated_sdk_label":null}`)
	h.do("", "GET", "/api/v1/environments/nope/onboarding-status/", nil).must(404).is(`{"detail":"No Environment matches the given query."}`)
	h.node.Usage.Add(h.environment.ID, fsm.UsageFlags, 0, "", 1)
	require.NoError(t, h.node.Usage.Flush(t.Context()))
	require.NotNil(t, h.do("", "GET", path, nil).must(200).object()["first_evaluated_at"], "the usage counts tell")
	h.do("", "PUT", path, map[string]any{"first_evaluated_sdk_label": strings.Repeat("x", 101)}).must(400)
	h.do("", "PUT", path, `{"first_evaluated_sdk_label":"go"}`).must(204)
	h.do("", "PUT", path, `{"first_evaluated_sdk_label":"other"}`).must(204)
	require.Equal(t, "go", h.do("", "GET", path, nil).must(200).object()["first_evaluated_sdk_label"], "the first report counts")
}

func TestMemberProjectPermissions(t *testing.T) {
	h := newHarness(t)
	path := func(user uint64) string {
		return fmt.Sprintf("/api/v1/projects/%d/all-user-permissions/%d/", h.project.ID, user)
	}
	h.get(path(h.member.ID), 200).is(`{"permissions":[],"admin":false,"tag_based_permissions":[]}`)
	h.get(path(h.admin.ID), 200).is(`{"permissions":[],"admin":true,"tag_based_permissions":[]}`)
	h.get(path(h.stranger.ID), 404)
	h.grant(fsm.LevelProject, h.project.ID, "VIEW_PROJECT")
	h.get(path(h.member.ID), 200).is(`{"permissions":["VIEW_PROJECT"],"admin":false,"tag_based_permissions":[]}`)
	h.do("member", "GET", path(h.member.ID), nil).must(403)
}

func TestInviteLosesADeletedGroup(t *testing.T) {
	h := newHarness(t)
	g := h.post(h.groups(), `{"name":"g"}`, 201).id()
	i := h.post(h.organisationPath()+"invites/", fmt.Sprintf(`{"email":"x@example.com","permission_groups":[%d]}`, g), 201).id()
	h.remove(fmt.Sprintf("%s%d/", h.groups(), g), 204)
	require.Empty(t, h.get(fmt.Sprintf("%sinvites/%d/", h.organisationPath(), i), 200).object()["permission_groups"])
}

// --e2e-token lifts every throttle of requests.
func TestE2ETokenLiftsAllThrottles(t *testing.T) {
	h := newHarness(t)
	h.api.Env.Options.E2EToken = "e2e"
	headers := []route.Header{{Name: "Content-Type", Value: "application/json"}, {Name: "Authorization", Value: "Token admin"}, {Name: "X-E2E-Test-Auth-Token", Value: "e2e"}}
	for i := range invitesPerMinute + 2 {
		h.send("POST", "/api/v1/organisations/1/invite/", fmt.Sprintf(`{"emails":["who%d@example.com"]}`, i), headers).must(201)
		h.send("POST", "/o/register/", `{"client_name":"c","redirect_uris":["https://a.example/"]}`, headers).must(201)
	}
}
