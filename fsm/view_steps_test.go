package fsm_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/eval"
	"github.com/flagraft/flagraft/fsm"
)

// TestViewsOfManyStepsAreThoseFromNothing compiles a View after each of many random changes from the one before, and wants what compiling
// from nothing gives.
func TestViewsOfManyStepsAreThoseFromNothing(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	s := newStage(t, 6, 4)
	steps := 0
	for range 400 {
		change := changes[r.IntN(len(changes))]
		s.Write(t, func(tx *fsm.Tx) error { change(s, tx, r); return nil })
		v := s.view(t)
		fresh := fsm.CompileView(s.FSM.State(), s.env.ID, nil)
		require.NotNil(t, fresh)
		require.Equal(t, served(fresh), served(v))
		if v.Index == fresh.Index {
			steps++
			require.Equal(t, string(fresh.DocumentBody().Plain), string(v.DocumentBody().Plain))
			for _, server := range []bool{false, true} {
				require.Equal(t, string(fresh.FlagsBody(fsm.FormatCore, server).Plain), string(v.FlagsBody(fsm.FormatCore, server).Plain))
			}
		}
	}
	require.Greater(t, steps, 300)
}

// served tells what every feature and override is made of, and who wins for some subjects.
func served(v *fsm.View) (out []string) {
	of := func(s *fsm.ServedState) string {
		link := uint64(0)
		if s.Segment != nil {
			link = s.Segment.ID
		}
		return fmt.Sprint(s.State.ID, s.State.Enabled, link, s.Feature.Name, len(s.Values), string(s.Fragment(fsm.FormatCore, eval.NoVariant)))
	}
	for i := range v.Features {
		line := of(v.Features[i].Default)
		for _, o := range v.Features[i].Overrides {
			line += " < " + of(o)
		}
		out = append(out, line)
	}
	var subject eval.Subject
	var evaluation eval.Evaluation
	for i := range 5 {
		subject.Reset(v.Engine)
		subject.SetIdentity(fmt.Sprint("user", i), "")
		for c := range 15 {
			subject.SetTrait(fmt.Sprint("trait_", c), eval.String(fmt.Sprint("v", i)))
		}
		v.Engine.Evaluate(&subject, &evaluation)
		line := fmt.Sprint("user", i)
		for f, o := range evaluation.Outcomes {
			line += " " + fmt.Sprint(v.Winner(f, o).State.ID, o.Variant)
		}
		out = append(out, line)
	}
	return out
}

// changes are what may happen to the rows that a View is made of.
var changes = []func(s *stage, tx *fsm.Tx, r *rand.Rand){
	func(s *stage, tx *fsm.Tx, r *rand.Rand) { // a default, most often
		if row, ok := anyState(s, tx, r, fsm.StateDefault); ok {
			row.Enabled, row.Value = !row.Enabled, text(fmt.Sprint("value ", r.IntN(5)))
			fsm.FeatureStates.Put(tx, row)
		}
	},
	func(s *stage, tx *fsm.Tx, r *rand.Rand) {
		if row, ok := anyState(s, tx, r, fsm.StateSegment); ok {
			row.Enabled = !row.Enabled
			fsm.FeatureStates.Put(tx, row)
		}
	},
	func(s *stage, tx *fsm.Tx, r *rand.Rand) { // a version that is in force from a step or two later on
		if row, ok := anyState(s, tx, r, fsm.StateSegment); ok {
			row.ID, row.Version, row.Value = 0, row.Version+1, text(fmt.Sprint("later ", r.IntN(5)))
			row.LiveFrom = tx.Now().Add(300 * time.Microsecond)
			fsm.FeatureStates.Put(tx, row)
		}
	},
	func(s *stage, tx *fsm.Tx, _ *rand.Rand) { // an override of a segment that is gone, now and then
		const gone = 1 << 40
		for _, row := range fsm.FeatureStatesByEnvironment.List(tx, s.env.ID, fsm.StateSegment) {
			if row.FeatureSegment == gone {
				fsm.FeatureStates.Delete(tx, row.ID)
				return
			}
		}
		f, _ := fsm.FeaturesByProject.First(tx, s.env.Project)
		fsm.FeatureStates.Put(tx, fsm.FeatureState{Feature: f.ID, Environment: s.env.ID, FeatureSegment: gone, LiveFrom: tx.Now()})
	},
	func(s *stage, tx *fsm.Tx, r *rand.Rand) { // the order of overrides
		if link, ok := anyOf(fsm.FeatureSegmentsByEnvironment.List(tx, s.env.ID), r); ok {
			link.Priority = int64(r.IntN(6))
			fsm.FeatureSegments.Put(tx, link)
		}
	},
	func(s *stage, tx *fsm.Tx, r *rand.Rand) {
		if link, ok := anyOf(fsm.FeatureSegmentsByEnvironment.List(tx, s.env.ID), r); ok {
			s.unlink(tx, func(l fsm.FeatureSegment) bool { return l.ID == link.ID })
		}
	},
	func(s *stage, tx *fsm.Tx, r *rand.Rand) { // a new override
		f, ok := anyOf(fsm.FeaturesByProject.List(tx, s.env.Project), r)
		if g, found := anyOf(fsm.SegmentsByProject.List(tx, s.env.Project), r); ok && found {
			link := fsm.FeatureSegments.Put(tx, fsm.FeatureSegment{Feature: f.ID, Segment: g.ID, Environment: s.env.ID, Priority: int64(r.IntN(6))})
			fsm.FeatureStates.Put(tx, fsm.FeatureState{Feature: f.ID, Environment: s.env.ID, FeatureSegment: link.ID, Value: text("new"), LiveFrom: tx.Now()})
		}
	},
	func(s *stage, tx *fsm.Tx, r *rand.Rand) {
		if f, ok := anyOf(fsm.FeaturesByProject.List(tx, s.env.Project), r); ok {
			f.Name = fmt.Sprint("renamed ", r.Uint32())
			fsm.Features.Put(tx, f)
		}
	},
	func(s *stage, tx *fsm.Tx, r *rand.Rand) { // a new feature, split in two
		f := fsm.Features.Put(tx, fsm.Feature{Name: fmt.Sprint("new ", r.Uint32()), Project: s.env.Project, Type: fsm.Multivariate})
		o := fsm.MultivariateOptions.Put(tx, fsm.MultivariateOption{Feature: f.ID, Value: text("variant")})
		fsm.FeatureStates.Put(tx, fsm.FeatureState{Feature: f.ID, Environment: s.env.ID, Value: text("default"), LiveFrom: tx.Now(),
			Multivariate: []fsm.MultivariateValue{{ID: tx.NextMultivariateValueID(), Option: o.ID, Percentage: 50}}})
	},
	func(s *stage, tx *fsm.Tx, r *rand.Rand) { // a feature goes; its default stays, for once
		if all := fsm.FeaturesByProject.List(tx, s.env.Project); len(all) > 4 {
			f, _ := anyOf(all, r)
			s.unlink(tx, func(l fsm.FeatureSegment) bool { return l.Feature == f.ID })
			fsm.Features.Delete(tx, f.ID)
		}
	},
	func(s *stage, tx *fsm.Tx, r *rand.Rand) { // one without overrides goes as another comes: the rest moves up
		for _, f := range fsm.FeaturesByProject.List(tx, s.env.Project) {
			linked := slices.ContainsFunc(fsm.FeatureSegmentsByEnvironment.List(tx, s.env.ID), func(l fsm.FeatureSegment) bool { return l.Feature == f.ID })
			state, ok := fsm.FeatureStatesByEnvironment.First(tx, s.env.ID, fsm.StateDefault, f.ID)
			if linked || !ok {
				continue
			}
			fsm.FeatureStates.Delete(tx, state.ID)
			fsm.Features.Delete(tx, f.ID)
			f = fsm.Features.Put(tx, fsm.Feature{Name: fmt.Sprint("instead ", r.Uint32()), Project: s.env.Project, Type: fsm.Standard})
			fsm.FeatureStates.Put(tx, fsm.FeatureState{Feature: f.ID, Environment: s.env.ID, Value: text("default"), LiveFrom: tx.Now()})
			return
		}
	},
	func(s *stage, tx *fsm.Tx, r *rand.Rand) {
		if o, ok := anyOf(slices.Collect(fsm.MultivariateOptions.All(tx)), r); ok {
			o.Value = text(fmt.Sprint("variant ", r.IntN(9)))
			fsm.MultivariateOptions.Put(tx, o)
			// What shows it is touched, as the admin API does.
			tx.TouchEnvironment(s.env.ID)
		}
	},
	func(s *stage, tx *fsm.Tx, r *rand.Rand) {
		if g, ok := anyOf(fsm.SegmentsByProject.List(tx, s.env.Project), r); ok {
			property, value := fmt.Sprint("trait_", r.IntN(15)), fmt.Sprint("v", r.IntN(5))
			g.Name, g.Rules = fmt.Sprint("s", r.Uint32()), []fsm.SegmentRule{{Type: "ALL", Conditions: []fsm.Condition{{Operator: "EQUAL", Property: &property, Value: &value}}}}
			fsm.Segments.Put(tx, g)
			tx.TouchEnvironment(s.env.ID)
		}
	},
	func(s *stage, tx *fsm.Tx, r *rand.Rand) { // a segment goes, or one comes
		all := fsm.SegmentsByProject.List(tx, s.env.Project)
		if len(all) > 3 {
			g, _ := anyOf(all, r)
			s.unlink(tx, func(l fsm.FeatureSegment) bool { return l.Segment == g.ID })
			fsm.Segments.Delete(tx, g.ID)
		} else {
			fsm.Segments.Put(tx, fsm.Segment{Name: "another", Project: s.env.Project, Rules: []fsm.SegmentRule{{Type: "ALL"}}})
		}
		tx.TouchEnvironment(s.env.ID)
	},
	func(s *stage, tx *fsm.Tx, r *rand.Rand) {
		e, _ := fsm.Environments.Get(tx, s.env.ID)
		e.HideSensitiveData = !e.HideSensitiveData
		fsm.Environments.Put(tx, e)
	},
}

// unlink removes segment overrides.
func (s *stage) unlink(tx *fsm.Tx, which func(fsm.FeatureSegment) bool) {
	for _, link := range fsm.FeatureSegmentsByEnvironment.List(tx, s.env.ID) {
		if !which(link) {
			continue
		}
		for _, row := range fsm.FeatureStatesByEnvironment.List(tx, s.env.ID, fsm.StateSegment) {
			if row.FeatureSegment == link.ID {
				fsm.FeatureStates.Delete(tx, row.ID)
			}
		}
		fsm.FeatureSegments.Delete(tx, link.ID)
	}
}

func anyState(s *stage, tx *fsm.Tx, r *rand.Rand, kind byte) (fsm.FeatureState, bool) {
	return anyOf(fsm.FeatureStatesByEnvironment.List(tx, s.env.ID, kind), r)
}

func anyOf[R any](rows []R, r *rand.Rand) (row R, ok bool) {
	if len(rows) == 0 {
		return row, false
	}
	return rows[r.IntN(len(rows))], true
}
