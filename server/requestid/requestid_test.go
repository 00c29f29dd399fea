package requestid

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel/trace"
)

func request(id string) *fasthttp.RequestCtx {
	ctx := &fasthttp.RequestCtx{}
	ctx.Request.Header.Set(Header, id)
	return ctx
}

func TestTheClientsIDIsKeptWhenItIsSane(t *testing.T) {
	for _, id := range []string{"a", "7f3c-11/x_y.z:1+2=3@~", strings.Repeat("x", 128)} {
		require.Equal(t, id, Of(request(id)))
	}
	for _, id := range []string{"", "two words", `quo"te`, "line\tfeed", "ü", strings.Repeat("x", 129)} {
		made := Of(request(id))
		require.NotEqual(t, id, made)
		require.Regexp(t, `^[0-9a-f]{12}-[0-9a-f]+$`, made)
		require.Equal(t, made, Of(request(id)), "the same request")
	}
}

func TestAnsweringDoesNotAllocate(t *testing.T) {
	ctx, buf := request(""), make([]byte, 0, 128)
	Answer(ctx, buf)
	require.Equal(t, Of(ctx), string(ctx.Response.Header.Peek(Header)))
	require.Zero(t, testing.AllocsPerRun(100, func() { Answer(ctx, buf) }))
}

func TestLogLinesNameTheRequest(t *testing.T) {
	var out bytes.Buffer
	log := Logger(slog.New(slog.NewTextHandler(&out, nil))).With("a", 1)
	log.InfoContext(With(context.Background(), "r-1"), "one")
	log.InfoContext(request("r-2"), "two")
	log.InfoContext(context.Background(), "three")
	lines := strings.Split(out.String(), "\n")
	require.Contains(t, lines[0], "request_id=r-1")
	require.Contains(t, lines[1], "request_id=r-2")
	require.NotContains(t, lines[2], "request_id")
	require.Equal(t, "r-1", From(With(context.Background(), "r-1")))
}

func TestLinesOfARequestOnItsConnectionCarryItsTrace(t *testing.T) {
	var out bytes.Buffer
	log := Logger(slog.New(slog.NewTextHandler(&out, nil)))
	request := &fasthttp.RequestCtx{}
	log.InfoContext(request, "before")
	require.NotContains(t, out.String(), "trace_id")
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{0xab}, SpanID: trace.SpanID{1}})
	Keep(trace.ContextWithSpanContext(t.Context(), span), request)
	log.InfoContext(request, "after")
	require.Contains(t, out.String(), "trace_id="+span.TraceID().String())
}
