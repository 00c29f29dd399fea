package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"strconv"
	"strings"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// Principal is who makes a request: a user, a master API key, or nobody.
type Principal struct {
	User *fsm.User
	Key  *fsm.MasterAPIKey
}

// Author is the principal as writes record it.
func (p Principal) Author() fsm.Author {
	switch {
	case p.User != nil:
		return fsm.Author{User: p.User.ID, Name: p.User.Email}
	case p.Key != nil:
		return fsm.Author{MasterAPIKey: p.Key.ID, Name: p.Key.Name}
	default:
		return fsm.Author{}
	}
}

// scope tells callers apart whose idempotency keys must not meet.
func (p Principal) scope() string {
	switch {
	case p.User != nil:
		return "user " + strconv.FormatUint(p.User.ID, 10)
	case p.Key != nil:
		return "key " + strconv.FormatUint(p.Key.ID, 10)
	default:
		return ""
	}
}

// authenticate finds out who makes the request and whether the row takes them.
// Texts and precedence: FACTS §4, ADMIN §2.
func authenticate(c *Ctx) (Principal, error) {
	if c.Row.Auth == route.None {
		return Principal{}, nil
	}
	p, err := credentials(c)
	if err != nil {
		return Principal{}, err
	}
	if p.User != nil && !p.User.IsActive {
		return Principal{}, route.Unauthenticated("User inactive or deleted.")
	}
	switch c.Row.Auth {
	case route.OptionalUser:
		return p, nil
	case route.User:
		p.Key = nil
	case route.Superuser:
		if p.User != nil && !p.User.IsSuperuser || p.Key != nil {
			return Principal{}, route.PermissionDenied()
		}
	}
	if p.User == nil && p.Key == nil {
		return Principal{}, route.Unauthenticated(route.MsgNoCredentials)
	}
	return p, nil
}

// credentials reads the Authorization header. A scheme nobody knows counts as none.
func credentials(c *Ctx) (Principal, error) {
	header := c.Request.Header("Authorization")
	scheme, value, _ := strings.Cut(header, " ")
	switch {
	case strings.EqualFold(scheme, "token"):
		u, err := tokenUser(c.Reader, value)
		return Principal{User: u}, err
	case scheme == "Api-Key": // the reference compares this scheme's case
		k, err := masterKey(c.Reader, strings.TrimSpace(value), c.Now())
		return Principal{Key: k}, err
	default:
		return Principal{}, nil
	}
}

func tokenUser(r fsm.Reader, value string) (*fsm.User, error) {
	switch {
	case value == "":
		return nil, route.Unauthenticated("Invalid token header. No credentials provided.")
	case strings.Contains(value, " "):
		return nil, route.Unauthenticated("Invalid token header. Token string should not contain spaces.")
	}
	t, ok := fsm.TokensByKey.First(r, value)
	if !ok || strings.ContainsRune(value, 0) {
		return nil, route.Unauthenticated("Invalid token.")
	}
	u, ok := fsm.Users.Get(r, t.User)
	if !ok {
		return nil, route.Unauthenticated("Invalid token.")
	}
	return &u, nil
}

func masterKey(r fsm.Reader, value string, now fsm.Time) (*fsm.MasterAPIKey, error) {
	prefix, _, _ := strings.Cut(value, ".")
	sum := sha256.Sum256([]byte(value))
	for k := range fsm.MasterAPIKeysByPrefix.All(r, prefix) {
		expired := !k.ExpiryDate.IsZero() && k.ExpiryDate <= now
		if subtle.ConstantTimeCompare(k.Hash[:], sum[:]) == 1 && !k.Revoked && !expired {
			return &k, nil
		}
	}
	return nil, route.Unauthenticated("Valid Master API Key not found.")
}
