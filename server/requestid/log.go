package requestid

import (
	"context"
	"log/slog"

	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel/trace"
)

// Logger is log, with the request's id, and its trace's if it has one, on every record that was written with the request's context.
func Logger(log *slog.Logger) *slog.Logger { return slog.New(handler{log.Handler()}) }

type handler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if id := From(ctx); id != "" {
		r.AddAttrs(slog.String("request_id", id))
	}
	if c, ok := ctx.(*fasthttp.RequestCtx); ok {
		ctx = Within(c)
	}
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler { return handler{h.Handler.WithGroup(name)} }
