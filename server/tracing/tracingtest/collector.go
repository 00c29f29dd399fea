// Package tracingtest receives spans over OTLP, for tests.
package tracingtest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	traces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector receives spans.
type Collector struct {
	mu    sync.Mutex
	spans []Span
}

// Span is a span and the node that sent it.
type Span struct {
	*spans.Span
	Node string
}

// Start starts a collector and has traces sent to it without delay.
func Start(t *testing.T) *Collector {
	c := &Collector{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request traces.ExportTraceServiceRequest
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &request) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, from := range request.ResourceSpans {
			node := ""
			for _, a := range from.Resource.Attributes {
				if a.Key == "service.instance.id" {
					node = a.Value.GetStringValue()
				}
			}
			for _, scope := range from.ScopeSpans {
				for _, s := range scope.Spans {
					c.spans = append(c.spans, Span{s, node})
				}
			}
		}
	}))
	t.Cleanup(s.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", s.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
	return c
}

// Of are the spans of a trace by name.
func (c *Collector) Of(trace string) map[string][]Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string][]Span{}
	for _, s := range c.spans {
		if string(s.TraceId) == trace {
			out[s.Name] = append(out[s.Name], s)
		}
	}
	return out
}

// Wait waits until a trace has as many spans of each name as told, and no others.
func (c *Collector) Wait(t *testing.T, trace string, want map[string]int) map[string][]Span {
	t.Helper()
	var got map[string][]Span
	complete := func() bool {
		got = c.Of(trace)
		for name, n := range want {
			if len(got[name]) != n {
				return false
			}
		}
		return len(got) == len(want)
	}
	for end := time.Now().Add(20 * time.Second); !complete(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			for name, list := range got {
				t.Log(name, len(list))
			}
			t.Fatal("the trace is not complete")
		}
	}
	return got
}
