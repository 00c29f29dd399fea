package admin

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

const (
	usersPath = "/api/v1/auth/users/"
	loginPath = "/api/v1/auth/login/"
)

// signUp registers bob and gives his token.
func (h *harness) signUp() string {
	h.Helper()
	return h.do("", "POST", usersPath, bob).must(201).object()["key"].(string)
}

// login tries bob's account.
func (h *harness) login(password string, status int) reply {
	h.Helper()
	return h.do("", "POST", loginPath, map[string]string{"email": "bob@example.com", "password": password}).must(status)
}

var mailedLink = regexp.MustCompile(`https://site\.example/([a-z/-]+)/([^/\s]+)/([0-9a-f]{40})\n`)

// lastMail takes page, uid and token out of the only mail since the last call.
func (h *harness) lastMail(to string) (page, uid, token string) {
	h.Helper()
	require.Len(h, h.mails, 1)
	require.Equal(h, to, h.mails[0].to)
	m := mailedLink.FindStringSubmatch(h.mails[0].body)
	require.NotNil(h, m, h.mails[0].body)
	h.mails = nil
	return m[1], m[2], m[3]
}

// expire ends every one-time token.
func (h *harness) expire() {
	h.node.Write(h, func(tx *fsm.Tx) error {
		for t := range fsm.OneTimeTokens.All(h.node.FSM.State()) {
			t.Expires = 1
			fsm.OneTimeTokens.Put(tx, t)
		}
		return nil
	})
}

func TestPasswordReset(t *testing.T) {
	h := newHarness(t)
	key := h.signUp()
	ask := func(email string) {
		t.Helper()
		h.do("", "POST", usersPath+"reset_password/", map[string]string{"email": email}).must(204).body("")
	}
	confirm := func(uid, token, password, again string) reply {
		return h.do("", "POST", usersPath+"reset_password_confirm/",
			map[string]string{"uid": uid, "token": token, "new_password": password, "re_new_password": again})
	}
	ask("nobody@example.com")
	require.Empty(t, h.mails)
	ask("BOB@example.com")
	page, uid, token := h.lastMail("bob@example.com")
	require.Equal(t, "password-reset/confirm", page)
	for stored := range fsm.OneTimeTokens.All(h.node.FSM.State()) {
		require.NotContains(t, string(stored.Hash[:]), token)
	}

	const good = "flagsmith-Bob-2!"
	for _, bad := range []string{"MQ", "x!", "OTk5OTk5", ""} {
		r := confirm(bad, token, good, good).must(400)
		switch bad {
		case "MQ": // another account
			r.is(`{"token":["Invalid token for given user."]}`)
		case "":
			r.is(`{"uid":["This field may not be blank."]}`)
		default:
			r.is(`{"uid":["Invalid user id or user doesn't exist."]}`)
		}
	}
	confirm(uid, strings.Repeat("0", 40), good, good).must(400).is(`{"token":["Invalid token for given user."]}`)
	confirm(uid, token, good, "flagsmith-Bob-3!").must(400).is(`{"non_field_errors":["The two password fields didn't match."]}`)
	require.Contains(t, confirm(uid, token, "123", "123").must(400).Raw, "This password is too short")
	h.do("", "POST", usersPath+"reset_email_confirm/", map[string]string{"uid": uid, "token": token, "new_email": "x@example.com"}).
		must(400).is(`{"token":["Invalid token for given user."]}`) // it is for something else

	confirm(uid, token, good, good).must(204)
	confirm(uid, token, good, good).must(400).is(`{"token":["Invalid token for given user."]}`)
	h.do(key, "GET", usersPath+"me/", nil).must(401)
	h.login("flagsmith-Bob-1!", 400)
	h.login(good, 200)

	ask("bob@example.com")
	_, uid, token = h.lastMail("bob@example.com")
	h.expire()
	confirm(uid, token, good, good).must(400)
}

func TestResetMailsAreFewAndTellNothing(t *testing.T) {
	h := newHarness(t)
	h.signUp()
	h.api.Env.Options.LoginPerMinute = 0
	ask := func(email string) {
		h.do("", "POST", usersPath+"reset_password/", map[string]string{"email": email}).must(204)
	}
	for range maxLive + 2 {
		before := h.node.FSM.State().Index
		ask("bob@example.com")
		ask("nobody@example.com")
		require.Equal(t, before+2, h.node.FSM.State().Index, "each costs one write")
	}
	require.Len(t, h.mails, maxLive)
	require.Equal(t, 1, fsm.OneTimeTokensByUser.Count(h.node.FSM.State(), uint64(0)))
	h.expire()
	ask("bob@example.com")
	require.Len(t, h.mails, maxLive+1)

	h.api.Env.Options.LoginPerMinute = 1
	ask("bob@example.com")
	h.do("", "POST", usersPath+"reset_email/", `{"email":"bob@example.com"}`).must(429)
}

// A password reset opens a locked account; what was mailed before a change of password or address ends with it.
func TestChangesEndWhatWasMailed(t *testing.T) {
	h := newHarness(t)
	h.signUp()
	h.node.Write(t, func(tx *fsm.Tx) error {
		u, _ := fsm.UsersByEmail.First(tx, "bob@example.com")
		u.LockedUntil = tx.Now().Add(lockTime)
		fsm.Users.Put(tx, u)
		return nil
	})
	h.login("flagsmith-Bob-1!", 400)
	h.do("", "POST", usersPath+"reset_password/", `{"email":"bob@example.com"}`).must(204)
	_, uid, token := h.lastMail("bob@example.com")
	in := map[string]string{"uid": uid, "token": token, "new_password": "flagsmith-Bob-2!", "re_new_password": "flagsmith-Bob-2!"}
	h.do("", "POST", usersPath+"reset_password_confirm/", in).must(204)
	key := h.login("flagsmith-Bob-2!", 200).object()["key"].(string)

	h.do("", "POST", usersPath+"reset_password/", `{"email":"bob@example.com"}`).must(204)
	_, in["uid"], in["token"] = h.lastMail("bob@example.com")
	h.do(key, "POST", usersPath+"set_password/", `{"current_password":"flagsmith-Bob-2!","new_password":"flagsmith-Bob-3!","re_new_password":"flagsmith-Bob-3!"}`).must(204)
	h.do("", "POST", usersPath+"reset_password_confirm/", in).must(400).is(`{"token":["Invalid token for given user."]}`)
}

func TestEmailReset(t *testing.T) {
	h := newHarness(t)
	h.signUp()
	h.do("", "POST", usersPath+"reset_email/", `{"email":"nope"}`).must(400).is(`{"email":["Enter a valid email address."]}`)
	h.do("", "POST", usersPath+"reset_email/", `{"email":"bob@example.com"}`).must(204)
	page, uid, token := h.lastMail("bob@example.com")
	require.Equal(t, "email/reset/confirm", page)
	in := map[string]string{"uid": uid, "token": token, "new_email": "ADMIN@example.com"}
	h.do("", "POST", usersPath+"reset_email_confirm/", in).must(400).is(`{"new_email":["Email already exists. Please log in."]}`)
	in["new_email"] = "Robert@example.com"
	h.do("", "POST", usersPath+"reset_email_confirm/", in).must(204)
	require.Len(t, h.mails, 1)
	require.Equal(t, "bob@example.com", h.mails[0].to)
	h.login("flagsmith-Bob-1!", 400)
	h.do("", "POST", loginPath, `{"email":"robert@example.com","password":"flagsmith-Bob-1!"}`).must(200)
	h.do("", "POST", usersPath+"reset_email_confirm/", in).must(400)
}

func TestSetEmail(t *testing.T) {
	h := newHarness(t)
	key := h.signUp()
	set := func(email, password string) reply {
		return h.do(key, "POST", usersPath+"set_email/", map[string]string{"new_email": email, "current_password": password})
	}
	set("robert@example.com", "wrong").must(400).is(`{"current_password":["Invalid password."]}`)
	set("nope", "flagsmith-Bob-1!").must(400).is(`{"new_email":["Enter a valid email address."]}`)
	set("admin@example.com", "flagsmith-Bob-1!").must(400).is(`{"new_email":["Email already exists. Please log in."]}`)
	h.do("", "POST", usersPath+"set_email/", `{}`).must(401)
	require.Empty(t, h.mails)
	set("Robert@example.com", "flagsmith-Bob-1!").must(204)
	require.Equal(t, "robert@example.com", h.do(key, "GET", usersPath+"me/", nil).must(200).object()["email"])
	require.Equal(t, "bob@example.com", h.mails[0].to)
	require.Contains(t, h.mails[0].body, "robert@example.com")
}

func TestActivation(t *testing.T) {
	h := newHarness(t)
	for _, path := range []string{"activation/", "resend_activation/"} {
		h.do("", "POST", usersPath+path, `{"uid":"MQ","token":"x","email":"a@b.cd"}`).must(400).body("")
	}
	h.api.Env.Options.EmailActivation = true
	key := h.signUp()
	page, uid, first := h.lastMail("bob@example.com")
	require.Equal(t, "activate", page)
	h.login("flagsmith-Bob-1!", 400)
	h.do(key, "GET", usersPath+"me/", nil).must(401)
	h.do("", "POST", usersPath+"reset_password/", `{"email":"bob@example.com"}`).must(204)
	require.Empty(t, h.mails)

	h.do("", "POST", usersPath+"resend_activation/", `{"email":"admin@example.com"}`).must(204)
	h.do("", "POST", usersPath+"resend_activation/", `{"email":"nobody@example.com"}`).must(204)
	require.Empty(t, h.mails)
	h.do("", "POST", usersPath+"resend_activation/", `{"email":"bob@example.com"}`).must(204)
	_, _, second := h.lastMail("bob@example.com")
	require.NotEqual(t, first, second)
	activate := func(token string, status int) reply {
		return h.do("", "POST", usersPath+"activation/", map[string]string{"uid": uid, "token": token}).must(status)
	}
	activate("x", 400).is(`{"token":["Invalid token for given user."]}`)
	activate(first, 204)
	activate(second, 400)
	h.login("flagsmith-Bob-1!", 200)
	h.do(key, "GET", usersPath+"me/", nil).must(200)
}

func TestOtherAccountsAreHidden(t *testing.T) {
	h := newHarness(t)
	for _, method := range []string{"GET", "PUT", "PATCH", "DELETE"} {
		h.do("admin", method, usersPath+"1/", nil).must(404).is(`{"detail":"Not found."}`)
		h.do("", method, usersPath+"1/", nil).must(401)
	}
	h.do("", "GET", "/api/v1/users/init/", nil).must(400).
		is(`{"adminUserCreated":false,"message":"FAILED TO INIT ADMIN USER. USER(S) ALREADY EXIST IN SYSTEM."}`)
}

func TestOnboarding(t *testing.T) {
	h := newHarness(t)
	const path = usersPath + "me/onboarding/"
	h.patch(path, `{}`, 400).is(`{"non_field_errors":["At least one of tasks, tools and hosting_preferences is required."]}`)
	h.patch(path, `{"tasks":[{"completed_at":"2026-11-21T12:24:33.172Z"}]}`, 400).is(`{"tasks":[{"name":["This field is required."]}]}`)
	h.do("", "PATCH", path, `{}`).must(401)
	h.patch(path, `{"tasks":[{"name":"x","completed_at":"2026-11-21T12:24:33.172Z"}]}`, 204)
	h.patch(path, `{"tools":{"completed":true,"integrations":["github"]},"hosting_preferences":["cloud"]}`, 204)
	h.patch(path, `{"hosting_preferences":[]}`, 204)
	require.Equal(t, map[string]any{
		"tasks":               []any{map[string]any{"name": "x", "completed_at": "2026-11-21T12:24:33.172Z"}},
		"tools":               map[string]any{"completed": true, "integrations": []any{"github"}},
		"hosting_preferences": []any{},
	}, h.get(usersPath+"me/", 200).object()["onboarding"])
	h.patch(path, `{"tasks":[{"name":"now"}]}`, 204)
	task := h.get(usersPath+"me/", 200).object()["onboarding"].(map[string]any)["tasks"].([]any)[0].(map[string]any)
	require.NotEmpty(t, task["completed_at"])
}

func TestLimits(t *testing.T) {
	h := newHarness(t)
	e := h.api.Env
	e.ReadyNodes = func() int { return 3 }
	require.Equal(t, 2, e.share(5))
	require.Equal(t, 0, e.share(0))

	e.Options.AdminPerMinute = 6 // two for each node
	count := func(auth, path string) error {
		m := &route.Match{}
		require.True(t, h.table.Lookup([]byte("GET"), []byte(path), m))
		return h.api.CountRequest(t.Context(), m, &route.Request{Headers: []route.Header{{Name: "Authorization", Value: auth}, {Name: "X-E2E-Test-Auth-Token", Value: "e2e"}}})
	}
	const me = "/api/v1/auth/users/me/"
	for range 2 {
		require.NoError(t, count("Token admin", me))
	}
	var refused *route.Error
	require.ErrorAs(t, count("Token admin", me), &refused)
	require.Equal(t, 429, refused.Status)
	require.NoError(t, count("Token member", me), "each account has its own")
	for range 5 {
		require.NoError(t, count("Token nobody", me), "refused elsewhere")
	}
	e.Options.E2EToken = "e2e"
	require.NoError(t, count("Token admin", me))
}

// TestPasswordsAreNotTried: somebody's token is not enough to find out the password that belongs to it.
func TestPasswordsAreNotTried(t *testing.T) {
	h := newHarness(t)
	key := h.signUp()
	const good = "flagsmith-Bob-2!"
	for i := range codesPerMinute {
		wrong := map[string]string{"current_password": "wrong", "new_password": good, "re_new_password": good, "new_email": "b@example.com"}
		h.do(key, "POST", usersPath+[]string{"set_password/", "set_email/"}[i%2], wrong).must(400).is(`{"current_password":["Invalid password."]}`)
	}
	right := map[string]string{"current_password": "flagsmith-Bob-1!", "new_password": good, "re_new_password": good}
	h.do(key, "POST", usersPath+"set_password/", right).must(429)
	h.do(key, "DELETE", usersPath+"me/", right).must(429)
}
