package admin

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

// hooked is an event that waits.
type hooked struct {
	Type string         `json:"event_type"`
	Data map[string]any `json:"data"`
	raw  string
}

// waiting gives what waits for a webhook.
func (h *harness) waiting(hook uint64) (events []hooked) {
	h.Helper()
	for d := range fsm.WebhookDeliveriesWaiting.All(h.node.FSM.State(), hook) {
		e := hooked{raw: string(d.Body)}
		require.NoError(h, json.Unmarshal(d.Body, &e), e.raw)
		require.Equal(h, d.Event, e.Type)
		events = append(events, e)
	}
	return events
}

// taken is waiting without what it returned before.
func (h *harness) taken(hook uint64) []hooked {
	h.Helper()
	events := h.waiting(hook)
	h.node.Write(h, func(tx *fsm.Tx) error {
		fsm.WebhookDeliveriesByWebhook.DeleteAll(tx, hook)
		return nil
	})
	return events
}

// brief words events: type, what of, and what became of it.
func brief(events []hooked) (out []string) {
	state := func(v any) string {
		s, ok := v.(map[string]any)
		if !ok {
			return "-"
		}
		of := ""
		if fs, ok := s["feature_segment"].(map[string]any); ok {
			of = fmt.Sprintf(" for %v/%v", fs["segment"].(map[string]any)["name"], fs["priority"])
		}
		if s["identity"] != nil {
			of = fmt.Sprintf(" for %v %v", s["identity"], s["identity_identifier"])
		}
		return fmt.Sprintf("%v %v%s", s["enabled"], s["feature_state_value"], of)
	}
	for _, e := range events {
		if e.Type == EventAudit {
			out = append(out, "AUDIT "+e.Data["log"].(string))
			continue
		}
		out = append(out, fmt.Sprintf("%s %s -> %s", e.Type, state(e.Data["previous_state"]), state(e.Data["new_state"])))
	}
	return out
}

func (h *harness) hooks() (env, org uint64) {
	h.Helper()
	return h.post(environmentHooks, `{"url":"https://8.8.8.8/e"}`, 201).id(), h.post(h.organisationHooks(), `{"url":"https://8.8.8.8/o"}`, 201).id()
}

// TestWebhookPayloads compares whole bodies, byte for byte.
func TestWebhookPayloads(t *testing.T) {
	h := newHarness(t)
	env, org := h.hooks()
	f := h.feature(`{"name":"hooked","initial_value":"v\u00e9"}`)
	s, _ := fsm.FeatureStatesByEnvironment.First(h.node.FSM.State(), h.environment.ID, fsm.StateDefault, f)
	row, _ := fsm.Features.Get(h.node.FSM.State(), f)
	at := func(t fsm.Time) string { return t.Std().Format("2006-01-02T15:04:05.000000Z") }
	feature := fmt.Sprintf(`{"created_date": %q, "default_enabled": false, "description": null, "id": %d, "initial_value": "v\u00e9", "name": "hooked", `+
		`"project": {"id": %d, "name": "Project"}, "type": "STANDARD"}`, at(row.CreatedDate), f, h.project.ID)
	shown := func(enabled bool, value string) string {
		return fmt.Sprintf(`{"enabled": %t, "environment": {"id": %d, "name": "Env"}, "feature": %s, "feature_segment": null, "feature_state_value": %s, `+
			`"identity": null, "identity_identifier": null, "multivariate_feature_state_values": []}`, enabled, h.environment.ID, feature, value)
	}
	created := h.taken(env)
	require.Len(t, created, 1)
	require.Equal(t, fmt.Sprintf(`{"data": {"changed_by": "admin@example.com", "new_state": %s, "timestamp": %q}, "event_type": "FLAG_UPDATED"}`,
		shown(false, `"v\u00e9"`), at(row.CreatedDate)), created[0].raw)

	all := h.taken(org)
	require.Equal(t, []string{"AUDIT New Flag / Remote Config created: hooked", "AUDIT New Flag / Remote Config created: hooked",
		"FLAG_UPDATED - -> false vé"}, brief(all))
	require.Equal(t, created[0].raw, all[2].raw)
	audits := h.get(fmt.Sprintf("/api/v1/organisations/%d/audit/", h.organisation.ID), 200).object()["results"].([]any)
	require.Equal(t, audits[0], any(all[1].Data), "the row as the API shows it")
	require.Equal(t, audits[1], any(all[0].Data))
	require.True(t, strings.HasPrefix(all[0].raw, `{"data": {"author": {"email": "admin@example.com", "first_name": "", "id": 1, `), all[0].raw)
	require.True(t, strings.HasSuffix(all[0].raw, `"related_object_type": "FEATURE", "related_object_uuid": null}, "event_type": "AUDIT_LOG_CREATED"}`), all[0].raw)

	h.patch(fmt.Sprintf("/api/v1/environments/env-key/featurestates/%d/", s.ID), `{"enabled":true}`, 200)
	s, _ = fsm.FeatureStates.Get(h.node.FSM.State(), s.ID)
	changed := h.taken(env)
	require.Len(t, changed, 1)
	require.Equal(t, fmt.Sprintf(`{"data": {"changed_by": "admin@example.com", "new_state": %s, "previous_state": %s, "timestamp": %q}, "event_type": "FLAG_UPDATED"}`,
		shown(true, `"v\u00e9"`), shown(false, `"v\u00e9"`), at(s.UpdatedAt)), changed[0].raw)

	h.remove(fmt.Sprintf("/api/v1/projects/%d/features/%d/", h.project.ID, f), 204)
	gone := h.taken(env)
	require.Len(t, gone, 1)
	require.Regexp(t, `^\{"data": \{"changed_by": "admin@example.com", "new_state": null, "previous_state": `, gone[0].raw)
	require.Contains(t, gone[0].raw, shown(true, `"v\u00e9"`))
	require.Equal(t, "FLAG_DELETED", gone[0].Type)
}

// TestWebhookEvents goes through what changes flags, and wants the events in the reference's order.
func TestWebhookEvents(t *testing.T) {
	h := newHarness(t)
	segment := h.segment("pros")
	env, org := h.hooks()
	f := h.feature(`{"name":"f","initial_value":"v"}`)
	s, _ := fsm.FeatureStatesByEnvironment.First(h.node.FSM.State(), h.environment.ID, fsm.StateDefault, f)
	want := func(what string, environment []string, more ...string) {
		t.Helper()
		require.Equal(t, environment, brief(h.taken(env)), what)
		require.Equal(t, more, brief(h.taken(org)), what)
	}
	state := fmt.Sprintf("/api/v1/environments/env-key/featurestates/%d/", s.ID)
	created := "FLAG_UPDATED - -> false v"
	want("feature created", []string{created}, "AUDIT New Flag / Remote Config created: f", "AUDIT New Flag / Remote Config created: f", created)

	h.put(state, `{"enabled":true,"feature_state_value":"new"}`, 200)
	first, second := "FLAG_UPDATED false v -> false new", "FLAG_UPDATED false v -> true new"
	want("value and switch", []string{first, second}, "AUDIT Remote config value updated for feature: f", first,
		"AUDIT Flag state updated for feature: f", second)

	h.put(state, `{"feature_state_value":5}`, 200)
	valued := "FLAG_UPDATED true new -> true 5"
	want("value", []string{valued}, "AUDIT Remote config value updated for feature: f", valued)

	h.patch(state, `{"enabled":true}`, 200)
	want("nothing", nil)

	h.post(fmt.Sprintf("/api/v1/environments/env-key/features/%d/create-segment-override/", f),
		fmt.Sprintf(`{"feature_segment":{"segment":%d},"enabled":false,"feature_state_value":{"type":"unicode","string_value":"seg"}}`, segment), 201)
	override := "FLAG_UPDATED - -> false seg for pros/0"
	want("segment override", []string{override}, "AUDIT Flag state / Remote config value updated for feature 'f' and segment 'pros'", override,
		"AUDIT Remote config updated for segment override on feature 'f' and segment 'pros'.")

	path, identity := h.newIdentity("ann")
	own := h.post(path+"featurestates/", fmt.Sprintf(`{"feature":%d,"enabled":true,"feature_state_value":"mine"}`, f), 201).id()
	override = fmt.Sprintf("FLAG_UPDATED - -> true mine for %d ann", identity)
	want("identity override", []string{override}, "AUDIT Remote config value updated for identity override on feature 'f' and identity 'ann'.", override)
	h.remove(fmt.Sprintf("%sfeaturestates/%d/", path, own), 204)
	override = fmt.Sprintf("FLAG_DELETED true mine for %d ann -> -", identity)
	want("identity override deleted", []string{override}, override, "AUDIT Flag state / Remote config value deleted for feature 'f' and identity 'ann'")

	h.post(path+"featurestates/", fmt.Sprintf(`{"feature":%d,"enabled":true,"feature_state_value":5}`, f), 201)
	same := fmt.Sprintf("FLAG_UPDATED - -> true 5 for %d ann", identity)
	require.Equal(t, []string{same}, brief(h.taken(env)), "an override that is what it overrides")
	h.taken(org)

	h.patch(fmt.Sprintf("/api/v1/projects/%d/features/%d/", h.project.ID, f), `{"description":"d"}`, 200)
	want("feature", nil, "AUDIT Flag / Remote Config updated: f")
	h.patch(fmt.Sprintf("/api/v1/projects/%d/segments/%d/", h.project.ID, segment), `{"description":"d"}`, 200)
	want("segment", nil, "AUDIT New Segment created: pros", "AUDIT Segment updated: pros")

	link := h.post(featureSegments, fmt.Sprintf(`{"feature":%d,"segment":%d,"environment":1}`, f, h.segment("more")), 201).id()
	h.taken(org)
	h.remove(fmt.Sprintf("%s%d/", featureSegments, link), 204)
	want("a link without a state", nil, "AUDIT Flag state / Remote config value deleted for feature 'f' and segment 'more'")

	// A new environment starts with states of its own: nobody is told of those.
	h.post("/api/v1/environments/env-key/clone/", `{"name":"Clone"}`, 200)
	want("clone", nil, "AUDIT New Environment created: Clone", "AUDIT Environment updated: Clone")

	h.remove(fmt.Sprintf("/api/v1/projects/%d/features/%d/", h.project.ID, f), 204)
	deleted := "FLAG_DELETED true 5 -> -"
	require.Equal(t, []string{deleted}, brief(h.taken(env)), "the default only")
	events := brief(h.taken(org))
	require.Equal(t, []string{deleted, deleted}, events[:2], "of both environments")
	require.Equal(t, "AUDIT Flag / Remote Config Deleted: f", events[len(events)-1])

	// Enabled webhooks only, and each gets its own.
	h.feature(`{"name":"g"}`)
	h.patch(fmt.Sprintf("%s%d/", environmentHooks, env), `{"enabled":false}`, 200)
	h.taken(env)
	h.feature(`{"name":"h"}`)
	require.Empty(t, h.waiting(env))
	require.NotEmpty(t, h.waiting(org))
}

func TestWebhookEventsOfVariants(t *testing.T) {
	h := newHarness(t)
	f := h.flag("mv", fsm.FeatureValue{}, "a", "b")
	env, _ := h.hooks()
	options := h.options(f)
	s, _ := fsm.FeatureStatesByEnvironment.First(h.node.FSM.State(), h.environment.ID, fsm.StateDefault, f.ID)
	h.put(fmt.Sprintf("/api/v1/environments/env-key/featurestates/%d/", s.ID), fmt.Sprintf(
		`{"enabled":%t,"multivariate_feature_state_values":[{"multivariate_feature_option":%d,"percentage_allocation":30},{"multivariate_feature_option":%d,"percentage_allocation":20}]}`,
		s.Enabled, options[0], options[1]), 200)
	events := h.taken(env)
	require.Len(t, events, 1, "%v", brief(events))
	s, _ = fsm.FeatureStates.Get(h.node.FSM.State(), s.ID)
	require.Contains(t, events[0].raw, fmt.Sprintf(`"multivariate_feature_state_values": [{"id": %d, "multivariate_feature_option": {"id": %d, "value": "a"}, "percentage_allocation": 30.0}, `,
		s.Multivariate[0].ID, options[0]))
}

// A variant's value stands in no state: whatever has a share of it is served otherwise once it changes.
func TestWebhookEventsOfVariantsChanged(t *testing.T) {
	h := newHarness(t)
	f := h.flag("mv", fsm.FeatureValue{}, "a", "b", "c")
	options, path := h.options(f), fmt.Sprintf("%s%d/", h.features(), f.ID)
	identity, id := h.newIdentity("ann")
	h.post(identity+"featurestates/", fmt.Sprintf(
		`{"feature":%d,"enabled":true,"feature_state_value":"mine","multivariate_feature_state_values":[{"multivariate_feature_option":%d,"percentage_allocation":100}]}`, f.ID, options[1]), 201)
	h.node.Write(t, func(tx *fsm.Tx) error {
		s, _ := fsm.FeatureStatesByEnvironment.First(tx, h.environment.ID, fsm.StateDefault, f.ID)
		s.Multivariate = []fsm.MultivariateValue{{ID: 901, Option: options[0], Percentage: 30}, {ID: 902, Option: options[1], Percentage: 30}, {ID: 903, Option: options[2]}}
		fsm.FeatureStates.Put(tx, s)
		return nil
	})
	env, org := h.hooks()
	option := func(i int) string { return fmt.Sprintf("%smv-options/%d/", path, options[i]) }
	values := func(e hooked, state string) (out []any) {
		for _, s := range e.Data[state].(map[string]any)["multivariate_feature_state_values"].([]any) {
			out = append(out, s.(map[string]any)["multivariate_feature_option"].(map[string]any)["value"])
		}
		return out
	}

	h.patch(option(0), `{"string_value":"a2"}`, 200)
	events := h.taken(env)
	require.Len(t, events, 1, "%v", brief(events))
	require.Equal(t, EventUpdated, events[0].Type)
	require.Equal(t, []any{"a", "b", "c"}, values(events[0], "previous_state"))
	require.Equal(t, []any{"a2", "b", "c"}, values(events[0], "new_state"))
	require.Equal(t, "admin@example.com", events[0].Data["changed_by"])
	require.Len(t, h.taken(org), 1, "and no row of the audit log")

	h.patch(option(1), `{"string_value":"b2"}`, 200)
	events = h.taken(env)
	require.Len(t, events, 2, "the identity's, too")
	require.Contains(t, brief(events), fmt.Sprintf("FLAG_UPDATED true mine for %d ann -> true mine for %d ann", id, id))

	moved := h.updatedAt()
	h.patch(option(2), `{"string_value":"c2"}`, 200)
	require.Empty(t, h.taken(env), "nobody gets it")
	require.Greater(t, h.updatedAt(), moved, "the document shows it")

	h.patch(option(0), `{"string_value":"a2","key":"k","default_percentage_allocation":1}`, 200)
	require.Empty(t, h.taken(env), "its value is what it was")

	// Within the feature, where two change, one is new and one goes: each state is told of once.
	h.patch(path, fmt.Sprintf(`{"multivariate_options":[{"id":%d,"type":"int","integer_value":5,"default_percentage_allocation":1},`+
		`{"id":%d,"string_value":"b3","default_percentage_allocation":1},{"string_value":"d","default_percentage_allocation":1}]}`, options[0], options[1]), 200)
	events = h.taken(env)
	require.Len(t, events, 2, "%v", brief(events))
	require.Equal(t, []any{"a2", "b2", "c2"}, values(events[0], "previous_state"))
	require.Equal(t, []any{5.0, "b3", "d"}, values(events[0], "new_state"))
	require.Equal(t, []any{"b3"}, values(events[1], "new_state"))
}

func TestWebhookEventsOfEdgeOverrides(t *testing.T) {
	h := newHarness(t)
	h.feature(`{"name":"f","initial_value":"v"}`)
	env, org := h.hooks()
	put := func(body string) {
		h.do("admin", "PUT", "/api/v1/environments/env-key/edge-identities-featurestates", body).must(200)
	}
	put(`{"identifier":"gerd","feature":"f","enabled":true,"feature_state_value":"g"}`)
	put(`{"identifier":"gerd","feature":"f","enabled":true,"feature_state_value":"g2"}`)
	put(`{"identifier":"gerd","feature":"f","enabled":true,"feature_state_value":"g2"}`)
	h.do("admin", "DELETE", "/api/v1/environments/env-key/edge-identities-featurestates", `{"identifier":"gerd","feature":"f"}`).must(204)
	events := h.taken(env)
	id := events[0].Data["new_state"].(map[string]any)["identity"]
	require.Equal(t, []string{
		fmt.Sprintf("FLAG_UPDATED - -> true g for %v gerd", id), fmt.Sprintf("FLAG_UPDATED true g for %v gerd -> true g2 for %v gerd", id, id),
		fmt.Sprintf("FLAG_DELETED true g2 for %v gerd -> -", id)}, brief(events))
	require.Equal(t, "AUDIT Feature override created for feature 'f' and identity 'gerd'", brief(h.taken(org))[0])
}

// A state that is not live yet is told of when it gets live.
func TestWebhookEventsOfScheduledStates(t *testing.T) {
	h := newHarness(t)
	f := h.feature(`{"name":"f","initial_value":"v"}`)
	env, org := h.hooks()
	s, _ := fsm.FeatureStatesByEnvironment.First(h.node.FSM.State(), h.environment.ID, fsm.StateDefault, f)
	due := time.Now().Add(time.Hour)
	h.node.Write(t, func(tx *fsm.Tx) error {
		s.LiveFrom, s.UpdatedAt, s.Enabled = fsm.TimeOf(due), tx.Now(), true
		fsm.FeatureStates.Put(tx, s)
		return nil
	})
	require.Equal(t, []string{"FLAG_DELETED false v -> -"}, brief(h.taken(env)), "it was served")
	h.taken(org)
	late := fsm.NewScheduler(h.node.FSM, h.node.LateWriter(t, func() time.Time { return due.Add(time.Second) }, Announce), func() time.Time { return due.Add(time.Second) },
		fsm.DefaultRetention(), h.api.Env.Log)
	defer late.Stop()
	late.Lead(true)
	require.Eventually(t, func() bool { return len(h.waiting(env)) > 0 }, 10*time.Second, time.Millisecond)
	require.Equal(t, []string{"FLAG_UPDATED - -> true v"}, brief(h.waiting(env)))
	require.Equal(t, []string{"AUDIT Flag state updated for feature: f", "FLAG_UPDATED - -> true v"}, brief(h.waiting(org)))
	require.Empty(t, h.waiting(env)[0].Data["changed_by"], "nobody did it")
}

// An override that is scheduled is told of once it counts, also when a change of its date alone makes it count; where versions are kept it
// counts at once. One that never counted goes without a word.
func TestWebhookEventsOfChangedSchedules(t *testing.T) {
	h := newHarness(t)
	f := h.feature(`{"name":"f","initial_value":"v"}`)
	path, id := h.newIdentity("ann")
	env, _ := h.hooks()
	list := path + "featurestates/"
	scheduled := fmt.Sprintf(`{"feature":%d,"enabled":true,"feature_state_value":"mine","live_from":%q}`, f, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	told := fmt.Sprintf("FLAG_UPDATED - -> true mine for %d ann", id)
	gone := fmt.Sprintf("FLAG_DELETED true mine for %d ann -> -", id)

	own := fmt.Sprintf("%s%d/", list, h.post(list, scheduled, 201).id())
	require.Empty(t, h.taken(env))
	h.patch(own, `{"live_from":"2020-01-01T00:00:00Z"}`, 200)
	require.Equal(t, []string{told}, brief(h.taken(env)))
	h.patch(own, `{"live_from":"2020-01-02T00:00:00Z"}`, 200)
	require.Empty(t, h.taken(env), "it is as it was")
	h.remove(own, 204)
	require.Equal(t, []string{gone}, brief(h.taken(env)))

	own = fmt.Sprintf("%s%d/", list, h.post(list, scheduled, 201).id())
	h.remove(own, 204)
	require.Empty(t, h.taken(env), "it never counted")

	h.post("/api/v1/environments/env-key/enable-v2-versioning/", nil, 202)
	own = fmt.Sprintf("%s%d/", list, h.post(list, scheduled, 201).id())
	require.Equal(t, []string{told}, brief(h.taken(env)), "it is served")
	after := func() time.Time { return time.Now().Add(2 * time.Hour) }
	late := fsm.NewScheduler(h.node.FSM, h.node.LateWriter(t, after, Announce), after, fsm.DefaultRetention(), h.api.Env.Log)
	late.Lead(true)
	stamped := func() bool {
		for s := range fsm.FeatureStatesByIdentity.Refs(h.node.FSM.State(), id) {
			return s.UpdatedAt >= s.LiveFrom
		}
		return false
	}
	require.Eventually(t, stamped, 10*time.Second, time.Millisecond)
	late.Stop()
	require.Empty(t, brief(h.taken(env)), "it was served before its date came")
	h.remove(own, 204)
	require.Equal(t, []string{gone}, brief(h.taken(env)))
}

// What is served stops being it, or is served to others, also where the row of the state stays as it was.
func TestWebhookEventsOfStatesTakenOutOrMoved(t *testing.T) {
	h := newHarness(t)
	f := h.feature(`{"name":"f","initial_value":"v"}`)
	path, id := h.newIdentity("ann")
	pros, cons := h.segment("pros"), h.segment("cons")
	h.post(fmt.Sprintf("/api/v1/environments/env-key/features/%d/create-segment-override/", f),
		fmt.Sprintf(`{"feature_segment":{"segment":%d},"enabled":true,"feature_state_value":{"type":"unicode","string_value":"seg"}}`, pros), 201)
	links := fsm.FeatureSegmentsByEnvironment.List(h.node.FSM.State(), h.environment.ID, f)
	env, org := h.hooks()
	want := func(what string, events ...string) {
		t.Helper()
		require.Equal(t, events, brief(h.taken(env)), what)
		h.taken(org)
	}
	link := fmt.Sprintf("%s%d/", featureSegments, links[0].ID)
	h.put(link, fmt.Sprintf(`{"feature":%d,"segment":%d,"environment":%d}`, f, cons, h.environment.ID), 200)
	want("moved", "FLAG_UPDATED true seg for pros/0 -> true seg for cons/0")
	h.put(link, fmt.Sprintf(`{"feature":%d,"segment":%d,"environment":%d}`, f, cons, h.environment.ID), 200)
	want("not moved")

	s, _ := fsm.FeatureStatesByEnvironment.First(h.node.FSM.State(), h.environment.ID, fsm.StateDefault, f)
	state := fmt.Sprintf("/api/v1/environments/env-key/featurestates/%d/", s.ID)
	later := fmt.Sprintf(`"live_from":%q`, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	h.patch(state, "{"+later+`,"enabled":true}`, 200)
	want("taken out until later", "FLAG_DELETED false v -> -")
	h.patch(state, `{"feature_state_value":"w"}`, 200)
	want("changed while it waits")
	h.patch(state, `{"live_from":"2020-01-01T00:00:00Z"}`, 200)
	want("back", "FLAG_UPDATED - -> true w")
	h.patch(state, "{"+later+"}", 200)
	want("taken out again", "FLAG_DELETED true w -> -")
	h.remove(state, 204)
	want("deleted while it waits: that was told")

	h.post(path+"featurestates/", fmt.Sprintf(`{"feature":%d,"enabled":true,"feature_state_value":"mine",%s}`, f, later), 201)
	want("scheduled")
	h.post("/api/v1/environments/env-key/enable-v2-versioning/", nil, 202)
	want("where versions are kept it does not wait", fmt.Sprintf("FLAG_UPDATED - -> true mine for %d ann", id))
	h.post("/api/v1/environments/env-key/disable-v2-versioning/", nil, 202)
	want("it waits again", fmt.Sprintf("FLAG_DELETED true mine for %d ann -> -", id))
}

// A write that has more to tell than the queue may take is written all the same, and its webhooks know that something is missing.
func TestWebhookEventsOfHugeWrites(t *testing.T) {
	h := newHarness(t)
	_, org := h.hooks()
	h.node.Write(t, func(tx *fsm.Tx) error {
		for range 12_000 {
			tx.AuditOnly(fsm.AuditLog{Log: "something", Project: h.project.ID, RelatedObjectType: fsm.AuditFeature})
		}
		return nil
	})
	queued, done := h.waiting(org), fsm.WebhookDeliveriesDone.List(h.node.FSM.State(), org)
	require.Greater(t, len(queued), 5_000)
	require.Less(t, len(queued), 12_000)
	require.Len(t, done, 1)
	require.Equal(t, fsm.DeliveryGivenUp, done[0].Outcome)
}

// Making an event is most of the work, and a write may change a hundred thousand states: one that no webhook takes is not made.
func TestWebhookEventsNobodyTakes(t *testing.T) {
	h := newHarness(t)
	env, org := h.hooks()
	h.node.Write(t, func(tx *fsm.Tx) error {
		made := 0
		event := func() any { made++; return "e" }
		a := &announcer{tx: tx, hooks: map[hookScope][]uint64{}, lost: map[uint64]bool{}}
		ours, others := []hookScope{{environment: h.environment.ID}, {organisation: h.organisation.ID}}, hookScope{organisation: h.organisation.ID + 1}
		a.queue("E", event, others)
		require.Zero(t, made, "no webhook")
		a.queue("E", event, ours...)
		require.Equal(t, 1, made, "once for both")
		a.bytes, a.lost[env] = maxAnnounced+1, true
		a.queue("E", event, ours...)
		require.True(t, a.lost[org], "it gets to know that something is missing")
		made = 0
		a.queue("E", event, ours...)
		require.Zero(t, made, "both know")
		return nil
	})
}

// What falls due at once is no single write: however much there is to tell of it, nothing is given up.
func TestWebhookEventsOfManyScheduledStates(t *testing.T) {
	h := newHarness(t)
	f := h.feature(`{"name":"f","initial_value":"` + strings.Repeat("i", 20_000) + `"}`)
	env, org := h.hooks()
	const n = 300 // twice 6 MB of events
	due := time.Now().Add(time.Hour)
	h.node.Write(t, func(tx *fsm.Tx) error {
		for i := range uint64(n) {
			fsm.FeatureStates.Put(tx, fsm.FeatureState{UUID: tx.NewUUID(), Feature: f, Environment: h.environment.ID, Identity: i + 1,
				Value: fsm.FeatureValue{Type: fsm.Unicode}, Enabled: true, LiveFrom: fsm.TimeOf(due), UpdatedAt: tx.Now()})
		}
		return nil
	})
	clock := func() time.Time { return due.Add(time.Second) }
	late := fsm.NewScheduler(h.node.FSM, h.node.LateWriter(t, clock, Announce), clock, fsm.DefaultRetention(), h.api.Env.Log)
	defer late.Stop()
	late.Lead(true)
	live := func() (live int) {
		for s := range fsm.FeatureStatesByEnvironment.Refs(h.node.FSM.State(), h.environment.ID, fsm.StateIdentity) {
			if s.LiveFrom <= s.UpdatedAt {
				live++
			}
		}
		return live
	}
	require.Eventually(t, func() bool { return live() == n }, 20*time.Second, 5*time.Millisecond)
	state := h.node.FSM.State()
	require.Empty(t, fsm.WebhookDeliveriesDone.List(state, env), "given up")
	require.Empty(t, fsm.WebhookDeliveriesDone.List(state, org), "given up")
	require.Equal(t, n, fsm.WebhookDeliveriesWaiting.Count(state, env))
	require.Equal(t, 2*n, fsm.WebhookDeliveriesWaiting.Count(state, org), "and the rows of the audit log")
}

func TestDeliveryLog(t *testing.T) {
	h := newHarness(t)
	env, _ := h.hooks()
	list := fmt.Sprintf("/api/flagraft/v1/webhooks/%d/deliveries/", env)
	h.get(list, 200).is(`{"count":0,"next":null,"previous":null,"results":[]}`)
	h.feature(`{"name":"f"}`)
	h.feature(`{"name":"g"}`)
	first, _ := fsm.WebhookDeliveriesWaiting.First(h.node.FSM.State(), env)
	h.node.Write(t, func(tx *fsm.Tx) error {
		first.Attempts, first.Status, first.Tried, first.Error = 2, 503, tx.Now(), "no"
		first.Finish(tx, fsm.DeliveryGivenUp, 10)
		return nil
	})
	first, _ = fsm.WebhookDeliveries.Get(h.node.FSM.State(), first.ID)
	require.Empty(t, first.Body)
	at := func(t fsm.Time) string { return t.Std().Format("2006-01-02T15:04:05.000000Z") }
	rows := h.get(list, 200).object()["results"].([]any)
	require.Len(t, rows, 2)
	require.Equal(t, map[string]any{"id": float64(first.ID), "event_type": "FLAG_UPDATED", "created_at": at(first.Created), "outcome": "given_up",
		"attempts": 2.0, "tried_at": at(first.Tried), "due_at": nil, "status": 503.0, "error": "no"}, rows[1])
	waits := rows[0].(map[string]any)
	require.Equal(t, []any{"waiting", 0.0, nil, nil, ""}, []any{waits["outcome"], waits["attempts"], waits["tried_at"], waits["status"], waits["error"]})
	require.Equal(t, waits["created_at"], waits["due_at"])
	require.EqualValues(t, 1, h.get(list+"?outcome=waiting", 200).object()["count"])
	h.get(list+"?outcome=lost", 400)
	require.Len(t, h.get(list+"?page_size=1", 200).object()["results"], 1)

	h.node.Write(t, func(tx *fsm.Tx) error { // what is kept is the newest
		for range 5 {
			fsm.WebhookDeliveries.Put(tx, fsm.WebhookDelivery{Webhook: env, Event: "E", Created: tx.Now()}).Finish(tx, fsm.DeliveryDelivered, 3)
		}
		return nil
	})
	require.EqualValues(t, 3, h.get(list+"?outcome=delivered", 200).object()["count"])
	require.EqualValues(t, 0, h.get(list+"?outcome=given_up", 200).object()["count"])
}

// A version that takes the place of another is a change of what it changes, not of everything.
func TestWebhookEventsOfVersions(t *testing.T) {
	h := newHarness(t)
	f := h.feature(`{"name":"f","initial_value":"v"}`)
	h.post(fmt.Sprintf("/api/v1/environments/env-key/features/%d/create-segment-override/", f),
		fmt.Sprintf(`{"feature_segment":{"segment":%d},"enabled":true,"feature_state_value":{"type":"unicode","string_value":"seg"}}`, h.segment("pros")), 201)
	env, org := h.hooks()
	h.post("/api/v1/environments/env-key/enable-v2-versioning/", nil, 202)
	require.Empty(t, h.taken(env), "nothing is different")
	h.taken(org)

	versions := fmt.Sprintf("/api/v1/environments/%d/features/%d/versions/", h.environment.ID, f)
	h.post(versions, `{}`, 201)
	require.Empty(t, h.waiting(env), "a draft")
	require.Empty(t, h.waiting(org))
	created := h.post(versions, `{"publish_immediately":true,"feature_states_to_update":[{"enabled":true,"feature_state_value":{"type":"unicode","string_value":"w"}}]}`, 201)
	events := h.taken(env)
	require.Len(t, events, 2, "%v", events)
	require.Equal(t, []string{"FLAG_UPDATED false v -> true w"}, brief(events[:1]))
	require.Equal(t, fmt.Sprintf(`{"data": {"feature": {"id": %d, "name": "f"}, "feature_states": [`+
		`{"enabled": true, "multivariate_feature_state_values": [], "value": "w"}, {"enabled": true, "multivariate_feature_state_values": [], "value": "seg"}], `+
		`"published_by": {"email": "admin@example.com", "id": %d}, "uuid": %q}, "event_type": "NEW_VERSION_PUBLISHED"}`, f, h.admin.ID, created.object()["uuid"]), events[1].raw)
	require.Equal(t, []string{"AUDIT New version published for feature: f", "FLAG_UPDATED false v -> true w"}, brief(h.taken(org)))
}
