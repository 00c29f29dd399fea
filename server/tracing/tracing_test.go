package tracing

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

func unset(t *testing.T) {
	for _, name := range []string{"OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
		"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"} {
		t.Setenv(name, "")
	}
}

func TestTheVariablesDecide(t *testing.T) {
	for name, c := range map[string]struct {
		set    map[string]string
		wanted bool
		fault  string
	}{
		"nothing is set":     {nil, false, ""},
		"an endpoint":        {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x:4318"}, true, ""},
		"one for traces":     {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x:4318/v1/traces"}, true, ""},
		"otlp by name":       {map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, true, ""},
		"none":               {map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, false, ""},
		"disabled":           {map[string]string{"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, false, ""},
		"an unknown one":     {map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, false, "zipkin"},
		"a protocol we lack": {map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, "4318"},
	} {
		t.Run(name, func(t *testing.T) {
			unset(t)
			for k, v := range c.set {
				t.Setenv(k, v)
			}
			wanted, err := Wanted()
			require.Equal(t, c.wanted, wanted)
			if c.fault == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.fault)
		})
	}
}

func TestOffCostsNothing(t *testing.T) {
	unset(t)
	tracer, err := Start(t.Context(), "n", "v", slog.Default())
	require.NoError(t, err)
	require.Nil(t, tracer)
	ctx := context.Background()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		way, span := tracer.Forward(ctx)
		_ = tracer.Parent(way)
		way, part := tracer.Write(way, "", "operation")
		tracer.Past(way, "propose", fsm.Span{})
		part.End(nil)
		span.End(nil)
	}))
	require.NoError(t, tracer.Stop(ctx))
}
