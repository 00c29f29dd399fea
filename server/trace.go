package server

import (
	"context"

	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel/attribute"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// A traced write is a span of the request on the node that took it; in it one of its way to the leader (forward), in that the leader's part (write)
// with what it waited for, and beside them what became visible here (apply, view). See package tracing.

// traceRaw serves a raw row within a span.
func (s *Server) traceRaw(ctx *fasthttp.RequestCtx, m *route.Match, raw route.RawHandler) {
	_, span := s.tracing.Request(s.ctx, string(ctx.Method()), m.Row.Path, func(name string) string { return string(ctx.Request.Header.Peek(name)) })
	defer func() { span.Answered(ctx.Response.StatusCode()) }()
	raw.ServeRaw(ctx, m)
}

// traceTyped serves a typed row within a span.
func (s *Server) traceTyped(ctx context.Context, m *route.Match, req *route.Request) route.Response {
	ctx, span := s.tracing.Request(ctx, req.Method, m.Row.Path, req.Header)
	r := s.typed(ctx, m, req)
	span.Answered(r.Status)
	return r
}

// traceWritten adds the steps of a write on the leader.
func (s *Server) traceWritten(ctx context.Context, w fsm.Written) {
	if s.tracing == nil {
		return
	}
	s.tracing.Past(ctx, "wait", w.Timing.Wait)
	s.tracing.Past(ctx, "propose", w.Timing.Propose, attribute.Int64("flagraft.index", int64(w.Index)))
	s.traceApplied(ctx, w.Index)
}

// traceShown adds the steps that made a write visible on the node that answers it.
func (s *Server) traceShown(ctx context.Context, w fsm.Written) {
	if s.tracing == nil {
		return
	}
	if s.leader.LeaderID() != s.node { // else the leader's part tells
		s.traceApplied(ctx, w.Index)
	}
	for _, id := range w.Environments {
		if live, ok := s.views.ByID(id); ok && live.View() != nil {
			v := live.View()
			s.tracing.Past(ctx, "view", v.Compiled, attribute.Int64("flagraft.environment", int64(id)), attribute.Int64("flagraft.index", int64(v.Index)))
		}
	}
}

func (s *Server) traceApplied(ctx context.Context, index uint64) {
	if during, ok := s.fsm.AppliedDuring(index); ok && index != 0 {
		s.tracing.Past(ctx, "apply", during, attribute.Int64("flagraft.index", int64(index)))
	}
}
