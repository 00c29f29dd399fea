package server_test

import (
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/cluster/certs"
	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

var updateMetrics = flag.Bool("update-metrics", false, "write docs/metrics.md anew")

// family is a metric as a scrape shows it.
type family struct {
	kind, help string
	labels     map[string]bool
}

var sample = regexp.MustCompile(`^([a-z_]+?)(_bucket|_sum|_count)?(?:\{(.*)\})? [^ ]+$`)

// scrape reads the families of our own from a metrics page.
func scrape(t *testing.T, text string) map[string]*family {
	t.Helper()
	out := map[string]*family{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case !strings.Contains(line, "flagraft_"):
		case strings.HasPrefix(line, "# HELP "):
			name, help, _ := strings.Cut(line[len("# HELP "):], " ")
			out[name] = &family{help: help, labels: map[string]bool{}}
		case strings.HasPrefix(line, "# TYPE "):
			name, kind, _ := strings.Cut(line[len("# TYPE "):], " ")
			out[name].kind = kind
		default:
			m := sample.FindStringSubmatch(line)
			require.NotNil(t, m, line)
			f := out[m[1]]
			if f == nil {
				f = out[m[1]+m[2]]
			}
			require.NotNil(t, f, "%s has no HELP", line)
			for _, label := range regexp.MustCompile(`([a-z_]+)="`).FindAllStringSubmatch(m[3], -1) {
				if label[1] != "le" {
					f.labels[label[1]] = true
				}
			}
		}
	}
	return out
}

func metricsTable(families map[string]*family) string {
	var b strings.Builder
	b.WriteString("| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(families)) {
		f := families[name]
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, f.kind, strings.Join(slices.Sorted(maps.Keys(f.labels)), ", "), f.help)
	}
	return b.String()
}

// measuredNode is a node that has done something of everything that is measured, and its metrics page.
func measuredNode(t *testing.T) (*servertest.Node, string) {
	ca, err := certs.NewAuthority("flagraft", time.Now(), time.Hour)
	require.NoError(t, err)
	pair, err := ca.Issue(certs.Request{Cluster: "flagraft", Name: "node", Hosts: []string{"127.0.0.1"}, Lifetime: time.Hour}, time.Now())
	require.NoError(t, err)
	key, err := pair.KeyPEM()
	require.NoError(t, err)
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
		return filepath.Join(dir, name)
	}
	n := servertest.Start(t, func(st *settings.Settings) {
		st.MetricsPerFlag = true
		st.ClusterCA, st.ClusterCert, st.ClusterKey = write("ca.crt", ca.CertificatePEM()), write("node.crt", pair.CertificatePEM()), write("node.key", key)
	})
	atLevel(t, n)
	admin := n.Admin(t)
	admin.Object("POST", schedulesPath, map[string]any{"name": "nightly", "when": "0 3 * * *", "target": "here"}, 201)
	features := strings.Replace(project(t, n), "/tags/", "/features/", 1)
	admin.Object("POST", features, map[string]any{"name": "counted", "default_enabled": true}, 201)
	sdk := n.Client(t).With("X-Environment-Key", "environment")
	for range 2 {
		sdk.Object("POST", "/api/v1/identities/", `{"identifier":"ann","traits":[{"trait_key":"plan","trait_value":"free"}]}`, 200)
	}
	require.Equal(t, 200, sdk.Do("POST", "/api/v1/analytics/flags/", `{"counted":3}`).Status)
	sdk.Object("POST", "/ofrep/v1/evaluate/flags/counted", `{"context":{"targetingKey":"ann"}}`, 200)
	require.Equal(t, 404, sdk.Do("GET", "/api/v1/no/such/path/", nil).Status)
	resp, err := http.Get("http://" + n.ManagementAddr() + "/metrics")
	require.NoError(t, err)
	defer resp.Body.Close()
	return n, body(t, resp)
}

// TestMetricsAreDocumented compares what a node exports with docs/metrics.md, both ways. -update-metrics writes it.
func TestMetricsAreDocumented(t *testing.T) {
	_, text := measuredNode(t)
	const start, end = "<!-- metrics -->\n", "<!-- end -->"
	document, err := os.ReadFile("../docs/metrics.md")
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(document), start)
	require.True(t, ok)
	have, tail, ok := strings.Cut(rest, end)
	require.True(t, ok)
	want := metricsTable(scrape(t, text))
	if *updateMetrics {
		require.NoError(t, os.WriteFile("../docs/metrics.md", []byte(head+start+want+end+tail), 0o644))
		return
	}
	require.Equal(t, want, have, "go test ./server -run TestMetricsAreDocumented -update-metrics")
}

func TestMetricsCount(t *testing.T) {
	_, text := measuredNode(t)
	for _, line := range []string{
		`flagraft_http_requests_total{code="2xx",operation="sdk_v1_post_identities"} 2`,
		`flagraft_http_request_duration_seconds_count{operation="sdk_v1_post_identities"} 2`,
		`flagraft_http_requests_total{code="4xx",operation="unmatched"} 1`,
		`flagraft_evaluations_total{api="ofrep",kept="false"} 1`,
		`flagraft_identity_batch_operations_count 1`,
		`flagraft_leader 1`,
		`feature="counted"} 4`, // three reported, one over OpenFeature
	} {
		require.Contains(t, text, line)
	}
	require.NotContains(t, text, "/api/v1/no/such", "paths are no labels")
	for _, name := range []string{"flagraft_view_compile_seconds", "flagraft_view_lag_seconds", "flagraft_log_store_seconds", "flagraft_write_propose_seconds"} {
		require.NotContains(t, text, name+"_count 0\n")
	}
}
