package fsm_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/eval"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/fsmtest"
)

// stage is a project with one environment and the load profile in it.
type stage struct {
	*fsmtest.Node
	env      fsm.Environment
	features []fsm.Feature
	segments []fsm.Segment
}

func newStage(t testing.TB, features, segments int) *stage {
	s := &stage{Node: fsmtest.New(t)}
	s.Write(t, func(tx *fsm.Tx) error {
		s.features, s.segments = nil, nil
		o := fsm.Organisations.Put(tx, fsm.Organisation{Name: "o"})
		p := fsm.Projects.Put(tx, fsm.Project{Name: "p", Organisation: o.ID})
		s.env = fsm.Environments.Put(tx, fsm.Environment{Name: "e", APIKey: "key", Project: p.ID, UpdatedAt: tx.Now()})
		for i := range features {
			f := fsm.Features.Put(tx, fsm.Feature{Name: fmt.Sprint("f", i), Project: p.ID, Type: fsm.Standard})
			fsm.FeatureStates.Put(tx, fsm.FeatureState{Feature: f.ID, Environment: s.env.ID, Value: text("default"), LiveFrom: tx.Now()})
			s.features = append(s.features, f)
		}
		for i := range segments {
			rule := fsm.SegmentRule{Type: "ALL"}
			for c := range 15 {
				property, value := fmt.Sprint("trait_", c), fmt.Sprint("v", i)
				rule.Conditions = append(rule.Conditions, fsm.Condition{Operator: "EQUAL", Property: &property, Value: &value})
			}
			g := fsm.Segments.Put(tx, fsm.Segment{Name: fmt.Sprint("s", i), Project: p.ID, Rules: []fsm.SegmentRule{rule}})
			s.segments = append(s.segments, g)
			for _, f := range s.features {
				link := fsm.FeatureSegments.Put(tx, fsm.FeatureSegment{Feature: f.ID, Segment: g.ID, Environment: s.env.ID, Priority: int64(segments - i)})
				fsm.FeatureStates.Put(tx, fsm.FeatureState{
					Feature: f.ID, Environment: s.env.ID, FeatureSegment: link.ID, Enabled: true, Value: text(g.Name), LiveFrom: tx.Now(),
				})
			}
		}
		return nil
	})
	return s
}

func text(s string) fsm.FeatureValue { return fsm.FeatureValue{Type: fsm.Unicode, String: &s} }

func (s *stage) view(t testing.TB) *fsm.View {
	l, ok := s.Views.ByID(s.env.ID)
	require.True(t, ok)
	return l.View()
}

// edit changes the default state of a feature.
func (s *stage) edit(t testing.TB, feature int, value string) fsm.Written {
	return s.Write(t, func(tx *fsm.Tx) error {
		state, _ := fsm.FeatureStatesByEnvironment.First(tx, s.env.ID, fsm.StateDefault, s.features[feature].ID)
		state.Value = text(value)
		fsm.FeatureStates.Put(tx, state)
		tx.TouchEnvironment(s.env.ID)
		return nil
	})
}

func TestViewKeepsWhatDidNotChange(t *testing.T) {
	s := newStage(t, 3, 2)
	before := s.view(t)
	fragment := &before.Features[1].Default.Fragment(fsm.FormatCore, eval.NoVariant)[0]
	s.edit(t, 0, "changed")
	after := s.view(t)
	require.NotSame(t, before, after)
	require.NotSame(t, before.Features[0].Default, after.Features[0].Default)
	require.Same(t, before.Features[1].Default, after.Features[1].Default)
	require.Same(t, before.Features[0].Overrides[1], after.Features[0].Overrides[1])
	require.Same(t, fragment, &after.Features[1].Default.Fragment(fsm.FormatCore, eval.NoVariant)[0])
	require.Same(t, before.Engine.Segment(0), after.Engine.Segment(0))
	require.Contains(t, string(after.FlagsBody(fsm.FormatCore, false).Plain), `"changed"`)
	require.NotContains(t, string(before.FlagsBody(fsm.FormatCore, false).Plain), `"changed"`)
	document := after.DocumentBody()
	require.Same(t, document, after.DocumentBody())

	// A renamed feature changes everything made of it, an edited segment its rules only.
	s.Write(t, func(tx *fsm.Tx) error {
		f := s.features[1]
		f.Name = "renamed"
		fsm.Features.Put(tx, f)
		g := s.segments[0]
		g.Rules = []fsm.SegmentRule{{Type: "ALL", Conditions: g.Rules[0].Conditions[:1]}}
		fsm.Segments.Put(tx, g)
		return nil
	})
	last := s.view(t)
	require.NotSame(t, after.Features[1].Overrides[0], last.Features[1].Overrides[0])
	require.Same(t, after.Features[2].Overrides[0], last.Features[2].Overrides[0])
	_, ok := last.Engine.FeatureIndex("renamed")
	require.True(t, ok)
	require.Equal(t, "v0", winner(last, "trait_0", "v0"), "one condition is left")
	require.Empty(t, winner(after, "trait_0", "v0"))
}

// winner evaluates one trait and names the rule value of the segment that won f0.
func winner(v *fsm.View, trait, value string) string {
	var subject eval.Subject
	var evaluation eval.Evaluation
	subject.Reset(v.Engine)
	subject.SetIdentity("x", "")
	subject.SetTrait(trait, eval.String(value))
	v.Engine.Evaluate(&subject, &evaluation)
	state := v.Winner(0, evaluation.Outcomes[0])
	if state.Segment == nil {
		return ""
	}
	return "v" + (*state.State.Value.String)[1:]
}

func TestViewOrdersAndPrefers(t *testing.T) {
	s := newStage(t, 2, 3)
	v := s.view(t)
	for i := range v.Features {
		require.Len(t, v.Features[i].Overrides, 3)
		for j, o := range v.Engine.Overrides(i) {
			require.Same(t, v.Features[i].Overrides[j].Context, o.Context)
		}
		require.Equal(t, int64(1), v.Features[i].Overrides[0].Segment.Priority, "lowest first")
	}
	// A newer version replaces the older one; one that is not live yet does not.
	s.Write(t, func(tx *fsm.Tx) error {
		state, _ := fsm.FeatureStatesByEnvironment.First(tx, s.env.ID, fsm.StateDefault, s.features[0].ID)
		state.ID, state.Version, state.Value = 0, 2, text("newer")
		fsm.FeatureStates.Put(tx, state)
		state.ID, state.Version, state.Value, state.LiveFrom = 0, 3, text("tomorrow"), tx.Now().Add(24*time.Hour)
		fsm.FeatureStates.Put(tx, state)
		return nil
	})
	body := string(s.view(t).FlagsBody(fsm.FormatCore, false).Plain)
	require.Contains(t, body, `"newer"`)
	require.NotContains(t, body, `"tomorrow"`)
	require.Len(t, s.view(t).Features, 2)
	// A deleted feature is gone, also from the segments.
	s.Write(t, func(tx *fsm.Tx) error {
		fsm.Features.Delete(tx, s.features[0].ID)
		return nil
	})
	require.Len(t, s.view(t).Features, 1)
	require.NotContains(t, string(s.view(t).DocumentBody().Plain), `"f0"`)
}

func TestViewsFollowEnvironments(t *testing.T) {
	s := newStage(t, 1, 0)
	key, ok := s.Views.ByKey([]byte("key"))
	require.True(t, ok)
	require.Same(t, s.view(t), key.Live.View())
	s.Write(t, func(tx *fsm.Tx) error {
		fsm.Environments.Delete(tx, s.env.ID)
		return nil
	})
	_, ok = s.Views.ByKey([]byte("key"))
	require.False(t, ok)
	require.NoError(t, s.Views.Wait(context.Background(), s.FSM.State().Index, s.env.ID))
}

// The directory of keys is made anew for a change of keys, and only then.
func TestViewsFollowKeys(t *testing.T) {
	s := newStage(t, 1, 0)
	find := func(key string) *fsm.EnvironmentKey {
		k, _ := s.Views.ByKey([]byte(key))
		return k
	}
	first := find("key")
	s.edit(t, 0, "other") // moves on the environment's updated_at
	require.Same(t, first, find("key"))

	var server fsm.EnvironmentAPIKey
	s.Write(t, func(tx *fsm.Tx) error {
		server = fsm.EnvironmentAPIKeys.Put(tx, fsm.EnvironmentAPIKey{Environment: s.env.ID, Key: "ser.key", Active: true})
		return nil
	})
	require.True(t, find("ser.key").Active)
	s.Write(t, func(tx *fsm.Tx) error {
		server.Active = false
		fsm.EnvironmentAPIKeys.Put(tx, server)
		return nil
	})
	require.False(t, find("ser.key").Active)
	s.Write(t, func(tx *fsm.Tx) error {
		fsm.EnvironmentAPIKeys.Delete(tx, server.ID)
		return nil
	})
	require.Nil(t, find("ser.key"))
	s.Write(t, func(tx *fsm.Tx) error {
		s.env.APIKey = "new"
		fsm.Environments.Put(tx, s.env)
		return nil
	})
	require.Nil(t, find("key"))
	require.Same(t, s.view(t), find("new").Live.View())

	s.Write(t, func(tx *fsm.Tx) error {
		fsm.Environments.Put(tx, fsm.Environment{Name: "second", APIKey: "second", Project: s.env.Project})
		return nil
	})
	require.NotNil(t, find("second"))
}

func TestViewsUnderWritesAndReaders(t *testing.T) {
	s := newStage(t, 5, 2)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			last := uint64(0)
			for {
				select {
				case <-stop:
					return
				default:
				}
				v := s.view(t)
				if v.Index < last {
					t.Error("a View went back")
				}
				last = v.Index
				_ = v.FlagsBody(fsm.FormatCore, true).Gzip()
				_ = v.DocumentBody()
				_ = v.Features[0].Overrides[0].Fragment(fsm.FormatEdge, eval.NoVariant)
			}
		})
	}
	for i := range 100 {
		w := s.edit(t, i%5, fmt.Sprint("value ", i))
		v := s.view(t)
		if v.Index < w.Index {
			t.Errorf("View %d after waiting for %d", v.Index, w.Index)
		}
		require.Contains(t, string(v.FlagsBody(fsm.FormatCore, false).Plain), fmt.Sprintf(`"value %d"`, i))
	}
	close(stop)
	readers.Wait()
}

func TestViewMovesOn(t *testing.T) {
	s := newStage(t, 1, 1)
	before := s.view(t)
	body := before.FlagsBody(fsm.FormatCore, false)
	w := s.Write(t, func(tx *fsm.Tx) error {
		fsm.Users.Put(tx, fsm.User{Email: "a@example.com"})
		return nil
	})
	require.Same(t, before, s.view(t), "a user concerns no environment")
	l, _ := s.Views.ByID(s.env.ID)
	l.Refresh()
	after := s.view(t)
	require.Equal(t, w.Index, after.Index)
	require.NotSame(t, before.State, after.State)
	require.Same(t, body, after.FlagsBody(fsm.FormatCore, false))
	s.edit(t, 0, "later")
	require.Contains(t, string(s.view(t).FlagsBody(fsm.FormatCore, false).Plain), "later")
}

func TestWaitForADeletedEnvironmentEnds(t *testing.T) {
	s := newStage(t, 1, 0)
	l, _ := s.Views.ByID(s.env.ID)
	done := make(chan error, 1)
	go func() { done <- l.WaitFor(context.Background(), s.FSM.State().Index+100) }()
	s.Write(t, func(tx *fsm.Tx) error {
		fsm.Environments.Delete(tx, s.env.ID)
		return nil
	})
	require.NoError(t, <-done)
}

func TestIdentityOverridesOfAView(t *testing.T) {
	s := newStage(t, 2, 0)
	require.False(t, s.view(t).HasIdentityOverrides)
	s.Write(t, func(tx *fsm.Tx) error {
		for _, id := range []uint64{9, 3, 7} {
			fsm.FeatureStates.Put(tx, fsm.FeatureState{Feature: s.features[id%2].ID, Environment: s.env.ID, Identity: id, Value: text("own")})
		}
		fsm.FeatureStates.Put(tx, fsm.FeatureState{Feature: s.features[0].ID, Environment: s.env.ID, Identity: 7, Value: text("own")})
		fsm.FeatureStates.Put(tx, fsm.FeatureState{Feature: s.features[0].ID, Environment: s.env.ID + 1, Identity: 5, Value: text("elsewhere")})
		return nil
	})
	v := s.view(t)
	for id, want := range map[uint64]int{0: 0, 3: 1, 5: 0, 7: 2, 8: 0, 9: 1} {
		require.Len(t, v.IdentityOverrides(id), want, id)
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { v.IdentityOverrides(8) }))
}

func BenchmarkCompileView(b *testing.B) {
	s := newStage(b, 50, 15)
	for name, edit := range map[string]func(int){
		"nothing":   func(int) {},
		"one state": func(i int) { s.edit(b, i%50, fmt.Sprint("value ", i)) },
	} {
		b.Run(name, func(b *testing.B) {
			previous := s.view(b)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				edit(i)
				b.StartTimer()
				previous = fsm.CompileView(s.FSM.State(), s.env.ID, previous)
			}
		})
	}
	b.Run("from nothing", func(b *testing.B) {
		for b.Loop() {
			fsm.CompileView(s.FSM.State(), s.env.ID, nil)
		}
	})
	b.Run("document", func(b *testing.B) {
		for b.Loop() {
			fsm.CompileView(s.FSM.State(), s.env.ID, s.view(b)).DocumentBody()
		}
	})
}

func TestCompilingKeepsToItsShare(t *testing.T) {
	var p fsm.CompilePace
	now := time.Unix(0, 0)
	// A change each second, in a large environment: no pause.
	for range 100 {
		require.LessOrEqual(t, p.After(now, 100*time.Millisecond), time.Duration(0))
		now = now.Add(time.Second)
	}
	// Changes that never end: a quarter of the time, after the burst.
	worked, start := time.Duration(0), now
	for range 1000 {
		pause := p.After(now, 5*time.Millisecond)
		worked += 5 * time.Millisecond
		now = now.Add(5*time.Millisecond + max(0, pause))
	}
	require.Equal(t, now.Sub(start), fsm.CompileShare*worked-fsm.CompileBurst)
}

func TestIndexTokens(t *testing.T) {
	for token, want := range map[string]uint64{"abc": 0, "abc-7": 7, "abd-7": 0, "abc-": 0, "abc-x": 0, "": 0, "7": 0, "abc--1": 0} {
		require.Equal(t, want, fsm.ReadIndexToken(token, "abc"), token)
	}
}
