package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/eval"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/servertest"
)

const explainPath = "/api/flagraft/v1/environments/env-key/explain/"

// explained is the answer, in the shape that `flagraft eval --explain` prints too.
type explained struct {
	Identity struct {
		Identifier, Key string
		UUID            *string `json:"identity_uuid"`
		Traits          []map[string]any
	}
	Flags map[string]struct {
		Name    string
		Enabled bool
		Value   any
		Reason  string
		Variant *string
	}
	Segments []struct{ Name string }
	Trace    struct {
		Segments []segmentTrace
		Features []featureTrace
	}
	Hidden []string
}

type segmentTrace struct {
	Key, Name string
	Matched   bool
	Rules     []ruleTrace
}

type ruleTrace struct {
	Type       string
	Matched    bool
	Conditions []struct {
		Property, Operator, Value string
		Seen                      any
		Percentage                *float64
		Matched                   bool
	}
	Rules []ruleTrace
}

type featureTrace struct {
	Name      string
	Overrides []struct {
		Segment      string
		Priority     *float64
		Matched, Won bool
	}
	Enabled         bool
	Value           any
	Reason, Variant string
	Percentage      *float64
}

// explainer is a node with flags of many kinds of overrides.
type explainer struct {
	*servertest.Node
	*testing.T
	admin *servertest.Client
	ids   byte
	env   fsm.Environment
	proj  fsm.Project
}

func newExplainer(t *testing.T, composite bool) *explainer {
	t.Helper()
	e := &explainer{Node: servertest.Start(t), T: t}
	e.admin = e.Client(t).With("Authorization", "Token boss")
	e.write(func(tx *fsm.Tx) {
		org := fsm.Organisations.Put(tx, fsm.Organisation{Name: "Org", PersistTraitData: true})
		boss := fsm.Users.Put(tx, fsm.User{UUID: e.uuid(), Email: "boss@example.com", IsActive: true})
		fsm.Tokens.Put(tx, fsm.Token{User: boss.ID, Key: "boss"})
		fsm.Memberships.Put(tx, fsm.Membership{Organisation: org.ID, User: boss.ID, Role: fsm.RoleAdmin})
		e.proj = fsm.Projects.Put(tx, fsm.Project{Name: "Project", Organisation: org.ID})
		e.env = fsm.Environments.Put(tx, fsm.Environment{Name: "Env", APIKey: "env-key", Project: e.proj.ID, AllowClientTraits: true,
			UseCompositeKeyForHashing: composite})
		adult := e.segment(tx, "adult", "GREATER_THAN_INCLUSIVE", "age", "18")
		pro := e.segment(tx, "pro", "EQUAL", "plan", "pro")
		half := e.segment(tx, "half", "PERCENTAGE_SPLIT", "", "50")
		known := e.segment(tx, "known", "IN", "$.identity.identifier", "user1,user2,user3")
		for i, options := range []int{0, 0, 2, 3} {
			f := e.feature(tx, fmt.Sprint("f", i), options)
			for j, g := range []fsm.Segment{adult, pro, half, known} {
				if (i+j)%2 == 0 || i == 3 {
					e.override(tx, f, g, int64(j%2), options)
				}
			}
		}
		e.feature(tx, "lonely", 0)
	})
	return e
}

func (e *explainer) write(run func(tx *fsm.Tx)) {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Context(), 10*time.Second)
	defer cancel()
	require.NoError(e, e.Update(ctx, func(tx *fsm.Tx) error {
		run(tx)
		return nil
	}))
}

func (e *explainer) uuid() uuid.UUID {
	e.ids++
	return uuid.UUID{e.ids}
}

func value(s string) fsm.FeatureValue { return fsm.FeatureValue{Type: fsm.Unicode, String: &s} }

func (e *explainer) segment(tx *fsm.Tx, name, operator, property, v string) fsm.Segment {
	c := fsm.Condition{Operator: operator, Value: &v}
	if property != "" {
		c.Property = &property
	}
	return fsm.Segments.Put(tx, fsm.Segment{UUID: e.uuid(), Name: name, Project: e.proj.ID, Rules: []fsm.SegmentRule{{Type: "ALL", Rules: []fsm.SegmentRule{
		{Type: "ANY", Conditions: []fsm.Condition{c}}}}}})
}

func (e *explainer) feature(tx *fsm.Tx, name string, options int) fsm.Feature {
	f := fsm.Feature{UUID: e.uuid(), Name: name, Project: e.proj.ID, Type: fsm.Standard}
	if options > 0 {
		f.Type = fsm.Multivariate
	}
	f = fsm.Features.Put(tx, f)
	for i := range options {
		key := fmt.Sprint("key", i)
		fsm.MultivariateOptions.Put(tx, fsm.MultivariateOption{UUID: e.uuid(), Feature: f.ID, Key: &key, Value: value(fmt.Sprint("option", i))})
	}
	e.state(tx, fsm.FeatureState{Feature: f.ID, Enabled: true, Value: value(name)}, options)
	return f
}

func (e *explainer) override(tx *fsm.Tx, f fsm.Feature, g fsm.Segment, priority int64, options int) {
	link := fsm.FeatureSegments.Put(tx, fsm.FeatureSegment{UUID: e.uuid(), Feature: f.ID, Segment: g.ID, Environment: e.env.ID, Priority: priority})
	e.state(tx, fsm.FeatureState{Feature: f.ID, FeatureSegment: link.ID, Enabled: g.Name != "pro", Value: value(f.Name + " for " + g.Name)}, options)
}

// state adds one that gives each option an equal share of 80 %.
func (e *explainer) state(tx *fsm.Tx, s fsm.FeatureState, options int) {
	s.UUID, s.Environment, s.Version = e.uuid(), e.env.ID, 1
	for _, o := range fsm.MultivariateOptionsByFeature.List(tx, s.Feature) {
		s.Multivariate = append(s.Multivariate, fsm.MultivariateValue{ID: tx.NextMultivariateValueID(), UUID: e.uuid(), Option: o.ID, Percentage: 80 / float64(options)})
	}
	fsm.FeatureStates.Put(tx, s)
}

// identify creates an identity, with overrides of some flags.
func (e *explainer) identify(identifier string, overrides ...string) {
	e.Helper()
	e.answer(map[string]any{"identifier": identifier})
	rec, ok := e.State().Identities().Environment(e.env.ID).Lookup([]byte(identifier))
	require.True(e, ok)
	e.write(func(tx *fsm.Tx) {
		for _, name := range overrides {
			f, _ := fsm.FeaturesByName.First(tx, e.proj.ID, name)
			options := len(fsm.MultivariateOptionsByFeature.List(tx, f.ID))
			e.state(tx, fsm.FeatureState{Feature: f.ID, Identity: rec.ID(), Enabled: name != "f0", Value: value(name + " for " + identifier)}, options)
		}
	})
}

type answered struct {
	Feature struct{ Name string }
	Enabled bool
	Value   any `json:"feature_state_value"`
	Variant *string
}

// answer is what POST /identities/ says.
func (e *explainer) answer(body any) []answered {
	e.Helper()
	a := e.Client(e).With("X-Environment-Key", "env-key").Do("POST", "/api/v1/identities/", body)
	require.Equal(e, 200, a.Status, a.Raw)
	var out struct{ Flags []answered }
	require.NoError(e, json.Unmarshal([]byte(a.Raw), &out))
	return out.Flags
}

func (e *explainer) explain(method, target string, body any) (out explained) {
	e.Helper()
	a := e.admin.Do(method, target, body)
	require.Equal(e, 200, a.Status, a.Raw)
	require.NoError(e, json.Unmarshal([]byte(a.Raw), &out), a.Raw)
	return out
}

// TestExplanationAgrees: for random identities the winner that is explained is what POST /identities/ answers, and the trace says so too.
func TestExplanationAgrees(t *testing.T) {
	for _, composite := range []bool{true, false} {
		t.Run(fmt.Sprint("composite ", composite), func(t *testing.T) {
			e := newExplainer(t, composite)
			for i := range 4 {
				e.identify(fmt.Sprint("user", i), []string{"f0", "f1", "f2", "f3"}[i:]...)
			}
			random := rand.New(rand.NewPCG(3, 4))
			for range 120 {
				traits := []map[string]any{}
				if random.IntN(2) == 0 {
					traits = append(traits, map[string]any{"trait_key": "age", "trait_value": []any{17, 18, "30", 18.5, true}[random.IntN(5)]})
				}
				if random.IntN(2) == 0 {
					traits = append(traits, map[string]any{"trait_key": "plan", "trait_value": []any{"pro", "free", nil}[random.IntN(3)]})
				}
				body := map[string]any{"identifier": fmt.Sprint("user", random.IntN(25)), "traits": traits}
				if composite {
					// Before the identity is stored, too: with the composite key its hash does not depend on that.
					agree(t, e.explain("POST", explainPath, body), e.answer(body))
					continue
				}
				flags := e.answer(body)
				agree(t, e.explain("POST", explainPath, body), flags)
				agree(t, e.explain("GET", explainPath+"?identifier="+body["identifier"].(string), nil), flags)
			}
		})
	}
}

func agree(t *testing.T, got explained, want []answered) {
	t.Helper()
	require.Len(t, got.Flags, len(want))
	require.Len(t, got.Trace.Features, len(want))
	for i, w := range want {
		f, trace := got.Flags[w.Feature.Name], got.Trace.Features[i]
		require.Equal(t, []any{w.Enabled, w.Value}, []any{f.Enabled, f.Value}, w.Feature.Name)
		require.Equal(t, []any{w.Feature.Name, w.Enabled, w.Value}, []any{trace.Name, trace.Enabled, trace.Value})
		require.Equal(t, w.Variant, f.Variant, w.Feature.Name)
		winner := fmt.Sprint(w.Feature.Name)
		won := 0
		for j, o := range trace.Overrides {
			if o.Won {
				won++
				winner += " for " + o.Segment
				require.True(t, o.Matched)
				for _, better := range trace.Overrides[:j] {
					require.False(t, better.Matched, "%s: %s matched and comes before", w.Feature.Name, better.Segment)
				}
			}
		}
		require.LessOrEqual(t, won, 1)
		if w.Variant == nil || *w.Variant == "control" {
			if winner == w.Feature.Name+" for identity_overrides" {
				winner = w.Feature.Name + " for " + got.Identity.Identifier
			}
			require.Equal(t, w.Value, winner, "the value names its state")
		}
		if w.Variant != nil {
			require.NotNil(t, trace.Percentage)
			require.Equal(t, *w.Variant, trace.Variant)
		}
	}
}

func TestExplanation(t *testing.T) {
	e := newExplainer(t, true)
	e.identify("alice", "f0")
	e.answer(map[string]any{"identifier": "alice", "traits": []any{map[string]any{"trait_key": "age", "trait_value": 20}}})

	out := e.explain("POST", explainPath, `{"identifier":"alice","feature":"f0","traits":[{"trait_key":"plan","trait_value":"pro"}]}`)
	require.Equal(t, "alice", out.Identity.Identifier)
	require.Equal(t, "env-key_alice", out.Identity.Key)
	require.Equal(t, []map[string]any{{"trait_key": "age", "trait_value": 20.0}, {"trait_key": "plan", "trait_value": "pro"}}, out.Identity.Traits)
	require.Len(t, out.Flags, 1)
	require.Equal(t, "TARGETING_MATCH; segment=identity_overrides", out.Flags["f0"].Reason)
	require.Len(t, out.Trace.Features, 1)
	f := out.Trace.Features[0]
	require.Equal(t, "identity_overrides", f.Overrides[0].Segment)
	require.True(t, f.Overrides[0].Won)
	for _, o := range f.Overrides[1:] {
		require.False(t, o.Won)
	}
	require.Len(t, f.Overrides, 3, "adult and half beside its own")
	require.Len(t, out.Trace.Segments, 2, "only what overrides f0")
	adult := out.Trace.Segments[0]
	require.Equal(t, "adult", adult.Name)
	require.True(t, adult.Matched)
	c := adult.Rules[0].Rules[0].Conditions[0]
	require.Equal(t, []any{"age", "GREATER_THAN_INCLUSIVE", "18", 20.0, true}, []any{c.Property, c.Operator, c.Value, c.Seen, c.Matched})
	half := out.Trace.Segments[1].Rules[0].Rules[0].Conditions[0]
	require.InDelta(t, eval.Percentage(out.Trace.Segments[1].Key, "env-key_alice"), *half.Percentage, 1e-9)
	require.Equal(t, *half.Percentage <= 50, half.Matched)

	byUUID := e.explain("POST", explainPath, map[string]any{"identity_uuid": *out.Identity.UUID, "traits": []any{map[string]any{"trait_key": "age", "trait_value": nil}}})
	require.Equal(t, "alice", byUUID.Identity.Identifier)
	require.Empty(t, byUUID.Identity.Traits)
	require.Len(t, byUUID.Flags, 5)
	require.Equal(t, "alice", e.explain("GET", explainPath+"?identity_uuid="+*out.Identity.UUID, nil).Identity.Identifier)
	again := e.explain("POST", explainPath, `{"identifier":"alice","traits":[{"trait_key":"x","trait_value":1},{"trait_key":"x","trait_value":null},`+
		`{"trait_key":"age","trait_value":null},{"trait_key":"plan","trait_value":"pro"},{"trait_key":"age","trait_value":17}]}`)
	require.Equal(t, []map[string]any{{"trait_key": "age", "trait_value": 17.0}, {"trait_key": "plan", "trait_value": "pro"}}, again.Identity.Traits, "the last of a key counts")
	id, ok := e.State().Identities().Environment(e.env.ID).Lookup([]byte("alice"))
	require.True(t, ok)
	stored, _, ok := id.Trait("age")
	require.True(t, ok)
	require.Equal(t, "20", string(stored), "nothing is stored")

	stranger := e.explain("GET", explainPath+"?feature=lonely&identifier="+url.QueryEscape("žofie 1"), nil)
	require.Nil(t, stranger.Identity.UUID)
	require.Equal(t, "env-key_žofie 1", stranger.Identity.Key)
	require.Empty(t, stranger.Trace.Segments)
	require.Equal(t, "DEFAULT", stranger.Flags["lonely"].Reason)

	hide := true
	e.write(func(tx *fsm.Tx) {
		env, _ := fsm.Environments.Get(tx, e.env.ID)
		env.HideDisabledFlags = &hide
		fsm.Environments.Put(tx, env)
	})
	require.Equal(t, []string{"f0"}, e.explain("GET", explainPath+"?identifier=alice&feature=f0", nil).Hidden)
}

// TestExplanationHasTheShapeOfEval: one type reads this answer and what `flagraft eval --explain` prints, and knows every member of both.
func TestExplanationHasTheShapeOfEval(t *testing.T) {
	e := newExplainer(t, true)
	answer := e.admin.Do("POST", explainPath, `{"identifier":"bob","traits":[{"trait_key":"age","trait_value":40}]}`).Raw

	live, err := eval.DecodeContext([]byte(`{"environment":{"key":"k","name":"n"},"identity":{"identifier":"bob","key":"bob","traits":{"age":40}},` +
		`"features":{"f":{"key":"1","feature_key":"1","name":"f","enabled":true,"value":"x"}},` +
		`"segments":{"1":{"key":"1","name":"s","rules":[{"type":"ALL","conditions":[{"property":"age","operator":"PERCENTAGE_SPLIT","value":"100"}],"rules":[]}],` +
		`"overrides":[{"key":"2","feature_key":"1","name":"f","enabled":true,"value":"z","variants":[{"value":"y","weight":100,"priority":1,"key":"k"}]}]}}}`))
	require.NoError(t, err)
	var trace eval.Trace
	result := eval.EvaluateTraced(live, &trace).AppendJSON(nil)
	raw, err := json.Marshal(&trace)
	require.NoError(t, err)
	printed := string(result[:len(result)-1]) + `,"trace":` + string(raw) + `}`

	for _, text := range []string{answer, printed} {
		var out explained
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.DisallowUnknownFields()
		require.NoError(t, decoder.Decode(&out), text)
		require.NotEmpty(t, out.Trace.Segments[0].Rules)
		f := out.Trace.Features[0]
		require.NotEmpty(t, f.Overrides)
		require.Equal(t, []any{f.Name, f.Enabled, f.Value, f.Reason}, []any{out.Flags[f.Name].Name, out.Flags[f.Name].Enabled, out.Flags[f.Name].Value, out.Flags[f.Name].Reason})
	}
}

func TestExplanationIsRefused(t *testing.T) {
	e := newExplainer(t, true)
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", explainPath, `{}`, 400, `{"identifier":["This field is required."]}`},
		{"GET", explainPath, ``, 400, `{"identifier":["This field is required."]}`},
		{"POST", explainPath, `{"identifier":"a","feature":"nope"}`, 400, `{"feature":["Invalid pk \"nope\" - object does not exist."]}`},
		{"POST", explainPath, `{"identity_uuid":"5f0c1b9a-0000-4000-8000-000000000000"}`, 404, `{"detail":"Not found."}`},
		{"POST", explainPath, `{"identifier":"a","traits":[{"trait_value":1}]}`, 400, `{"traits":[{"trait_key":["This field is required."]}]}`},
		{"GET", "/api/flagraft/v1/environments/nope/explain/?identifier=a", ``, 404, `{"detail":"No Environment matches the given query."}`},
	} {
		a := e.admin.Do(c.method, c.path, c.body)
		require.Equal(t, c.status, a.Status, a.Raw)
		require.JSONEq(t, c.want, a.Raw)
	}
	// Each of the two permissions is needed.
	var user fsm.User
	grant := func(keys ...string) {
		e.write(func(tx *fsm.Tx) {
			for p := range fsm.Permissions.All(tx) {
				fsm.Permissions.Delete(tx, p.ID)
			}
			fsm.Permissions.Put(tx, fsm.Permission{Level: fsm.LevelEnvironment, Object: e.env.ID, User: user.ID, Permissions: keys})
		})
	}
	e.write(func(tx *fsm.Tx) {
		user = fsm.Users.Put(tx, fsm.User{UUID: e.uuid(), Email: "member@example.com", IsActive: true})
		fsm.Tokens.Put(tx, fsm.Token{User: user.ID, Key: "member"})
		fsm.Memberships.Put(tx, fsm.Membership{Organisation: e.proj.Organisation, User: user.ID, Role: fsm.RoleUser})
		fsm.Permissions.Put(tx, fsm.Permission{Level: fsm.LevelProject, Object: e.proj.ID, User: user.ID, Permissions: []string{"VIEW_PROJECT"}})
	})
	member := e.Client(t).With("Authorization", "Token member")
	for _, c := range []struct {
		keys   []string
		status int
	}{{nil, 403}, {[]string{"VIEW_ENVIRONMENT"}, 403}, {[]string{"VIEW_IDENTITIES"}, 403}, {[]string{"VIEW_ENVIRONMENT", "VIEW_IDENTITIES"}, 200}} {
		grant(c.keys...)
		require.Equal(t, c.status, member.Do("GET", explainPath+"?identifier=a", nil).Status, c.keys)
	}
}
