package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

// limits reads /status and returns what is used and allowed by name.
func limits(t *testing.T, n *servertest.Node) (used, most map[string]float64) {
	t.Helper()
	resp, err := http.Get("http://" + n.ManagementAddr() + "/status")
	require.NoError(t, err)
	defer resp.Body.Close()
	var s struct {
		Limits []struct {
			Name      string
			Used, Max float64
		}
	}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&s))
	used, most = map[string]float64{}, map[string]float64{}
	for _, l := range s.Limits {
		used[l.Name], most[l.Name] = l.Used, l.Max
	}
	return used, most
}

func TestABoundThatCannotBeKeptIsRefused(t *testing.T) {
	err := servertest.TryStart(t, func(st *settings.Settings) { st.MaxIdentities = identity.MaxIdentities + 1 })
	require.ErrorContains(t, err, "--max-identities is 60000001")
}

// TestIdentityCaps reaches the caps of identities, of their traits and of trait keys, through the SDK API and the admin API, on a follower.
func TestIdentityCaps(t *testing.T) {
	nodes := servertest.Cluster(t, 3, func(st *settings.Settings) { st.MaxIdentities, st.MaxTraitBytes, st.MaxTraitKeys = 5, 200, 4 })
	tags := project(t, nodes[0])
	require.NoError(t, nodes[0].Update(t.Context(), func(tx *fsm.Tx) error {
		for o := range fsm.Organisations.All(tx) {
			o.PersistTraitData = true
			fsm.Organisations.Put(tx, o)
		}
		for e := range fsm.Environments.All(tx) {
			e.AllowClientTraits = true
			fsm.Environments.Put(tx, e)
		}
		return nil
	}))
	n := nodes[1]
	admin := n.Client(t).With("Authorization", "Token "+nodes[0].Token(t))
	require.Equal(t, 201, admin.Do("POST", tags, map[string]any{"label": "everywhere"}).Status)
	sdk := n.Client(t).With("X-Environment-Key", "environment")
	who := func(name, key string, value any) map[string]any {
		return map[string]any{"identifier": name, "traits": []any{map[string]any{"trait_key": key, "trait_value": value}}}
	}
	trait := func(name, key string, value any) servertest.Answer {
		return sdk.Do("POST", "/api/v1/traits/", map[string]any{"identity": map[string]any{"identifier": name}, "trait_key": key, "trait_value": value})
	}
	require.Equal(t, 200, sdk.Do("POST", "/api/v1/identities/", who("a", "k1", 1)).Status)

	// Traits of one identity.
	over := trait("a", "k1", strings.Repeat("x", 300))
	require.Equal(t, 400, over.Status)
	require.Equal(t, `{"non_field_errors":["The traits of one identity may take at most 200 bytes."]}`, over.Raw)
	require.Equal(t, 200, trait("a", "k1", strings.Repeat("x", 150)).Status)

	// Distinct keys.
	for i := 2; i <= 4; i++ {
		require.Equal(t, 200, trait("a", fmt.Sprint("k", i), i).Status)
	}
	over = trait("a", "k5", 5)
	require.Equal(t, 400, over.Status)
	require.Equal(t, `{"non_field_errors":["The environment has as many distinct trait keys as it may."]}`, over.Raw)
	require.Equal(t, 200, trait("b", "k4", 5).Status, "a known key")
	lost := sdk.Do("POST", "/api/v1/identities/", who("b", "k6", 1))
	require.Equal(t, 200, lost.Status)
	require.Equal(t, "false", lost.Header.Get("Flagraft-Traits-Persisted"))
	list := "/api/v1/environments/environment/identities/"
	var id any
	for _, r := range admin.Object("GET", list+"?q=b", nil, 200)["results"].([]any) {
		id = r.(map[string]any)["id"]
	}
	refused := admin.Do("POST", fmt.Sprintf("%s%v/traits/", list, id), map[string]any{"trait_key": "k7", "value_type": "unicode", "string_value": "v"})
	require.Equal(t, 400, refused.Status, refused.Raw)
	require.Equal(t, `{"detail":"The environment has reached the maximum allowed distinct trait keys limit."}`, refused.Raw)
	require.Equal(t, 200, admin.Do("POST", "/api/v1/environments/environment/delete-traits/", map[string]any{"key": "k2"}).Status)
	require.Equal(t, 200, trait("b", "k8", 1).Status, "there is room for one again")

	// Identities: one request brings more than there is room for, the rest is taken.
	var data []any
	for i := range 6 {
		data = append(data, map[string]any{"identifier": fmt.Sprint("n", i)})
	}
	bulk := sdk.Do("POST", "/api/v1/bulk-identities", map[string]any{"data": data})
	require.Equal(t, 400, bulk.Status)
	const full = "is not stored: The environment holds as many identities as it may."
	require.Equal(t, `{"non_field_errors":["Identity 'n3' `+full+`","Identity 'n4' `+full+`","Identity 'n5' `+full+`","All others are stored."]}`, bulk.Raw)
	require.EqualValues(t, 5, admin.Object("GET", list, nil, 200)["count"])
	refused = admin.Do("POST", list, map[string]any{"identifier": "another"})
	require.Equal(t, 400, refused.Status)
	require.Equal(t, `{"detail":"The environment has reached the maximum allowed identities limit."}`, refused.Raw)
	require.Equal(t, 200, sdk.Do("POST", "/api/v1/identities/", who("a", "k1", 2)).Status)
	require.Eventually(t, func() bool { // a busy machine may not store in time
		return sdk.Do("POST", "/api/v1/identities/", who("a", "k1", 3)).Header.Get("Flagraft-Traits-Persisted") == ""
	}, 20*time.Second, 10*time.Millisecond)
	used, most := limits(t, n)
	require.EqualValues(t, 5, used["identities"])
	require.EqualValues(t, 5, most["identities"])
	require.EqualValues(t, 4, used["trait_keys"])
	require.EqualValues(t, 4, most["trait_keys"])
}

// TestRetentionInBytes writes more than the change log, the audit log and the remembered answers may hold: the oldest go, and /status shows it.
func TestRetentionInBytes(t *testing.T) {
	n := servertest.Start(t, func(st *settings.Settings) {
		st.KeepChangeLogBytes, st.KeepAuditBytes, st.KeepAnswerBytes, st.KeepUsageBytes = 60000, 1000, 40000, 0
	})
	tags, c := project(t, n), n.Admin(t)
	features := strings.Replace(tags, "/tags/", "/features/", 1)
	for i := range 100 {
		a := c.With("Idempotency-Key", fmt.Sprint(i)).Do("POST", features, map[string]any{"name": fmt.Sprint("feature_", i)})
		require.Equal(t, 201, a.Status, a.Raw)
	}
	require.Eventually(t, func() bool {
		used, most := limits(t, n)
		require.EqualValues(t, 60000, most["change_log"])
		require.EqualValues(t, 1000, most["audit_log"])
		require.EqualValues(t, 40000, most["idempotency_answers"])
		return used["change_log"] <= 60000 && used["audit_log"] <= 1000 && used["idempotency_answers"] <= 40000 && used["usage"] == 0
	}, 20*time.Second, 20*time.Millisecond)
	used, _ := limits(t, n)
	require.NotZero(t, used["change_log"])
	require.NotZero(t, used["idempotency_answers"])
	last := c.With("Idempotency-Key", "99").Do("POST", features, map[string]any{"name": "feature_99"})
	require.Equal(t, 201, last.Status, "the newest answers are kept")
	require.Equal(t, "true", last.Header.Get("Idempotency-Replayed"))
	resp, err := http.Get("http://" + n.ManagementAddr() + "/metrics")
	require.NoError(t, err)
	require.Contains(t, body(t, resp), `flagraft_limit_max{name="change_log",unit="bytes"} 60000`)
	require.NoError(t, resp.Body.Close())
}
