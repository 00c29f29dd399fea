package admin

import (
	"slices"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/credential"
	"github.com/flagraft/flagraft/server/route"
)

// oauthRegistration is what a program says of itself (RFC 7591). Members nobody here understands are ignored.
type oauthRegistration struct {
	Name          string   `json:"client_name" v:"blank"`
	RedirectURIs  []string `json:"redirect_uris"`
	GrantTypes    []string `json:"grant_types"`
	ResponseTypes []string `json:"response_types"`
	AuthMethod    string   `json:"token_endpoint_auth_method" v:"blank"`
}

type oauthRegistered struct {
	ClientID      string   `json:"client_id"`
	IssuedAt      int64    `json:"client_id_issued_at"`
	Name          string   `json:"client_name"`
	RedirectURIs  []string `json:"redirect_uris"`
	GrantTypes    []string `json:"grant_types"`
	ResponseTypes []string `json:"response_types"`
	AuthMethod    string   `json:"token_endpoint_auth_method"`
}

// Anybody may register, so what one registration and one address may take is bounded.
const (
	registrationsPerMinute = 10
	oauthClientLimit       = 10_000
	oauthNameLimit         = 255
	oauthRedirects         = 20
	oauthRedirectLimit     = 2000
)

func oauthClientRows() []route.Row {
	return []route.Row{
		{Method: "POST", Path: "/o/register/", OperationID: "o_register_create", Tag: "OAuth", Summary: "Register a program (RFC 7591).",
			Permission: Custom("few registrations", registrationThrottle), Refusals: throttled, Kind: route.Write, Status: 201, Handler: write(registerOAuthClient)},
	}
}

func registrationThrottle(c *Ctx) error {
	return c.Limit("oauth-register:"+c.Request.Remote, registrationsPerMinute)
}

func registerOAuthClient(c *Ctx, in oauthRegistration) (oauthRegistered, error) {
	if err := in.check(); err != nil {
		return oauthRegistered{}, err
	}
	known := 0
	for range fsm.OAuthClients.Refs(c) {
		known++
	}
	if known >= oauthClientLimit && !forgetIdleClient(c) {
		return oauthRegistered{}, route.Body(503, oauthRefusal{"temporarily_unavailable", "Too many clients are registered."})
	}
	o := fsm.OAuthClients.Put(c.Tx, fsm.OAuthClient{ClientID: credential.NewOAuthClientID(), Name: in.Name, RedirectURIs: in.RedirectURIs, Created: c.Now()})
	return oauthRegistered{ClientID: o.ClientID, IssuedAt: o.Created.Std().Unix(), Name: o.Name, RedirectURIs: o.RedirectURIs,
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"}, AuthMethod: "none"}, nil
}

// forgetIdleClient makes room: of the programs that nobody lets in any more, or ever did, the one goes that registered first. Without, whoever
// registers enough of them would keep everybody else out for good.
func forgetIdleClient(c *Ctx) bool {
	used := map[string]bool{}
	for g := range fsm.OAuthGrants.Refs(c) {
		used[g.Client] = used[g.Client] || g.Expires > c.Wall()
	}
	for t := range fsm.OAuthTokens.Refs(c) {
		used[t.Client] = used[t.Client] || t.RefreshExpires > c.Wall()
	}
	for o := range fsm.OAuthClients.Refs(c) {
		if !used[o.ClientID] {
			fsm.OAuthClients.Delete(c.Tx, o.ID)
			return true
		}
	}
	return false
}

func (in oauthRegistration) check() error {
	switch {
	case in.Name == "" || len(in.Name) > oauthNameLimit:
		return oauthError("invalid_client_metadata", "client_name is needed and has at most 255 bytes.")
	case len(in.RedirectURIs) == 0 || len(in.RedirectURIs) > oauthRedirects:
		return oauthError("invalid_redirect_uri", "From 1 to 20 redirect_uris are needed.")
	case in.AuthMethod != "" && in.AuthMethod != "none":
		return oauthError("invalid_client_metadata", "Clients have no secret here: token_endpoint_auth_method must be none.")
	case slices.ContainsFunc(in.GrantTypes, func(g string) bool { return g != "authorization_code" && g != "refresh_token" }):
		return oauthError("invalid_client_metadata", "grant_types may be authorization_code and refresh_token.")
	case slices.ContainsFunc(in.ResponseTypes, func(r string) bool { return r != "code" }):
		return oauthError("invalid_client_metadata", "response_types may be code.")
	}
	for _, uri := range in.RedirectURIs {
		if _, ok := redirectURI(uri); !ok || len(uri) > oauthRedirectLimit {
			return oauthError("invalid_redirect_uri", "A redirect URI is https, or http on the loopback interface, without a fragment.")
		}
	}
	return nil
}
