package server_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDashboardAndAlertsAskForWhatThereIs reads every name of ours in deploy/grafana and looks it up in docs/metrics.md, which TestMetricsAreDocumented
// holds to what a node exports.
func TestDashboardAndAlertsAskForWhatThereIs(t *testing.T) {
	document, err := os.ReadFile("../docs/metrics.md")
	require.NoError(t, err)
	kinds := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([a-z]+) ").FindAllStringSubmatch(string(document), -1) {
		kinds[row[1]] = row[2]
	}
	require.NotEmpty(t, kinds)
	parts := regexp.MustCompile(`_(bucket|sum|count)$`)
	for _, file := range []string{"flagraft.json", "alerts.yaml", "alerts_test.yaml"} {
		text, err := os.ReadFile("../deploy/grafana/" + file)
		require.NoError(t, err)
		names := regexp.MustCompile(`\bflagraft_[a-z_]+`).FindAllString(string(text), -1)
		require.NotEmpty(t, names, file)
		for _, name := range names {
			kind := kinds[name]
			if kind == "" && kinds[parts.ReplaceAllString(name, "")] == "histogram" {
				continue
			}
			require.NotEmpty(t, kind, "%s: there is no metric %s", file, name)
			if file == "flagraft.json" { // there nothing but queries has names
				require.NotEqual(t, "histogram", kind, "%s: %s is a histogram", file, name)
			}
		}
	}
	rules, err := os.ReadFile("../deploy/grafana/alerts.yaml")
	require.NoError(t, err)
	tests, err := os.ReadFile("../deploy/grafana/alerts_test.yaml")
	require.NoError(t, err)
	for _, alert := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(rules), -1) {
		for _, which := range []string{" fires", " is silent"} {
			require.Contains(t, string(tests), "name: "+alert[1]+which+"\n")
		}
	}
}

// TestDashboardTellsSDKsFromAdmins: what SDKs call is no request of the admin API, whatever its operation is called.
func TestDashboardTellsSDKsFromAdmins(t *testing.T) {
	dashboard, err := os.ReadFile("../deploy/grafana/flagraft.json")
	require.NoError(t, err)
	left := regexp.MustCompile(`operation!~\\"([^"\\]+)\\"`).FindSubmatch(dashboard)
	require.NotNil(t, left)
	pattern := regexp.MustCompile("^(?:" + string(left[1]) + ")$")
	for _, file := range []string{"sdk/rows.go", "ofrep/ofrep.go"} {
		rows, err := os.ReadFile(file)
		require.NoError(t, err)
		ids := regexp.MustCompile(`ID: "([a-z0-9_]+)"`).FindAllSubmatch(rows, -1)
		require.NotEmpty(t, ids, file)
		for _, id := range ids {
			require.Regexp(t, pattern, string(id[1]))
		}
	}
	require.NotRegexp(t, pattern, "list_environments")
}
