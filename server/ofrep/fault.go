package ofrep

import (
	"strconv"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/server/route"
)

const jsonType = "application/json"

// fault is an answer that is no evaluation.
type fault struct {
	status  int
	code    string // of OpenFeature
	details string
}

// The faults without details of their own. They are never written to.
var (
	notFound   = &fault{fasthttp.StatusNotFound, "FLAG_NOT_FOUND", "The environment has no such flag, or this key may not see it."}
	noKey      = &fault{fasthttp.StatusUnauthorized, "GENERAL", "No environment key: send X-Environment-Key, or Authorization: Bearer."}
	unknownKey = &fault{fasthttp.StatusUnauthorized, "GENERAL", "Unknown environment key."}
	unusable   = &fault{fasthttp.StatusForbidden, "GENERAL", "Environment key is inactive or has expired."}
	stopped    = &fault{fasthttp.StatusForbidden, "GENERAL", "Organisation is disabled from serving flags."}
	noState    = &fault{fasthttp.StatusServiceUnavailable, "GENERAL", route.MsgNoState}
	behind     = &fault{fasthttp.StatusServiceUnavailable, "GENERAL", route.MsgBehind}
	noLeader   = &fault{fasthttp.StatusServiceUnavailable, "GENERAL", route.MsgNoLeader}
	badLevel   = &fault{fasthttp.StatusBadRequest, "GENERAL", route.MsgBadLevel}
	notJSON    = &fault{fasthttp.StatusBadRequest, "PARSE_ERROR", "The Content-Type must be application/json."}
	notObject  = &fault{fasthttp.StatusBadRequest, "PARSE_ERROR", "The body must be a JSON object."}
)

func invalidContext(details string) *fault {
	return &fault{fasthttp.StatusBadRequest, "INVALID_CONTEXT", details}
}

// write answers; key is the flag's, or "" where the request is about all.
func (f *fault) write(ctx *fasthttp.RequestCtx, key string) {
	dst := []byte{'{'}
	if key != "" {
		dst = append(route.AppendString(append(dst, `"key":`...), key), ',')
	}
	dst = route.AppendString(append(dst, `"errorCode":`...), f.code)
	dst = route.AppendString(append(dst, `,"errorDetails":`...), f.details)
	switch f.status {
	case fasthttp.StatusUnauthorized:
		ctx.Response.Header.Set(fasthttp.HeaderWWWAuthenticate, "Bearer")
	case fasthttp.StatusServiceUnavailable:
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.Itoa(1))
	}
	ctx.Response.SetStatusCode(f.status)
	ctx.Response.Header.SetContentType(jsonType)
	ctx.Response.SetBodyRaw(append(dst, '}'))
}
