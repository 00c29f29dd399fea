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
	modified := s.lastModified(c.view)
	h.SetCanonical(lastModifiedHeader, fasthttp.AppendHTTPDate(nil, modified))
	if since := ctx.Request.Header.Peek(fasthttp.HeaderIfUnmodifiedSince); len(since) > 0 {
		if t, err := fasthttp.ParseHTTPDate(since); err == nil && t.Before(modified) {
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
		unmodifiedSince(ctx.Request.Header.Peek(fasthttp.HeaderIfModifiedSince), modified) {
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

// settling is how long after the end of a second no version of it is to come any more,
// however the nodes' clocks differ.
const settling = 2 * time.Second

// lastModified is the second that tells the newest version from those before it. Dates
// are whole seconds: a version that shares its second is given the next one, once this
// node has all that was written in its own. Until then a client that asks by the shared
// second may be told that nothing changed; it gets the newest when it asks after that.
func (s *SDK) lastModified(view *fsm.View) time.Time {
	second := view.Environment.UpdatedAt.Std().Truncate(time.Second)
	if !view.SharesSecond() {
		return second
	}
	known := s.Clock()
	if s.Age != nil {
		known = known.Add(-s.Age())
	}
	if next := second.Add(time.Second); known.After(next.Add(settling)) {
		return next
	}
	return second
}

// unmodifiedSince reports whether a client that has the document as of since has the
// newest one.
func unmodifiedSince(since []byte, modified time.Time) bool {
	if len(since) == 0 {
		return false
	}
	t, err := fasthttp.ParseHTTPDate(since)
	return err == nil && !t.Before(modified)
}
