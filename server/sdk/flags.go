package sdk

import (
	"bytes"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

const msgFeatureNotFound = "Given feature not found"

// getFlags is GET /flags/: the whole list as rendered for the View, or one flag.
func (s *SDK) getFlags(ctx *fasthttp.RequestCtx, m *route.Match) {
	if !acceptsJSON(ctx.Request.Header.PeekCanonical(acceptHeader)) {
		s.refuse(ctx, m, route.Detail(fasthttp.StatusNotAcceptable, "Could not satisfy the request Accept header."))
		return
	}
	c, err := s.admit(ctx, fsm.UsageFlags, false)
	if err != nil {
		s.refuse(ctx, m, err)
		return
	}
	if bytes.IndexByte(ctx.Request.Header.RequestURI(), '?') >= 0 && ctx.QueryArgs().Has("feature") {
		s.begin(ctx, m)
		s.oneFlag(ctx, c, string(ctx.QueryArgs().Peek("feature")))
		return
	}
	s.allFlags(ctx, m, c)
}

// allFlags is serveBody with prepared headers.
func (s *SDK) allFlags(ctx *fasthttp.RequestCtx, m *route.Match, c caller) {
	b := c.view.FlagsBody(s.Format, c.server)
	kind := headFlags
	if c.server {
		kind = headServerFlags
	}
	compress := len(b.Plain) >= minGzip && route.AcceptsGzip(ctx.Request.Header.PeekCanonical(acceptEncodingHeader))
	if compress {
		kind++
	}
	tags := ctx.Request.Header.PeekCanonical(noneMatchHeader)
	same := len(tags) > 0 && matchesTag(tags, b)
	if same {
		s.startPrepared(ctx, m, c.view, flagHeads+kind, 0, false)
		ctx.Response.SetStatusCode(fasthttp.StatusNotModified)
		return
	}
	s.startPrepared(ctx, m, c.view, kind, 0, false)
	if compress {
		ctx.Response.SetBodyRaw(b.Gzip())
		return
	}
	ctx.Response.SetBodyRaw(b.Plain)
}

// oneFlag answers ?feature=: names ignore case in the way in which they are
// unique, an empty one gives the first flag of the list.
func (s *SDK) oneFlag(ctx *fasthttp.RequestCtx, c caller, name string) {
	s.stamp(ctx, c.view, 0)
	wanted, _ := fsm.FeaturesByName.First(c.view.State, c.view.Project.ID, strings.ToLower(name))
	for i := range c.view.Features {
		f := c.view.Features[i].Default
		if (name == "" || f.Feature.ID == wanted.ID) && c.view.Visible(f.Feature, f.State.Enabled, c.server) {
			ctx.Response.Header.SetContentTypeBytes(jsonType)
			ctx.Response.SetBodyRaw(f.AppendFlag(nil, s.Format))
			return
		}
	}
	s.fail(ctx, route.Detail(fasthttp.StatusNotFound, msgFeatureNotFound))
}

// serveBody answers with a body of the View and its tag, compressed if the
// client takes that, or with 304.
func (s *SDK) serveBody(ctx *fasthttp.RequestCtx, b *fsm.Body) {
	h := &ctx.Response.Header
	h.SetCanonical(cacheControlHeader, cachePrivate)
	h.SetCanonical(varyHeader, varyByKey)
	compress := len(b.Plain) >= minGzip && route.AcceptsGzip(ctx.Request.Header.PeekBytes(acceptEncodingHeader))
	if compress {
		h.SetCanonical(etagHeader, b.GzipETag)
	} else {
		h.SetCanonical(etagHeader, b.ETag)
	}
	if tags := ctx.Request.Header.Peek(fasthttp.HeaderIfNoneMatch); len(tags) > 0 && matchesTag(tags, b) {
		ctx.Response.SetStatusCode(fasthttp.StatusNotModified)
		return
	}
	h.SetContentTypeBytes(jsonType)
	if compress {
		h.SetCanonical(contentEncodingHeader, gzipCoding)
		ctx.Response.SetBodyRaw(b.Gzip())
		return
	}
	ctx.Response.SetBodyRaw(b.Plain)
}

// minGzip is the size below which compressing gains nothing.
const minGzip = 1000

// matchesTag compares an If-None-Match list weakly, with either coding's tag: the
// content is the same.
func matchesTag(list []byte, b *fsm.Body) bool {
	if len(list) == 1 && list[0] == '*' {
		return true
	}
	return bytes.Contains(list, b.ETag) || bytes.Contains(list, b.GzipETag)
}

// acceptsJSON reports whether an Accept header allows a JSON answer.
func acceptsJSON(accept []byte) bool {
	return len(accept) == 0 || bytes.Contains(accept, []byte("*/*")) ||
		bytes.Contains(accept, []byte("json")) || bytes.Contains(accept, []byte("application/*"))
}
