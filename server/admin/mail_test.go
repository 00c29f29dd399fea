package admin

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/server/route"
)

func TestLink(t *testing.T) {
	require.Equal(t, "https://site.example/invite/x", (&Env{SiteURL: "https://site.example/"}).Link("invite/x"))
	require.Equal(t, "https://site.example/invite/x", (&Env{SiteURL: "https://site.example"}).Link("invite/x"))
}

// A mail goes off with the write that it belongs to, and not when that fails.
func TestMailsGoOffAfterTheCommit(t *testing.T) {
	h := newHarness(t)
	row := &route.Row{Method: "POST", Path: "/mail/", OperationID: "mail", Kind: route.Write, Handler: write(func(c *Ctx, in struct {
		Fail bool `json:"fail"`
	}) (route.Empty, error) {
		c.Mail("ann@example.com", "subject", "body")
		if in.Fail {
			return c.fail(route.NotFoundDetail())
		}
		return c.OK()
	})}
	var err error
	h.table, err = route.NewTable([]route.Row{*row})
	require.NoError(t, err)
	h.post("/mail/", map[string]any{"fail": true}, 404)
	require.Empty(t, h.mails)
	h.post("/mail/", map[string]any{}, 200)
	require.Equal(t, []mailed{{"ann@example.com", "subject", "body"}}, h.mails)
}
