package server

import (
	"log/slog"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/e2e/fuzz/alloc"
	"github.com/flagraft/flagraft/server/route"
	"github.com/flagraft/flagraft/server/settings"
)

// rawServer serves one raw row and nothing else.
func rawServer(t testing.TB, f func(ctx *fasthttp.RequestCtx, m *route.Match)) *Server {
	t.Helper()
	table, err := route.NewTable([]route.Row{{Method: "GET", Path: "/api/v1/flags/{id}/", OperationID: "flags", Kind: route.Read, Handler: route.Raw(f, nil, nil)}})
	require.NoError(t, err)
	st := settings.Defaults()
	st.MaxRequests = 2
	return newServer(st, slog.New(slog.DiscardHandler), table, "")
}

func request(path string) *fasthttp.RequestCtx {
	ctx := &fasthttp.RequestCtx{}
	ctx.Request.SetRequestURI(path)
	ctx.Request.Header.SetHost("flags.example")
	ctx.Request.Header.Set("Origin", "https://app.example")
	return ctx
}

func TestRawRowsDoNotAllocate(t *testing.T) {
	body := []byte("[]")
	s := rawServer(t, func(ctx *fasthttp.RequestCtx, m *route.Match) { ctx.Response.SetBodyRaw(body) })
	ctx := request("/api/v1/flags/7/")
	s.handle(ctx)
	require.Equal(t, 200, ctx.Response.StatusCode())
	require.Zero(t, testing.AllocsPerRun(200, func() { s.handle(ctx) }))
}

func BenchmarkRawRow(b *testing.B) {
	body := []byte("[]")
	s := rawServer(b, func(ctx *fasthttp.RequestCtx, m *route.Match) { ctx.Response.SetBodyRaw(body) })
	ctx := request("/api/v1/flags/7/")
	b.ReportAllocs()
	for b.Loop() {
		s.handle(ctx)
	}
}

func TestPanicIsA500(t *testing.T) {
	s := rawServer(t, func(*fasthttp.RequestCtx, *route.Match) { panic("boom") })
	for range 5 { // and every time the place in the count is given back
		ctx := request("/api/v1/flags/7/")
		s.handle(ctx)
		require.Equal(t, 500, ctx.Response.StatusCode())
		require.Equal(t, `{"detail":"Internal server error."}`, string(ctx.Response.Body()))
		require.Equal(t, "*", string(ctx.Response.Header.Peek("Access-Control-Allow-Origin")))
	}
	require.EqualValues(t, 5, s.metrics.panics.Load())
	require.Zero(t, s.inFlight.Load())
}

func TestTooManyRequestsAreShed(t *testing.T) {
	enter, leave := make(chan struct{}), make(chan struct{})
	s := rawServer(t, func(*fasthttp.RequestCtx, *route.Match) { enter <- struct{}{}; <-leave })
	for range 2 {
		go s.handle(request("/api/v1/flags/7/"))
		<-enter
	}
	ctx := request("/api/v1/flags/7/")
	s.handle(ctx)
	require.Equal(t, 503, ctx.Response.StatusCode())
	require.Equal(t, "1", string(ctx.Response.Header.Peek("Retry-After")))
	close(leave)
}

// TestDetachedRequestOwnsItsMemory overwrites everything a request was read from: what was detached must not change.
func TestDetachedRequestOwnsItsMemory(t *testing.T) {
	s := rawServer(t, nil)
	ctx := request("/api/v1/flags/7/?q=1")
	ctx.Request.Header.SetMethod("POST")
	ctx.Request.SetBodyString(`{"a":1}`)
	var m route.Match
	path := ctx.URI().PathOriginal()
	require.True(t, s.table.Lookup([]byte("GET"), path, &m))
	r := s.detach(ctx)
	call := route.NewCall(t.Context(), &m, r)
	for _, b := range [][]byte{ctx.Request.Body(), path, ctx.Request.Header.Method(), ctx.Host(), ctx.URI().QueryString(), ctx.Request.Header.Peek("Origin")} {
		for i := range b {
			b[i] = '!'
		}
	}
	require.Equal(t, "POST", r.Method)
	require.Equal(t, "/api/v1/flags/7/", r.Path)
	require.Equal(t, "q=1", r.Query)
	require.Equal(t, "flags.example", r.Host)
	require.Equal(t, `{"a":1}`, string(r.Body))
	require.Equal(t, "https://app.example", r.Header("origin"))
	require.Equal(t, "7", call.Param("id"))
}

func TestRequestsSurviveTheWire(t *testing.T) {
	want := &route.Request{Method: "POST", Path: "/a%2Fb/", Query: "q=1", Scheme: "https", Host: "h", Remote: "1.2.3.4",
		Headers: []route.Header{{Name: "A", Value: "b"}}, Body: []byte("x")}
	data, err := encodeRequest(want)
	require.NoError(t, err)
	got, err := decodeRequest(data)
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = decodeRequest([]byte("junk"))
	require.Error(t, err)
	want.Query, want.Headers[0].Value = "q=\x8f", "caf\xe9" // bytes that are no UTF-8 are the sender's matter
	data, err = encodeRequest(want)
	require.NoError(t, err)
	got, err = decodeRequest(data)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func FuzzWire(f *testing.F) {
	data, _ := encodeRequest(&route.Request{Method: "GET", Path: "/"})
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		alloc.Bound(t, 64<<10+1000*len(data), func() {
			_, _ = decodeRequest(data)
			_, _, _ = decodeAnswer(data)
		})
		if r, err := decodeRequest(data); err == nil {
			sent, err := encodeRequest(r)
			require.NoError(t, err)
			again, err := decodeRequest(sent)
			require.NoError(t, err)
			resent, err := encodeRequest(again)
			require.NoError(t, err)
			require.Equal(t, sent, resent)
		}
		if a, w, err := decodeAnswer(data); err == nil {
			sent, err := encodeAnswer(a, w)
			require.NoError(t, err)
			again, w2, err := decodeAnswer(sent)
			require.NoError(t, err)
			require.Equal(t, a, again)
			require.Equal(t, w.Index, w2.Index)
			require.True(t, slices.Equal(w.Environments, w2.Environments))
		}
	})
}
