package server

import (
	"bytes"
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/requestid"
	"github.com/flagraft/flagraft/server/route"
	"github.com/flagraft/flagraft/server/tally"
)

// visit is what the server keeps of a request while it is served; it is pooled, so that none is allocated.
type visit struct {
	route.Match
	cell tally.Cell
	id   [requestid.Longest]byte // room for the request's id
}

// handle serves one request. For raw rows it allocates nothing.
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	if s.inFlight.Add(1) > s.budget.requests && !isHealth(ctx) {
		s.inFlight.Add(-1)
		s.bodies.done(&ctx.Request.Header)
		s.common.apply(ctx)
		s.shed(ctx)
		return
	}
	v := s.visits.Get().(*visit)
	defer s.finish(ctx, v)
	s.dispatch(ctx, &v.Match)
}

// shed turns a request away before anything was done for it.
func (s *Server) shed(ctx *fasthttp.RequestCtx) {
	s.metrics.shed.Inc()
	writeError(ctx, route.Unavailable(msgBusy, 1))
	requestid.Answer(ctx, nil)
}

var healthPath = []byte("/health")

// isHealth recognises the requests of those who watch the node: they are never turned away.
func isHealth(ctx *fasthttp.RequestCtx) bool { return bytes.HasPrefix(ctx.Path(), healthPath) }

// finish is the end of every request, also of one that panicked.
func (s *Server) finish(ctx *fasthttp.RequestCtx, v *visit) {
	if p := recover(); p != nil {
		label := "unmatched"
		if v.Row != nil {
			label = v.Row.Label()
		}
		s.panicked(ctx, label, p)
		ctx.Response.Reset()
		s.common.apply(ctx)
		writeError(ctx, route.Internal())
	}
	s.bodies.done(&ctx.Request.Header)
	if s.draining.Load() {
		ctx.Response.Header.SetConnectionClose()
	}
	c, direct := ctx.Conn().(*conn) // not below TLS
	if !direct || !c.lane.tellsID(ctx) {
		requestid.Answer(ctx, v.id[:0])
	}
	began := ctx.Time()
	if began.IsZero() { // see lane
		began = ctx.ConnTime()
	}
	took := time.Since(began)
	s.metrics.count(v.cell, v.Row, ctx.Response.StatusCode(), took)
	if s.log.Enabled(ctx, slog.LevelDebug) {
		s.logRequest(ctx, v, took)
	}
	if direct && v.Row != nil && v.Row.Hot {
		c.lane.learn(ctx, v.Row)
	}
	v.Match = route.Match{}
	s.visits.Put(v)
	s.inFlight.Add(-1)
}

// logRequest is the line of a request, at level debug.
func (s *Server) logRequest(ctx *fasthttp.RequestCtx, v *visit, took time.Duration) {
	operation := "unmatched"
	if v.Row != nil {
		operation = v.Row.Label()
	}
	s.log.DebugContext(ctx, "request", "operation", operation, "method", string(ctx.Method()), "status", ctx.Response.StatusCode(), "took", took)
}

func (s *Server) panicked(ctx context.Context, label string, p any) {
	s.metrics.panics.Inc()
	s.log.ErrorContext(ctx, "panic in a request", "operation", label, "panic", p, "stack", string(debug.Stack()))
}

func (s *Server) dispatch(ctx *fasthttp.RequestCtx, m *route.Match) {
	if isPreflight(ctx) {
		s.common.preflight.CopyTo(&ctx.Response.Header)
		return
	}
	found := s.table.Lookup(ctx.Method(), ctx.URI().PathOriginal(), m)
	retired := s.retired.Load() && (!found || m.Row.Tag != tagSystem)
	if !found || !m.Row.OwnHead || retired {
		s.common.apply(ctx)
	}
	if retired {
		writeError(ctx, route.Unavailable(msgRemoved, 30))
		return
	}
	if !found {
		s.unmatched(ctx, m)
		return
	}
	if s.memory.short() && m.Row.Kind != route.Write && m.Row.Kind != route.Local {
		s.common.apply(ctx)
		s.shed(ctx)
		return
	}
	if raw, ok := m.Row.Handler.(route.RawHandler); ok {
		if s.tracing != nil {
			s.traceRaw(ctx, m, raw)
			return
		}
		raw.ServeRaw(ctx, m)
		return
	}
	ctx.Response.Header.Set("Allow", m.Allow)
	req := s.detach(ctx)
	within := requestid.With(s.ctx, req.Header(requestid.Header))
	if s.tracing != nil {
		writeResponse(ctx, s.traceTyped(within, m, req))
		return
	}
	writeResponse(ctx, s.typed(within, m, req))
}

// unmatched answers OPTIONS of a known path, wrong methods, the console and unknown paths.
func (s *Server) unmatched(ctx *fasthttp.RequestCtx, m *route.Match) {
	switch {
	case m.Allow == "" && s.console != nil && s.console.Serve(ctx):
	case m.Allow == "":
		unknownPath(ctx)
	case ctx.IsOptions():
		ctx.Response.Header.Set("Allow", m.Allow)
	default:
		writeError(ctx, route.MethodNotAllowed(string(ctx.Method()), m.Allow))
	}
}

// typed serves a typed row by its kind.
func (s *Server) typed(ctx context.Context, m *route.Match, req *route.Request) route.Response {
	if err := acceptable(req); err != nil && m.Row.Kind != route.Local {
		return route.ErrorResponse(err)
	}
	if m.Row.Level > fsm.BaseLevel {
		if err := s.atLevel(ctx, m.Row.Level); err != nil {
			return route.ErrorResponse(err)
		}
	}
	if err := s.api.CountRequest(ctx, m, req); err != nil {
		return route.ErrorResponse(err)
	}
	switch m.Row.Kind {
	case route.Write:
		return s.write(ctx, req)
	case route.Local:
		return s.local(ctx, m, req)
	case route.Operation:
		return s.operation(ctx, m, req)
	}
	return s.read(ctx, m, req)
}

// operation serves a row that acts on the cluster.
func (s *Server) operation(ctx context.Context, m *route.Match, req *route.Request) route.Response {
	if err := s.confirm(ctx); err != nil {
		return route.ErrorResponse(err)
	}
	return s.here(ctx, m, req)
}

// confirm returns once this node's state, by which callers are judged, reflects every acknowledged write.
func (s *Server) confirm(ctx context.Context) error {
	wait, cancel := context.WithTimeout(ctx, s.settings.LeaderTimeout)
	defer cancel()
	for s.reader.catchUp(wait) != nil || !s.fsm.State().Born() {
		if !s.waitLeader(wait) {
			return route.Unavailable("No leader could be reached; nothing was done.", 1)
		}
	}
	return nil
}

// local serves a row that concerns this node only. Whether the caller's token is still, or already, good may have been decided elsewhere.
func (s *Server) local(ctx context.Context, m *route.Match, req *route.Request) route.Response {
	if m.Row.Auth != route.None {
		if _, err := s.reader.await(ctx, req); err != nil {
			return route.ErrorResponse(err)
		}
		if !s.fsm.State().Born() { // it knows no token, which says nothing of this one
			return route.ErrorResponse(route.Unavailable(route.MsgNoState, 1))
		}
	}
	return s.here(ctx, m, req)
}

// here serves a row by this node's state as it is.
func (s *Server) here(ctx context.Context, m *route.Match, req *route.Request) route.Response {
	a, err := s.serveTyped(ctx, m, req)
	if err != nil {
		return route.ErrorResponse(err)
	}
	return a.Response
}
