package server

import (
	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/server/route"
)

// CompatVersion is the version of the Flagsmith API that answers are made like; clients read it from Flagsmith-Version.
const CompatVersion = "2.265.0"

// The names of our own headers.
const (
	headerConsistency = "Flagraft-Consistency"
	headerMinIndex    = "Flagraft-Min-Index"
	headerIndex       = "Flagraft-Index"
	headerAge         = "Flagraft-Age"
	headerNode        = "Flagraft-Node"
	headerVisible     = "Flagraft-Visible"
)

const (
	corsMethods = "DELETE, GET, OPTIONS, PATCH, POST, PUT"
	corsAllowed = "accept, accept-encoding, authorization, baggage, content-type, dnt, flagraft-consistency, flagraft-min-index, " +
		"flagsmith-application-name, flagsmith-application-version, flagsmith-sdk-user-agent, idempotency-key, if-modified-since, if-none-match, " +
		"last-event-id, origin, sentry-trace, traceparent, tracestate, user-agent, x-csrftoken, x-e2e-test-auth-token, x-environment-key, x-request-id, x-requested-with"
	corsExposed = "Retry-After, X-Flagsmith-Document-Updated-At, Flagraft-Index, Flagraft-Age, Flagraft-Node, Flagraft-Consistency, " +
		"Flagraft-Traits-Persisted, Flagraft-Visible, Idempotency-Replayed, Link, ETag, X-Request-ID"
)

// commonHeaders are the headers of every answer, prepared once (FACTS §1). Expires is a fixed date in the past, where the reference sends
// the present: both mean that the answer must not be reused.
type commonHeaders struct {
	plain, cors fasthttp.ResponseHeader
	preflight   fasthttp.ResponseHeader
}

// newCommonHeaders prepares the headers; node is the value of Flagraft-Node.
func newCommonHeaders(node string) *commonHeaders {
	h := &commonHeaders{}
	fill := func(r *fasthttp.ResponseHeader) {
		r.SetServer(serverName)
		r.SetContentType("application/json")
		for _, kv := range [][2]string{
			{"Flagsmith-Version", CompatVersion},
			{"X-Frame-Options", "DENY"},
			{"X-Content-Type-Options", "nosniff"},
			{"Referrer-Policy", "same-origin"},
			{"Cross-Origin-Opener-Policy", "same-origin"},
			{"Expires", "Thu, 01 Jan 1970 00:00:00 GMT"},
			{"Cache-Control", "max-age=0, no-cache, no-store, must-revalidate, private"},
			{"Pragma", "no-cache"},
			{"Vary", "Accept, Origin"},
		} {
			r.Set(kv[0], kv[1])
		}
		if node != "" {
			r.Set(headerNode, node)
		}
	}
	fill(&h.plain)
	fill(&h.cors)
	h.cors.Set("Access-Control-Allow-Origin", "*")
	h.cors.Set("Access-Control-Expose-Headers", corsExposed)
	fill(&h.preflight)
	h.preflight.Set("Access-Control-Allow-Origin", "*")
	h.preflight.Set("Access-Control-Expose-Headers", corsExposed)
	h.preflight.Set("Access-Control-Allow-Methods", corsMethods)
	h.preflight.Set("Access-Control-Allow-Headers", corsAllowed)
	h.preflight.Set("Access-Control-Max-Age", "86400")
	h.preflight.SetContentType("text/html; charset=utf-8")
	return h
}

var (
	originHeader    = []byte("Origin")
	requestedMethod = []byte("Access-Control-Request-Method")
)

// apply starts an answer with the common headers. It does not allocate.
func (h *commonHeaders) apply(ctx *fasthttp.RequestCtx) {
	h.begin(&ctx.Response.Header, len(ctx.Request.Header.PeekCanonical(originHeader)) > 0)
}

// begin is apply for headers that are kept; cors: the request has an Origin.
func (h *commonHeaders) begin(dst *fasthttp.ResponseHeader, cors bool) {
	if cors {
		h.cors.CopyTo(dst)
		return
	}
	h.plain.CopyTo(dst)
}

// isPreflight reports a browser's question before the request.
func isPreflight(ctx *fasthttp.RequestCtx) bool {
	return ctx.IsOptions() && len(ctx.Request.Header.PeekCanonical(requestedMethod)) > 0
}

// writeResponse sends a detached answer.
func writeResponse(ctx *fasthttp.RequestCtx, r route.Response) {
	ctx.SetStatusCode(r.Status)
	for _, h := range r.Headers {
		if h.Name == "Content-Type" {
			ctx.SetContentType(h.Value)
			continue
		}
		ctx.Response.Header.Set(h.Name, h.Value)
	}
	if r.Body == nil {
		ctx.Response.Header.SetContentType("")
		ctx.Response.Header.SetNoDefaultContentType(true)
		return
	}
	ctx.Response.SetBodyRaw(r.Body) // nobody changes it: a copy would wait for a slow client
}

// writeError sends an error in Flagsmith's shape.
func writeError(ctx *fasthttp.RequestCtx, err error) { writeResponse(ctx, route.ErrorResponse(err)) }
