package sdk

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

func (h *house) document(header ...string) answer {
	h.t.Helper()
	return h.do("GET", "/api/v1/environment-document", serverKey, "", header...)
}

func TestDocumentShape(t *testing.T) {
	h := newHouse(t)
	f, base := h.feature(fsm.Feature{Name: "f"}, true, str("default"))
	red := "red-key"
	mv, mvs := h.feature(fsm.Feature{Name: "mv", Type: fsm.Multivariate, IsServerKeyOnly: true}, true, str("c"),
		fsm.MultivariateOption{Value: str("red"), Key: &red, DefaultPercentageAllocation: 30})
	g, over := h.segment("pro", "plan", "pro", f, integer(5))
	h.get("identities/?identifier=bob")
	own := h.override("bob", f, str("for bob"))
	rec, _ := h.FSM.State().Identities().Environment(h.env.ID).Lookup([]byte("bob"))

	state := func(s fsm.FeatureState, f fsm.Feature, value, segment, variants string) string {
		return fmt.Sprintf(`{"feature":{"id":%d,"name":"%s","type":"%s"},"enabled":true,"django_id":%d,"feature_segment":%s,"featurestate_uuid":"%s","feature_state_value":%s,"multivariate_feature_state_values":[%s]}`,
			f.ID, f.Name, f.Type, s.ID, segment, s.UUID, value, variants)
	}
	r := h.document()
	require.Equal(t, 200, r.status)
	require.Equal(t, fmt.Sprintf(`{"id":%d,"api_key":"%s","project":{"id":%d,"name":"Golden Project","organisation":{"id":%d,"name":"Golden Org","feature_analytics":false,"stop_serving_flags":false,"persist_trait_data":true},`+
		`"hide_disabled_flags":false,"segments":[{"id":%d,"name":"pro","rules":[{"type":"ALL","rules":[{"type":"ANY","rules":[],"conditions":[{"operator":"EQUAL","value":"pro","property_":"plan"}]}],"conditions":[]}],"feature_states":[%s]}],`+
		`"enable_realtime_updates":false,"server_key_only_feature_ids":[%d]},"feature_states":[%s,%s],`+
		`"identity_overrides":[{"identifier":"bob","environment_api_key":"%s","created_date":"%s","identity_features":[%s],"identity_traits":[],"identity_uuid":"%s","django_id":%d,"dashboard_alias":null,"composite_key":"%s_bob"}],`+
		`"name":"Development","allow_client_traits":true,"updated_at":"2026-11-21T12:08:12.026510+00:00","hide_sensitive_data":false,"hide_disabled_flags":null,"use_identity_composite_key_for_hashing":true,"use_identity_overrides_in_local_eval":true,`+
		`"amplitude_config":null,"dynatrace_config":null,"heap_config":null,"mixpanel_config":null,"rudderstack_config":null,"segment_config":null,"webhook_config":null}`,
		h.env.ID, clientKey, h.proj.ID, h.org.ID, g.ID, state(over, f, "5", `{"priority":0}`, ""), mv.ID,
		state(base, f, `"default"`, "null", ""),
		state(mvs, mv, `"c"`, "null", fmt.Sprintf(`{"multivariate_feature_option":{"value":"red","id":%d,"key":"red-key"},"percentage_allocation":30.0,"id":%d,"mv_fs_value_uuid":"%s"}`,
			mvs.Multivariate[0].Option, mvs.Multivariate[0].ID, mvs.Multivariate[0].UUID)),
		clientKey, fsm.Time(rec.Created()).Std().Format("2006-01-02T15:04:05.000000+00:00"), state(own, f, `"for bob"`, "null", ""), uuid.UUID(rec.UUID()), rec.ID(), clientKey), r.body)
	require.True(t, json.Valid([]byte(r.body)))
	require.Equal(t, "Sat, 21 Nov 2026 12:08:12 GMT", r.header("Last-Modified"))
	require.Equal(t, "1795262892.02651", r.header("X-Flagsmith-Document-Updated-At"))

	h.set(func(e *fsm.Environment) { e.UseIdentityOverridesInLocal = false })
	require.Contains(t, h.document().body, `"identity_overrides":[],`)
}

func TestDocumentConditional(t *testing.T) {
	var later time.Duration
	h := newHouse(t, func(c *Config) { c.Clock = func() time.Time { return time.Now().Add(later) } })
	h.feature(fsm.Feature{Name: "f"}, true, str("v"))
	first := h.document()
	require.Equal(t, 304, h.document("If-None-Match", first.header("ETag")).status)
	require.Equal(t, 304, h.document("If-Modified-Since", first.header("Last-Modified")).status)
	require.Equal(t, 304, h.document("If-Modified-Since", "Sun, 22 Nov 2026 00:00:00 GMT").status)
	require.Equal(t, 200, h.document("If-Modified-Since", "Sat, 21 Nov 2026 12:08:11 GMT").status)
	require.Equal(t, 200, h.document("If-Modified-Since", "yesterday").status)
	require.Equal(t, 412, h.document("If-Unmodified-Since", "Sat, 21 Nov 2026 12:08:11 GMT").status)

	// Another version of the same second: the date cannot tell them apart, the tag can.
	touch := func(name string) answer {
		h.Write(t, func(tx *fsm.Tx) error {
			e, _ := fsm.Environments.Get(tx, h.env.ID)
			e.Name = name
			fsm.Environments.Put(tx, e)
			tx.TouchEnvironment(e.ID)
			return nil
		})
		return h.document()
	}
	for { // until no second begins between the two
		first = touch("one")
		if touch("two").header("Last-Modified") == first.header("Last-Modified") {
			break
		}
	}
	require.Equal(t, 200, h.document("If-Modified-Since", first.header("Last-Modified")).status)
	require.Equal(t, 200, h.document("If-None-Match", first.header("ETag"), "If-Modified-Since", first.header("Last-Modified")).status)
	require.Equal(t, 304, h.document("If-None-Match", h.document().header("ETag")).status)

	later = 2 * time.Hour // whoever polls has the newest by now
	require.Equal(t, 304, h.document("If-Modified-Since", first.header("Last-Modified")).status)

	// And one of a later second: the date is exact again.
	h.set(func(e *fsm.Environment) { e.UpdatedAt = e.UpdatedAt.Add(2 * time.Second) })
	require.Equal(t, 200, h.document("If-Modified-Since", first.header("Last-Modified")).status)
	require.Equal(t, 304, h.document("If-Modified-Since", h.document().header("Last-Modified")).status)
}
