package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"time"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/credential"
	"github.com/flagraft/flagraft/server/route"
)

// How long tokens live. A refresh token is good for one use; shortly afterwards it may be used again, by a client whose answer was lost.
const (
	accessLife   = 15 * time.Minute
	refreshLife  = 30 * 24 * time.Hour
	refreshGrace = 2 * time.Minute
)

// expiredPerWrite bounds the expired rows that a request of the provider clears away.
const expiredPerWrite = 100

type tokenInput struct {
	GrantType    string `json:"grant_type" v:"blank,null"`
	ClientID     string `json:"client_id" v:"blank,null"`
	Code         string `json:"code" v:"blank,null"`
	RedirectURI  string `json:"redirect_uri" v:"blank,null"`
	Verifier     string `json:"code_verifier" v:"blank,null"`
	RefreshToken string `json:"refresh_token" v:"blank,null"`
}

// tokenAnswer holds tokens, or a refusal: what a stolen code or token must end has to be written, so it cannot be an error.
type tokenAnswer struct {
	AccessToken  string `json:"access_token,omitempty"`
	TokenType    string `json:"token_type,omitempty"`
	ExpiresIn    int    `json:"expires_in,omitempty"`
	RefreshToken string `json:"refresh_token,omitempty"`
	Scope        string `json:"scope,omitempty"`
	Error        string `json:"error,omitempty"`
	Description  string `json:"error_description,omitempty"`
}

type introspected struct {
	Active    bool   `json:"active"`
	Scope     string `json:"scope,omitempty"`
	ClientID  string `json:"client_id,omitempty"`
	Username  string `json:"username,omitempty"`
	TokenType string `json:"token_type,omitempty"`
	Expires   int64  `json:"exp,omitempty"`
}

type tokenRef struct {
	Token string `json:"token" v:"blank,null"`
}

func oauthTokenRows() []route.Row {
	return []route.Row{
		{Method: "POST", Path: "/o/token/", OperationID: "oauth_token", Tag: "OAuth", Summary: "Turn a code or a refresh token into tokens.",
			Kind: route.Write, Handler: write(giveTokens)},
		{Method: "POST", Path: "/o/revoke_token/", OperationID: "oauth_revoke_token", Tag: "OAuth", Summary: "End a token and those that came with it (RFC 7009).",
			Kind: route.Write, Handler: write(revokeToken)},
		{Method: "POST", Path: "/o/introspect/", OperationID: "oauth_introspect", Tag: "OAuth", Summary: "What a token is good for (RFC 7662).",
			Handler: read(introspectToken)},
	}
}

func giveTokens(c *Ctx, in tokenInput) (tokenAnswer, error) {
	trimOAuth(c)
	switch in.GrantType {
	case "authorization_code":
		return c.redeemCode(in)
	case "refresh_token":
		return c.refresh(in)
	}
	return tokenAnswer{}, oauthError("unsupported_grant_type", "grant_type must be authorization_code or refresh_token.")
}

// redeemCode gives the first tokens. A code that is used twice was stolen from somebody: its tokens end.
func (c *Ctx) redeemCode(in tokenInput) (tokenAnswer, error) {
	g, ok := fsm.OAuthGrantsByHash.First(c, sha256.Sum256([]byte(in.Code)))
	switch {
	case !ok || g.Expires <= c.Wall() || g.Client != in.ClientID || g.RedirectURI != in.RedirectURI:
		return c.refuseToken("The code is unknown or expired, or was made for another request.")
	case !verified(g.Challenge, in.Verifier):
		return c.refuseToken("code_verifier does not fit.")
	case g.Used:
		endConsent(c, g.ID)
		return c.refuseToken("The code was used already.")
	}
	g.Used = true
	fsm.OAuthGrants.Put(c.Tx, g)
	return c.issue(fsm.OAuthToken{Family: g.ID, Client: g.Client, User: g.User, Scope: g.Scope})
}

// refresh gives new tokens for old ones. A refresh token that is used long after it was replaced was stolen: all that came of the same
// consent end.
func (c *Ctx) refresh(in tokenInput) (tokenAnswer, error) {
	t, ok := fsm.OAuthTokensByRefresh.First(c, sha256.Sum256([]byte(in.RefreshToken)))
	switch {
	case !ok || t.RefreshExpires <= c.Wall() || t.Client != in.ClientID:
		return c.refuseToken("The refresh token is unknown or expired, or another client's.")
	case !t.Rotated.IsZero() && t.Rotated.Add(refreshGrace) <= c.Wall():
		endConsent(c, t.Family)
		return c.refuseToken("The refresh token was used already.")
	}
	if t.Rotated.IsZero() {
		t.Rotated = c.Wall()
		fsm.OAuthTokens.Put(c.Tx, t)
	}
	return c.issue(fsm.OAuthToken{Family: t.Family, Client: t.Client, User: t.User, Scope: t.Scope})
}

func (c *Ctx) refuseToken(description string) (tokenAnswer, error) {
	c.SetStatus(400)
	return tokenAnswer{Error: "invalid_grant", Description: description}, nil
}

func (c *Ctx) issue(t fsm.OAuthToken) (tokenAnswer, error) {
	if u := fsm.Users.Ref(c, t.User); u == nil || !u.IsActive {
		return c.refuseToken("The account is closed.")
	}
	access, accessHash := credential.NewOAuthSecret()
	refresh, refreshHash := credential.NewOAuthSecret()
	t.Access, t.AccessExpires = accessHash, c.Wall().Add(accessLife)
	t.Refresh, t.RefreshExpires = refreshHash, c.Wall().Add(refreshLife)
	fsm.OAuthTokens.Put(c.Tx, t)
	if g, ok := fsm.OAuthGrants.Get(c, t.Family); ok { // known as long as its tokens: its code, used again, ends them
		g.Expires = t.RefreshExpires
		fsm.OAuthGrants.Put(c.Tx, g)
	}
	return tokenAnswer{AccessToken: access, TokenType: "Bearer", ExpiresIn: int(accessLife / time.Second), RefreshToken: refresh, Scope: t.Scope}, nil
}

// verified checks PKCE: the challenge is the SHA-256 of the verifier.
func verified(challenge, verifier string) bool {
	sum := sha256.Sum256([]byte(verifier))
	return subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(challenge)) == 1
}

// revokeToken answers 200 to unknown tokens too, as the RFC has it.
func revokeToken(c *Ctx, in tokenRef) (route.Empty, error) {
	hash := sha256.Sum256([]byte(in.Token))
	t, ok := fsm.OAuthTokensByRefresh.First(c, hash)
	if !ok {
		t, ok = fsm.OAuthTokensByAccess.First(c, hash)
	}
	if ok {
		endConsent(c, t.Family)
	}
	return c.OK()
}

func introspectToken(c *Ctx, in tokenRef) (introspected, error) {
	t, u, ok := accessToken(c, in.Token, c.Wall())
	if !ok {
		return introspected{}, nil
	}
	return introspected{Active: true, Scope: t.Scope, ClientID: t.Client, Username: u.Email, TokenType: "Bearer", Expires: t.AccessExpires.Std().Unix()}, nil
}

// accessToken finds what a bearer token stands for. One that was refreshed is good to its end: requests may be under way.
func accessToken(r fsm.Reader, token string, now fsm.Time) (fsm.OAuthToken, fsm.User, bool) {
	t, ok := fsm.OAuthTokensByAccess.First(r, sha256.Sum256([]byte(token)))
	if !ok || t.AccessExpires <= now {
		return t, fsm.User{}, false
	}
	u, ok := fsm.Users.Get(r, t.User)
	return t, u, ok && u.IsActive
}

// endConsent takes away what a program may do for a user by one consent.
func endConsent(c *Ctx, id uint64) {
	fsm.OAuthTokensByFamily.DeleteAll(c.Tx, id)
	fsm.OAuthGrants.Delete(c.Tx, id)
}

// endPrograms takes away what programs may do for a user.
func endPrograms(c *Ctx, user uint64) {
	fsm.OAuthGrantsByUser.DeleteAll(c.Tx, user)
	fsm.OAuthTokensByUser.DeleteAll(c.Tx, user)
}

// trimOAuth clears away some of what expired.
func trimOAuth(c *Ctx) {
	var grants, tokens []uint64
	for g := range fsm.OAuthGrantsByExpiry.Refs(c) {
		if g.Expires > c.Wall() || len(grants) == expiredPerWrite {
			break
		}
		grants = append(grants, g.ID)
	}
	for t := range fsm.OAuthTokensByExpiry.Refs(c) {
		if t.RefreshExpires > c.Wall() || len(tokens) == expiredPerWrite {
			break
		}
		tokens = append(tokens, t.ID)
	}
	for _, id := range grants {
		fsm.OAuthGrants.Delete(c.Tx, id)
	}
	for _, id := range tokens {
		fsm.OAuthTokens.Delete(c.Tx, id)
	}
}
