package sdk

import (
	"time"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// getDocument is GET /environment-document/, for server-side keys only: the whole
// document, or its first page with a Link to the next one (see document_agents.go).
func (s *SDK) getDocument(ctx *fasthttp.RequestCtx, _ *route.Match) {
	c, ok := s.enter(ctx, fsm.UsageEnvironmentDocument, true)
	if !ok {
		return
	}
	if id := ctx.QueryArgs().Peek("page_id"); len(id) > 0 {
		s.getDocumentPage(ctx, c, id)
		return
	}
	s.stamp(ctx, c.view, 0)
	h := &ctx.Response.Header
	h.SetCanonical(updatedAtHeader, c.view.UpdatedAt)
	h.SetCanonical(lastModifiedHeader, c.view.LastModified)
	updated := c.view.Environment.UpdatedAt
	if since := ctx.Request.Header.Peek(fasthttp.HeaderIfUnmodifiedSince); len(since) > 0 {
		if t, err := fasthttp.ParseHTTPDate(since); err == nil && t.Unix() < updated.Std().Unix() {
			ctx.Response.SetStatusCode(fasthttp.StatusPreconditionFailed)
			return
		}
	}
	body := c.view.DocumentBody()
	if s.pages(ctx) {
		var pages int
		body, pages = c.view.DocumentPage(1)
		linkNext(ctx, c.view.IndexToken, 1, pages)
	}
	// A tag is exact; a date is looked at only without one (RFC 9110 §13.2.2).
	if len(ctx.Request.Header.Peek(fasthttp.HeaderIfNoneMatch)) == 0 &&
		s.unmodifiedSince(ctx.Request.Header.Peek(fasthttp.HeaderIfModifiedSince), c.view) {
		h.SetCanonical(cacheControlHeader, cachePrivate)
		h.SetCanonical(etagHeader, body.ETag)
		ctx.Response.SetStatusCode(fasthttp.StatusNotModified)
	} else {
		s.serveBody(ctx, body)
	}
	h.SetCanonical(varyHeader, varyByKey)
	if c.view.Paged() && s.DocumentPages == PagesAuto {
		h.SetCanonical(varyHeader, varyByKeyAndAgent)
	}
}

// sameSecondDoubt is how long a date of a second with two versions is doubted: a
// client that polls more often has the newer one by then.
const sameSecondDoubt = time.Hour

// unmodifiedSince reports whether a client that has the document as of since has
// the newest one. Dates are whole seconds: when the version before the newest is
// of the same second, the client may have that one, and the answer is no.
func (s *SDK) unmodifiedSince(since []byte, view *fsm.View) bool {
	if len(since) == 0 {
		return false
	}
	t, err := fasthttp.ParseHTTPDate(since)
	if err != nil {
		return false
	}
	second := view.Environment.UpdatedAt.Std().Truncate(time.Second)
	switch {
	case t.Before(second):
		return false
	case t.After(second):
		return true
	default:
		return s.Clock().Sub(second) > sameSecondDoubt || !view.SharesSecond()
	}
}
