package sdk

import (
	"bytes"
	"context"
	"strconv"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

const (
	msgPageID    = "Invalid page_id."
	msgPageGone  = "This page is no longer kept: begin again without page_id."
	msgPageAfter = "There is no such page."
)

// pageID names page n of the document as of a log index. Its text is
// "<epoch>-<index>-<n>": clients decode it, encode it again or leave it as it is,
// so that it has only letters, digits and "-".
type pageID struct {
	epoch []byte
	index uint64
	page  int
}

func parsePageID(text []byte) (id pageID, ok bool) {
	epoch, rest, found := bytes.Cut(text, []byte{'-'})
	index, page, found2 := bytes.Cut(rest, []byte{'-'})
	if !found || !found2 || len(epoch) == 0 {
		return pageID{}, false
	}
	i, err := strconv.ParseUint(string(index), 10, 64)
	n, err2 := strconv.ParseUint(string(page), 10, 31)
	return pageID{epoch, i, int(n)}, err == nil && err2 == nil && n >= 2
}

// linkNext announces the page after n of a View, if there is one.
func linkNext(ctx *fasthttp.RequestCtx, token []byte, n, pages int) {
	if n >= pages {
		return
	}
	var buf [128]byte
	link := append(append(buf[:0], "</api/v1/environment-document/?page_id="...), token...)
	link = strconv.AppendInt(append(link, '-'), int64(n+1), 10)
	ctx.Response.Header.SetCanonical(linkHeader, append(link, `>; rel="next"`...))
}

// getDocumentPage answers a later page, cut from the rows of the index that the
// first one was of: on any node, whatever changed since. A node that has not
// reached the index waits; rows that are no longer kept (60 s after they were
// replaced, 1,000 changesets) and those of another epoch are gone: 410, and the
// client begins again. Only If-None-Match is looked at: whoever sends the date of
// the document need not have this page.
func (s *SDK) getDocumentPage(ctx *fasthttp.RequestCtx, c caller, text []byte) {
	id, ok := parsePageID(text)
	if !ok {
		s.fail(ctx, route.BadRequest(msgPageID))
		return
	}
	if string(id.epoch) != s.FSM.State().Genesis.Epoch {
		s.fail(ctx, route.Detail(fasthttp.StatusGone, msgPageGone))
		return
	}
	wait, cancel := context.WithTimeout(context.Background(), s.ReadBudget)
	defer cancel()
	if s.FSM.Applied().Wait(wait, id.index) != nil {
		s.fail(ctx, route.Unavailable(route.MsgBehind, 1))
		return
	}
	view := c.live.ViewAt(id.index)
	if view == nil {
		s.fail(ctx, route.Detail(fasthttp.StatusGone, msgPageGone))
		return
	}
	body, pages := view.DocumentPage(id.page)
	if body == nil {
		s.fail(ctx, route.Detail(fasthttp.StatusNotFound, msgPageAfter))
		return
	}
	s.stamp(ctx, view, 0)
	ctx.Response.Header.SetCanonical(updatedAtHeader, view.UpdatedAt)
	ctx.Response.Header.SetCanonical(lastModifiedHeader, view.LastModified)
	linkNext(ctx, fsm.AppendIndexToken(nil, view.State.Genesis.Epoch, id.index), id.page, pages)
	s.serveBody(ctx, body)
}
