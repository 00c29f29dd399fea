// Package tracing tells what became of requests, as OpenTelemetry spans sent over OTLP. It is set up by the standard OTEL_ variables alone.
// Steps below the server know nothing of it: they note when they began and ended, and the spans are made of that afterwards.
package tracing

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/flagraft/flagraft/fsm"
)

// Tracer makes spans. A nil one makes none.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// Wanted reports whether the variables ask for traces, or why they cannot be obeyed.
func Wanted() (bool, error) {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return false, nil
	}
	switch exporter := os.Getenv("OTEL_TRACES_EXPORTER"); exporter {
	case "none":
		return false, nil
	case "otlp":
	case "":
		if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
			return false, nil
		}
	default:
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER is %q: flagraft knows otlp and none", exporter)
	}
	switch protocol := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL")); protocol {
	case "", "http/protobuf":
		return true, nil
	default:
		return false, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q: flagraft speaks http/protobuf (collectors listen for it on port 4318)", protocol)
	}
}

// Start makes the tracer that the OTEL_ variables ask for, of the node with an id; nil when they ask for none.
func Start(ctx context.Context, node, version string, log *slog.Logger) (*Tracer, error) {
	if wanted, err := Wanted(); !wanted {
		return nil, err
	}
	exporter, err := otlptracehttp.New(ctx) // it connects with the first spans
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "flagraft"), attribute.String("service.version", version), attribute.String("service.instance.id", node)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces are lost", "error", err) }))
	t := &Tracer{provider: sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about))}
	t.tracer = t.provider.Tracer("github.com/flagraft/flagraft")
	return t, nil
}

// Stop sends what waits.
func (t *Tracer) Stop(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// Span is one step of a request; the zero one is none, and does nothing.
type Span struct {
	span trace.Span
}

// Request begins a request that a client sent; header gives its headers.
func (t *Tracer) Request(ctx context.Context, method, path string, header func(string) string) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	ctx = propagation.TraceContext{}.Extract(ctx, headers(header))
	return t.start(ctx, method+" "+path, trace.SpanKindServer, attribute.String("http.request.method", method), attribute.String("http.route", path))
}

// Forward begins the way of a write to the leader and back.
func (t *Tracer) Forward(ctx context.Context) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	return t.start(ctx, "forward", trace.SpanKindClient)
}

// On reports whether the steps of ctx are traced.
func (t *Tracer) On(ctx context.Context) bool {
	return t != nil && trace.SpanContextFromContext(ctx).IsSampled()
}

// Parent is the span of ctx as the leader needs it to go on; "": none.
func (t *Tracer) Parent(ctx context.Context) string {
	if t == nil {
		return ""
	}
	parent := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, parent)
	return parent["traceparent"]
}

// Write begins the leader's part of a write; parent is what the node that forwarded it gave.
func (t *Tracer) Write(ctx context.Context, parent, operation string) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": parent})
	return t.start(ctx, "write", trace.SpanKindServer, attribute.String("flagraft.operation", operation))
}

func (t *Tracer) start(ctx context.Context, name string, kind trace.SpanKind, attributes ...attribute.KeyValue) (context.Context, Span) {
	ctx, s := t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attributes...))
	return ctx, Span{s}
}

// Store begins what a request of ctx stores of identities. A request that is not traced gets no span.
func (t *Tracer) Store(ctx context.Context, ops int) (context.Context, Span) {
	if !t.On(ctx) {
		return ctx, Span{}
	}
	return t.start(ctx, "store", trace.SpanKindInternal, attribute.Int("flagraft.operations", ops))
}

// maxLinks is how many requests a batch tells of: as many links as the SDK keeps of a span.
const maxLinks = 128

// Batch begins a batch of operations that requests wait for; each is given with the time at which it was asked for. The batch is one span
// for all of them: a step of the first one that is traced, so that it is sampled whenever a request in it is, and linked with the others, both
// ways. There is none if no request is traced.
func (t *Tracer) Batch(requests iter.Seq2[context.Context, time.Time], ops int) (context.Context, Span) {
	if t == nil {
		return context.Background(), Span{}
	}
	now, n := time.Now(), 0
	var first context.Context
	var others []trace.Span
	for ctx, asked := range requests {
		n++
		span := trace.SpanFromContext(ctx)
		if !span.SpanContext().IsSampled() {
			continue
		}
		t.Past(ctx, "wait", fsm.Span{Began: asked, Ended: now})
		if first == nil {
			first = ctx
		} else {
			others = append(others, span)
		}
	}
	if first == nil {
		return context.Background(), Span{}
	}
	var links []trace.Link
	for _, s := range others[:min(len(others), maxLinks)] {
		links = append(links, trace.Link{SpanContext: s.SpanContext()})
	}
	ctx, s := t.tracer.Start(context.WithoutCancel(first), "batch", trace.WithTimestamp(now), trace.WithLinks(links...),
		trace.WithAttributes(attribute.Int("flagraft.requests", n), attribute.Int("flagraft.operations", ops)))
	for _, other := range others {
		other.AddLink(trace.Link{SpanContext: s.SpanContext()})
	}
	return ctx, Span{s}
}

// Past adds a step that is over to the span of ctx, unless it never began.
func (t *Tracer) Past(ctx context.Context, name string, when fsm.Span, attributes ...attribute.KeyValue) {
	if t == nil || when.Began.IsZero() {
		return
	}
	_, s := t.tracer.Start(ctx, name, trace.WithTimestamp(when.Began), trace.WithAttributes(attributes...))
	s.End(trace.WithTimestamp(when.Ended))
}

// Answered ends a request with its status.
func (s Span) Answered(status int) {
	if s.span == nil {
		return
	}
	s.span.SetAttributes(attribute.Int("http.response.status_code", status))
	if status >= 500 {
		s.span.SetStatus(codes.Error, "")
	}
	s.span.End()
}

// None reports whether there is no span.
func (s Span) None() bool { return s.span == nil }

// End ends a step.
func (s Span) End(err error) {
	if s.span == nil {
		return
	}
	if err != nil {
		s.span.SetStatus(codes.Error, err.Error())
	}
	s.span.End()
}

// headers lets the standard's code read the headers of a request.
type headers func(name string) string

// Get implements propagation.TextMapCarrier.
func (h headers) Get(name string) string { return h(name) }

// Set implements propagation.TextMapCarrier; nothing is written to requests.
func (headers) Set(string, string) {}

// Keys implements propagation.TextMapCarrier.
func (headers) Keys() []string { return nil }
