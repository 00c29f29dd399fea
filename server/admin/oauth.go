package admin

import (
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// The OAuth 2.1 provider lets programs act for a user who allowed it: the command line, and clients of an MCP server. Programs are public
// clients (no secret) and prove with PKCE that they are who asked. A code or a token is shown once; only its SHA-256 is kept.

// oauthScopes are what a program may ask for. Both let it use the admin API as the user.
var oauthScopes = []oauthScope{
	{"mcp", "Use flagraft through an MCP server, with your rights."},
	{"admin-api", "Use the admin API with your rights."},
}

type oauthScope struct{ name, description string }

// oauthDefaultScope is given to those who name none.
const oauthDefaultScope = "mcp"

// commandLineClient is the client id of the command line, which never registers.
const commandLineClient = "flagsmith-cli"

// oauthMetadata is RFC 8414's description of the provider.
type oauthMetadata struct {
	Issuer                     string   `json:"issuer"`
	AuthorizationEndpoint      string   `json:"authorization_endpoint"`
	TokenEndpoint              string   `json:"token_endpoint"`
	RegistrationEndpoint       string   `json:"registration_endpoint"`
	RevocationEndpoint         string   `json:"revocation_endpoint"`
	IntrospectionEndpoint      string   `json:"introspection_endpoint"`
	ScopesSupported            []string `json:"scopes_supported"`
	ResponseTypesSupported     []string `json:"response_types_supported"`
	GrantTypesSupported        []string `json:"grant_types_supported"`
	ChallengeMethodsSupported  []string `json:"code_challenge_methods_supported"`
	TokenAuthMethods           []string `json:"token_endpoint_auth_methods_supported"`
	RevocationAuthMethods      []string `json:"revocation_endpoint_auth_methods_supported"`
	IntrospectionAuthMethods   []string `json:"introspection_endpoint_auth_methods_supported"`
	IssParameterInAuthResponse bool     `json:"authorization_response_iss_parameter_supported"`
}

// oauthRefusal is the error shape of OAuth.
type oauthRefusal struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

func oauthError(code, description string) error {
	return route.Body(400, oauthRefusal{code, description})
}

func oauthMetadataRows() []route.Row {
	return []route.Row{
		{Method: "GET", Path: "/.well-known/oauth-authorization-server", OperationID: "oauth_authorization_server_metadata", Tag: "OAuth",
			Summary: "Where programs get tokens (RFC 8414).", Handler: read(describeOAuth)},
	}
}

// issuer is the address of the API: the configured one, or the one that the client used.
func (c *Ctx) issuer() string {
	if c.Env.Options.PublicURL != "" {
		return strings.TrimSuffix(c.Env.Options.PublicURL, "/")
	}
	return c.URL("")
}

// describeOAuth sends users to the front end for their consent if there is one, else to a page of our own.
func describeOAuth(c *Ctx, _ struct{}) (oauthMetadata, error) {
	issuer := c.issuer()
	page := issuer + "/o/authorize/"
	if front := c.Env.Options.FrontendURL; front != "" {
		page = strings.TrimSuffix(front, "/") + "/oauth/authorize/"
	}
	none := []string{"none"}
	return oauthMetadata{
		Issuer: issuer, AuthorizationEndpoint: page, TokenEndpoint: issuer + "/o/token/", RegistrationEndpoint: issuer + "/o/register/",
		RevocationEndpoint: issuer + "/o/revoke_token/", IntrospectionEndpoint: issuer + "/o/introspect/",
		ScopesSupported:        mapped(oauthScopes, func(s oauthScope) string { return s.name }),
		ResponseTypesSupported: []string{"code"}, GrantTypesSupported: []string{"authorization_code", "refresh_token"},
		ChallengeMethodsSupported: []string{"S256"}, TokenAuthMethods: none, RevocationAuthMethods: none, IntrospectionAuthMethods: none,
		IssParameterInAuthResponse: true,
	}, nil
}

// oauthClient finds a program: a registered one, or the command line.
func oauthClient(r fsm.Reader, id string) (fsm.OAuthClient, bool) {
	if id == commandLineClient {
		return fsm.OAuthClient{ClientID: id, Name: "Command line", RedirectURIs: []string{"http://127.0.0.1", "http://localhost", "http://[::1]"}}, true
	}
	return fsm.OAuthClientsByClientID.First(r, id)
}

// mayRedirect reports whether a program registered an address. Of an address on the user's own machine the port may be any (RFC 8252), and
// for the command line, which has no fixed one, the path too.
func mayRedirect(client fsm.OAuthClient, address string) bool {
	u, ok := redirectURI(address)
	if !ok {
		return false
	}
	return slices.ContainsFunc(client.RedirectURIs, func(registered string) bool {
		if registered == address {
			return true
		}
		r, ok := redirectURI(registered)
		if !ok || !onLoopback(r) || r.Scheme != u.Scheme || r.Hostname() != u.Hostname() {
			return false
		}
		return client.ClientID == commandLineClient || r.Path == u.Path && r.RawQuery == u.RawQuery
	})
}

// redirectURI parses an address that codes may be sent to: https, or http on the user's own machine.
func redirectURI(address string) (*url.URL, bool) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || strings.Contains(address, "#") {
		return nil, false
	}
	return u, u.Scheme == "https" || u.Scheme == "http" && onLoopback(u)
}

func onLoopback(u *url.URL) bool {
	host := u.Hostname()
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// readScope sorts and checks the scopes that a program asks for.
func readScope(text string) (string, bool) {
	asked := strings.Fields(text)
	if len(asked) == 0 {
		return oauthDefaultScope, true
	}
	slices.Sort(asked)
	asked = slices.Compact(asked)
	for _, name := range asked {
		if !slices.ContainsFunc(oauthScopes, func(s oauthScope) bool { return s.name == name }) {
			return "", false
		}
	}
	return strings.Join(asked, " "), true
}
