package admin

import (
	"strings"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/credential"
	"github.com/flagraft/flagraft/server/route"
)

// authenticate finds out who calls and whether the row takes them. Texts and precedence: FACTS §4, ADMIN §2.
func (c *Ctx) authenticate() error {
	if c.Row.Auth == route.None {
		return nil
	}
	p, err := c.credentials()
	if err != nil {
		return err
	}
	switch c.Row.Auth {
	case route.OptionalUser:
		c.Principal = p
		return nil
	case route.User:
		p.Key = nil // a key is nobody here
	case route.Superuser:
		if !p.Anonymous() && (p.User == nil || !p.User.IsSuperuser) {
			return route.PermissionDenied()
		}
	}
	if p.Anonymous() {
		return route.Unauthenticated(route.MsgNoCredentials)
	}
	c.Principal = p
	return nil
}

// credentials reads the Authorization header. A scheme nobody knows counts as none.
func (c *Ctx) credentials() (Principal, error) {
	scheme, value, _ := strings.Cut(c.Request.Header("Authorization"), " ")
	switch {
	case strings.EqualFold(scheme, "token"):
		u, err := tokenUser(c, value)
		return Principal{User: u}, err
	case scheme == "Api-Key": // the reference compares this scheme's case
		k, err := masterKey(c, strings.TrimSpace(value), c.Wall())
		return Principal{Key: k}, err
	case strings.EqualFold(scheme, "bearer"): // an unknown one counts as none
		if t, u, ok := accessToken(c, strings.TrimSpace(value), c.Wall()); ok {
			return Principal{User: &u, Token: &t}, nil
		}
	}
	return Principal{}, nil
}

func tokenUser(r fsm.Reader, value string) (*fsm.User, error) {
	switch {
	case value == "":
		return nil, route.Unauthenticated("Invalid token header. No credentials provided.")
	case strings.Contains(value, " "):
		return nil, route.Unauthenticated("Invalid token header. Token string should not contain spaces.")
	}
	t, ok := fsm.TokensByKey.First(r, value)
	if !ok || t.Key != value {
		return nil, route.Unauthenticated("Invalid token.")
	}
	u, ok := fsm.Users.Get(r, t.User)
	if !ok {
		return nil, route.Unauthenticated("Invalid token.")
	}
	if !u.IsActive {
		return nil, route.Unauthenticated("User inactive or deleted.")
	}
	return &u, nil
}

func masterKey(r fsm.Reader, value string, now fsm.Time) (*fsm.MasterAPIKey, error) {
	prefix, _, _ := strings.Cut(value, ".")
	hash := credential.HashMasterKey(value)
	for k := range fsm.MasterAPIKeysByPrefix.All(r, prefix) {
		expired := !k.ExpiryDate.IsZero() && k.ExpiryDate <= now
		if credential.SameHash(k.Hash, hash) && !k.Revoked && !expired {
			return &k, nil
		}
	}
	return nil, route.Unauthenticated("Valid Master API Key not found.")
}
