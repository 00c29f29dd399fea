package portable

import (
	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
)

var phases = map[fsm.VersionPhase]string{fsm.VersionServing: phaseLive, fsm.VersionScheduled: phaseScheduled, fsm.VersionDraft: phaseDraft}

// versions lists the versions of an environment that are live or may become so.
func (x *exporter) versions(environment uint64) (out []FeatureVersion) {
	for v := range fsm.FeatureVersionsByEnvironment.All(x.s, environment) {
		if phases[v.Phase] == "" {
			continue
		}
		version := FeatureVersion{UUID: v.UUID, Feature: x.features[v.Feature], Phase: phases[v.Phase], Description: v.Description,
			CreatedAt: v.CreatedAt.Std(), LiveFrom: moment(v.LiveFrom)}
		if v.Phase != fsm.VersionServing {
			for _, held := range fsm.StatesOf(x.s, v) {
				s := x.state(held.State)
				s.UUID = uuid.Nil // it gets one where it is imported: nobody has seen it
				if held.Link.Segment == 0 {
					version.Default = &s
				} else {
					version.SegmentOverrides = append(version.SegmentOverrides, Override{Segment: x.segments[held.Link.Segment], Priority: held.Link.Priority, State: s})
				}
			}
		}
		out = append(out, version)
	}
	return out
}

func (c *checker) versions(e *Environment) error {
	if len(e.Versions) > 0 && !e.UseV2FeatureVersioning {
		return c.bad("it has versions but use_v2_feature_versioning is off")
	}
	live := map[string]bool{}
	for i := range e.Versions {
		v := &e.Versions[i]
		switch {
		case c.features[v.Feature] == nil:
			return c.bad("a version is of the feature %q, which is not there", v.Feature)
		case v.Phase == phaseLive:
			if live[v.Feature] || v.Default != nil || len(v.SegmentOverrides) > 0 {
				return c.bad("feature %q has two live versions, or one with states of its own", v.Feature)
			}
			live[v.Feature] = true
			continue
		case v.Phase != phaseScheduled && v.Phase != phaseDraft:
			return c.bad("a version of feature %q is in the unknown phase %q", v.Feature, v.Phase)
		case v.Phase == phaseScheduled && v.LiveFrom == nil:
			return c.bad("a scheduled version of feature %q has no live_from", v.Feature)
		}
		if v.Default != nil { // else the environment had none when the version was begun: it was deleted
			if err := c.state(v.Default); err != nil {
				return err
			}
		}
		if err := c.overrides(v.SegmentOverrides); err != nil {
			return err
		}
		for s := range v.states() {
			if s.Feature != v.Feature {
				return c.bad("a version of feature %q has a state of feature %q", v.Feature, s.Feature)
			}
		}
	}
	return nil
}

// versions makes what the environment serves the live versions of its features, and the other versions. What is due already becomes live
// right after the import.
func (m *importer) versions(e *Environment, environment uint64) {
	for _, f := range fsm.FeaturesByProject.List(m.tx, m.project) {
		m.tx.StartVersions(environment, f.ID)
	}
	for i := range e.Versions {
		v := &e.Versions[i]
		row := fsm.FeatureVersion{UUID: free(m.tx, fsm.FeatureVersionsByUUID, v.UUID), Environment: environment, Feature: m.features[v.Feature],
			CreatedAt: when(m.tx, v.CreatedAt), UpdatedAt: m.tx.Now(), Description: v.Description}
		if v.LiveFrom != nil {
			row.LiveFrom = fsm.TimeOf(*v.LiveFrom)
		}
		switch v.Phase {
		case phaseLive:
			live, ok := fsm.ServingVersion(m.tx, environment, row.Feature)
			if !ok {
				continue // the cluster does not know versions yet
			}
			row.ID, row.Phase = live.ID, fsm.VersionServing
			if row.LiveFrom == 0 || row.LiveFrom > m.tx.Now() {
				row.LiveFrom = live.LiveFrom
			}
		case phaseScheduled:
			row.Phase = fsm.VersionScheduled
		default:
			row.Phase = fsm.VersionDraft
		}
		row = fsm.FeatureVersions.Put(m.tx, row)
		if v.Default != nil {
			m.versionState(row, v.Default, fsm.FeatureSegment{})
		}
		for j := range v.SegmentOverrides {
			o := &v.SegmentOverrides[j]
			m.versionState(row, &o.State, fsm.FeatureSegment{Feature: row.Feature, Segment: m.segments[o.Segment-1], Environment: environment, Priority: o.Priority})
		}
	}
}

func (m *importer) versionState(v fsm.FeatureVersion, s *State, link fsm.FeatureSegment) {
	m.tx.AddVersionState(v, m.stateRow(s, fsm.FeatureState{Environment: v.Environment}), link)
}
