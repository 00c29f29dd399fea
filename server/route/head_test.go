package route

import (
	"bufio"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"
)

func TestHeadIsSentAsItWouldBeWritten(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]*fasthttp.ResponseHeader{"few": {}, "many": {}} {
		if name == "many" {
			h.SetServer("server")
			h.SetContentType("application/json")
			h.SetContentEncoding("gzip")
			h.Set("X-Other", "Date: Content-Length: 0")
			h.Set("Allow", "GET")
		}
		before := all(h)
		p := NewHead(h)
		require.Equal(t, before, all(p.ResponseHeader), "copies of them get the length of their own bodies")
		for _, now := range []time.Time{time.Unix(1_700_000_000, 5), time.Unix(1_700_000_000, 9), time.Unix(1_700_000_001, 0)} {
			sent := string(p.AppendTo([]byte("before "), now, 12345)) + "\r\n\r\n"

			var got fasthttp.ResponseHeader
			sent, ok := strings.CutPrefix(sent, "before ")
			require.True(t, ok)
			require.NoError(t, got.Read(bufio.NewReader(strings.NewReader(sent))))
			require.Equal(t, 12345, got.ContentLength())
			require.Equal(t, now.UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT"), string(got.Peek("Date")))
			got.Del("Date")
			var sized fasthttp.ResponseHeader
			h.CopyTo(&sized)
			sized.SetContentLength(12345)
			want, have := all(&sized), all(&got)
			delete(want, "Date")
			require.Equal(t, want, have)
		}
	}
}

func TestHeadOfA304TellsNoLength(t *testing.T) {
	t.Parallel()
	h := &fasthttp.ResponseHeader{}
	h.SetStatusCode(fasthttp.StatusNotModified)
	h.Set("ETag", `"tag"`)
	p := NewHead(h)
	require.False(t, p.HasBody())
	sent := string(p.AppendTo(nil, time.Unix(1_700_000_000, 0), 12345)) + "\r\n\r\n"
	require.NotContains(t, sent, "Content-Length")
	var got fasthttp.ResponseHeader
	require.NoError(t, got.Read(bufio.NewReader(strings.NewReader(sent))))
	require.Equal(t, fasthttp.StatusNotModified, got.StatusCode())
	require.Equal(t, `"tag"`, string(got.Peek("ETag")))
	require.Equal(t, "Tue, 14 Nov 2023 22:13:20 GMT", string(got.Peek("Date")))
}

func all(h *fasthttp.ResponseHeader) map[string]string {
	m := map[string]string{}
	for k, v := range h.All() {
		m[string(k)] = string(v)
	}
	return m
}
