package sdk

import (
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// The kinds of prepared headers, one slot of a View each and one more for
// requests with an Origin. The compressed form stands after the plain one, the head of a 304 flagHeads after that of the flags.
const (
	headFlags = iota
	headFlagsGzip
	headServerFlags
	headServerFlagsGzip
	flagHeads

	headIdentity = 2 * flagHeads
)

const (
	headKinds = headIdentity + 1
	listsSlot = 2 * headKinds // of flagLists
	keysSlot  = listsSlot + 1 // of storedKeys
	knownSlot = listsSlot + 2 // of viewMark
)

// preparedHead is what a slot holds. It names another index than the View for identities that were looked up later than that.
type preparedHead struct {
	*route.Head
	index uint64
}

// startPrepared starts a successful answer with headers that are made once for a
// View and then sent as they are, or copied whole if more is to be set in them: amended.
// Age is 0 in them, as it is on the leader. index is that of what the answer shows, 0: of the View.
func (s *SDK) startPrepared(ctx *fasthttp.RequestCtx, m *route.Match, v *fsm.View, kind int, index uint64, amended bool) {
	slot, cors := kind, fromBrowser(ctx)
	if cors {
		slot += headKinds
	}
	at := v.Prepared(slot)
	h, ok := at.Load().(*preparedHead)
	if !ok || h.index != index {
		h = &preparedHead{route.NewHead(s.prepareHead(m, v, kind, index, cors)), index}
		at.Store(h)
	}
	var age time.Duration
	if s.Age != nil {
		age = s.Age()
	}
	if !amended && age < time.Millisecond {
		if c, ok := ctx.Conn().(route.HeadTaker); ok && c.TakeHead(ctx, h.Head) {
			return
		}
	}
	h.CopyTo(&ctx.Response.Header)
	if age >= time.Millisecond {
		var buf [20]byte
		ctx.Response.Header.SetCanonical(ageHeader, strconv.AppendInt(buf[:0], int64(age/time.Millisecond), 10))
	}
}

// prepareHead makes the headers that [SDK.stamp] and [SDK.serveBody] set.
func (s *SDK) prepareHead(m *route.Match, v *fsm.View, kind int, index uint64, cors bool) *fasthttp.ResponseHeader {
	h := &fasthttp.ResponseHeader{}
	s.Begin(h, cors)
	h.Set(fasthttp.HeaderAllow, m.Allow)
	h.SetContentTypeBytes(jsonType)
	if index > 0 {
		h.SetCanonical(indexHeader, fsm.AppendIndexToken(nil, v.State.Genesis.Epoch, index))
	} else {
		h.SetCanonical(indexHeader, v.IndexToken)
	}
	if s.Age != nil {
		h.SetCanonical(ageHeader, []byte{'0'})
	}
	if len(s.node) > 0 {
		h.SetCanonical(nodeHeader, s.node)
	}
	h.SetCanonical(updatedAtHeader, v.UpdatedAt)
	if kind == headIdentity {
		return h
	}
	h.SetCanonical(cacheControlHeader, cachePrivate)
	h.SetCanonical(varyHeader, varyByKey)
	unmodified := kind >= flagHeads
	if unmodified {
		h.SetStatusCode(fasthttp.StatusNotModified)
		kind -= flagHeads
	}
	b := v.FlagsBody(s.Format, kind >= headServerFlags)
	if kind == headFlags || kind == headServerFlags {
		h.SetCanonical(etagHeader, b.ETag)
		return h
	}
	h.SetCanonical(etagHeader, b.GzipETag)
	if !unmodified {
		h.SetCanonical(contentEncodingHeader, gzipCoding)
	}
	return h
}

// amends reports whether amendHead has anything to do.
func (p *person) amends(v *fsm.View) bool { return p.index > v.Index || p.lost }

// amendHead puts into prepared headers what differs in the answer about a person.
func (s *SDK) amendHead(ctx *fasthttp.RequestCtx, v *fsm.View, p person) {
	if p.index > v.Index {
		var buf [40]byte
		ctx.Response.Header.SetCanonical(indexHeader, fsm.AppendIndexToken(buf[:0], v.State.Genesis.Epoch, p.index))
	}
	if p.lost {
		ctx.Response.Header.SetCanonical(persistedHeader, valueFalse)
	}
}

// begin starts an answer of a row that does so itself, when it is not prepared.
func (s *SDK) begin(ctx *fasthttp.RequestCtx, m *route.Match) {
	s.Begin(&ctx.Response.Header, fromBrowser(ctx))
	ctx.Response.Header.Set(fasthttp.HeaderAllow, m.Allow)
}

// refuse is fail for rows that begin their answers themselves.
func (s *SDK) refuse(ctx *fasthttp.RequestCtx, m *route.Match, err error) {
	s.begin(ctx, m)
	s.fail(ctx, err)
}

func fromBrowser(ctx *fasthttp.RequestCtx) bool {
	return len(ctx.Request.Header.PeekCanonical(originHeader)) > 0
}
