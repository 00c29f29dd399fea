package admin

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

const (
	healthProviders = "/api/v1/projects/1/feature-health/providers/"
	healthEvents    = "/api/v1/projects/1/feature-health/events/"
)

// hook makes a provider and gives the path it posts to.
func (h *harness) hook(name string) string {
	h.Helper()
	url := h.post(healthProviders, fmt.Sprintf(`{"name":%q}`, name), 201).object()["webhook_url"].(string)
	return strings.TrimPrefix(url, "http://server")
}

// tags gives the labels of a feature's tags.
func (h *harness) tags(feature uint64) (labels []string) {
	f, _ := fsm.Features.Get(h.node.FSM.State(), feature)
	for _, id := range f.Tags {
		t, _ := fsm.Tags.Get(h.node.FSM.State(), id)
		labels = append(labels, t.Label)
	}
	return labels
}

func TestHealthProviders(t *testing.T) {
	h := newHarness(t)
	h.get(healthProviders, 200).is(`[]`)
	h.post(healthProviders, `{"name":"Sentry"}`, 400).is(`{"name":["\"Sentry\" is not a valid choice."]}`)
	path := h.hook("Grafana")
	require.LessOrEqual(t, len(path), len("/api/v1/feature-health/")+100)
	h.get(healthProviders, 200).is(fmt.Sprintf(`[{"created_by":"admin@example.com","name":"Grafana","project":1,"webhook_url":"http://server%s"}]`, path))
	h.post(healthProviders, `{"name":"Grafana"}`, 400)
	require.Contains(t, h.get("/api/v1/projects/1/audit/", 200).Raw, `"Health provider Grafana set up for project Project."`)
	h.grant(fsm.LevelProject, 1, "VIEW_PROJECT")
	h.do("member", "GET", healthProviders, nil).must(200)
	h.do("member", "POST", healthProviders, `{"name":"Webhook"}`).must(403)
	h.do("member", "DELETE", healthProviders+"Grafana/", nil).must(403)
	h.do("stranger", "GET", healthProviders, nil).must(403)
	h.remove(healthProviders+"grafana/", 204)
	h.remove(healthProviders+"grafana/", 404)
	h.do("", "POST", path, `{"alerts":[]}`).must(404)
}

func TestHealthWebhook(t *testing.T) {
	h := newHarness(t)
	f := h.post("/api/v1/projects/1/features/", `{"name":"f"}`, 201).id()
	path := h.hook("Webhook")
	for _, bad := range []string{``, `{`, `[]`, `{"feature":"f"}`, `{"feature":"f","status":"sick"}`, `{"status":"healthy"}`, `{"feature":"g","status":"healthy"}`} {
		require.Empty(t, h.do("", "POST", path, bad).must(400).Raw, bad)
	}
	forged := path[:len(path)-1] + string('A'+'B'-path[len(path)-1]%2)
	for _, wrong := range []string{forged, path + "A", "/api/v1/feature-health/x"} {
		if wrong != path {
			require.Empty(t, h.do("", "POST", wrong, `{"feature":"f","status":"unhealthy"}`).must(404).Raw)
		}
	}
	h.get(healthEvents, 200).is(`[]`)

	h.do("", "POST", path, `{"feature":"f","status":"unhealthy"}`).must(200)
	h.do("", "POST", path, `{"feature":"f","environment":"Env","status":"unhealthy","reason":{"text_blocks":[{"title":"T","text":"x"}],"url_blocks":[{"url":"https://a.b"}]}}`).must(200)
	require.Equal(t, []string{"Unhealthy"}, h.tags(f))
	events := h.get(healthEvents, 200).list()
	require.Len(t, events, 2)
	raw, err := json.Marshal(events[0])
	require.NoError(t, err)
	first := events[0].(map[string]any)
	require.JSONEq(t, fmt.Sprintf(`{"id":%v,"created_at":%q,"environment":1,"feature":1,"provider_name":"Webhook","type":"UNHEALTHY",
		"reason":{"text_blocks":[{"text":"x","title":"T"}],"url_blocks":[{"url":"https://a.b"}]}}`, first["id"], first["created_at"]), string(raw))
	require.Nil(t, events[1].(map[string]any)["environment"])
	audit := h.get("/api/v1/projects/1/audit/", 200).Raw
	require.Contains(t, audit, `"Health status changed to UNHEALTHY for feature f in environment Env."`)
	require.Contains(t, audit, `"Health status changed to UNHEALTHY for feature f."`)

	// The tag stays until nobody calls the feature unhealthy.
	dismiss := func(event any) string {
		return fmt.Sprintf("%s%v/dismiss/", healthEvents, event.(map[string]any)["id"])
	}
	h.grant(fsm.LevelProject, 1, "VIEW_PROJECT", "CREATE_FEATURE")
	h.do("member", "POST", dismiss(events[0]), nil).must(403)
	h.post(dismiss(events[0]), nil, 204)
	require.Equal(t, []string{"Unhealthy"}, h.tags(f))
	h.post(dismiss(events[0]), nil, 404)
	h.do("", "POST", path, `{"feature":"f","status":"healthy"}`).must(200)
	require.Empty(t, h.tags(f))
	after := h.get(healthEvents, 200).list()
	require.Len(t, after, 2, "the newest of each kind")
	for _, e := range after {
		require.Equal(t, "HEALTHY", e.(map[string]any)["type"])
	}
	h.post(dismiss(after[0]), nil, 204)
	require.Equal(t, after, h.get(healthEvents, 200).list(), "there is nothing to dismiss")

	h.remove("/api/v1/environments/env-key/", 204)
	require.Len(t, h.get(healthEvents, 200).list(), 1)
	h.remove("/api/v1/projects/1/features/1/", 204)
	h.get(healthEvents, 200).is(`[]`)
}

func TestHealthGrafana(t *testing.T) {
	h := newHarness(t)
	f := h.post("/api/v1/projects/1/features/", `{"name":"f"}`, 201).id()
	path := h.hook("Grafana")
	alert := func(status, fingerprint, starts, ends string) string {
		return fmt.Sprintf(`{"status":%q,"fingerprint":%q,"startsAt":%q,"endsAt":%q,"generatorURL":"https://g/a","dashboardURL":"https://g/d",
			"labels":{"alertname":"Slow","flagsmith_feature":"f","flagsmith_environment":"Env"},"annotations":{"description":"d","summary":"s","runbook_url":"https://r"}}`,
			status, fingerprint, starts, ends)
	}
	post := func(status int, alerts ...string) {
		t.Helper()
		h.do("", "POST", path, `{"alerts":[`+strings.Join(alerts, ",")+`]}`).must(status)
	}
	const zero, at1, at2, at3 = "0001-01-01T00:00:00Z", "2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z", "2024-01-03T01:00:00+01:00"
	post(400)
	post(400, `{"labels":{}}`)
	post(400, `{"status":"firing","labels":{"flagsmith_feature":"unknown"}}`)
	post(200, alert("firing", "a", at1, zero), alert("firing", "b", at1, zero), `{"status":"firing","labels":{}}`)
	require.Len(t, h.get(healthEvents, 200).list(), 2)
	post(200, alert("resolved", "a", at1, at2))
	require.Equal(t, []string{"Unhealthy"}, h.tags(f))
	post(200, alert("resolved", "b", at1, at3))
	require.Empty(t, h.tags(f))
	post(200, alert("firing", "b", at2, zero)) // late: b was resolved after it
	require.Empty(t, h.tags(f))
	e := h.get(healthEvents, 200).list()[0].(map[string]any)
	require.Equal(t, "2024-01-02T00:00:00Z", e["created_at"])
	reason, err := json.Marshal(e["reason"])
	require.NoError(t, err)
	require.JSONEq(t, `{"text_blocks":[{"title":"Slow","text":"d"},{"title":"Summary","text":"s"}],
		"url_blocks":[{"title":"Alert","url":"https://g/a"},{"title":"Dashboard","url":"https://g/d"},{"title":"Runbook","url":"https://r"}]}`, string(reason))
	for i := range maxHealthEvents + 5 {
		post(200, alert("firing", fmt.Sprint("many ", i), at1, zero))
	}
	require.Len(t, h.get(healthEvents, 200).list(), maxHealthEvents)
}

func FuzzHealthPost(f *testing.F) {
	f.Add("Webhook", []byte(`{"feature":"f","status":"unhealthy","reason":{"text_blocks":[{"text":"x"}],"url_blocks":[]}}`))
	f.Add("Grafana", []byte(`{"alerts":[{"status":"firing","labels":{"flagsmith_feature":"f"},"startsAt":"2024-01-01T00:00:00Z"}]}`))
	f.Fuzz(func(t *testing.T, provider string, body []byte) {
		reports, err := readHealthPost(provider, body)
		if err != nil {
			require.Empty(t, reports)
		}
		for _, r := range reports {
			require.NotEmpty(t, r.feature)
			require.NotContains(t, r.id, "\x00")
			if r.reason != nil {
				require.LessOrEqual(t, len(r.reason.Texts)+len(r.reason.Links), 2*maxHealthBlocks)
			}
		}
	})
}

func TestUnhealthyGoesWithTheEnvironment(t *testing.T) {
	h := newHarness(t)
	f := h.feature(`{"name":"f"}`)
	h.do("", "POST", h.hook("Webhook"), `{"feature":"f","environment":"Env","status":"unhealthy"}`).must(200)
	require.Equal(t, []string{"Unhealthy"}, h.tags(f))
	h.remove("/api/v1/environments/env-key/", 204)
	h.get(healthEvents, 200).is(`[]`)
	require.Empty(t, h.tags(f))
}
