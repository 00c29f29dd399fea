package sdk

import (
	"bytes"
	"context"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// The refusals of SDK requests, all 403.
const (
	msgNoKey      = "Invalid or missing Environment key"
	msgUnknownKey = "Invalid or missing Environment Key"
	msgStopped    = "Organisation is disabled from serving flags."
	msgUnusable   = "Environment Key is inactive or has expired."
)

// caller is an authenticated request: the environment it may use and how.
type caller struct {
	live   *fsm.Live
	view   *fsm.View
	server bool // a server-side key
}

func (c caller) mayChangeTraits() bool { return c.server || c.view.Environment.AllowClientTraits }

// enter is admit; when it returns false the refusal is written.
func (s *SDK) enter(ctx *fasthttp.RequestCtx, kind fsm.UsageKind, serverOnly bool) (caller, bool) {
	c, err := s.admit(ctx, kind, serverOnly)
	if err != nil {
		s.fail(ctx, err)
	}
	return c, err == nil
}

// admit authenticates a request, honours the consistency it asks for and loads
// the View.
func (s *SDK) admit(ctx *fasthttp.RequestCtx, kind fsm.UsageKind, serverOnly bool) (caller, error) {
	key := ctx.Request.Header.PeekCanonical(keyHeader)
	if len(key) == 0 || serverOnly && !bytes.HasPrefix(key, serverPrefix) {
		return caller{}, route.Forbidden(msgNoKey)
	}
	index, err := s.asked(ctx) // before the key is looked up, which may be as new
	if err != nil {
		return caller{}, err
	}
	found, ok := s.Views.ByKey(key)
	if !ok {
		return caller{}, s.unknownKey()
	}
	if found.Server && !found.Usable(fsm.TimeOf(s.Clock())) {
		return caller{}, route.Forbidden(msgUnusable)
	}
	if index > 0 {
		if err := s.reach(index, found.Live.ID()); err != nil {
			return caller{}, err
		}
	}
	view := found.Live.View()
	if view == nil {
		if view = s.firstView(found.Live); view == nil {
			return caller{}, route.Unavailable(route.MsgNoState, 1)
		}
	}
	if !view.Organisation.Serves() {
		return caller{}, route.Forbidden(msgStopped)
	}
	if kind != 0 {
		s.Usage.Request(view.Environment.ID, kind, fsm.RequestClient(route.ClientOf(ctx)))
	}
	return caller{live: found.Live, view: view, server: found.Server}, nil
}

// unknownKey is a 403, unless this node cannot know all keys yet.
func (s *SDK) unknownKey() error {
	if !s.FSM.State().Born() || !s.Ready() {
		return route.Unavailable(route.MsgNoState, 1)
	}
	return route.Forbidden(msgUnknownKey)
}

// firstView waits for the first View of an environment that was just made.
func (s *SDK) firstView(l *fsm.Live) *fsm.View {
	wait, cancel := context.WithTimeout(context.Background(), s.ReadBudget)
	defer cancel()
	_ = s.Views.Wait(wait, s.FSM.State().Index, l.ID())
	return l.View()
}

// asked waits until this node has applied what Flagraft-Consistency and
// Flagraft-Min-Index ask for, and returns the index that the View is to show; 0: any.
func (s *SDK) asked(ctx *fasthttp.RequestCtx) (index uint64, err error) {
	level := ctx.Request.Header.PeekCanonical(consistencyHeader)
	token := ctx.Request.Header.PeekCanonical(minIndexHeader)
	if len(level) == 0 && len(token) == 0 || string(level) == "local" {
		return 0, nil
	}
	switch string(level) {
	case "linearizable":
		if s.ReadIndex == nil {
			return 0, route.Unavailable(route.MsgNoLeader, 1)
		}
		wait, cancel := context.WithTimeout(context.Background(), s.ReadBudget)
		defer cancel()
		if index, err = s.ReadIndex(wait); err != nil {
			return 0, route.Unavailable(route.MsgNoLeader, 1)
		}
	case "", "min-index":
		index = fsm.ReadIndexToken(string(token), s.FSM.State().Genesis.Epoch)
	default:
		return 0, route.BadRequest(route.MsgBadLevel)
	}
	if index == 0 {
		return 0, nil
	}
	return index, s.reach(index)
}

// reach waits until an index is applied here and shown by the Views of environments.
func (s *SDK) reach(index uint64, environments ...uint64) error {
	wait, cancel := context.WithTimeout(context.Background(), s.ReadBudget)
	defer cancel()
	if s.Views.Wait(wait, index, environments...) != nil {
		return route.Unavailable(route.MsgBehind, 1)
	}
	return nil
}

// stamp sets the headers that every answer from a View carries. index, when
// newer than the View, is that of a write the answer shows.
func (s *SDK) stamp(ctx *fasthttp.RequestCtx, view *fsm.View, index uint64) {
	h := &ctx.Response.Header
	if index > view.Index {
		var buf [40]byte
		h.SetCanonical(indexHeader, fsm.AppendIndexToken(buf[:0], view.State.Genesis.Epoch, index))
	} else {
		h.SetCanonical(indexHeader, view.IndexToken)
	}
	if s.Age != nil {
		var buf [20]byte
		h.SetCanonical(ageHeader, strconv.AppendInt(buf[:0], int64(s.Age()/time.Millisecond), 10))
	}
	if len(s.node) > 0 {
		h.SetCanonical(nodeHeader, s.node)
	}
}

// fail writes an error answer.
func (s *SDK) fail(ctx *fasthttp.RequestCtx, err error) {
	if route.AsError(err).Status == fasthttp.StatusInternalServerError {
		s.Log.ErrorContext(ctx, "SDK request failed", "error", err)
	}
	r := route.ErrorResponse(err)
	ctx.Response.SetStatusCode(r.Status)
	for _, h := range r.Headers {
		ctx.Response.Header.Set(h.Name, h.Value)
	}
	ctx.Response.SetBodyRaw(r.Body)
}

// The header names and values that handlers use; they are never written to.
var (
	keyHeader         = []byte("X-Environment-Key")
	serverPrefix      = []byte("ser.")
	consistencyHeader = []byte("Flagraft-Consistency")
	minIndexHeader    = []byte("Flagraft-Min-Index")
	indexHeader       = []byte("Flagraft-Index")
	ageHeader         = []byte("Flagraft-Age")
	nodeHeader        = []byte("Flagraft-Node")
	persistedHeader   = []byte("Flagraft-Traits-Persisted")
	updatedAtHeader   = []byte("X-Flagsmith-Document-Updated-At")

	originHeader          = []byte("Origin")
	noneMatchHeader       = []byte("If-None-Match")
	acceptHeader          = []byte("Accept")
	acceptEncodingHeader  = []byte("Accept-Encoding")
	cacheControlHeader    = []byte("Cache-Control")
	contentEncodingHeader = []byte("Content-Encoding")
	etagHeader            = []byte("Etag")
	lastModifiedHeader    = []byte("Last-Modified")
	varyHeader            = []byte("Vary")
	linkHeader            = []byte("Link")

	jsonType     = []byte("application/json")
	cachePrivate = []byte("no-cache, private")
	varyByKey    = []byte("X-Environment-Key, Accept-Encoding")

	varyByKeyAndAgent = []byte("X-Environment-Key, Accept-Encoding, User-Agent")

	gzipCoding = []byte("gzip")
	valueFalse = []byte("false")
)
