package ofrep_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/servertest"
)

const (
	clientKey = "4kxvprNKJPzLZiJrH5JUoh"
	serverKey = "ser.N4Zqeb5tjnS2BbTBnoufcf"
	expired   = "ser.expiredexpiredexpired1"

	all = "/ofrep/v1/evaluate/flags"
)

// house is a running node with one environment.
type house struct {
	*servertest.Node
	t    *testing.T
	org  fsm.Organisation
	proj fsm.Project
	env  fsm.Environment
	n    byte // of uuids
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{Node: servertest.Start(t), t: t}
	h.write(func(tx *fsm.Tx) {
		h.org = fsm.Organisations.Put(tx, fsm.Organisation{Name: "Org", PersistTraitData: true})
		h.proj = fsm.Projects.Put(tx, fsm.Project{Name: "Project", Organisation: h.org.ID})
		h.env = fsm.Environments.Put(tx, fsm.Environment{
			Name: "Development", APIKey: clientKey, Project: h.proj.ID, AllowClientTraits: true, UseCompositeKeyForHashing: true,
		})
		fsm.EnvironmentAPIKeys.Put(tx, fsm.EnvironmentAPIKey{Environment: h.env.ID, Key: serverKey, Name: "server", Active: true})
		fsm.EnvironmentAPIKeys.Put(tx, fsm.EnvironmentAPIKey{Environment: h.env.ID, Key: expired, Name: "expired", Active: true, ExpiresAt: 1})
	})
	return h
}

func (h *house) write(run func(tx *fsm.Tx)) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 10*time.Second)
	defer cancel()
	require.NoError(h.t, h.Update(ctx, func(tx *fsm.Tx) error {
		run(tx)
		return nil
	}))
}

// set changes the environment.
func (h *house) set(change func(e *fsm.Environment)) {
	h.t.Helper()
	h.write(func(tx *fsm.Tx) {
		e, _ := fsm.Environments.Get(tx, h.env.ID)
		change(&e)
		h.env = fsm.Environments.Put(tx, e)
	})
}

func str(s string) fsm.FeatureValue { return fsm.FeatureValue{Type: fsm.Unicode, String: &s} }

func integer(n int64) fsm.FeatureValue { return fsm.FeatureValue{Type: fsm.Int, Integer: &n} }

func boolean(b bool) fsm.FeatureValue { return fsm.FeatureValue{Type: fsm.Bool, Boolean: &b} }

var none = fsm.FeatureValue{Type: fsm.Unicode}

// option is a multivariate option; key may be "".
func option(key string, value fsm.FeatureValue, percentage float64) fsm.MultivariateOption {
	o := fsm.MultivariateOption{Value: value, DefaultPercentageAllocation: percentage}
	if key != "" {
		o.Key = &key
	}
	return o
}

// feature adds a flag.
func (h *house) feature(f fsm.Feature, enabled bool, v fsm.FeatureValue, options ...fsm.MultivariateOption) fsm.Feature {
	h.t.Helper()
	h.write(func(tx *fsm.Tx) {
		f.Project, f.Type = h.proj.ID, fsm.Standard
		if len(options) > 0 {
			f.Type = fsm.Multivariate
		}
		f = fsm.Features.Put(tx, f)
		state := fsm.FeatureState{UUID: h.uuid(), Feature: f.ID, Environment: h.env.ID, Enabled: enabled, Value: v, Version: 1}
		for _, o := range options {
			o.Feature = f.ID
			o = fsm.MultivariateOptions.Put(tx, o)
			state.Multivariate = append(state.Multivariate, fsm.MultivariateValue{
				ID: tx.NextMultivariateValueID(), UUID: h.uuid(), Option: o.ID, Percentage: o.DefaultPercentageAllocation,
			})
		}
		fsm.FeatureStates.Put(tx, state)
	})
	return f
}

// segment adds one that matches a trait, with an override of a flag.
func (h *house) segment(property, value string, f fsm.Feature, enabled bool, v fsm.FeatureValue, priority int64) {
	h.t.Helper()
	h.write(func(tx *fsm.Tx) {
		g := fsm.Segments.Put(tx, fsm.Segment{Name: property + "=" + value, Project: h.proj.ID, Rules: []fsm.SegmentRule{{Type: "ALL", Rules: []fsm.SegmentRule{{
			Type: "ANY", Conditions: []fsm.Condition{{Operator: "EQUAL", Property: &property, Value: &value}},
		}}}}})
		link := fsm.FeatureSegments.Put(tx, fsm.FeatureSegment{Feature: f.ID, Segment: g.ID, Environment: h.env.ID, Priority: priority})
		fsm.FeatureStates.Put(tx, fsm.FeatureState{
			UUID: h.uuid(), Feature: f.ID, Environment: h.env.ID, FeatureSegment: link.ID, Enabled: enabled, Value: v, Version: 1,
		})
	})
}

// override gives an identity, which it creates, its own state.
func (h *house) override(identifier string, f fsm.Feature, enabled bool, v fsm.FeatureValue) {
	h.t.Helper()
	h.identify(identifier, nil)
	rec, ok := h.State().Identities().Environment(h.env.ID).Lookup([]byte(identifier))
	require.True(h.t, ok)
	h.write(func(tx *fsm.Tx) {
		fsm.FeatureStates.Put(tx, fsm.FeatureState{
			UUID: h.uuid(), Feature: f.ID, Environment: h.env.ID, Identity: rec.ID(), Enabled: enabled, Value: v, Version: 1,
		})
	})
}

func (h *house) uuid() uuid.UUID {
	h.n++
	return uuid.UUID{h.n}
}

// sdk is a client of the SDK API with the client-side key.
func (h *house) sdk() *servertest.Client {
	return h.Client(h.t).With("X-Environment-Key", clientKey)
}

// identify posts an identity, which stores its traits, and gives its flags by name.
func (h *house) identify(identifier string, traits map[string]any) map[string]sdkFlag {
	h.t.Helper()
	list := []map[string]any{}
	for k, v := range traits {
		list = append(list, map[string]any{"trait_key": k, "trait_value": v})
	}
	return h.identities(map[string]any{"identifier": identifier, "traits": list})
}

func (h *house) identities(body any) map[string]sdkFlag {
	h.t.Helper()
	a := h.sdk().Do("POST", "/api/v1/identities/", body)
	require.Equal(h.t, 200, a.Status, a.Raw)
	var out struct{ Flags []sdkFlag }
	require.NoError(h.t, json.Unmarshal([]byte(a.Raw), &out))
	flags := map[string]sdkFlag{}
	for _, f := range out.Flags {
		flags[f.Feature.Name] = f
	}
	return flags
}

type sdkFlag struct {
	Feature struct{ Name string }
	Enabled bool
	Value   any `json:"feature_state_value"`
	Variant *string
}

// ofrepFlag is a flag as OFREP answers it.
type ofrepFlag struct {
	Key, Reason, Variant string
	Value                any
	Metadata             map[string]any
}

// flag evaluates one flag.
func (h *house) flag(key string, context any) ofrepFlag {
	h.t.Helper()
	a := h.sdk().Do("POST", all+"/"+key, map[string]any{"context": context})
	require.Equal(h.t, 200, a.Status, a.Raw)
	var f ofrepFlag
	require.NoError(h.t, json.Unmarshal([]byte(a.Raw), &f))
	return f
}

// flags evaluates all, by key.
func (h *house) flags(context any) map[string]ofrepFlag {
	h.t.Helper()
	a := h.sdk().Do("POST", all, map[string]any{"context": context})
	require.Equal(h.t, 200, a.Status, a.Raw)
	var out struct{ Flags []ofrepFlag }
	require.NoError(h.t, json.Unmarshal([]byte(a.Raw), &out))
	flags := map[string]ofrepFlag{}
	for _, f := range out.Flags {
		flags[f.Key] = f
	}
	require.Len(h.t, flags, len(out.Flags))
	return flags
}
