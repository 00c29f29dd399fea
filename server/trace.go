package server

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel/attribute"

	"github.com/flagraft/flagraft/cluster"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/requestid"
	"github.com/flagraft/flagraft/server/route"
	"github.com/flagraft/flagraft/server/tracing"
)

// A traced write is a span of the request on the node that took it; in it one of its way to the leader (forward), in that the leader's part (write)
// with what it waited for, and beside them what became visible here (apply, view). What a traced request stores of identities is a span in it (store);
// the batch in which that travels is a span of one of its requests, linked with the others, and goes the same way. See package tracing.

// traceRaw serves a raw row within a span.
func (s *Server) traceRaw(ctx *fasthttp.RequestCtx, m *route.Match, raw route.RawHandler) {
	within, span := s.tracing.Request(context.Background(), string(ctx.Method()), m.Row.Path, func(name string) string { return string(ctx.Request.Header.Peek(name)) })
	requestid.Keep(within, ctx)
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

// tracedIdentities is a node's IdentityWriter, with spans of what is stored.
type tracedIdentities struct {
	*fsm.IdentityWriter
	tracing *tracing.Tracer
}

// Write implements sdk.IdentityWriter and admin.IdentityWriter.
func (w tracedIdentities) Write(ctx context.Context, ops []identity.Op) (index uint64, results []identity.Result, err error) {
	ctx, span := w.tracing.Store(ctx, len(ops))
	index, results, err = w.IdentityWriter.Write(ctx, ops)
	span.End(err)
	return index, results, err
}

// followBatch begins the span of a batch of identity operations.
func (n *Node) followBatch(requests iter.Seq2[context.Context, time.Time], ops int) (context.Context, func(index uint64, err error)) {
	ctx, span := n.tracing.Batch(requests, ops)
	if span.None() {
		return nil, nil
	}
	return ctx, func(index uint64, err error) {
		if !n.cluster.IsLeader() { // else the leader's part tells
			n.server.traceApplied(ctx, index)
		}
		span.End(err)
	}
}

// sendTraced is one attempt to have the leader carry out a batch that is traced. A leader of a version that knows no such batches gets it without
// its trace; batches are numbered, so it does not matter when the first one arrived after all.
func (n *Node) sendTraced(ctx context.Context, batch []byte) (answer []byte, err error) {
	ctx, span := n.tracing.Forward(ctx)
	defer func() { span.End(err) }()
	parent := n.tracing.Parent(ctx)
	answer, err = n.cluster.Call(ctx, callTracedIdentities, append(append([]byte{byte(len(parent))}, parent...), batch...))
	if errors.Is(err, cluster.ErrUnavailable) {
		answer, err = n.cluster.Call(ctx, callIdentities, batch)
	}
	return answer, err
}

// serveTraced is the leader's side of sendTraced.
func (n *Node) serveTraced(ctx context.Context, _ string, payload []byte) (answer []byte, err error) {
	if len(payload) == 0 || len(payload) <= int(payload[0]) {
		return nil, identity.ErrBatch
	}
	parent, batch := string(payload[1:1+payload[0]]), payload[1+payload[0]:]
	ctx, span := n.tracing.Write(ctx, parent, "identities")
	var told fsm.Written
	answer, err = n.batcher.Submit(ctx, batch, &told)
	n.server.traceWritten(ctx, told)
	span.End(err)
	return answer, err
}
