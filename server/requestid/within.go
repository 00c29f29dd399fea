package requestid

import (
	"context"

	"github.com/valyala/fasthttp"
)

type withinKey struct{}

// Keep makes ctx the one that the steps of a request belong to that is served on its connection: for its trace, in them and in the log.
func Keep(ctx context.Context, request *fasthttp.RequestCtx) { request.SetUserValue(withinKey{}, ctx) }

// Within is the context that was kept for a request, or an empty one.
func Within(request *fasthttp.RequestCtx) context.Context {
	if ctx, ok := request.UserValue(withinKey{}).(context.Context); ok {
		return ctx
	}
	return context.Background()
}
