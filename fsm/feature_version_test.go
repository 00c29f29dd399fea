package fsm_test

import (
	"cmp"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

// versions is a stage with v2 feature versioning, whose clock the test turns.
type versions struct {
	*stage
	now time.Time
}

func newVersions(t testing.TB, features, segments int) *versions {
	v := &versions{stage: newStage(t, features, segments), now: time.Now()}
	v.Write(t, func(tx *fsm.Tx) error {
		e, _ := fsm.Environments.Get(tx, v.env.ID)
		e.UseV2FeatureVersioning = true
		fsm.Environments.Put(tx, e)
		for _, f := range v.features {
			tx.StartVersions(e.ID, f.ID)
		}
		return nil
	})
	return v
}

// served is what the View serves of a feature: the default, then the overrides by rank.
func (v *versions) served(t testing.TB, feature int) (out []string) {
	view := v.view(t)
	i := slices.IndexFunc(view.Features, func(f fsm.ServedFeature) bool { return f.Default.Feature.ID == v.features[feature].ID })
	out = append(out, shownState(view.Features[i].Default.State, 0))
	for _, s := range view.Features[i].Overrides {
		out = append(out, shownState(s.State, s.Segment.Segment))
	}
	return out
}

func shownState(s *fsm.FeatureState, segment uint64) string {
	return fmt.Sprintf("%d of version %d, segment %d: %v %s", s.ID, s.FeatureVersion, segment, s.Enabled, *s.Value.String)
}

// TestNewestPublishedVersionIsServed does random things with versions of two features and compares, after each, what the View serves with
// a model: of the versions that are published and due, the one with the latest live_from, as it was when it was published; of two with the
// same live_from, the one that came to life later. Drafts, scheduled and past versions keep their states meanwhile.
func TestNewestPublishedVersionIsServed(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 1))
	v := newVersions(t, 2, 3)
	type model struct {
		version fsm.FeatureVersion
		states  []string
		feature int
		live    int // when that was in the order of all; 0: it never was
	}
	var all []*model
	shown := func(states []fsm.FeatureVersionState, version uint64) (out []string) {
		for _, s := range states {
			require.Equal(t, version, s.Version)
			out = append(out, shownState(&s.State, s.Link.Segment))
		}
		return out
	}
	for i, f := range v.features {
		first, ok := fsm.ServingVersion(v.FSM.State(), v.env.ID, f.ID)
		require.True(t, ok)
		all = append(all, &model{version: first, states: shown(fsm.StatesOf(v.FSM.State(), first), first.ID), feature: i})
	}
	scheduler := fsm.NewScheduler(v.FSM, v.Writer, func() time.Time { return v.now }, fsm.DefaultRetention(), slog.New(slog.DiscardHandler))
	defer scheduler.Stop()

	refresh := func(m *model) {
		m.version, _ = fsm.FeatureVersions.Get(v.FSM.State(), m.version.ID)
		m.states = shown(fsm.StatesOf(v.FSM.State(), m.version), m.version.ID)
	}
	for step := range 150 {
		var drafts, waiting []*model
		for _, m := range all {
			switch m.version.Phase {
			case fsm.VersionDraft:
				drafts = append(drafts, m)
			case fsm.VersionScheduled:
				waiting = append(waiting, m)
			}
		}
		switch n := r.IntN(10); {
		case n < 3 || len(drafts) == 0: // a new draft
			m := &model{feature: r.IntN(len(v.features))}
			v.Write(t, func(tx *fsm.Tx) error {
				m.version = tx.DraftVersion(fsm.FeatureVersion{Environment: v.env.ID, Feature: v.features[m.feature].ID})
				return nil
			})
			refresh(m)
			all = append(all, m)
		case n < 6: // change a draft
			m := drafts[r.IntN(len(drafts))]
			v.Write(t, func(tx *fsm.Tx) error {
				states := fsm.StatesOf(tx, m.version)
				s := states[r.IntN(len(states))]
				if s.Link.ID != 0 && r.IntN(2) == 0 {
					fsm.FeatureVersionStates.Delete(tx, s.ID)
					return nil
				}
				s.State.Enabled, s.State.Value = r.IntN(2) == 0, text(fmt.Sprint("step ", step))
				s.Link.Priority += int64(r.IntN(3))
				fsm.FeatureVersionStates.Put(tx, s)
				return nil
			})
			refresh(m)
		case n < 7 && len(waiting) > 0: // take back what is scheduled
			m := waiting[r.IntN(len(waiting))]
			v.Write(t, func(tx *fsm.Tx) error {
				fsm.FeatureVersionStatesByVersion.DeleteAll(tx, m.version.ID)
				fsm.FeatureVersions.Delete(tx, m.version.ID)
				return nil
			})
			all = slices.DeleteFunc(all, func(o *model) bool { return o == m })
		default: // publish: now, in the past or in the future
			m := drafts[r.IntN(len(drafts))]
			v.Write(t, func(tx *fsm.Tx) error {
				m.version.LiveFrom = tx.Now().Add(time.Duration(r.IntN(3)-1) * time.Duration(r.IntN(100)) * 200 * time.Microsecond)
				m.version.LiveFrom -= m.version.LiveFrom % 2000 // some are the same
				m.version = tx.PublishVersion(m.version)
				return nil
			})
			if m.version.Live() {
				m.live = 2*step + 1
			}
		}
		if r.IntN(4) == 0 {
			v.now = time.Now()
			require.NoError(t, fsm.RunDue(t.Context(), scheduler))
			require.NoError(t, v.Views.Wait(t.Context(), v.FSM.State().Index, v.env.ID))
		}
		state := v.FSM.State()
		for i, f := range v.features {
			var want *model
			for _, m := range all {
				if m.feature != i {
					continue
				}
				m.version, _ = fsm.FeatureVersions.Get(state, m.version.ID)
				require.Equal(t, m.states, shown(fsm.StatesOf(state, m.version), m.version.ID), "seed %d step %d: version %d changed", seed, step, m.version.ID)
				if !m.version.Live() {
					continue
				}
				if m.live == 0 {
					m.live = 2*step + 2 // the Scheduler came after
				}
				// Of two that came to life in one step, the Scheduler takes the older first.
				if want == nil || cmp.Or(cmp.Compare(m.version.LiveFrom, want.version.LiveFrom), cmp.Compare(m.live, want.live)) >= 0 {
					want = m
				}
			}
			require.Equal(t, fsm.VersionServing, want.version.Phase, "seed %d step %d", seed, step)
			now, _ := fsm.ServingVersion(state, v.env.ID, f.ID)
			require.Equal(t, want.version.ID, now.ID, "seed %d step %d", seed, step)
			require.Equal(t, want.states, v.served(t, i), "seed %d step %d", seed, step)
		}
	}
}
