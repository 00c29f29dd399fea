package admin

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

// flag makes a feature with a default state, enabled with the given value, in every environment of the project.
func (h *harness) flag(name string, value fsm.FeatureValue, options ...string) (f fsm.Feature) {
	h.Helper()
	h.node.Write(h, func(tx *fsm.Tx) error {
		f = fsm.Feature{UUID: tx.NewUUID(), Name: name, Project: h.project.ID, Type: fsm.Standard, CreatedDate: tx.Now()}
		if len(options) > 0 {
			f.Type = fsm.Multivariate
		}
		f = fsm.Features.Put(tx, f)
		s := fsm.FeatureState{UUID: tx.NewUUID(), Feature: f.ID, Environment: h.environment.ID, Enabled: true, Value: value,
			CreatedAt: tx.Now(), UpdatedAt: tx.Now(), LiveFrom: tx.Now(), Version: 1}
		for _, o := range options {
			option := fsm.MultivariateOptions.Put(tx, fsm.MultivariateOption{UUID: tx.NewUUID(), Feature: f.ID, Value: text(o)})
			s.Multivariate = append(s.Multivariate, fsm.MultivariateValue{ID: tx.NextMultivariateValueID(), UUID: tx.NewUUID(), Option: option.ID})
		}
		fsm.FeatureStates.Put(tx, s)
		return nil
	})
	return f
}

func text(s string) fsm.FeatureValue { return fsm.FeatureValue{Type: fsm.Unicode, String: &s} }

// options lists the ids of a feature's options.
func (h *harness) options(f fsm.Feature) []uint64 {
	return mapped(fsm.MultivariateOptionsByFeature.List(h.node.FSM.State(), f.ID), func(o fsm.MultivariateOption) uint64 { return o.ID })
}

// booked lists the texts of the audit log, oldest first.
func (h *harness) booked() []string {
	texts := []string{}
	for a := range fsm.AuditLogs.All(h.node.FSM.State()) {
		texts = append(texts, a.Log)
	}
	return texts
}

func TestIdentityFeatureStates(t *testing.T) {
	h := newHarness(t)
	f := h.flag("flag", text("default"))
	path, id := h.newIdentity("alice")
	states := path + "featurestates/"
	h.get(states, 200).is(`{"count":0,"next":null,"previous":null,"results":[]}`)

	before := h.updatedAt()
	created := h.post(states, map[string]any{"feature": f.ID, "enabled": true, "feature_state_value": "mine"}, 201)
	require.Greater(t, h.updatedAt(), before)
	require.Regexp(t, fmt.Sprintf(`^{"id":%d,"feature_state_value":"mine","multivariate_feature_state_values":\[\],"deleted_at":null,"uuid":"[0-9a-f-]{36}",`+
		`"enabled":true,"created_at":"[^"]+","updated_at":"[^"]+","live_from":"[^"]+","version":1,"feature":%d,"environment":%d,"identity":%d,`+
		`"feature_segment":null,"change_request":null,"environment_feature_version":null}$`, created.id(), f.ID, h.environment.ID, id), created.Raw)
	require.Equal(t, []string{"Remote config value updated for identity override on feature 'flag' and identity 'alice'."}, h.booked())

	state := fmt.Sprintf("%s%d/", states, created.id())
	h.get(state, 200).is(created.Raw)
	listed := h.get(states, 200).object()["results"].([]any)
	require.Len(t, listed, 1)
	require.Equal(t, map[string]any{"id": float64(id), "identifier": "alice"}, listed[0].(map[string]any)["identity"])
	require.Empty(t, h.get(states+"?feature=999", 200).object()["results"])
	require.Empty(t, h.get(states+"?feature_name=other", 200).object()["results"])
	h.get(states+"?feature_name=FLAG", 200).is(h.get(states, 200).Raw)

	require.Contains(t, h.put(state, map[string]any{"enabled": false, "feature_state_value": 77}, 200).Raw, `"feature_state_value":77,`)
	h.patch(state, map[string]any{"enabled": true}, 200).is(fmt.Sprintf(`{"feature":%d,"enabled":true}`, f.ID))
	require.Contains(t, h.get(state, 200).Raw, `"feature_state_value":77,`)
	h.remove(state, 204)
	h.get(state, 404).is(`{"detail":"No FeatureState matches the given query."}`)
	require.Equal(t, []string{
		"Remote config value updated for identity override on feature 'flag' and identity 'alice'.",
		"Remote config value updated for identity override on feature 'flag' and identity 'alice'.",
		"Flag state / Remote config value updated for feature 'flag' and identity 'alice'",
		"Flag state / Remote config value updated for feature 'flag' and identity 'alice'",
		"Flag state / Remote config value deleted for feature 'flag' and identity 'alice'",
	}, h.booked())
}

func TestIdentityFeatureStateErrors(t *testing.T) {
	h := newHarness(t)
	f := h.flag("flag", text("default"))
	mv := h.flag("mv", text("control"), "red", "green")
	path, _ := h.newIdentity("alice")
	states := path + "featurestates/"
	denied := `{"detail":"You do not have permission to perform this action."}`
	h.post(states, map[string]any{"enabled": true}, 403).is(denied)
	h.post(states, map[string]any{"feature": 99999}, 403).is(denied)
	h.post(envPath+"identities/999999/featurestates/", map[string]any{"feature": f.ID}, 404).is(`{"detail":"No Identity matches the given query."}`)
	h.post(states, map[string]any{"feature": f.ID, "feature_state_value": 2147483648}, 400).
		is(`{"integer_value":["Ensure this value is less than or equal to 2147483647."]}`)
	id := h.post(states, map[string]any{"feature": f.ID}, 201).id()
	h.post(states, map[string]any{"feature": f.ID}, 400).
		is(`["['Feature state already exists for this environment, feature, version, segment & identity combination']"]`)
	o := h.options(mv)
	h.post(states, map[string]any{"feature": mv.ID, "multivariate_feature_state_values": []any{
		map[string]any{"multivariate_feature_option": o[0], "percentage_allocation": 60},
		map[string]any{"multivariate_feature_option": o[1], "percentage_allocation": 60},
	}}, 400).is(`{"non_field_errors":["Multivariate percentage values exceed 100%."]}`)
	other, _ := h.newIdentity("bob")
	h.get(fmt.Sprintf("%sfeaturestates/%d/", other, id), 404)
	h.remove(fmt.Sprintf("%sfeaturestates/%d/", other, id), 404)
}

func TestMultivariateOverride(t *testing.T) {
	h := newHarness(t)
	mv := h.flag("mv", text("control"), "red", "green")
	o := h.options(mv)
	path, _ := h.newIdentity("alice")
	created := h.post(path+"featurestates/", map[string]any{"feature": mv.ID, "enabled": true, "multivariate_feature_state_values": []any{
		map[string]any{"multivariate_feature_option": o[1], "percentage_allocation": 100}}}, 201)
	require.Contains(t, created.Raw, `"feature_state_value":null,"multivariate_feature_state_values":[{"id":3,"multivariate_feature_option":2,"percentage_allocation":100.0}]`)
	require.Empty(t, h.booked(), "an override like the default is not booked")
	require.Contains(t, h.get(path+"featurestates/all/", 200).Raw, `"enabled":true,"feature_state_value":"green","overridden_by":"IDENTITY","segment":null,`+
		`"multivariate_feature_state_values":[{"multivariate_feature_option":{"value":"green"},"percentage_allocation":100.0}]`)
}

func TestAllIdentityStates(t *testing.T) {
	h := newHarness(t)
	plain, segmented, own := h.flag("plain", text("a")), h.flag("segmented", text("b")), h.flag("own", text("c"))
	beta := "beta"
	h.node.Write(t, func(tx *fsm.Tx) error {
		s := fsm.Segments.Put(tx, fsm.Segment{UUID: tx.NewUUID(), Name: "testers", Project: h.project.ID, Rules: []fsm.SegmentRule{{Type: "ALL",
			Conditions: []fsm.Condition{{Operator: "EQUAL", Property: &beta, Value: &beta}}}}})
		for _, f := range []fsm.Feature{segmented, own} {
			fs := fsm.FeatureSegments.Put(tx, fsm.FeatureSegment{UUID: tx.NewUUID(), Feature: f.ID, Segment: s.ID, Environment: h.environment.ID})
			fsm.FeatureStates.Put(tx, fsm.FeatureState{UUID: tx.NewUUID(), Feature: f.ID, Environment: h.environment.ID, FeatureSegment: fs.ID,
				Value: text("for testers"), LiveFrom: tx.Now(), Version: 1})
		}
		return nil
	})
	path, id := h.newIdentity("alice")
	h.post(path+"traits/", map[string]any{"trait_key": "beta", "string_value": "beta"}, 201)
	h.post(path+"featurestates/", map[string]any{"feature": own.ID, "enabled": true, "feature_state_value": 5}, 201)

	item := func(f fsm.Feature, enabled bool, value, by, segment string) string {
		return fmt.Sprintf(`{"feature":{"id":%d,"name":%q,"type":"STANDARD"},"enabled":%t,"feature_state_value":%s,"overridden_by":%s,"segment":%s,
			"multivariate_feature_state_values":[]}`, f.ID, f.Name, enabled, value, by, segment)
	}
	a, b, c := item(plain, true, `"a"`, "null", "null"), item(segmented, false, `"for testers"`, `"SEGMENT"`, `{"id":1,"name":"testers"}`), item(own, true, "5", `"IDENTITY"`, "null")
	h.get(path+"featurestates/all/", 200).is("[" + a + "," + b + "," + c + "]")
	h.get(h.edgePath(id)+"edge-featurestates/all/", 200).is("[" + a + "," + b + "," + c + "]")

	h.node.Write(t, func(tx *fsm.Tx) error {
		h.project.HideDisabledFlags = true
		fsm.Projects.Put(tx, h.project)
		return nil
	})
	h.get(path+"featurestates/all/", 200).is("[" + a + "," + c + "]")
	h.get(h.edgePath(id)+"edge-featurestates/all/", 200).is("[" + a + "," + b + "," + c + "]")
}

func TestCloneIdentityStates(t *testing.T) {
	h := newHarness(t)
	f, g, mv := h.flag("flag", text("default")), h.flag("extra", text("x")), h.flag("mv", text("control"), "red", "green")
	source, sourceID := h.newIdentity("source")
	target, _ := h.newIdentity("target")
	h.post(source+"featurestates/", map[string]any{"feature": f.ID, "enabled": true, "feature_state_value": "mine"}, 201)
	h.post(source+"featurestates/", map[string]any{"feature": mv.ID, "enabled": true, "multivariate_feature_state_values": []any{
		map[string]any{"multivariate_feature_option": h.options(mv)[0], "percentage_allocation": 100}}}, 201)
	h.post(target+"featurestates/", map[string]any{"feature": g.ID, "enabled": false}, 201)
	skip := len(h.booked())

	answer := h.post(target+"featurestates/clone-from-given-identity/", map[string]any{"source_identity_id": sourceID}, 200)
	answer.is(h.get(target+"featurestates/all/", 200).Raw)
	require.JSONEq(t, h.get(source+"featurestates/all/", 200).Raw, answer.Raw)
	require.Equal(t, []string{
		"Flag state / Remote config value deleted for feature 'extra' and identity 'target'",
		"Flag state / Remote config value updated for feature 'flag' and identity 'target'",
		"Remote config value updated for identity override on feature 'flag' and identity 'target'.",
		"Flag state / Remote config value updated for feature 'flag' and identity 'target'",
		"Flag state / Remote config value updated for feature 'mv' and identity 'target'",
		"Flag state / Remote config value updated for feature 'mv' and identity 'target'",
	}, h.booked()[skip:])
	h.post(target+"featurestates/clone-from-given-identity/", map[string]any{}, 400).is(`{"source_identity_id":["This field is required."]}`)
	h.post(target+"featurestates/clone-from-given-identity/", map[string]any{"source_identity_id": 9999}, 404)
	h.grant(fsm.LevelEnvironment, h.environment.ID, "UPDATE_FEATURE_STATE", "VIEW_ENVIRONMENT")
	h.do("member", "POST", target+"featurestates/clone-from-given-identity/", map[string]any{"source_identity_id": sourceID}).must(403)
}

func TestDeletingAnIdentityDeletesItsOverrides(t *testing.T) {
	h := newHarness(t)
	f := h.flag("flag", text("default"))
	path, id := h.newIdentity("alice")
	h.post(path+"featurestates/", map[string]any{"feature": f.ID, "enabled": true, "feature_state_value": "mine"}, 201)
	before, skip := h.updatedAt(), len(h.booked())
	h.remove(path, 204)
	require.Greater(t, h.updatedAt(), before, "the environment document changed")
	require.Len(t, h.booked(), skip)
	require.Zero(t, fsm.FeatureStatesByIdentity.Count(h.node.FSM.State(), id))
}

// TestScheduledIdentityOverride: an override waits for its live_from, whoever asks.
func TestScheduledIdentityOverride(t *testing.T) {
	h := newHarness(t)
	f := h.post("/api/v1/projects/1/features/", `{"name":"f","initial_value":"all"}`, 201).id()
	h.patch("/api/v1/environments/env-key/", `{"use_identity_overrides_in_local_eval":true}`, 200)
	ann := h.post("/api/v1/environments/env-key/identities/", `{"identifier":"ann"}`, 201).id()
	states := fmt.Sprintf("/api/v1/environments/env-key/identities/%d/featurestates/", ann)
	later := time.Now().Add(time.Hour)
	own := h.post(states, fmt.Sprintf(`{"feature":%d,"enabled":true,"feature_state_value":"hers","live_from":%q}`, f, later.UTC().Format(time.RFC3339)), 201).id()
	shows := func(want bool) {
		t.Helper()
		for _, path := range []string{states + "all/", "/api/flagraft/v1/environments/env-key/explain/?identifier=ann"} {
			require.Equal(t, want, strings.Contains(h.get(path, 200).Raw, `"hers"`), path)
		}
		live, _ := h.node.Views.ByID(h.environment.ID)
		require.Equal(t, want, len(live.View().IdentityOverrides(ann)) == 1)
		require.Equal(t, !want, strings.Contains(string(live.View().DocumentBody().Plain), `"identity_overrides":[]`))
	}
	shows(false)
	h.post("/api/v1/environments/env-key/enable-v2-versioning/", nil, 202)
	shows(true) // versions do not hold it
	h.post("/api/v1/environments/env-key/disable-v2-versioning/", nil, 202)
	shows(false)
	h.put(states+fmt.Sprint(own)+"/", fmt.Sprintf(`{"feature":%d,"live_from":"2020-01-01T00:00:00Z"}`, f), 200)
	shows(true)
}

// TestScheduledOverridesAreBooked: when its time comes an override is booked as what it is.
func TestScheduledOverridesAreBooked(t *testing.T) {
	h := newHarness(t)
	f := h.flag("flag", text("default"))
	later := time.Now().Add(time.Hour)
	states, _ := h.newIdentity("ann")
	h.post(states+"featurestates/", map[string]any{"feature": f.ID, "enabled": true, "live_from": later.UTC()}, 201)
	h.node.Write(t, func(tx *fsm.Tx) error {
		s := fsm.Segments.Put(tx, fsm.Segment{Name: "testers", Project: h.project.ID})
		link := fsm.FeatureSegments.Put(tx, fsm.FeatureSegment{Feature: f.ID, Segment: s.ID, Environment: h.environment.ID})
		fsm.FeatureStates.Put(tx, fsm.FeatureState{Feature: f.ID, Environment: h.environment.ID, FeatureSegment: link.ID, UpdatedAt: tx.Now(), LiveFrom: fsm.TimeOf(later).Add(1)})
		return nil
	})
	skip := len(h.booked())
	clock := func() time.Time { return later.Add(time.Minute) }
	late := fsm.NewScheduler(h.node.FSM, h.node.LateWriter(t, clock, Announce), clock, fsm.DefaultRetention(), h.api.Env.Log)
	defer late.Stop()
	late.Lead(true)
	require.Eventually(t, func() bool { return len(h.booked()) == skip+2 }, 10*time.Second, time.Millisecond)
	require.Equal(t, []string{
		"Flag state / Remote config value updated for feature 'flag' and identity 'ann'",
		"Flag state / Remote config value updated for feature 'flag' and segment 'testers'",
	}, h.booked()[skip:])
}

// TestCloneScheduledIdentityStates: a copy counts when what it was made of does, neither before nor after.
func TestCloneScheduledIdentityStates(t *testing.T) {
	for _, face := range []string{"core", "edge"} {
		t.Run(face, func(t *testing.T) {
			h := newHarness(t)
			soon, kept := h.flag("soon", text("default")), h.flag("now", text("default"))
			source, sourceID := h.newIdentity("source")
			fresh, freshID := h.newIdentity("fresh")
			other, otherID := h.newIdentity("other")
			later := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
			override := func(of string, f fsm.Feature, more map[string]any) {
				body := map[string]any{"feature": f.ID, "enabled": true, "feature_state_value": "mine"}
				maps.Copy(body, more)
				h.post(of+"featurestates/", body, 201)
			}
			override(source, soon, map[string]any{"live_from": later})
			override(source, kept, nil)
			override(other, soon, nil)
			override(other, kept, map[string]any{"live_from": later})
			for path, id := range map[string]uint64{fresh: freshID, other: otherID} {
				if face == "core" {
					h.post(path+"featurestates/clone-from-given-identity/", map[string]any{"source_identity_id": sourceID}, 200)
				} else {
					from, _ := h.node.FSM.State().Identities().Environment(h.environment.ID).ByID(sourceID)
					h.post(h.edgePath(id)+"edge-featurestates/clone-from-given-identity/", map[string]any{"source_identity_uuid": uuid.UUID(from.UUID())}, 200)
				}
				require.JSONEq(t, h.get(source+"featurestates/all/", 200).Raw, h.get(path+"featurestates/all/", 200).Raw)
				s, _ := fsm.FeatureStatesByIdentity.First(h.node.FSM.State(), id, soon.ID)
				require.Equal(t, fsm.TimeOf(later), s.LiveFrom)
			}
		})
	}
}
