package server

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	files "github.com/flagraft/flagraft/console"
	"github.com/flagraft/flagraft/server/console"
	"github.com/flagraft/flagraft/server/route"
)

// TestLargeAnswersShareTheirBody: a client that reads slowly held a copy of it, and some hundred of those, without credentials, the memory
// of a small node.
func TestLargeAnswersShareTheirBody(t *testing.T) {
	docs := newAPIDocs()
	description := []byte("{}")
	docs.json = func() []byte { return description }
	docs.yaml = docs.json
	handlers := map[string]func(*fasthttp.RequestCtx){
		"/api/v1/docs/":                     func(ctx *fasthttp.RequestCtx) { docs.show(ctx, nil) },
		"/api/v1/docs/swagger-ui-bundle.js": func(ctx *fasthttp.RequestCtx) { docs.show(ctx, nil) },
		"a detached answer": func(ctx *fasthttp.RequestCtx) {
			writeResponse(ctx, route.Response{Status: 200, Body: description})
		},
	}
	for _, row := range docs.rows()[:2] {
		handlers[row.Path] = func(ctx *fasthttp.RequestCtx) { docs.send(ctx, "application/json", description) }
	}
	built, err := console.New(files.Files(), nil, func() []string { return nil })
	require.NoError(t, err)
	handlers["/"] = func(ctx *fasthttp.RequestCtx) { built.Serve(ctx) }

	for path, handle := range handlers {
		for _, accepted := range []string{"", "gzip"} {
			var bodies [2][]byte
			for i := range bodies {
				ctx := &fasthttp.RequestCtx{}
				ctx.Request.SetRequestURI(path)
				ctx.Request.Header.Set("Accept-Encoding", accepted)
				handle(ctx)
				require.Equal(t, 200, ctx.Response.StatusCode(), path)
				bodies[i] = ctx.Response.Body()
			}
			require.NotEmpty(t, bodies[0], path)
			require.Same(t, unsafe.SliceData(bodies[0]), unsafe.SliceData(bodies[1]), "%s, %q", path, accepted)
		}
	}
	ctx := &fasthttp.RequestCtx{}
	ctx.Request.SetRequestURI("/api/v1/docs/nothing")
	docs.show(ctx, nil)
	require.Equal(t, 404, ctx.Response.StatusCode())
	kept := 0
	docs.kept.Range(func(any, any) bool { kept++; return true })
	require.LessOrEqual(t, kept, 4, "answers to unknown paths are kept")
}
