package server_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

func TestConsole(t *testing.T) {
	n := servertest.Start(t)
	browser := n.Client(t).With("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	root := n.Client(t).Do("GET", "/", nil)
	require.Equal(t, 200, root.Status)
	require.Equal(t, "text/html; charset=utf-8", root.Header.Get("Content-Type"))
	require.Equal(t, "no-cache", root.Header.Get("Cache-Control"))
	require.Equal(t, "nosniff", root.Header.Get("X-Content-Type-Options"))
	policy := root.Header.Get("Content-Security-Policy")
	require.True(t, strings.HasPrefix(policy, "default-src 'none'; script-src 'self'; style-src 'self'; "), policy)
	require.NotContains(t, policy, "unsafe")
	require.NotRegexp(t, `<script(>| [^>]*>[^<])| style=|<style| on\w+=`, root.Raw, "nothing is inline")

	deep := browser.Do("GET", "/projects/1/environments/key/features/12", nil)
	require.Equal(t, root.Raw, deep.Raw)
	same := browser.With("If-None-Match", root.Header.Get("ETag")).Do("GET", "/", nil)
	require.Equal(t, 304, same.Status)
	require.Empty(t, same.Raw)

	script := regexp.MustCompile(`src="(/assets/[^"]+\.js)"`).FindStringSubmatch(root.Raw)
	require.Len(t, script, 2)
	plain := n.Client(t).With("Accept-Encoding", "identity").Do("GET", script[1], nil)
	require.Equal(t, "text/javascript; charset=utf-8", plain.Header.Get("Content-Type"))
	require.Equal(t, "public, max-age=31536000, immutable", plain.Header.Get("Cache-Control"))
	zipped := n.Client(t).With("Accept-Encoding", "gzip, br").Do("GET", script[1], nil)
	require.Equal(t, "gzip", zipped.Header.Get("Content-Encoding"))
	require.Less(t, len(zipped.Raw), 180_000)
	require.Less(t, len(zipped.Raw), len(plain.Raw))
	require.Equal(t, 200, n.Client(t).Do("GET", "/licenses.txt", nil).Status)
}

// TestConsoleShadowsNothing: paths below the API's, and what no browser opens, are answered as without the console.
func TestConsoleShadowsNothing(t *testing.T) {
	with, without := servertest.Start(t), servertest.Start(t, func(st *settings.Settings) { st.Console = false })
	for _, r := range with.Rows() {
		if r.Method == "GET" {
			first := "/" + strings.SplitN(strings.Trim(r.Path, "/"), "/", 2)[0]
			require.Equal(t, 404, with.Client(t).With("Accept", "text/html").Do("GET", first+"/nowhere/at/all", nil).Status, first)
		}
	}
	for _, c := range []struct {
		method, path, accept string
	}{
		{"GET", "/nowhere", "application/json"}, {"GET", "/nowhere", "*/*"}, {"POST", "/", "text/html"}, {"DELETE", "/projects/1", "text/html"},
		{"GET", "/api", "text/html"}, {"GET", "/assets/nowhere.js", "*/*"}, {"GET", "/index.html/..%2f..%2fgo.mod", "*/*"}, {"OPTIONS", "/", "text/html"},
	} {
		a, b := with.Client(t).With("Accept", c.accept).Do(c.method, c.path, nil), without.Client(t).With("Accept", c.accept).Do(c.method, c.path, nil)
		require.Equal(t, 404, a.Status, c)
		require.Equal(t, b.Raw, a.Raw, c)
	}
	require.Equal(t, 404, without.Client(t).With("Accept", "text/html").Do("GET", "/", nil).Status)
	head, err := http.Head(with.Base + "/")
	require.NoError(t, err)
	require.NoError(t, head.Body.Close())
	require.Equal(t, 200, head.StatusCode)
}

func TestNodes(t *testing.T) {
	t.Parallel()
	for advertised, want := range map[string]string{
		"": "", "node-a.example:8000": "http://node-a.example:8000", ":8000": "http://127.0.0.1:8000", "[::]:80": "http://127.0.0.1:80",
	} {
		n := servertest.Start(t, func(st *settings.Settings) { st.AdvertiseAPI = advertised })
		list := n.Admin(t).Object("GET", "/api/flagraft/v1/nodes/", nil, 200)
		node := list["nodes"].([]any)[0].(map[string]any)
		require.Equal(t, want, node["url"], advertised)
		require.Equal(t, true, node["ready"])
		require.Equal(t, list["node"], list["leader"])
		require.Equal(t, 401, n.Client(t).Do("GET", "/api/flagraft/v1/nodes/", nil).Status)
	}
}

func TestInstallation(t *testing.T) {
	n := servertest.Start(t, func(st *settings.Settings) { st.RegistrationInvite = true })
	require.Equal(t, map[string]any{"version": "test", "has_users": true, "registration": "invited", "mails": false, "invite_links": true},
		n.Client(t).Object("GET", "/api/flagraft/v1/installation/", nil, 200))
	empty := servertest.Launch(t, func(st *settings.Settings) {
		st.AdminEmail, st.AdminPassword, st.PreventSignup, st.DisableInviteLinks = "", "", true, true
	})
	require.Eventually(t, empty.Ready, 20*time.Second, 5*time.Millisecond)
	got := empty.Client(t).Object("GET", "/api/flagraft/v1/installation/", nil, 200)
	require.Equal(t, false, got["has_users"])
	require.Equal(t, "closed", got["registration"])
	require.Equal(t, false, got["invite_links"])
}
