package sdk

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm"
)

// Prepared headers are those of the View, of the form that is asked for and of
// the moment.
func TestPreparedHeaders(t *testing.T) {
	var age time.Duration
	h := newHouse(t, func(c *Config) {
		c.Node, c.Age = "n1", func() time.Duration { return age }
		c.Begin = func(h *fasthttp.ResponseHeader, cors bool) {
			h.Reset()
			h.Set("X-Common", "1")
			if cors {
				h.Set("Access-Control-Allow-Origin", "*")
			}
		}
	})
	h.feature(fsm.Feature{Name: "f"}, true, str(strings.Repeat("long", 300)))
	for range 2 {
		plain, gzip := h.get("flags/"), h.get("flags/", "Accept-Encoding", "gzip")
		require.Empty(t, plain.header("Content-Encoding"))
		require.Equal(t, "gzip", gzip.header("Content-Encoding"))
		require.NotEqual(t, plain.header("Etag"), gzip.header("Etag"))
		same := h.get("flags/", "Accept-Encoding", "gzip", "If-None-Match", gzip.header("Etag"))
		require.Equal(t, 304, same.status)
		require.Empty(t, same.header("Content-Encoding"))
		require.Equal(t, gzip.header("Etag"), same.header("Etag"))
		for _, a := range []answer{
			plain, gzip, same, h.post("identities/", `{"identifier":"bob"}`), h.post("identities/", `{`),
			h.get("flags/?feature=f"), h.get("flags/", "Accept", "text/html"), h.do("GET", "/api/v1/flags/", "unknown", ""),
		} {
			require.Equal(t, "1", a.header("X-Common"))
			require.Empty(t, a.header("Access-Control-Allow-Origin"))
			require.Contains(t, a.header("Allow"), "GET")
		}
		for _, a := range []answer{h.get("flags/", "Origin", "o"), h.post("identities/", `{"identifier":"bob"}`, "Origin", "o"), h.post("identities/", `{`, "Origin", "o")} {
			require.Equal(t, "*", a.header("Access-Control-Allow-Origin"))
		}
		require.Equal(t, "application/json", plain.header("Content-Type"))
		require.Equal(t, "n1", plain.header("Flagraft-Node"))
		require.Equal(t, "0", plain.header("Flagraft-Age"))
		age = 1500 * time.Millisecond
		require.Equal(t, "1500", h.get("flags/").header("Flagraft-Age"))
		require.Equal(t, "1500", h.post("identities/", `{"identifier":"bob"}`).header("Flagraft-Age"))
		age = 0

		h.feature(fsm.Feature{Name: "g" + plain.header("Etag")[1:5]}, true, str("w"))
		h.set(func(e *fsm.Environment) { e.UpdatedAt = e.UpdatedAt.Add(time.Second) })
		next := h.get("flags/")
		require.Equal(t, 200, h.get("flags/", "If-None-Match", plain.header("Etag")).status)
		for _, name := range []string{"Etag", "Flagraft-Index", "X-Flagsmith-Document-Updated-At"} {
			require.NotEqual(t, plain.header(name), next.header(name), name)
		}
	}
	server := h.do("GET", "/api/v1/flags/", serverKey, "")
	h.feature(fsm.Feature{Name: "secret", IsServerKeyOnly: true}, true, str("s"))
	require.Equal(t, server.header("Etag"), h.get("flags/").header("Etag"), "the same flags")
	require.NotEqual(t, h.do("GET", "/api/v1/flags/", serverKey, "").header("Etag"), h.get("flags/").header("Etag"))
}
