package server_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/server/route"
	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

var pathParameter = regexp.MustCompile(`\{[^}]+\}`)

// unknownPath fills a row's path with ids that do not exist.
func unknownPath(r *route.Row) string {
	return pathParameter.ReplaceAllStringFunc(r.Path, func(name string) string {
		if strings.Contains(name, "uuid") {
			return "5f0c1b9a-0000-4000-8000-000000000000"
		}
		return "987654"
	})
}

// TestEveryRow walks the table: whatever is asked of a row, in both slash forms, the answer is never a fault of the server, and is a refusal
// where it must be one.
func TestEveryRow(t *testing.T) {
	n := servertest.Start(t, func(st *settings.Settings) { st.UsagePerMinute = 0 })
	atLevel(t, n)
	nobody, admin := n.Client(t), n.Admin(t)
	sdk := nobody.With("X-Environment-Key", "unknown")
	for _, r := range n.Rows() {
		t.Run(r.OperationID, func(t *testing.T) {
			path := unknownPath(r)
			for _, p := range []string{strings.TrimSuffix(path, "/"), strings.TrimSuffix(path, "/") + "/"} {
				walkRow(t, r, p, nobody, sdk, admin)
			}
		})
	}
}

func walkRow(t *testing.T, r *route.Row, path string, nobody, sdk, admin *servertest.Client) {
	anonymous := nobody.Do(r.Method, path, nil)
	fine(t, anonymous)
	switch r.Auth {
	case route.Admin, route.User, route.Superuser:
		require.Equal(t, http.StatusUnauthorized, anonymous.Status, anonymous.Raw)
		require.Equal(t, `Cookie realm="api"`, anonymous.Header.Get("WWW-Authenticate"))
		require.Equal(t, `{"detail":"Authentication credentials were not provided."}`, anonymous.Raw)
		bad := nobody.With("Authorization", "Token 0000").Do(r.Method, path, nil)
		require.Equal(t, http.StatusUnauthorized, bad.Status, bad.Raw)
	case route.EnvironmentKey, route.ServerKey:
		want := http.StatusForbidden
		if strings.HasPrefix(r.Path, "/ofrep/") {
			want = http.StatusUnauthorized // OFREP tells a missing key from a forbidden one
		}
		require.Equal(t, want, anonymous.Status, anonymous.Raw)
		require.Equal(t, want, sdk.Do(r.Method, path, nil).Status)
	}
	wrongMethod(t, path, nobody)
	if _, raw := r.Handler.(route.RawHandler); raw {
		return
	}
	switch {
	case r.Schema().ReadsBody():
		malformed(t, r, admin.Do(r.Method, path, "{"))
	case len(r.Params()) > 0:
		unknown := admin.Do(r.Method, path, nil)
		fine(t, unknown)
		require.Contains(t, []int{400, 403, 404, 409}, unknown.Status, unknown.Raw)
	case r.Kind == route.Read:
		fine(t, admin.Do(r.Method, path, nil))
	}
}

// malformed: a body that is no JSON is 400, unless the caller may not get that far.
func malformed(t *testing.T, r *route.Row, a servertest.Answer) {
	t.Helper()
	fine(t, a)
	if r.Permission == nil && len(r.Params()) == 0 {
		require.Equal(t, http.StatusBadRequest, a.Status, a.Raw)
		require.Contains(t, a.Raw, "JSON parse error - Expecting property name enclosed in double quotes: line 1 column 2 (char 1)")
		return
	}
	require.Contains(t, []int{400, 403, 404}, a.Status, a.Raw)
}

// wrongMethod: a method the path does not have is 405 and says which it has.
func wrongMethod(t *testing.T, path string, c *servertest.Client) {
	t.Helper()
	options := c.Do(http.MethodOptions, path, nil)
	require.Equal(t, http.StatusOK, options.Status)
	allow := strings.Split(options.Header.Get("Allow"), ", ")
	for _, m := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		if !slices.Contains(allow, m) {
			a := c.Do(m, path, nil)
			require.Equal(t, http.StatusMethodNotAllowed, a.Status, a.Raw)
			require.ElementsMatch(t, allow, strings.Split(a.Header.Get("Allow"), ", "))
			require.Equal(t, `{"detail":"Method \"`+m+`\" not allowed."}`, a.Raw)
			return
		}
	}
}

// fine demands an answer that is no fault of ours, in JSON, with the headers of every answer.
func fine(t *testing.T, a servertest.Answer) {
	t.Helper()
	require.Less(t, a.Status, 500, a.Raw)
	require.NotEqual(t, http.StatusMovedPermanently, a.Status)
	require.Equal(t, "nosniff", a.Header.Get("X-Content-Type-Options"))
}
