package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	traces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/flagraft/flagraft/server/servertest"
)

// collector receives spans over OTLP.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []collected
}

// collected is a span and the node that sent it.
type collected struct {
	*spans.Span
	node string
}

func newCollector(t *testing.T) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
					c.spans = append(c.spans, collected{s, node})
				}
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// of are the spans of a trace by name.
func (c *collector) of(trace string) map[string][]collected {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string][]collected{}
	for _, s := range c.spans {
		if string(s.TraceId) == trace {
			out[s.Name] = append(out[s.Name], s)
		}
	}
	return out
}

// TestAWriteIsOneTraceOverAllNodes has a write forwarded by a follower, and looks for all its steps in what an OTLP receiver got.
func TestAWriteIsOneTraceOverAllNodes(t *testing.T) {
	c := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
	nodes := servertest.Cluster(t, 3)
	leader, follower := nodes[0], nodes[1]
	features := strings.Replace(project(t, leader), "/tags/", "/features/", 1)
	follower.Admin(t).With("traceparent", "00-0123456789abcdef0123456789abcdef-1111111111111111-01").Object("POST", features, map[string]any{"name": "traced"}, 201)

	const request = "POST /api/v1/projects/{project_pk}/features/"
	var got map[string][]collected
	complete := func() bool {
		got = c.of("\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef")
		for name, n := range map[string]int{request: 1, "forward": 1, "write": 1, "wait": 1, "propose": 1, "apply": 2, "view": 1} {
			if len(got[name]) != n {
				return false
			}
		}
		return true
	}
	if !assertEventually(complete) {
		for name, list := range got {
			t.Log(name, len(list))
		}
		t.Fatal("the trace is not complete")
	}
	one := func(name string) collected { return got[name][0] }
	require.Equal(t, strings.Repeat("\x11", 8), string(one(request).ParentSpanId), "the client's span")
	require.Equal(t, one(request).SpanId, one("forward").ParentSpanId)
	require.Equal(t, one("forward").SpanId, one("write").ParentSpanId)
	require.Equal(t, one("write").SpanId, one("propose").ParentSpanId)
	require.Equal(t, one(request).SpanId, one("view").ParentSpanId)
	require.Equal(t, one("forward").node, one(request).node)
	require.Equal(t, one("view").node, one(request).node)
	require.NotEqual(t, one("write").node, one(request).node, "the leader's part is told by the leader")
	applied, both := []string{got["apply"][0].node, got["apply"][1].node}, []string{one("write").node, one(request).node}
	slices.Sort(applied)
	slices.Sort(both)
	require.Equal(t, both, applied)
}

func assertEventually(done func() bool) bool {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if done() {
			return true
		}
	}
	return done()
}
