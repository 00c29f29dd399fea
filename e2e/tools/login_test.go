package tools

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/nodes"
)

// metadata is what a program reads of the description of the OAuth server.
type metadata struct {
	Issuer        string   `json:"issuer"`
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Revocation    string   `json:"revocation_endpoint"`
	Registration  string   `json:"registration_endpoint"`
	Scopes        []string `json:"scopes_supported"`
	Challenges    []string `json:"code_challenge_methods_supported"`
}

type tokens struct {
	Access    string `json:"access_token"`
	Refresh   string `json:"refresh_token"`
	Type      string `json:"token_type"`
	ExpiresIn int    `json:"expires_in"`
	Scope     string `json:"scope"`
}

// discover reads the description at the origin. It must be of that origin, and what
// gets secrets must be there too.
func discover(x *tool) metadata {
	x.Helper()
	md := decode[metadata](x, x.get("/.well-known/oauth-authorization-server"))
	origin, issuer := parse(x, x.client.Base), parse(x, md.Issuer)
	require.Equal(x, [3]string{origin.Scheme, origin.Host, strings.TrimRight(origin.Path, "/")},
		[3]string{issuer.Scheme, issuer.Host, strings.TrimRight(issuer.Path, "/")}, "the issuer is the API's address")
	for _, endpoint := range []string{md.Token, md.Revocation, md.Registration} {
		u := parse(x, endpoint)
		require.Equal(x, [2]string{issuer.Scheme, issuer.Host}, [2]string{u.Scheme, u.Host}, endpoint)
	}
	require.NotEmpty(x, md.Authorization)
	require.Contains(x, md.Challenges, "S256")
	return md
}

// login is one attempt to get tokens: PKCE, a state, and a listener on this machine that the browser is sent to.
type login struct {
	*tool
	metadata
	client, scope            string
	verifier, state, address string
	callback                 chan url.Values
}

// newLogin listens on a free port.
func newLogin(x *tool, client, scope string) *login {
	x.Helper()
	l := &login{tool: x, metadata: discover(x), client: client, scope: scope, verifier: random(32), state: random(16), callback: make(chan url.Values, 1)}
	require.Contains(x, l.Scopes, scope)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(x, err)
	l.address = "http://" + listener.Addr().String() + "/callback"
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.callback <- r.URL.Query()
		_, _ = io.WriteString(w, "You can close this tab.") // nobody reads it
	})}
	go func() { _ = s.Serve(listener) }() // ends when it is closed
	x.Cleanup(func() { _ = s.Close() })   // it served
	return l
}

// random is n random bytes as text for URLs.
func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// query is the request that the program sends the user's browser with.
func (l *login) query() url.Values {
	sum := sha256.Sum256([]byte(l.verifier))
	return url.Values{"client_id": {l.client}, "response_type": {"code"}, "scope": {l.scope}, "redirect_uri": {l.address}, "state": {l.state},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"}}
}

// browse plays the browser: the page for consent, what its script asks with the account's token, the user's
// answer, and the way back to the program. It returns what the program gets.
func (l *login) browse(account *tool, allow bool) url.Values {
	l.Helper()
	page, err := http.Get(l.Authorization + "?" + l.query().Encode())
	require.NoError(l, err)
	require.NoError(l, page.Body.Close())
	require.Equal(l, 200, page.StatusCode, l.Authorization)

	const authorize = "/api/v1/oauth/authorize/"
	about := account.get(authorize + "?" + l.query().Encode())
	require.Contains(l, about.Get("scopes"), l.scope)
	require.Equal(l, l.client, about.Get("application").(object)["client_id"])
	answer := object{"allow": allow}
	for name, value := range l.query() {
		answer[name] = value[0]
	}
	back, err := http.Get(account.send("POST", authorize, answer, 200).Text("redirect_uri"))
	require.NoError(l, err)
	require.NoError(l, back.Body.Close())
	got := <-l.callback
	require.Equal(l, l.state, got.Get("state"))
	require.Equal(l, l.Issuer, got.Get("iss"))
	return got
}

// redeem turns a code into tokens.
func (l *login) redeem(code string, want int) *nodes.Answer {
	return l.form(l.Token, url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {l.address},
		"client_id": {l.client}, "code_verifier": {l.verifier}}, want)
}

func (l *login) refresh(token string, want int) *nodes.Answer {
	return l.form(l.Token, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}, "client_id": {l.client}}, want)
}

func (l *login) revoke(token string) {
	l.form(l.Revocation, url.Values{"token": {token}, "token_type_hint": {"refresh_token"}, "client_id": {l.client}}, 200)
}

// form sends a form to an endpoint of the description.
func (l *login) form(endpoint string, form url.Values, want int) *nodes.Answer {
	l.Helper()
	resp, err := http.PostForm(endpoint, form)
	require.NoError(l, err)
	defer func() { _ = resp.Body.Close() }() // only read
	a := &nodes.Answer{Status: resp.StatusCode, Header: resp.Header}
	a.Body, err = io.ReadAll(resp.Body)
	require.NoError(l, err)
	require.Equal(l, want, a.Status, "%s: %s", endpoint, a.Body)
	return a
}

// tokens reads an answer of the token endpoint.
func (l *login) tokens(a *nodes.Answer) (t tokens) {
	l.Helper()
	require.NoError(l, json.Unmarshal(a.Body, &t))
	require.NotEmpty(l, t.Access)
	require.NotEmpty(l, t.Refresh)
	require.Equal(l, "Bearer", t.Type)
	require.Equal(l, l.scope, t.Scope)
	require.Positive(l, t.ExpiresIn)
	return t
}
