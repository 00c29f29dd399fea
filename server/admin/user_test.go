package admin

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

const (
	ada = `{"email":"Ada@Example.com","password":"flagsmith-Admin-1!","first_name":"Ada","last_name":"Admin","sign_up_type":"NO_INVITE"}`
	bob = `{"email":"bob@example.com","password":"flagsmith-Bob-1!","first_name":"Bob","last_name":"User"}`
)

// empty is a harness without any user.
func empty(t *testing.T) *harness {
	h := newHarness(t)
	h.node.Write(t, func(tx *fsm.Tx) error {
		for u := range fsm.Users.All(tx) {
			defer fsm.Users.Delete(tx, u.ID)
		}
		return nil
	})
	return h
}

func TestFirstRegistrationIsSuperuser(t *testing.T) {
	h := empty(t)
	first := h.do("", "POST", "/api/v1/auth/users/", ada).must(201).object()
	require.Equal(t, "ada@example.com", first["email"])
	require.Equal(t, "NO_INVITE", first["sign_up_type"])
	require.Regexp(t, "^[0-9a-f]{40}$", first["key"])
	me := h.do(first["key"].(string), "GET", "/api/v1/auth/users/me/", nil).must(200).object()
	require.Equal(t, true, me["is_superuser"])
	require.Equal(t, "EMAIL", me["auth_type"])
	require.Nil(t, me["onboarding"])

	second := h.do("", "POST", "/api/v1/auth/users/", bob).must(201).object()
	require.Equal(t, false, h.do(second["key"].(string), "GET", "/api/v1/auth/users/me/", nil).must(200).object()["is_superuser"])
}

func TestRegistrationErrors(t *testing.T) {
	h := newHarness(t)
	for _, test := range []struct{ name, body, want string }{
		{"missing", `{}`, `{"email":["This field is required."],"password":["This field is required."],"first_name":["This field is required."],"last_name":["This field is required."]}`},
		{"bad email", strings.Replace(bob, "bob@example.com", "nope", 1), `{"email":["Enter a valid email address."]}`},
		{"weak", strings.Replace(bob, "flagsmith-Bob-1!", "123", 1),
			`{"password":["This password is too short. It must contain at least 8 characters.","This password is too common.","This password is entirely numeric."]}`},
		{"numeric", strings.Replace(bob, "flagsmith-Bob-1!", "12345678", 1), `{"password":["This password is too common.","This password is entirely numeric."]}`},
		{"like the address", strings.Replace(bob, "flagsmith-Bob-1!", "bob@example.co", 1), `{"password":["The password is too similar to the email."]}`},
		{"taken, ignoring case", strings.Replace(bob, "bob@", "ADMIN@", 1), `{"email":["Email already exists. Please log in."]}`},
		{"second superuser", strings.Replace(bob, "{", `{"superuser":true,`, 1),
			`{"superuser":["A superuser can only be created through this endpoint if no other users exist."]}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			h.do("", "POST", "/api/v1/auth/users/", test.body).must(400).is(test.want)
		})
	}
}

func TestRegistrationSwitches(t *testing.T) {
	h := newHarness(t)
	h.api.Env.Options.AllowRegistrationWithoutInvite = false
	h.do("", "POST", "/api/v1/auth/users/", bob).must(403).
		is(`{"detail":"User registration without an invite is disabled for this installation."}`)
	h.api.Env.Options.PreventSignup = true
	h.do("", "POST", "/api/v1/auth/users/", bob).must(401)
}

func TestLogin(t *testing.T) {
	h := newHarness(t)
	key := h.do("", "POST", "/api/v1/auth/users/", bob).must(201).object()["key"].(string)
	login := func(body string, status int) reply {
		t.Helper()
		h.api.Env.Throttle = NewThrottle(h.api.Env.Clock)
		return h.do("", "POST", "/api/v1/auth/login/", body).must(status)
	}
	const wrong = `{"non_field_errors":["Unable to log in with provided credentials."]}`
	require.Equal(t, key, login(`{"email":"BOB@example.com","password":"flagsmith-Bob-1!"}`, 200).object()["key"])
	for _, body := range []string{`{"email":"bob@example.com","password":"x"}`, `{"email":"nobody@example.com","password":"x"}`,
		`{"email":"bob@example.com"}`, `{"password":"x"}`, `{}`, ``} {
		login(body, 400).is(wrong)
	}
	login(`{"email":"","password":""}`, 400).is(`{"password":["This field may not be blank."],"email":["This field may not be blank."]}`)
	login(`[1]`, 400).is(`{"non_field_errors":["Invalid data. Expected a dictionary, but got list."]}`)

	h.do(key, "POST", "/api/v1/auth/logout/", nil).must(204)
	h.do(key, "GET", "/api/v1/auth/users/me/", nil).must(401).is(`{"detail":"Invalid token."}`)
	h.do("", "POST", "/api/v1/auth/logout/", nil).must(401)
	fresh := login(`{"email":"bob@example.com","password":"flagsmith-Bob-1!"}`, 200).object()["key"].(string)
	require.NotEqual(t, key, fresh)
	h.do(fresh, "DELETE", "/api/v1/auth/token/", nil).must(204)
	h.do(fresh, "GET", "/api/v1/auth/users/me/", nil).must(401)
}

func TestLoginLocksAfterFailures(t *testing.T) {
	h := newHarness(t)
	h.api.Env.Options.LoginPerMinute = 0
	h.do("", "POST", "/api/v1/auth/users/", bob).must(201)
	right, wrong := `{"email":"bob@example.com","password":"flagsmith-Bob-1!"}`, `{"email":"bob@example.com","password":"wrong"}`
	for range maxFailedLogins - 1 {
		h.do("", "POST", "/api/v1/auth/login/", wrong).must(400)
	}
	h.do("", "POST", "/api/v1/auth/login/", right).must(200) // which forgets the failures
	for range maxFailedLogins {
		h.do("", "POST", "/api/v1/auth/login/", wrong).must(400)
	}
	h.do("", "POST", "/api/v1/auth/login/", right).must(400)
	u, _ := fsm.UsersByEmail.First(h.node.FSM.State(), "bob@example.com")
	require.Greater(t, u.LockedUntil, fsm.TimeOf(time.Now()))
	h.node.Write(t, func(tx *fsm.Tx) error {
		u.LockedUntil = 1
		fsm.Users.Put(tx, u)
		return nil
	})
	h.do("", "POST", "/api/v1/auth/login/", right).must(200)
}

func TestLoginThrottle(t *testing.T) {
	h := newHarness(t)
	for range 20 {
		h.do("", "POST", "/api/v1/auth/login/", `{}`).must(400) // malformed ones count
	}
	r := h.do("", "POST", "/api/v1/auth/login/", `{}`).must(429)
	require.Regexp(t, `^\{"detail":"Request was throttled. Expected available in \d+ seconds?."\}$`, r.Raw)
	require.NotEmpty(t, r.Answer.Header("Retry-After"))
}

func TestMe(t *testing.T) {
	h := newHarness(t)
	key := h.do("", "POST", "/api/v1/auth/users/", bob).must(201).object()["key"].(string)
	const path = "/api/v1/auth/users/me/"
	require.Equal(t, "Bobby", h.do(key, "PATCH", path, `{"first_name":"Bobby","email":"x@y.zz"}`).must(200).object()["first_name"])
	require.Equal(t, "bob@example.com", h.do(key, "GET", path, nil).must(200).object()["email"])
	h.do(key, "PUT", path, `{"first_name":"B"}`).must(400).is(`{"last_name":["This field is required."]}`)
	h.do("", "GET", path, nil).must(401).is(`{"detail":"Authentication credentials were not provided."}`)
	h.do(key, "GET", "/api/v1/auth/users/", nil).must(404).is(`{"detail":"Not found."}`)
	h.do(key, "GET", "/api/v1/auth/mfa/user-active-methods/", nil).must(200).is(`[]`)

	h.do(key, "DELETE", path, `{"current_password":"wrong"}`).must(400).is(`{"current_password":["Invalid password."]}`)
	organisation := h.do(key, "POST", "/api/v1/organisations/", `{"name":"Bob's"}`).must(201).id()
	h.do(key, "DELETE", path, `{"current_password":"flagsmith-Bob-1!","delete_orphan_organisations":true}`).must(204)
	h.do(key, "GET", path, nil).must(401)
	_, left := fsm.Organisations.Get(h.node.FSM.State(), organisation)
	require.False(t, left)
}

func TestSetPassword(t *testing.T) {
	h := newHarness(t)
	key := h.do("", "POST", "/api/v1/auth/users/", bob).must(201).object()["key"].(string)
	set := func(current, new, again string) reply {
		return h.do(key, "POST", "/api/v1/auth/users/set_password/",
			map[string]string{"current_password": current, "new_password": new, "re_new_password": again})
	}
	set("x", "flagsmith-Bob-2!", "flagsmith-Bob-2!").must(400).is(`{"current_password":["Invalid password."]}`)
	set("flagsmith-Bob-1!", "flagsmith-Bob-2!", "flagsmith-Bob-3!").must(400).is(`{"non_field_errors":["The two password fields didn't match."]}`)
	set("flagsmith-Bob-1!", "123", "123").must(400)
	set("flagsmith-Bob-1!", "flagsmith-Bob-2!", "flagsmith-Bob-2!").must(204)
	h.do(key, "GET", "/api/v1/auth/users/me/", nil).must(200) // the front end goes on with it
	h.do("", "POST", "/api/v1/auth/login/", `{"email":"bob@example.com","password":"flagsmith-Bob-1!"}`).must(400)
	h.do("", "POST", "/api/v1/auth/login/", `{"email":"bob@example.com","password":"flagsmith-Bob-2!"}`).must(200)
}
