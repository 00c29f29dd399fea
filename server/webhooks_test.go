package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server"
	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
	"github.com/flagraft/flagraft/server/webhook"
)

// receiver is somebody who is told of changes. It answers with status, or, when that is 0, not before the test ends.
type receiver struct {
	*testing.T
	url  string
	hang chan struct{}

	mu     sync.Mutex
	status int
	calls  []received
}

type received struct {
	id    uint64
	event string
	value any // of new_state
	taken bool
}

const hookSecret = "s3cret"

func newReceiver(t *testing.T, status int) *receiver {
	t.Helper()
	r := &receiver{T: t, status: status, hang: make(chan struct{})}
	s := httptest.NewServer(r)
	r.url = s.URL + "/hook?token=hidden"
	t.Cleanup(func() { close(r.hang); s.Close() })
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	var e struct {
		Type string `json:"event_type"`
		Data struct {
			New *struct {
				Value any `json:"feature_state_value"`
			} `json:"new_state"`
		} `json:"data"`
	}
	if req.Header.Get(webhook.SignatureHeader) != webhook.Sign(hookSecret, body) || json.Unmarshal(body, &e) != nil {
		r.Errorf("a bad request: %v %s", req.Header, body)
	}
	call := received{event: e.Type}
	call.id, _ = strconv.ParseUint(req.Header.Get(webhook.DeliveryHeader), 10, 64)
	if e.Data.New != nil {
		call.value = e.Data.New.Value
	}
	r.mu.Lock()
	status := r.status
	call.taken = status/100 == 2
	r.calls = append(r.calls, call)
	r.mu.Unlock()
	if status == 0 {
		<-r.hang
		return
	}
	w.WriteHeader(status)
}

func (r *receiver) answer(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

func (r *receiver) seen() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

// took gives the values of what the receiver accepted, each delivery once.
func (r *receiver) took() (values []any) {
	seen := map[uint64]bool{}
	for _, c := range r.seen() {
		if c.taken && !seen[c.id] {
			seen[c.id] = true
			values = append(values, c.value)
		}
	}
	return values
}

// hookCluster is a cluster with a flag, that calls webhooks on loopback, and often.
type hookCluster struct {
	*testing.T
	nodes []*servertest.Node
	state string // path of the flag's state
	token string
	value int // last set
}

func newHookCluster(t *testing.T, size int, change ...func(*settings.Settings)) *hookCluster {
	t.Helper()
	h := &hookCluster{T: t}
	setUp := func(n *server.Node) {
		n.Webhooks = server.WebhookTiming{Tick: 2 * time.Millisecond, Turn: time.Millisecond, Sweep: 5 * time.Millisecond, FirstRetry: 5 * time.Millisecond, MaxRetry: 20 * time.Millisecond}
	}
	change = slices.Concat([]func(*settings.Settings){func(st *settings.Settings) { st.AllowPrivateHooks, st.LoginPerMinute = true, 0 }}, change)
	if size == 1 {
		h.nodes = []*servertest.Node{servertest.StartWith(t, setUp, change...)}
	} else {
		h.nodes = servertest.ClusterOf(t, size, setUp, change...)
	}
	h.fill()
	return h
}

// fill makes the flag.
func (h *hookCluster) fill() {
	h.Helper()
	n := h.nodes[0]
	atLevel(h.T, n)
	h.token = n.Token(h.T)
	admin := h.client(0)
	org := admin.Object("POST", "/api/v1/organisations/", `{"name":"O"}`, 201)["id"]
	project := admin.Object("POST", "/api/v1/projects/", fmt.Sprintf(`{"name":"P","organisation":%v}`, org), 201)["id"]
	admin.Object("POST", "/api/v1/environments/", fmt.Sprintf(`{"name":"E","project":%v}`, project), 201)
	feature := admin.Object("POST", fmt.Sprintf("/api/v1/projects/%v/features/", project), `{"name":"f"}`, 201)["id"]
	for s := range fsm.FeatureStatesByFeature.All(n.State(), uint64(feature.(float64))) {
		h.state = fmt.Sprintf("%sfeaturestates/%d/", h.environment(), s.ID)
	}
}

func (h *hookCluster) client(node int) *servertest.Client {
	return h.nodes[node%len(h.nodes)].Client(h.T).With("Authorization", "Token "+h.token)
}

func (h *hookCluster) environment() string {
	for e := range fsm.Environments.All(h.nodes[0].State()) {
		return "/api/v1/environments/" + e.APIKey + "/"
	}
	h.Fatal("no environment")
	return ""
}

// hook makes a webhook of the environment.
func (h *hookCluster) hook(url string) uint64 {
	h.Helper()
	w := h.client(0).Object("POST", h.environment()+"webhooks/", map[string]any{"url": url, "secret": hookSecret}, 201)
	return uint64(w["id"].(float64))
}

// set gives the flag its next values, through one node after the other, and returns them.
func (h *hookCluster) set(n int) (values []any) {
	h.Helper()
	for i := range n {
		h.value++
		h.client(i).Object("PUT", h.state, fmt.Sprintf(`{"enabled":true,"feature_state_value":%d}`, h.value), 200)
		values = append(values, float64(h.value))
	}
	return values
}

// log gives the webhook's deliveries with an outcome, newest first.
func (h *hookCluster) log(hook uint64, outcome string) []map[string]any {
	h.Helper()
	page := h.client(0).Object("GET", fmt.Sprintf("/api/flagraft/v1/webhooks/%d/deliveries/?outcome=%s", hook, outcome), nil, 200)
	var rows []map[string]any
	for _, r := range page["results"].([]any) {
		rows = append(rows, r.(map[string]any))
	}
	return rows
}

func (h *hookCluster) eventually(holds func() bool, what string) {
	h.Helper()
	require.Eventually(h, holds, 30*time.Second, 2*time.Millisecond, what)
}

func (h *hookCluster) eventuallyTook(r *receiver, want []any) {
	h.Helper()
	h.eventually(func() bool { return len(r.took()) >= len(want) }, "not everything arrives")
	require.Equal(h, want, r.took())
}

// switchOn makes the first change, which is told of twice: value and switch.
func (h *hookCluster) switchOn() { h.set(1) }

func TestWebhooksAreDelivered(t *testing.T) {
	h := newHookCluster(t, 1)
	h.switchOn()
	r := newReceiver(t, 204)
	hook := h.hook(r.url)
	h.eventuallyTook(r, h.set(20))
	h.eventually(func() bool { return len(h.log(hook, "delivered")) == 20 }, "not all are recorded")
	last := h.log(hook, "delivered")[0]
	require.Equal(t, []any{1.0, 204.0, "", "FLAG_UPDATED"}, []any{last["attempts"], last["status"], last["error"], last["event_type"]})
	require.Empty(t, h.log(hook, "waiting"))
	require.Contains(t, h.metrics(), `flagraft_webhook_attempts_total{outcome="delivered"} 20`)
	require.Contains(t, h.metrics(), "flagraft_webhook_events_waiting 0")
}

func (h *hookCluster) metrics() string {
	h.Helper()
	answer, err := http.Get("http://" + h.nodes[0].ManagementAddr() + "/metrics")
	require.NoError(h, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(h, err)
	return string(body)
}

func TestWebhookFailsAndRecovers(t *testing.T) {
	h := newHookCluster(t, 1)
	h.switchOn()
	r := newReceiver(t, 500)
	hook := h.hook(r.url)
	want := h.set(3)
	h.eventually(func() bool { return len(r.seen()) >= 3 }, "it is not tried again")
	for _, c := range r.seen() {
		require.Equal(t, r.seen()[0].id, c.id, "the first event is in the way of the others")
	}
	h.eventually(func() bool { return h.log(hook, "waiting")[2]["attempts"].(float64) >= 3 }, "attempts are not recorded")
	first := h.log(hook, "waiting")[2]
	require.Equal(t, 500.0, first["status"])
	require.Greater(t, first["due_at"], first["tried_at"])
	require.Contains(t, h.metrics(), "flagraft_webhook_events_waiting 3")
	r.answer(200)
	h.eventuallyTook(r, want)
}

// What repeating would not change is not repeated, and the next event comes.
func TestWebhookRefuses(t *testing.T) {
	h := newHookCluster(t, 1)
	h.switchOn()
	r := newReceiver(t, 410)
	hook := h.hook(r.url)
	h.set(2)
	h.eventually(func() bool { return len(h.log(hook, "refused")) == 2 }, "a refusal is not final")
	require.Len(t, r.seen(), 2)
	require.Equal(t, 410.0, h.log(hook, "refused")[0]["status"])
	r.answer(302)
	h.set(1)
	h.eventually(func() bool { return len(h.log(hook, "refused")) == 3 }, "a redirect is not followed")
	r.answer(429)
	h.set(1)
	h.eventually(func() bool { return len(r.seen()) > 5 }, "too many requests are those of now")
	r.answer(200)
	h.eventuallyTook(r, []any{float64(h.value)})
}

// More webhooks hang or fail than there are places, and the one that works gets everything.
func TestDeadWebhooksKeepNobodyWaiting(t *testing.T) {
	h := newHookCluster(t, 1, func(st *settings.Settings) { st.WebhookTimeout = 200 * time.Millisecond })
	h.switchOn()
	hanging, failing, good := newReceiver(t, 0), newReceiver(t, 503), newReceiver(t, 200)
	gone := httptest.NewServer(nil)
	gone.Close()
	hooks := []uint64{}
	for range 20 {
		hooks = append(hooks, h.hook(hanging.url))
	}
	for range 10 {
		h.hook(failing.url)
		h.hook(gone.URL)
	}
	h.hook(good.url)
	h.eventuallyTook(good, h.set(10))
	require.Empty(t, hanging.took())
	h.eventually(func() bool {
		waits := h.log(hooks[0], "waiting")
		return waits[len(waits)-1]["error"] == "There was no answer in time."
	}, "the reason is not shown")
	require.Len(t, h.log(hooks[0], "waiting"), 10)
}

// As many webhooks as there are places take long for each of their events, and another one has its turn among them.
func TestSlowWebhooksShareThePlaces(t *testing.T) {
	h := newHookCluster(t, 1, func(st *settings.Settings) { st.WebhookTimeout = time.Hour })
	h.switchOn()
	begun, answer := make(chan struct{}, 1000), make(chan struct{})
	release := sync.OnceFunc(func() { close(answer) })
	defer release()
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		begun <- struct{}{}
		<-answer
	}))
	t.Cleanup(slow.Close)
	const places = 32
	for range places {
		h.hook(slow.URL)
	}
	good := newReceiver(t, 200)
	h.hook(good.url)
	h.set(3)
	for range places {
		<-begun
	}
	time.Sleep(2 * time.Millisecond) // each of the calls has taken a turn's time
	for range places {
		answer <- struct{}{}
	}
	h.eventually(func() bool { return len(good.took()) > 0 }, "the slow ones keep all the places")
	release()
	h.eventuallyTook(good, []any{2.0, 3.0, 4.0})
}

func TestWebhookEventsAreGivenUp(t *testing.T) {
	var data string
	h := newHookCluster(t, 1, func(s *settings.Settings) { s.KeepWebhookEvents, data = 5, s.DataDir })
	h.switchOn()
	dead, disabled := newReceiver(t, 500), newReceiver(t, 500)
	hook, off := h.hook(dead.url), h.hook(disabled.url)
	values := h.set(8)
	h.eventually(func() bool { return len(h.log(hook, "given_up")) == 3 && len(h.log(hook, "waiting")) == 5 }, "more wait than may")
	require.Equal(t, "Too many events waited for the webhook.", h.log(hook, "given_up")[0]["error"])

	h.client(0).Object("PATCH", fmt.Sprintf("%swebhooks/%d/", h.environment(), off), `{"enabled":false}`, 200)
	h.eventually(func() bool { return len(h.log(off, "waiting")) == 0 }, "a disabled webhook gets nothing")
	require.Equal(t, "The webhook is disabled.", h.log(off, "given_up")[0]["error"])

	mails := func() []string { return hookMails(t, data, hook) }
	h.eventually(func() bool { return len(mails()) > 0 }, "nobody is told")
	dead.answer(200)
	h.eventuallyTook(dead, values[3:])
	require.Contains(t, h.metrics(), "flagraft_webhook_given_up_total 11")

	// Once: not for each event, and not again soon.
	dead.answer(500)
	h.set(8)
	h.eventually(func() bool { return len(h.log(hook, "given_up")) == 6 }, "more wait than may")
	require.Len(t, mails(), 1)
	text := mails()[0]
	require.Contains(t, text, servertest.AdminEmail)
	require.Contains(t, text, fmt.Sprintf(`The webhook %d of the environment "E" of the project "P", at 127.0.0.1:`, hook))
	require.Contains(t, text, "Too many events waited for the webhook.")
	require.NotContains(t, text, "hidden")

	// To the organisation's own address, once the webhook took some and a day has passed.
	dead.answer(200)
	h.eventually(func() bool { return len(h.log(hook, "waiting")) == 0 }, "they arrive")
	require.NoError(t, h.nodes[0].Update(t.Context(), func(tx *fsm.Tx) error {
		w, _ := fsm.Webhooks.Get(tx, hook)
		w.NoticeSent = w.NoticeSent.Add(-25 * time.Hour)
		fsm.Webhooks.Put(tx, w)
		o, _ := fsm.Organisations.Get(tx, w.Organisation)
		address := "hooks@example.com"
		o.WebhookNotificationEmail = &address
		fsm.Organisations.Put(tx, o)
		return nil
	}))
	dead.answer(500)
	h.set(8)
	h.eventually(func() bool { return len(mails()) == 2 }, "nobody is told again")
	require.Contains(t, strings.Join(mails(), ""), "hooks@example.com")
}

// hookMails are the mails about a webhook.
func hookMails(t *testing.T, data string, hook uint64) (texts []string) {
	files, _ := filepath.Glob(filepath.Join(data, "mail", "*.eml"))
	for _, f := range files {
		raw, err := os.ReadFile(f)
		require.NoError(t, err)
		if text := strings.ReplaceAll(string(raw), "=\r\n", ""); strings.Contains(text, fmt.Sprintf("The webhook %d of", hook)) {
			texts = append(texts, text)
		}
	}
	return texts
}

// TestEnabledAgainWebhookIsToldOf: what was given up without a mail, because the webhook was disabled, is no reason to be silent when it loses
// events after that.
func TestEnabledAgainWebhookIsToldOf(t *testing.T) {
	var data string
	h := newHookCluster(t, 1, func(s *settings.Settings) { s.KeepWebhookEvents, data = 5, s.DataDir })
	h.switchOn()
	hook := h.hook(newReceiver(t, 500).url)
	h.set(2)
	enable := func(on bool) {
		h.client(0).Object("PATCH", fmt.Sprintf("%swebhooks/%d/", h.environment(), hook), map[string]any{"enabled": on}, 200)
	}
	enable(false)
	h.eventually(func() bool { return len(h.log(hook, "given_up")) == 2 }, "a disabled webhook gets nothing")
	require.Empty(t, hookMails(t, data, hook))
	enable(true)
	h.set(8)
	h.eventually(func() bool { return len(h.log(hook, "given_up")) == 5 }, "more wait than may")
	h.eventually(func() bool { return len(hookMails(t, data, hook)) == 1 }, "nobody is told")
}

func TestWebhookEventsGetTooOld(t *testing.T) {
	h := newHookCluster(t, 1, func(s *settings.Settings) { s.KeepWebhooks = 300 * time.Millisecond })
	h.switchOn()
	dead := newReceiver(t, 500)
	hook := h.hook(dead.url)
	h.set(2)
	h.eventually(func() bool { return len(h.log(hook, "given_up")) == 2 }, "they wait for ever")
	require.Equal(t, "The webhook did not take it in time.", h.log(hook, "given_up")[0]["error"])
	require.Equal(t, 500.0, h.log(hook, "given_up")[1]["status"], "of the last attempt")
}

func TestWebhookEventsFillTheirRoom(t *testing.T) {
	h := newHookCluster(t, 1, func(s *settings.Settings) { s.KeepWebhookBytes = 4_000 })
	h.switchOn()
	dead := newReceiver(t, 500)
	hook := h.hook(dead.url)
	h.set(12)
	h.eventually(func() bool { return h.nodes[0].State().Held().Webhooks <= 4_000 && len(h.log(hook, "given_up")) > 0 }, "they take more room than they may")
	require.Equal(t, "Too many events waited for all webhooks.", h.log(hook, "given_up")[0]["error"])
	require.NotEmpty(t, h.log(hook, "waiting"))
}

func TestWebhooksToPrivateAddresses(t *testing.T) {
	h := newHookCluster(t, 1, func(s *settings.Settings) { s.AllowPrivateHooks = false })
	h.switchOn()
	r := newReceiver(t, 200)
	require.Equal(t, 400, h.client(0).Do("POST", h.environment()+"webhooks/", map[string]any{"url": r.url}).Status)
	var hook uint64
	e := slices.Collect(fsm.Environments.All(h.nodes[0].State()))[0]
	require.NoError(t, h.nodes[0].Update(t.Context(), func(tx *fsm.Tx) error { // as a name that leads elsewhere by now
		hook = fsm.Webhooks.Put(tx, fsm.Webhook{Environment: e.ID, URL: r.url, Secret: hookSecret, Enabled: true}).ID
		return nil
	}))
	h.set(1)
	h.eventually(func() bool {
		waits := h.log(hook, "waiting")
		return len(waits) == 1 && waits[0]["attempts"].(float64) > 0
	}, "it is not tried")
	require.Equal(t, webhook.MsgPrivate, h.log(hook, "waiting")[0]["error"])
	require.Empty(t, r.seen())
}

func TestWebhooksOff(t *testing.T) {
	h := newHookCluster(t, 1, func(s *settings.Settings) { s.DisableWebhooks = true })
	r := newReceiver(t, 200)
	hook := h.hook(r.url)
	h.set(2)
	require.Empty(t, h.log(hook, "waiting"))
	require.Empty(t, r.seen())
}

// The leader goes while a receiver is down: everything arrives all the same, each event after the one before it.
func TestWebhooksOutliveTheLeader(t *testing.T) {
	t.Parallel()
	h := newHookCluster(t, 3)
	h.switchOn()
	r, up := newReceiver(t, 503), newReceiver(t, 200)
	hook := h.hook(r.url)
	h.hook(up.url)
	want := h.set(9)
	h.eventually(func() bool { return len(r.seen()) > 2 }, "it is not tried")

	require.NoError(t, h.nodes[0].Stop(t.Context()))
	h.nodes = h.nodes[1:]
	want = append(want, h.set(6)...)
	n := len(r.seen())
	h.eventually(func() bool { return len(r.seen()) > n }, "the new leader does not try")
	require.Len(t, h.log(hook, "waiting"), 15)
	r.answer(200)
	h.eventuallyTook(r, want)
	h.eventuallyTook(up, want)
	h.eventually(func() bool { return len(h.log(hook, "delivered")) == 15 }, "not all are recorded")
	ids := []uint64{}
	for _, c := range r.seen() {
		ids = append(ids, c.id)
	}
	require.True(t, slices.IsSorted(ids), "an event came after a later one: %v", ids)
}

// TestAReadOnlyClusterCallsNoWebhooks: what came of a call could not be recorded, so it would be made again with every tick.
func TestAReadOnlyClusterCallsNoWebhooks(t *testing.T) {
	t.Parallel()
	var st *settings.Settings
	h := newHookCluster(t, 1, func(s *settings.Settings) { st = s })
	r := newReceiver(t, 503)
	h.hook(r.url)
	h.switchOn()
	h.eventually(func() bool { return len(r.seen()) > 0 }, "nothing is sent")
	require.NoError(t, h.nodes[0].Stop(t.Context()))
	r.answer(200)

	startWithoutSpace(t, h.nodes[0], st)
	time.Sleep(time.Second) // ten ticks
	require.LessOrEqual(t, len(r.took()), 1, "later events do not overtake the first")
	taken := 0
	for _, c := range r.seen() {
		if c.taken {
			taken++
		}
	}
	require.LessOrEqual(t, taken, 1, "one may be under way when the space ends")
}
