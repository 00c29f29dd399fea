package admin

import (
	"crypto/sha256"
	_ "embed" // for the page
	"encoding/base64"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/credential"
	"github.com/flagraft/flagraft/server/route"
)

// authorizationQuery is a program's request for a user's consent, as the page that asks the user hands it on.
type authorizationQuery struct {
	ResponseType    string `query:"response_type"`
	ClientID        string `query:"client_id"`
	RedirectURI     string `query:"redirect_uri"`
	Scope           string `query:"scope"`
	State           string `query:"state"`
	Challenge       string `query:"code_challenge"`
	ChallengeMethod string `query:"code_challenge_method"`
}

// consent is the user's answer to it.
type consent struct {
	Allow           bool   `json:"allow"`
	ResponseType    string `json:"response_type" v:"blank,null"`
	ClientID        string `json:"client_id" v:"blank,null"`
	RedirectURI     string `json:"redirect_uri" v:"blank,null"`
	Scope           string `json:"scope" v:"blank,null"`
	State           string `json:"state" v:"blank,null,notrim"`
	Challenge       string `json:"code_challenge" v:"blank,null"`
	ChallengeMethod string `json:"code_challenge_method" v:"blank,null"`
}

// authorizationRequest tells the user who asks for what.
type authorizationRequest struct {
	Application oauthApplication  `json:"application"`
	Scopes      map[string]string `json:"scopes"`
	RedirectURI string            `json:"redirect_uri"`
	IsVerified  bool              `json:"is_verified"` // not a program that named itself
}

type oauthApplication struct {
	Name     string `json:"name"`
	ClientID string `json:"client_id"`
}

type consentAnswer struct {
	RedirectURI string `json:"redirect_uri"`
}

// codeLife is how long a program may take to turn its code into tokens.
const codeLife = time.Minute

func oauthAuthorizeRows() []route.Row {
	const path = "/api/v1/oauth/authorize/"
	account := Custom("an account's own token", accountToken)
	return []route.Row{
		{Method: "GET", Path: path, OperationID: "api_v1_oauth_authorize_retrieve", Tag: "OAuth", Summary: "Who asks for the user's consent, and for what.",
			Auth: route.User, Permission: account, Handler: read(describeAuthorization)},
		{Method: "POST", Path: path, OperationID: "api_v1_oauth_authorize_create", Tag: "OAuth", Summary: "Give or refuse consent.",
			Auth: route.User, Permission: account, Kind: route.Write, Handler: write(decideAuthorization)},
		{Method: "GET", Path: "/o/authorize/", OperationID: "oauth_authorize_page", Tag: "OAuth", Summary: "A page that asks the user for consent.",
			Media: "text/html", Handler: read(authorizePage)},
	}
}

// accountToken refuses tokens that a program got: it must not give consent in the user's place.
func accountToken(c *Ctx) error {
	if c.Principal.Token != nil {
		return route.PermissionDenied()
	}
	return nil
}

func describeAuthorization(c *Ctx, in authorizationQuery) (authorizationRequest, error) {
	client, scope, err := in.check(c)
	if err != nil {
		return authorizationRequest{}, err
	}
	out := authorizationRequest{Application: oauthApplication{client.Name, client.ClientID}, Scopes: map[string]string{}, RedirectURI: in.RedirectURI,
		IsVerified: client.ClientID == commandLineClient}
	for _, s := range oauthScopes {
		if strings.Contains(" "+scope+" ", " "+s.name+" ") {
			out.Scopes[s.name] = s.description
		}
	}
	return out, nil
}

var challenge = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// check refuses requests whose answer must not be sent to their redirect_uri, and all other wrong ones alike.
func (in authorizationQuery) check(c *Ctx) (client fsm.OAuthClient, scope string, err error) {
	client, known := oauthClient(c, in.ClientID)
	scope, known2 := readScope(in.Scope)
	switch {
	case !known:
		err = oauthError("invalid_client", "There is no such client.")
	case !mayRedirect(client, in.RedirectURI):
		err = oauthError("invalid_request", "The client did not register this redirect_uri.")
	case in.ResponseType != "code":
		err = oauthError("unsupported_response_type", "response_type must be code.")
	case in.ChallengeMethod != "S256" || !challenge.MatchString(in.Challenge):
		err = oauthError("invalid_request", "PKCE with code_challenge_method S256 is needed.")
	case !known2:
		err = oauthError("invalid_scope", "Known scopes are mcp and admin-api.")
	}
	return client, scope, err
}

func decideAuthorization(c *Ctx, in consent) (consentAnswer, error) {
	asked := authorizationQuery{in.ResponseType, in.ClientID, in.RedirectURI, in.Scope, in.State, in.Challenge, in.ChallengeMethod}
	_, scope, err := asked.check(c)
	if err != nil {
		return consentAnswer{}, err
	}
	if !in.Allow {
		return consentAnswer{c.redirect(asked, "error", "access_denied")}, nil
	}
	code, hash := credential.NewOAuthSecret()
	trimOAuth(c)
	fsm.OAuthGrants.Put(c.Tx, fsm.OAuthGrant{Hash: hash, Client: in.ClientID, User: c.Principal.UserID(), RedirectURI: in.RedirectURI, Scope: scope,
		Challenge: in.Challenge, Expires: c.Wall().Add(codeLife)})
	return consentAnswer{c.redirect(asked, "code", code)}, nil
}

// redirect is the address that takes the answer to the program.
func (c *Ctx) redirect(in authorizationQuery, name, value string) string {
	u, _ := url.Parse(in.RedirectURI)
	q := u.Query()
	q.Set(name, value)
	q.Set("iss", c.issuer())
	if in.State != "" {
		q.Set("state", in.State)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

//go:embed oauth_page.html
var oauthPage []byte

// oauthPagePolicy lets the page run its own script and talk to this server, and nothing else.
var oauthPagePolicy = pagePolicy(oauthPage)

func pagePolicy(page []byte) string {
	_, rest, _ := strings.Cut(string(page), "<script>")
	script, _, _ := strings.Cut(rest, "</script>")
	sum := sha256.Sum256([]byte(script))
	return "default-src 'none'; style-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'; script-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func authorizePage(c *Ctx, _ struct{}) (route.Blob, error) {
	c.SetHeader("Content-Security-Policy", oauthPagePolicy)
	return route.Blob{ContentType: "text/html; charset=utf-8", Data: oauthPage}, nil
}
