package admin

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/webhook"
)

const environmentHooks = "/api/v1/environments/env-key/webhooks/"

func (h *harness) organisationHooks() string {
	return fmt.Sprintf("/api/v1/organisations/%d/webhooks/", h.organisation.ID)
}

func TestWebhooks(t *testing.T) {
	h := newHarness(t)
	for _, list := range []string{environmentHooks, h.organisationHooks()} {
		model, array := "Webhook", list == environmentHooks
		empty := `[]`
		if !array {
			model, empty = "OrganisationWebhook", `{"count":0,"next":null,"previous":null,"results":[]}`
		}
		require.Equal(t, empty, h.get(list, 200).Raw)
		r := h.post(list, `{"url":"https://8.8.8.8/hook"}`, 201)
		require.Equal(t, "https://8.8.8.8/hook", r.Answer.Header("Location"))
		w, _ := fsm.Webhooks.Get(h.node.FSM.State(), r.id())
		shown := func() string {
			w, _ = fsm.Webhooks.Get(h.node.FSM.State(), w.ID)
			return fmt.Sprintf(`{"id":%d,"url":%q,"enabled":%t,"secret":%q,"created_at":%q,"updated_at":%q}`, w.ID, w.URL, w.Enabled, w.Secret,
				w.CreatedAt.Std().Format("2006-01-02T15:04:05.000000Z"), w.UpdatedAt.Std().Format("2006-01-02T15:04:05.000000Z"))
		}
		require.True(t, w.Enabled)
		require.Empty(t, w.Secret)
		require.Equal(t, h.organisation.ID, w.Organisation)
		require.Equal(t, shown(), r.Raw)
		if array {
			h.get(list, 200).is("[" + shown() + "]")
			h.get(fmt.Sprintf("%s%d/", list, w.ID), 405)
		} else {
			h.get(list, 200).is(`{"count":1,"next":null,"previous":null,"results":[` + shown() + `]}`)
			require.Equal(t, shown(), h.get(fmt.Sprintf("%s%d/", list, w.ID), 200).Raw)
		}
		detail, created := fmt.Sprintf("%s%d/", list, w.ID), w.UpdatedAt
		require.Equal(t, h.put(detail, `{"url":"https://8.8.8.8/2","enabled":false,"secret":"abc"}`, 200).Raw, shown())
		require.Greater(t, w.UpdatedAt, created)
		require.Equal(t, "https://8.8.8.8/2", w.URL)
		require.False(t, w.Enabled)
		require.Equal(t, "abc", w.Secret)
		require.Equal(t, h.patch(detail, `{"enabled":true}`, 200).Raw, shown())
		require.Equal(t, "abc", w.Secret)
		require.True(t, w.Enabled)
		h.patch(detail, `{"secret":""}`, 200)

		missing := `{"detail":"No ` + model + ` matches the given query."}`
		for _, other := range []string{list + "999/", strings.Replace(detail, list, map[bool]string{true: h.organisationHooks(), false: environmentHooks}[array], 1)} {
			h.patch(other, `{}`, 404)
			h.remove(other, 404)
		}
		h.patch(list+"999/", `{}`, 404).is(missing)
		h.remove(detail, 204)
		h.remove(detail, 404).is(missing)
		require.Equal(t, empty, h.get(list, 200).Raw)
	}
}

func TestWebhookAddresses(t *testing.T) {
	h := newHarness(t)
	private, scheme, malformed := "URLs must not target internal or private network addresses.", "Enter a valid http(s) URL.", "Enter a valid URL."
	for _, list := range []string{environmentHooks, h.organisationHooks()} {
		for body, want := range map[string]string{
			`{}`:                                `{"url":["This field is required."]}`,
			`{"url":""}`:                        `{"url":["This field may not be blank."]}`,
			`{"url":null}`:                      `{"url":["This field may not be null."]}`,
			`{"url":"nope"}`:                    `{"url":["` + scheme + `","` + malformed + `"]}`,
			`{"url":"ftp://8.8.8.8/x"}`:         `{"url":["` + scheme + `"]}`,
			`{"url":"http://"}`:                 `{"url":["` + malformed + `"]}`,
			`{"url":"http://127.0.0.1:9/x"}`:    `{"url":["` + private + `"]}`,
			`{"url":"http://localhost/x"}`:      `{"url":["` + private + `"]}`,
			`{"url":"http://[::1]/x"}`:          `{"url":["` + private + `"]}`,
			`{"url":"http://192.168.1.1/"}`:     `{"url":["` + private + `"]}`,
			`{"url":"https://169.254.169.254"}`: `{"url":["` + private + `"]}`,
			`{"url":"https://8.8.8.8/` + strings.Repeat("a", 200) + `"}`:             `{"url":["Ensure this field has no more than 200 characters."]}`,
			`{"url":"https://8.8.8.8/","secret":"` + strings.Repeat("a", 256) + `"}`: `{"secret":["Ensure this field has no more than 255 characters."]}`,
		} {
			h.post(list, body, 400).is(want)
		}
		hook := h.post(list, `{"url":"https://8.8.8.8/"}`, 201).id()
		h.patch(fmt.Sprintf("%s%d/", list, hook), `{"url":"http://10.0.0.1/"}`, 400).is(`{"url":["` + private + `"]}`)
		for i := 1; i < maxWebhooks; i++ {
			h.post(list, `{"url":"https://8.8.8.8/"}`, 201)
		}
		h.post(list, `{"url":"https://8.8.8.8/"}`, 400).is(`{"detail":"There are as many webhooks here as there may be."}`)
	}
	h.api.Env.Webhooks = webhook.New(time.Second, true, "test")
	h.remove(fmt.Sprintf("%s%d/", h.organisationHooks(), fsm.WebhooksByOrganisation.List(h.node.FSM.State(), h.organisation.ID)[0].ID), 204)
	h.post(h.organisationHooks(), `{"url":"http://127.0.0.1:9/"}`, 201)
}

func TestWebhookPermissions(t *testing.T) {
	h := newHarness(t)
	env := h.post(environmentHooks, `{"url":"https://8.8.8.8/","secret":"s"}`, 201).id()
	org := h.post(h.organisationHooks(), `{"url":"https://8.8.8.8/"}`, 201).id()
	insufficient := `{"detail":"User does not have sufficient privileges to perform this action"}`
	denied := `{"detail":"You do not have permission to perform this action."}`
	deliveries := "/api/flagraft/v1/webhooks/%d/deliveries/"
	for _, who := range []string{"member", "stranger"} {
		h.do(who, "GET", h.organisationHooks(), nil).must(403).is(insufficient)
		h.do(who, "POST", h.organisationHooks(), `{"url":"https://8.8.8.8/"}`).must(403).is(insufficient)
		h.do(who, "DELETE", fmt.Sprintf("%s%d/", h.organisationHooks(), org), nil).must(403).is(insufficient)
		h.do(who, "GET", environmentHooks, nil).must(403).is(denied)
		h.do(who, "POST", environmentHooks, `{}`).must(403).is(denied)
		h.do(who, "GET", fmt.Sprintf(deliveries, env), nil).must(404)
		h.do(who, "GET", fmt.Sprintf(deliveries, org), nil).must(404)
	}
	h.get("/api/v1/environments/unknown/webhooks/", 403)
	h.get(fmt.Sprintf(deliveries, 999), 404).is(`{"detail":"No Webhook matches the given query."}`)

	h.grant(fsm.LevelEnvironment, h.environment.ID, "VIEW_ENVIRONMENT")
	require.NotContains(t, h.do("member", "GET", environmentHooks, nil).must(200).Raw, `"secret":"s"`, "who may only look could sign events")
	require.Contains(t, h.get(environmentHooks, 200).Raw, `"secret":"s"`)
	h.do("member", "GET", fmt.Sprintf(deliveries, env), nil).must(200)
	h.do("member", "POST", environmentHooks, `{"url":"https://8.8.8.8/"}`).must(403).is(denied)
	h.do("member", "PATCH", fmt.Sprintf("%s%d/", environmentHooks, env), `{}`).must(403)
	h.grant(fsm.LevelEnvironment, h.environment.ID)
	h.do("member", "PATCH", fmt.Sprintf("%s%d/", environmentHooks, env), `{"enabled":false}`).must(200)
}

func TestWebhooksGoWithWhatTheyBelongTo(t *testing.T) {
	h := newHarness(t)
	env := h.post(environmentHooks, `{"url":"https://8.8.8.8/"}`, 201).id()
	org := h.post(h.organisationHooks(), `{"url":"https://8.8.8.8/"}`, 201).id()
	h.feature(`{"name":"f"}`)
	require.NotEmpty(t, h.waiting(env))
	require.NotEmpty(t, h.waiting(org))
	h.remove("/api/v1/environments/env-key/", 204)
	_, there := fsm.Webhooks.Get(h.node.FSM.State(), env)
	require.False(t, there)
	require.Empty(t, h.waiting(env))
	require.NotEmpty(t, h.waiting(org))
	h.remove(fmt.Sprintf("/api/v1/organisations/%d/", h.organisation.ID), 204)
	require.Zero(t, fsm.WebhookDeliveriesByWebhook.Count(h.node.FSM.State()))
	require.Zero(t, h.node.FSM.State().DeliveriesWaiting())
	require.Zero(t, h.node.FSM.State().Held().Webhooks)
}

func TestWebhookTest(t *testing.T) {
	h := newHarness(t)
	status := 200
	var body, signature string
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		body, signature = string(raw), r.Header.Get(webhook.SignatureHeader)
		w.WriteHeader(status)
	}))
	t.Cleanup(receiver.Close)
	const path = "/api/v1/webhooks/test/"
	denied := `{"detail":"You do not have permission to perform this action."}`
	env := fmt.Sprintf(`{"webhook_url":%q,"secret":"s3","scope":{"type":"environment","id":"env-key"}}`, receiver.URL)
	org := fmt.Sprintf(`{"webhook_url":%q,"scope":{"type":"organisation","id":%d}}`, receiver.URL, h.organisation.ID)
	h.post(path, env, 400).is(`{"webhook_url":["URLs must not target internal or private network addresses."]}`)

	h.api.Env.Webhooks = webhook.New(time.Second, true, "test")
	h.post(path, env, 200).is(`{"detail":"Webhook test successful","status":200}`)
	require.Contains(t, body, `"event_type": "FLAG_UPDATED"`)
	require.Contains(t, body, `"environment": {"id": 1, "name": "Env"}`)
	require.Equal(t, webhook.Sign("s3", []byte(body)), signature)
	h.post(path, strings.Replace(env, `"env-key"`, `1`, 1), 200)
	h.post(path, org, 200)
	require.Contains(t, body, `"event_type": "AUDIT_LOG_CREATED"`)
	require.Empty(t, signature)

	status = 500
	h.post(path, env, 400).is(`{"detail":"Webhook returned error status","body":"Webhook returned HTTP 500.","status":500}`)
	status = 302
	h.post(path, env, 400).is(`{"detail":"Webhook returned error status","body":"Webhook returned HTTP 302.","status":302}`)
	receiver.Close()
	r := h.post(path, org, 400).object()
	require.Equal(t, "Could not connect to webhook URL", r["detail"])
	require.Contains(t, r["body"], "The connection could not be made: ")
	require.NotContains(t, r, "status")

	for _, who := range []string{"member", "stranger"} {
		h.do(who, "POST", path, env).must(403).is(denied)
		h.do(who, "POST", path, org).must(403).is(denied)
	}
	for _, body := range []string{`{}`, `{"webhook_url":"https://8.8.8.8/","scope":{"type":"environment"}}`, `{"scope":{"type":"project","id":1}}`,
		`{"scope":{"type":"organisation","id":999}}`, `{"scope":5}`} {
		h.post(path, body, 403).is(denied)
	}
	h.post(path, `{"scope":{"type":"environment","id":"env-key"}}`, 400).is(`{"webhook_url":["This field is required."]}`)
	h.post(path, `{"webhook_url":"nope","scope":{"type":"environment","id":"env-key"}}`, 400).
		is(`{"webhook_url":["Enter a valid http(s) URL.","Enter a valid URL."]}`)
	h.grant(fsm.LevelEnvironment, h.environment.ID)
	h.do("member", "POST", path, env).must(400)
	h.do("member", "POST", path, org).must(403)
}

// With --disable-webhooks nobody is called, by tests neither.
func TestDisabledWebhooksAreNotTested(t *testing.T) {
	h := newHarness(t)
	called := false
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }))
	t.Cleanup(receiver.Close)
	h.api.Env.Webhooks.Close()
	h.api.Env.Webhooks = webhook.New(5*time.Second, true, "test")
	h.api.Env.Options.DisableWebhooks = true
	h.post("/api/v1/webhooks/test/", map[string]any{"webhook_url": receiver.URL, "scope": map[string]any{"type": "organisation", "id": 1}}, 400)
	require.False(t, called)
}
