// Package requestid gives every request an id, which its answer and each line that is logged about it carry, on all nodes that it passes.
package requestid

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strconv"

	"github.com/valyala/fasthttp"
)

// Header carries the id, in requests and answers.
const Header = "X-Request-ID"

var header = []byte("X-Request-Id") // in the form that fasthttp keeps

// Longest is how long an id may be that a client gave.
const Longest = 128

// process tells this process's ids from those of others.
var process = func() []byte {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return append(hex.AppendEncode(nil, b[:]), '-')
}()

// Append appends the id of a request that a client sent: the client's own if it is sane, else one made of the process, the connection and the
// request's place on it. It is the same each time, so it is kept nowhere. It does not allocate if dst has room.
func Append(dst []byte, ctx *fasthttp.RequestCtx) []byte {
	if own := ctx.Request.Header.PeekCanonical(header); sane(own) {
		return append(dst, own...)
	}
	return strconv.AppendUint(append(dst, process...), ctx.ID(), 16)
}

// Of is Append as a text.
func Of(ctx *fasthttp.RequestCtx) string { return string(Append(nil, ctx)) }

// Answer puts the id into the answer. buf is room for it.
func Answer(ctx *fasthttp.RequestCtx, buf []byte) {
	ctx.Response.Header.SetCanonical(header, Append(buf[:0], ctx))
}

// AppendLine appends the header line that Answer makes, and ends the one before.
func AppendLine(dst []byte, ctx *fasthttp.RequestCtx) []byte {
	dst = append(append(append(dst, "\r\n"...), header...), ": "...)
	return append(Append(dst, ctx), "\r\n"...)
}

// sane reports whether an id may be logged and sent back as it is.
func sane(id []byte) bool {
	for _, c := range id {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '-' || c == '_' || c == '.' || c == ':' || c == '/' || c == '+' || c == '=' || c == '@' || c == '~':
		default:
			return false
		}
	}
	return len(id) > 0 && len(id) <= Longest
}

type key struct{}

// With is ctx for the request of an id.
func With(ctx context.Context, id string) context.Context {
	if id == "" {
		return ctx
	}
	return context.WithValue(ctx, key{}, id)
}

// From is the id of the request that ctx belongs to, or "".
func From(ctx context.Context) string {
	if c, ok := ctx.(*fasthttp.RequestCtx); ok {
		return Of(c)
	}
	id, _ := ctx.Value(key{}).(string)
	return id
}
