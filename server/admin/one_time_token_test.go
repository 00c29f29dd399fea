package admin

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

// FuzzUID reads ids as links carry them: what is read is written and read again as the same.
func FuzzUID(f *testing.F) {
	for _, s := range []string{"MQ", "MQ==", "LTE", "MDE", "x!", "", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, uid string) {
		if id, ok := decodeUID(uid); ok {
			again, ok := decodeUID(encodeUID(id))
			require.True(t, ok)
			require.Equal(t, id, again)
		}
	})
}

// FuzzProofs sends a text wherever one proves who somebody is: as a second step's token, in mailed links, as an invitation, and as what OAuth
// hands out. None was issued, so none may be good for anything, or be a fault of the server.
func FuzzProofs(f *testing.F) {
	for _, s := range []string{"2-0123456789", "2-", "2", "-", "+2-x", "-1-x", "99999999999999999999-x", "Mg", "a/b", "%2e%2e", "\x00", "é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := newProgram(t)
		p.node.Write(t, func(tx *fsm.Tx) error { // one that is live, for somebody
			fsm.OneTimeTokens.Put(tx, fsm.OneTimeToken{User: p.member.ID, Purpose: fsm.PurposeSecondStep, Created: tx.Now(), Expires: tx.Now().Add(secondStepLife)})
			fsm.InviteLinks.Put(tx, fsm.InviteLink{Organisation: p.organisation.ID, Hash: "hash", Role: fsm.RoleUser})
			return nil
		})
		refused := func(r reply, path string) {
			require.GreaterOrEqual(t, r.Status, 400, path)
			require.Less(t, r.Status, 500, path)
		}
		for path, body := range map[string]any{
			"/api/v1/auth/login/code/":            map[string]string{"ephemeral_token": text, "code": "000000"},
			usersPath + "activation/":             map[string]string{"uid": text, "token": text},
			usersPath + "reset_email_confirm/":    map[string]string{"uid": text, "token": text, "new_email": "x@example.com"},
			usersPath + "reset_password_confirm/": map[string]string{"uid": encodeUID(p.member.ID), "token": text, "new_password": "Sesame-open-1!", "re_new_password": "Sesame-open-1!"},
		} {
			refused(p.do("", "POST", path, body), path)
		}
		refused(p.redeem(text), "code")
		refused(p.refresh(text), "refresh")
		require.NotContains(t, p.form("/o/introspect/", url.Values{"token": {text}}).Raw, `"active":true`)
		if text != "hash" && text != "" {
			for _, join := range []string{"join/", "join/link/"} {
				refused(p.do("stranger", "POST", "/api/v1/users/"+join+url.PathEscape(text)+"/", nil), join)
			}
		}
	})
}
