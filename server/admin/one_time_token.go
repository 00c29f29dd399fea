package admin

import (
	"encoding/base64"
	"strconv"
	"time"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/credential"
	"github.com/flagraft/flagraft/server/route"
)

const (
	mailTokenLife  = 24 * time.Hour
	secondStepLife = 15 * time.Minute
	// maxLive is how many tokens of one purpose an account has: so many mails of one kind a day, so many sign-ins between their two steps.
	maxLive = 5
)

// proof is a one-time token as its holder sends it. uid names the account.
type proof struct {
	UID   string `json:"uid" v:"required,max=100"`
	Token string `json:"token" v:"required,max=200"`
}

// encodeUID writes an account's id as links carry it.
func encodeUID(user uint64) string {
	return base64.RawURLEncoding.EncodeToString(strconv.AppendUint(nil, user, 10))
}

func decodeUID(uid string) (uint64, bool) {
	raw, err := base64.RawURLEncoding.DecodeString(uid)
	if err != nil {
		return 0, false
	}
	return parseID(string(raw))
}

// user finds the account that a proof is good for, or the refusal.
func (p proof) user(c *Ctx, purpose fsm.Purpose) (fsm.User, error) {
	id, ok := decodeUID(p.UID)
	u, found := fsm.Users.Get(c, id)
	if !ok || !found {
		return fsm.User{}, route.Field("uid", "Invalid user id or user doesn't exist.")
	}
	if !hasToken(c, u.ID, purpose, p.Token) {
		return fsm.User{}, route.Field("token", "Invalid token for given user.")
	}
	return u, nil
}

func hasToken(c *Ctx, user uint64, purpose fsm.Purpose, token string) bool {
	hash := credential.HashMasterKey(token)
	for t := range fsm.OneTimeTokensByUser.All(c, user, purpose) {
		if t.Expires > c.Wall() && credential.SameHash(t.Hash, hash) {
			return true
		}
	}
	return false
}

// issueToken makes a token and forgets those that have expired; false: the account has been mailed often enough.
func issueToken(c *Ctx, user uint64, purpose fsm.Purpose, life time.Duration) (token string, ok bool) {
	var live []uint64
	for _, t := range fsm.OneTimeTokensByUser.List(c, user, purpose) {
		if t.Expires > c.Wall() {
			live = append(live, t.ID)
		} else {
			fsm.OneTimeTokens.Delete(c.Tx, t.ID)
		}
	}
	if len(live) >= maxLive {
		if purpose != fsm.PurposeSecondStep {
			return "", false
		}
		fsm.OneTimeTokens.Delete(c.Tx, live[0]) // who knows the password must not keep others out
	}
	token = credential.NewToken()
	fsm.OneTimeTokens.Put(c.Tx, fsm.OneTimeToken{User: user, Purpose: purpose, Hash: credential.HashMasterKey(token), Created: c.Now(),
		Expires: c.Wall().Add(life)})
	return token, true
}

// spendTokens ends every token of the account: what it proves has changed.
func spendTokens(c *Ctx, user uint64) { fsm.OneTimeTokensByUser.DeleteAll(c.Tx, user) }

// nobodysToken is written where no account gets a token, so that the time of the answer does not tell whether there is one. There is one
// such row.
func nobodysToken(c *Ctx) {
	fsm.OneTimeTokens.Put(c.Tx, fsm.OneTimeToken{ID: nobodysTokenID(c), Created: c.Now(), Hash: credential.HashMasterKey(credential.NewToken())})
}

func nobodysTokenID(c *Ctx) uint64 {
	t, _ := fsm.OneTimeTokensByUser.First(c, uint64(0))
	return t.ID
}
