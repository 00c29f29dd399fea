package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

// TestTokensOfElsewhere signs in at one node and asks the others for what they answer by themselves: they know the new token at once, and
// that it is gone once somebody signed out.
func TestTokensOfElsewhere(t *testing.T) {
	t.Parallel()
	nodes := servertest.Cluster(t, 3, func(st *settings.Settings) { st.LoginPerMinute = 0 })
	for _, ask := range []string{"GET nodes/", "GET cluster/load/", "GET cluster/", "HEAD events/", "GET export/", "HEAD backup/", "POST import/",
		"PUT restores/00000000-0000-4000-8000-000000000001/parts/x/"} {
		method, path, _ := strings.Cut(ask, " ")
		for _, n := range nodes {
			token := "Token " + nodes[0].Token(t)
			send := func() int {
				return n.Client(t).With("Authorization", token).Do(method, "/api/flagraft/v1/"+path, map[string]any{}).Status
			}
			require.NotEqual(t, http.StatusUnauthorized, send(), ask)
			require.Equal(t, 204, nodes[0].Client(t).With("Authorization", token).Do("POST", "/api/v1/auth/logout/", nil).Status)
			require.Equal(t, http.StatusUnauthorized, send(), ask)
		}
	}
}
