package sdk

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/fsmtest"
	"github.com/flagraft/flagraft/server/route"
)

const (
	clientKey = "4kxvprNKJPzLZiJrH5JUoh"
	serverKey = "ser.N4Zqeb5tjnS2BbTBnoufcf"
)

// at is a fixed instant with a short fraction, as the reference prints it.
var at = fsm.TimeOf(time.Date(2026, 11, 21, 12, 8, 12, 26510_000, time.UTC))

// house is one node with one environment and the SDK API on it.
type house struct {
	*fsmtest.Node
	t     testing.TB
	sdk   *SDK
	table *route.Table

	org  fsm.Organisation
	proj fsm.Project
	env  fsm.Environment
}

// newHouse makes an environment; change may alter the configuration of the API.
func newHouse(t testing.TB, change ...func(*Config)) *house {
	t.Helper()
	h := &house{Node: fsmtest.New(t), t: t}
	config := Config{
		FSM: h.FSM, Views: h.Views, Identities: h.Identities, Usage: h.Usage,
		Fresh: func() bool { return true },
	}
	for _, f := range change {
		f(&config)
	}
	h.sdk = New(config)
	table, err := route.NewTable(h.sdk.Rows())
	require.NoError(t, err)
	h.table = table
	h.Write(t, func(tx *fsm.Tx) error {
		h.org = fsm.Organisations.Put(tx, fsm.Organisation{Name: "Golden Org", PersistTraitData: true})
		h.proj = fsm.Projects.Put(tx, fsm.Project{Name: "Golden Project", Organisation: h.org.ID})
		h.env = fsm.Environments.Put(tx, fsm.Environment{
			Name: "Development", APIKey: clientKey, Project: h.proj.ID, AllowClientTraits: true,
			UseCompositeKeyForHashing: true, UseIdentityOverridesInLocal: true, UpdatedAt: at, CreatedDate: at,
		})
		fsm.EnvironmentAPIKeys.Put(tx, fsm.EnvironmentAPIKey{Environment: h.env.ID, Key: serverKey, Name: "server", Active: true})
		return nil
	})
	return h
}

// set changes the environment's settings; updated_at stays.
func (h *house) set(change func(e *fsm.Environment)) {
	h.Write(h.t, func(tx *fsm.Tx) error {
		e, _ := fsm.Environments.Get(tx, h.env.ID)
		change(&e)
		h.env = fsm.Environments.Put(tx, e)
		return nil
	})
}

func str(s string) fsm.FeatureValue { return fsm.FeatureValue{Type: fsm.Unicode, String: &s} }

func integer(n int64) fsm.FeatureValue { return fsm.FeatureValue{Type: fsm.Int, Integer: &n} }

// feature adds a feature and its default state.
func (h *house) feature(f fsm.Feature, enabled bool, v fsm.FeatureValue, options ...fsm.MultivariateOption) (fsm.Feature, fsm.FeatureState) {
	var state fsm.FeatureState
	h.Write(h.t, func(tx *fsm.Tx) error {
		f.Project, f.CreatedDate = h.proj.ID, at
		if f.Type == "" {
			f.Type = fsm.Standard
		}
		f = fsm.Features.Put(tx, f)
		state = fsm.FeatureState{UUID: uuid.UUID{1}, Feature: f.ID, Environment: h.env.ID, Enabled: enabled, Value: v, Version: 1}
		for _, o := range options {
			o.Feature = f.ID
			o = fsm.MultivariateOptions.Put(tx, o)
			state.Multivariate = append(state.Multivariate, fsm.MultivariateValue{
				ID: tx.NextMultivariateValueID(), UUID: uuid.UUID{2}, Option: o.ID, Percentage: o.DefaultPercentageAllocation,
			})
		}
		state = fsm.FeatureStates.Put(tx, state)
		return nil
	})
	return f, state
}

// segment adds a segment that matches one trait, with an override of a feature.
func (h *house) segment(name, property, value string, f fsm.Feature, v fsm.FeatureValue) (fsm.Segment, fsm.FeatureState) {
	var g fsm.Segment
	var state fsm.FeatureState
	h.Write(h.t, func(tx *fsm.Tx) error {
		g = fsm.Segments.Put(tx, fsm.Segment{Name: name, Project: h.proj.ID, Rules: []fsm.SegmentRule{{Type: "ALL", Rules: []fsm.SegmentRule{{
			Type: "ANY", Conditions: []fsm.Condition{{Operator: "EQUAL", Property: &property, Value: &value}},
		}}}}})
		link := fsm.FeatureSegments.Put(tx, fsm.FeatureSegment{Feature: f.ID, Segment: g.ID, Environment: h.env.ID})
		state = fsm.FeatureStates.Put(tx, fsm.FeatureState{
			UUID: uuid.UUID{3}, Feature: f.ID, Environment: h.env.ID, FeatureSegment: link.ID, Enabled: true, Value: v, Version: 1,
		})
		return nil
	})
	return g, state
}

// override gives an identity a state of its own.
func (h *house) override(identifier string, f fsm.Feature, v fsm.FeatureValue) fsm.FeatureState {
	rec, ok := h.FSM.State().Identities().Environment(h.env.ID).Lookup([]byte(identifier))
	require.True(h.t, ok)
	var state fsm.FeatureState
	h.Write(h.t, func(tx *fsm.Tx) error {
		state = fsm.FeatureStates.Put(tx, fsm.FeatureState{
			UUID: uuid.UUID{4}, Feature: f.ID, Environment: h.env.ID, Identity: rec.ID(), Enabled: true, Value: v, Version: 1,
		})
		return nil
	})
	return state
}

// answer is what a request got.
type answer struct {
	status int
	body   string
	header func(string) string
}

// do sends one request; header is name, value, and so on in turn.
func (h *house) do(method, uri, key, body string, header ...string) answer {
	h.t.Helper()
	ctx := &fasthttp.RequestCtx{}
	ctx.Request.Header.SetMethod(method)
	ctx.Request.SetRequestURI(uri)
	if key != "" {
		ctx.Request.Header.Set("X-Environment-Key", key)
	}
	if body != "" {
		ctx.Request.Header.SetContentType("application/json")
		ctx.Request.SetBodyString(body)
	}
	for i := 0; i < len(header); i += 2 {
		ctx.Request.Header.Set(header[i], header[i+1])
	}
	var m route.Match
	path := append([]byte(nil), ctx.URI().PathOriginal()...)
	require.True(h.t, h.table.Lookup([]byte(method), path, &m), "%s %s has no row", method, uri)
	m.Row.Handler.(route.RawHandler).ServeRaw(ctx, &m)
	return answer{
		status: ctx.Response.StatusCode(), body: string(ctx.Response.Body()),
		header: func(name string) string { return string(ctx.Response.Header.Peek(name)) },
	}
}

func (h *house) get(path string, header ...string) answer {
	h.t.Helper()
	return h.do("GET", "/api/v1/"+path, clientKey, "", header...)
}

func (h *house) post(path, body string, header ...string) answer {
	h.t.Helper()
	return h.do("POST", "/api/v1/"+path, clientKey, body, header...)
}

// featureJSON is the member "feature" of a flag made by house.feature.
func featureJSON(f fsm.Feature) string {
	return fmt.Sprintf(`{"id":%d,"name":"%s","created_date":"2026-11-21T12:08:12.026510Z","description":null,"initial_value":null,"default_enabled":false,"type":"%s"}`,
		f.ID, f.Name, f.Type)
}

// segmentless adds an enabled feature with a text.
func (h *house) segmentless(name string) (fsm.Feature, fsm.FeatureState) {
	return h.feature(fsm.Feature{Name: name}, true, str("v"))
}
