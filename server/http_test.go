package server_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/credential"
	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

// masterKeys makes a valid and an expired key of the first organisation.
func masterKeys(t *testing.T, n *servertest.Node) (valid, expired string) {
	t.Helper()
	make := func(expiry fsm.Time) string {
		key, prefix, hash := credential.NewMasterKey()
		require.NoError(t, n.Update(t.Context(), func(tx *fsm.Tx) error {
			var newest uint64 // the organisation that project made
			for o := range fsm.Organisations.All(tx) {
				newest = o.ID
			}
			fsm.MasterAPIKeys.Put(tx, fsm.MasterAPIKey{Organisation: newest, Prefix: prefix, Hash: hash, Name: "k", IsAdmin: true, ExpiryDate: expiry})
			return nil
		}))
		return key
	}
	return make(0), make(1)
}

// dial connects to the API of a node.
func dial(t *testing.T, n *servertest.Node) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", n.APIAddr())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// speak sends raw bytes and reads one answer.
func speak(t *testing.T, n *servertest.Node, request string) *http.Response {
	t.Helper()
	conn := dial(t, n)
	require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	_, err := io.WriteString(conn, request)
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	return resp
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(b)
}

func TestLimits(t *testing.T) {
	n := servertest.Start(t, func(st *settings.Settings) {
		st.MaxBodyBytes, st.MaxHeaderBytes, st.ReadTimeout = 1000, 2048, 300*time.Millisecond
	})
	big := speak(t, n, "POST /api/v1/projects/1/tags/ HTTP/1.1\r\nHost: x\r\nContent-Length: 2000\r\n\r\n"+strings.Repeat("x", 2000))
	require.Equal(t, 413, big.StatusCode)
	require.Equal(t, `{"detail":"Request body is too large: at most 1000 bytes are accepted."}`, body(t, big))
	long := speak(t, n, "GET / HTTP/1.1\r\nHost: x\r\nX-Long: "+strings.Repeat("x", 4000)+"\r\n\r\n")
	require.Equal(t, 431, long.StatusCode)
	require.Contains(t, body(t, long), "2048 bytes")
	endless := speak(t, n, "GET / HTTP/1.1\r\nHost: x\r\nX-Long: "+strings.Repeat("x", 8<<20)+"\r\n\r\n") // more than sockets hold
	require.Equal(t, 431, endless.StatusCode, "the answer is not lost with what was not read")
	slow := speak(t, n, "POST /api/v1/projects/1/tags/ HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n{")
	require.Contains(t, []int{400, 408}, slow.StatusCode)
	garbage := speak(t, n, "\x16\x03\x01 nonsense\r\n\r\n")
	require.Equal(t, 400, garbage.StatusCode)
}

func TestHeaders(t *testing.T) {
	n := servertest.Start(t)
	page := n.Client(t).Do("GET", "/api/v1/nowhere/", nil)
	require.Equal(t, 404, page.Status)
	require.Contains(t, page.Raw, "<h1>Not Found</h1>")
	plain := n.Client(t).With("Accept", "application/json").Do("GET", "/api/v1/nowhere/", nil)
	require.Equal(t, 404, plain.Status)
	require.Equal(t, `{"detail":"Not found."}`, plain.Raw)
	require.Empty(t, plain.Header.Get("Access-Control-Allow-Origin"))
	for name, want := range map[string]string{
		"Flagsmith-Version": "2.265.0", "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
		"Cross-Origin-Opener-Policy": "same-origin", "Pragma": "no-cache", "Vary": "Accept, Origin", "Content-Type": "application/json",
		"Cache-Control": "max-age=0, no-cache, no-store, must-revalidate, private",
	} {
		require.Equal(t, want, plain.Header.Get(name))
	}
	xml := n.Admin(t).With("Accept", "application/xml").Do("GET", "/api/v1/projects/1/tags/", nil)
	require.Equal(t, 406, xml.Status)
	require.Equal(t, `{"detail":"Could not satisfy the request Accept header."}`, xml.Raw)
	require.Equal(t, 404, n.Admin(t).Do("GET", "/api/v1/projects/1/tags/?format=xml", nil).Status)
	require.Equal(t, 403, n.Admin(t).Do("GET", "/api/v1/projects/1/tags/?format=json", nil).Status)
	cross := n.Client(t).With("Origin", "https://app.example").Do("GET", "/api/v1/flags/", nil)
	require.Equal(t, "*", cross.Header.Get("Access-Control-Allow-Origin"))
	require.Contains(t, cross.Header.Get("Access-Control-Expose-Headers"), "X-Flagsmith-Document-Updated-At")
	pre := n.Client(t).With("Origin", "https://app.example").With("Access-Control-Request-Method", "POST").Do("OPTIONS", "/api/v1/flags/", nil)
	require.Equal(t, 200, pre.Status)
	require.Empty(t, pre.Raw)
	require.Equal(t, "86400", pre.Header.Get("Access-Control-Max-Age"))
	require.Contains(t, pre.Header.Get("Access-Control-Allow-Headers"), "idempotency-key")
	require.Contains(t, pre.Header.Get("Access-Control-Allow-Headers"), "last-event-id")
	head := speak(t, n, "HEAD /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	require.Equal(t, 200, head.StatusCode)
}

func TestDocumentation(t *testing.T) {
	n := servertest.Start(t)
	c := n.Client(t)
	spec := c.Do("GET", "/api/v1/swagger.json", nil)
	require.Equal(t, "application/vnd.oai.openapi+json", spec.Header.Get("Content-Type"))
	require.Contains(t, spec.Raw, `"openapi":"3.1.0"`)
	var doc struct {
		Paths      map[string]map[string]any
		Components map[string]map[string]any
	}
	require.NoError(t, json.Unmarshal([]byte(spec.Raw), &doc))
	shown := 0
	for _, r := range n.Rows() {
		if !r.Hidden {
			shown++
			require.Contains(t, doc.Paths[r.Path], strings.ToLower(r.Method), r.Path)
		}
	}
	require.Greater(t, shown, 10)
	for _, ref := range regexp.MustCompile(`"#/components/(\w+)/([^"]+)"`).FindAllStringSubmatch(spec.Raw, -1) {
		require.Contains(t, doc.Components[ref[1]], ref[2], "dangling reference")
		require.Regexp(t, `^[A-Za-z0-9._-]+$`, ref[2])
	}
	yaml := c.Do("GET", "/api/v1/swagger.yaml", nil)
	require.Equal(t, "application/vnd.oai.openapi; charset=utf-8", yaml.Header.Get("Content-Type"))
	require.True(t, strings.HasPrefix(yaml.Raw, "openapi: 3.1.0\n"))
	page := c.Do("GET", "/api/v1/docs/", nil)
	require.Contains(t, page.Raw, "/api/v1/swagger.json")
	require.NotRegexp(t, `(src|href)="(https?:)?//`, page.Raw, "the page loads nothing from elsewhere")
	require.Equal(t, 200, c.Do("GET", "/api/v1/docs/swagger-ui-bundle.js", nil).Status)
}

func TestManagement(t *testing.T) {
	n := servertest.Start(t)
	get := func(path string) (int, string) {
		resp, err := http.Get("http://" + n.ManagementAddr() + path)
		require.NoError(t, err)
		defer resp.Body.Close()
		return resp.StatusCode, body(t, resp)
	}
	for _, path := range []string{"/livez", "/readyz", "/readyz?verbose", "/status", "/status?hash", "/metrics", "/debug/pprof/"} {
		code, text := get(path)
		require.Equal(t, 200, code, path)
		require.NotEmpty(t, text)
	}
	n.Client(t).Do("GET", "/version/", nil)
	_, text := get("/metrics")
	require.Contains(t, text, `flagraft_http_requests_total{code="2xx",operation="version"} 1`)
	require.Contains(t, text, "flagraft_ready 1")
	require.Contains(t, text, "flagraft_traits_unpersisted_total 0")
}

func TestRestartKeepsEverything(t *testing.T) {
	dir := t.TempDir()
	var token, tags string
	t.Run("first", func(t *testing.T) {
		n := servertest.Start(t, func(st *settings.Settings) { st.DataDir = dir })
		token, tags = n.Token(t), project(t, n)
		n.Admin(t).Object("POST", tags, map[string]any{"label": "kept"}, 201)
	})
	t.Run("second", func(t *testing.T) {
		n := servertest.Launch(t, func(st *settings.Settings) { st.DataDir = dir })
		require.Eventually(t, n.Ready, 20*time.Second, 5*time.Millisecond)
		list := n.Client(t).With("Authorization", "Token "+token).Do("GET", tags, nil)
		require.Contains(t, list.Raw, "kept", fmt.Sprint(list.Status))
	})
}
