package admin

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"

func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// program is a registered client in a test.
type program struct {
	*harness
	id, redirect string
}

func newProgram(t *testing.T) *program {
	h := newHarness(t)
	p := &program{harness: h, redirect: "https://app.example/cb?x=1"}
	p.id = h.do("", "POST", "/o/register/", map[string]any{"client_name": "App", "redirect_uris": []string{p.redirect}}).must(201).object()["client_id"].(string)
	return p
}

func (p *program) query(change ...string) url.Values {
	q := url.Values{"response_type": {"code"}, "client_id": {p.id}, "redirect_uri": {p.redirect}, "scope": {"admin-api"}, "state": {"a b"},
		"code_challenge": {challengeOf(verifier)}, "code_challenge_method": {"S256"}}
	for i := 0; i < len(change); i += 2 {
		q.Set(change[i], change[i+1])
	}
	return q
}

// consent answers the program's request as the member.
func (p *program) consent(allow bool) url.Values {
	p.Helper()
	body := map[string]any{"allow": allow}
	for k, v := range p.query() {
		body[k] = v[0]
	}
	to := p.do("member", "POST", "/api/v1/oauth/authorize/", body).must(200).object()["redirect_uri"].(string)
	u, err := url.Parse(to)
	require.NoError(p, err)
	require.Equal(p, "app.example", u.Host)
	require.Equal(p, "1", u.Query().Get("x"))
	require.Equal(p, "a b", u.Query().Get("state"))
	require.Equal(p, "http://server", u.Query().Get("iss"))
	return u.Query()
}

// token sends a form to the token endpoint.
func (p *program) token(members ...string) reply {
	form := url.Values{"client_id": {p.id}}
	for i := 0; i < len(members); i += 2 {
		form.Set(members[i], members[i+1])
	}
	return p.form("/o/token/", form)
}

func (p *program) form(path string, form url.Values) reply {
	return p.send("POST", path, form.Encode(), []route.Header{{Name: "Content-Type", Value: "application/x-www-form-urlencoded"}})
}

func (p *program) redeem(code string) reply {
	return p.token("grant_type", "authorization_code", "code", code, "redirect_uri", p.redirect, "code_verifier", verifier)
}

func (p *program) refresh(token string) reply {
	return p.token("grant_type", "refresh_token", "refresh_token", token)
}

// me is the status of a call with an access token.
func (p *program) me(token string) int {
	return p.send("GET", "/api/v1/auth/users/me/", nil, []route.Header{{Name: "Authorization", Value: "Bearer " + token}}).Status
}

// age moves the times of all grants and tokens into the past.
func (p *program) age(by time.Duration) {
	past := func(t *fsm.Time) {
		if !t.IsZero() {
			*t = t.Add(-by)
		}
	}
	p.node.Write(p, func(tx *fsm.Tx) error {
		for _, g := range slices.Collect(fsm.OAuthGrants.All(tx)) {
			past(&g.Expires)
			fsm.OAuthGrants.Put(tx, g)
		}
		for _, t := range slices.Collect(fsm.OAuthTokens.All(tx)) {
			past(&t.AccessExpires)
			past(&t.RefreshExpires)
			past(&t.Rotated)
			fsm.OAuthTokens.Put(tx, t)
		}
		return nil
	})
}

func str(o map[string]any, name string) string {
	s, _ := o[name].(string)
	return s
}

func TestOAuthMetadata(t *testing.T) {
	h := newHarness(t)
	const path = "/.well-known/oauth-authorization-server"
	m := h.do("", "GET", path, nil).must(200).object()
	require.Equal(t, "http://server", m["issuer"])
	require.Equal(t, "http://server/o/authorize/", m["authorization_endpoint"])
	require.Equal(t, "http://server/o/token/", m["token_endpoint"])
	require.Equal(t, []any{"S256"}, m["code_challenge_methods_supported"])
	h.api.Env.Options.PublicURL, h.api.Env.Options.FrontendURL = "https://api.example/", "https://flags.example/"
	m = h.do("", "GET", path, nil).must(200).object()
	require.Equal(t, "https://api.example", m["issuer"])
	require.Equal(t, "https://flags.example/oauth/authorize/", m["authorization_endpoint"])

	page := h.do("", "GET", "/o/authorize/", nil).must(200)
	require.Contains(t, page.Raw, "<script>")
	require.Contains(t, page.Answer.Header("Content-Security-Policy"), "script-src 'sha256-")
}

// TestOAuthClientsMakeRoom: as many programs as there may be keep nobody out, and no program that somebody uses is forgotten for another.
func TestOAuthClientsMakeRoom(t *testing.T) {
	p := newProgram(t)
	access := p.redeem(p.consent(true).Get("code")).must(200).object()["access_token"].(string)
	p.node.Write(t, func(tx *fsm.Tx) error {
		for i := range oauthClientLimit - 1 {
			fsm.OAuthClients.Put(tx, fsm.OAuthClient{ClientID: fmt.Sprint("idle", i), Name: "Idle", RedirectURIs: []string{p.redirect}, Created: tx.Now()})
		}
		return nil
	})
	p.do("", "POST", "/o/register/", `{"client_name":"New","redirect_uris":["https://new.example/cb"]}`).must(201)
	for id, known := range map[string]bool{p.id: true, "idle0": false, "idle1": true} {
		_, ok := fsm.OAuthClientsByClientID.First(p.node.FSM.State(), id)
		require.Equal(t, known, ok, id)
	}
	require.Equal(t, 200, p.me(access))
}

func TestOAuthRegistration(t *testing.T) {
	h := newHarness(t)
	refused := func(body, code string) {
		h.api.Env.Throttle = NewThrottle(time.Now)
		require.Equal(t, code, h.do("", "POST", "/o/register/", body).must(400).object()["error"], body)
	}
	refused(`{"redirect_uris":["https://a.example"]}`, "invalid_client_metadata")
	refused(`{"client_name":"a"}`, "invalid_redirect_uri")
	for _, uri := range []string{"http://a.example/", "javascript:alert(1)", "https://a.example/#x", "https://a.example/#", "https://u:p@a.example/", "myapp://cb", "://", "https:///x", "http://127.0.0.1.evil.example/"} {
		refused(`{"client_name":"a","redirect_uris":["`+uri+`"]}`, "invalid_redirect_uri")
	}
	refused(`{"client_name":"a","redirect_uris":["https://a.example"],"token_endpoint_auth_method":"client_secret_basic"}`, "invalid_client_metadata")
	refused(`{"client_name":"a","redirect_uris":["https://a.example"],"grant_types":["password"]}`, "invalid_client_metadata")
	refused(`{"client_name":"a","redirect_uris":["https://a.example"],"response_types":["token"]}`, "invalid_client_metadata")
	for range registrationsPerMinute {
		h.do("", "POST", "/o/register/", `{"client_name":"a","redirect_uris":["http://localhost:1/cb"]}`)
	}
	h.do("", "POST", "/o/register/", `{"client_name":"a","redirect_uris":["http://localhost:1/cb"]}`).must(429)
}

func TestOAuthFlow(t *testing.T) {
	p := newProgram(t)
	const path = "/api/v1/oauth/authorize/"
	asked := p.do("member", "GET", path+"?"+p.query().Encode(), nil).must(200).object()
	require.Equal(t, map[string]any{"name": "App", "client_id": p.id}, asked["application"])
	require.Equal(t, []string{"admin-api"}, keysOf(asked["scopes"].(map[string]any)))
	p.do("", "GET", path+"?"+p.query().Encode(), nil).must(401)
	for code, change := range map[string][]string{
		"invalid_client": {"client_id", "x"}, "unsupported_response_type": {"response_type", "token"}, "invalid_scope": {"scope", "root"},
		"invalid_request": {"redirect_uri", "https://evil.example/"},
	} {
		require.Equal(t, code, p.do("member", "GET", path+"?"+p.query(change...).Encode(), nil).must(400).object()["error"])
	}
	p.do("member", "GET", path+"?"+p.query("code_challenge_method", "plain").Encode(), nil).must(400)
	p.do("member", "GET", path+"?"+p.query("code_challenge", "short").Encode(), nil).must(400)

	denied := p.consent(false)
	require.Equal(t, "access_denied", denied.Get("error"))
	require.Empty(t, denied.Get("code"))

	code := p.consent(true).Get("code")
	p.token("grant_type", "authorization_code", "code", code, "redirect_uri", p.redirect, "code_verifier", strings.Repeat("x", 43)).must(400)
	p.token("grant_type", "authorization_code", "code", code, "redirect_uri", "https://app.example/", "code_verifier", verifier).must(400)
	p.token("grant_type", "authorization_code", "code", code, "client_id", commandLineClient, "redirect_uri", p.redirect, "code_verifier", verifier).must(400)
	require.Equal(t, "unsupported_grant_type", p.token("grant_type", "password").must(400).object()["error"])
	first := p.redeem(code).must(200).object()
	require.Equal(t, "Bearer", first["token_type"])
	require.EqualValues(t, 900, first["expires_in"])
	require.Equal(t, "admin-api", first["scope"])
	access := str(first, "access_token")
	require.Equal(t, 200, p.me(access))
	require.Equal(t, 401, p.me(access+"x"))
	p.send("POST", path, `{}`, []route.Header{{Name: "Authorization", Value: "Bearer " + access}}).must(403) // no consent in the user's place

	for table, raw := range map[string][]byte{"grants": stateOf(p, fsm.OAuthGrants), "tokens": stateOf(p, fsm.OAuthTokens)} {
		for _, secret := range []string{code, access, str(first, "refresh_token")} {
			require.NotContains(t, string(raw), secret, table)
		}
	}

	about := p.form("/o/introspect/", url.Values{"token": {access}}).must(200).object()
	require.Equal(t, true, about["active"])
	require.Equal(t, "member@example.com", about["username"])
	p.form("/o/introspect/", url.Values{"token": {"x"}}).must(200).is(`{"active":false}`)

	second := p.refresh(str(first, "refresh_token")).must(200).object()
	require.NotEqual(t, first["refresh_token"], second["refresh_token"])
	require.Equal(t, 200, p.me(str(second, "access_token")))
	p.form("/o/revoke_token/", url.Values{"token": {str(second, "refresh_token")}}).must(200)
	require.Equal(t, 401, p.me(str(second, "access_token")))
	require.Equal(t, 401, p.me(access), "all of one consent end together")
	p.form("/o/revoke_token/", url.Values{"token": {"unknown"}}).must(200)
}

func TestOAuthExpiry(t *testing.T) {
	p := newProgram(t)
	code := p.consent(true).Get("code")
	p.age(codeLife)
	p.redeem(code).must(400)

	tokens := p.redeem(p.consent(true).Get("code")).must(200).object()
	p.age(accessLife)
	require.Equal(t, 401, p.me(str(tokens, "access_token")))
	tokens = p.refresh(str(tokens, "refresh_token")).must(200).object()
	p.age(refreshLife)
	require.Equal(t, "invalid_grant", p.refresh(str(tokens, "refresh_token")).must(400).object()["error"])
	p.consent(true) // clears away what expired
	require.Empty(t, slices.Collect(fsm.OAuthTokens.All(p.node.FSM.State())))
	require.Len(t, slices.Collect(fsm.OAuthGrants.All(p.node.FSM.State())), 1)
}

// TestOAuthEndsWithThePassword: neither tokens nor codes of programs outlive a new password, set or reset.
func TestOAuthEndsWithThePassword(t *testing.T) {
	const old, set, reset = "flagsmith-Member-1!", "flagsmith-Member-2!", "flagsmith-Member-3!"
	p := newProgram(t)
	p.node.Write(t, func(tx *fsm.Tx) error {
		p.member.PasswordHash = "plain:" + old
		fsm.Users.Put(tx, p.member)
		return nil
	})
	ends := func(change func()) {
		t.Helper()
		tokens, code := p.redeem(p.consent(true).Get("code")).must(200).object(), p.consent(true).Get("code")
		require.Equal(t, 200, p.me(str(tokens, "access_token")))
		change()
		require.Equal(t, 401, p.me(str(tokens, "access_token")))
		p.refresh(str(tokens, "refresh_token")).must(400)
		p.redeem(code).must(400)
	}
	ends(func() {
		p.do("member", "POST", usersPath+"set_password/", map[string]string{"current_password": old, "new_password": set, "re_new_password": set}).must(204)
	})
	p.do("member", "GET", usersPath+"me/", nil).must(200)
	ends(func() {
		p.do("", "POST", usersPath+"reset_password/", map[string]string{"email": p.member.Email}).must(204)
		_, uid, token := p.lastMail(p.member.Email)
		p.do("", "POST", usersPath+"reset_password_confirm/",
			map[string]string{"uid": uid, "token": token, "new_password": reset, "re_new_password": reset}).must(204)
	})
	p.do("member", "GET", usersPath+"me/", nil).must(401)
}

// TestOAuthTheft: what is used twice was stolen, and ends everything that came of the consent.
func TestOAuthTheft(t *testing.T) {
	p := newProgram(t)
	code := p.consent(true).Get("code")
	tokens := p.redeem(code).must(200).object()
	p.redeem(code).must(400)
	require.Equal(t, 401, p.me(str(tokens, "access_token")))

	code = p.consent(true).Get("code") // and when the code would have expired, too
	tokens = p.redeem(code).must(200).object()
	p.age(accessLife)
	tokens = p.refresh(str(tokens, "refresh_token")).must(200).object()
	p.age(refreshLife - accessLife)
	tokens = p.refresh(str(tokens, "refresh_token")).must(200).object()
	p.redeem(code).must(400)
	require.Equal(t, 401, p.me(str(tokens, "access_token")))
	p.refresh(str(tokens, "refresh_token")).must(400)
	require.Empty(t, slices.Collect(fsm.OAuthGrants.All(p.node.FSM.State())))

	first := p.redeem(p.consent(true).Get("code")).must(200).object()
	p.refresh(str(first, "refresh_token")).must(200)
	second := p.refresh(str(first, "refresh_token")).must(200).object() // its answer was lost, say
	p.age(refreshGrace)
	p.refresh(str(first, "refresh_token")).must(400)
	require.Equal(t, 401, p.me(str(second, "access_token")))
	p.refresh(str(second, "refresh_token")).must(400)
}

func TestOAuthAccounts(t *testing.T) {
	p := newProgram(t)
	tokens := p.redeem(p.consent(true).Get("code")).must(200).object()
	bearer := []route.Header{{Name: "Authorization", Value: "Bearer " + str(tokens, "access_token")}}
	p.send("POST", "/api/v1/auth/logout/", nil, bearer).must(204)
	require.Equal(t, 401, p.me(str(tokens, "access_token")))
	p.do("member", "GET", "/api/v1/auth/users/me/", nil).must(200) // the user stays signed in

	tokens = p.redeem(p.consent(true).Get("code")).must(200).object()
	p.node.Write(t, func(tx *fsm.Tx) error {
		u, _ := fsm.Users.Get(tx, p.member.ID)
		u.IsActive = false
		fsm.Users.Put(tx, u)
		return nil
	})
	require.Equal(t, 401, p.me(str(tokens, "access_token")))
	p.refresh(str(tokens, "refresh_token")).must(400)
}

func TestCommandLineRedirects(t *testing.T) {
	client, ok := oauthClient(nil, commandLineClient)
	require.True(t, ok)
	for address, good := range map[string]bool{
		"http://127.0.0.1:53111/callback": true, "http://localhost:1/": true, "http://[::1]:9/x": true,
		"https://127.0.0.1:1/": false, "http://127.0.0.2:1/": false, "http://example.com/": false, "http://localhost.example.com/": false,
	} {
		require.Equal(t, good, mayRedirect(client, address), address)
	}
	fixed := fsm.OAuthClient{RedirectURIs: []string{"http://localhost:1/cb", "https://a.example/cb"}}
	for address, good := range map[string]bool{
		"http://localhost:2/cb": true, "http://localhost:2/other": false, "https://a.example/cb": true, "https://a.example:444/cb": false, "https://a.example/cb/": false,
	} {
		require.Equal(t, good, mayRedirect(fixed, address), address)
	}
}

func FuzzRedirectURI(f *testing.F) {
	for _, s := range []string{"https://a.example/cb", "http://localhost:1/", "javascript:alert(1)", "http://127.0.0.1\\@evil.example/", "https://a#b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, address string) {
		u, ok := redirectURI(address)
		if !ok {
			return
		}
		require.Contains(t, []string{"https", "http"}, u.Scheme)
		require.NotContains(t, u.String(), "#")
		require.True(t, u.Scheme == "https" || onLoopback(u))
	})
}

func FuzzScope(f *testing.F) {
	for _, s := range []string{"", "admin-api", "admin-api  admin-api", "root", "\u00a0admin-api"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		scope, ok := readScope(text)
		if !ok {
			return
		}
		again, ok := readScope(scope)
		require.True(t, ok)
		require.Equal(t, scope, again)
	})
}

func keysOf(m map[string]any) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	return keys
}

func stateOf[R any](p *program, table fsm.Table[R]) []byte {
	out := []byte{}
	for row := range table.All(p.node.FSM.State()) {
		out = route.AppendJSON(out, row)
	}
	return out
}
