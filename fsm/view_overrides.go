package fsm

import (
	"maps"
	"slices"

	"github.com/flagraft/flagraft/eval"
)

// segmentOverrides are the overrides of a View's environment with the rows they were made
// of. Most changes leave all of them as they are; then the next View takes them over whole.
type segmentOverrides struct {
	rows   []*FeatureState   // in force, by feature
	links  []*FeatureSegment // of the environment
	served []*ServedState    // of rows; nil when what one belongs to is gone

	states    map[uint64]*ServedState // by feature state
	byContext map[*eval.FeatureContext]*ServedState
	segments  map[uint64]*servedSegment // those that override something, by id
	contexts  []*eval.SegmentContext    // of segments, by ascending id
}

// overridesMark is the same as long as the rows that overrides are made of are the same.
type overridesMark struct {
	states, links uint64
	until         Time // others may be in force from then on
}

// serveOverrides serves the segment overrides of the environment.
func (c *viewCompiler) serveOverrides() *segmentOverrides {
	previous, id := c.previous.overrides, c.Environment.ID
	c.marked = overridesMark{FeatureStates.mark(c.State, id), FeatureSegments.mark(c.State, id), c.previous.marked.until}
	if c.marked == c.previous.marked && c.State.Time < c.marked.until && c.standing(previous) {
		return previous // as most changes leave them: not a row is looked at
	}
	o := &segmentOverrides{
		links: slices.AppendSeq(make([]*FeatureSegment, 0, len(previous.links)), FeatureSegmentsByEnvironment.Refs(c.State, id)),
	}
	o.rows, c.marked.until = liveStates(c.State, id, StateSegment, len(previous.rows))
	if slices.Equal(o.rows, previous.rows) && slices.Equal(o.links, previous.links) && c.standing(previous) {
		return previous
	}
	links := make(map[uint64]*FeatureSegment, len(o.links))
	for _, link := range o.links {
		links[link.ID] = link
	}
	o.served = make([]*ServedState, len(o.rows))
	o.states = make(map[uint64]*ServedState, len(o.rows))
	o.byContext = make(map[*eval.FeatureContext]*ServedState, len(o.rows))
	o.segments = make(map[uint64]*servedSegment, len(previous.segments))
	for i, row := range o.rows {
		g := c.segmentOf(links[row.FeatureSegment], o, previous)
		if g == nil {
			continue
		}
		s := c.serve(row, links[row.FeatureSegment], previous.states)
		if s == nil {
			continue
		}
		g.overrides = append(g.overrides, s)
		o.served[i], o.states[row.ID], o.byContext[s.Context] = s, s, s
	}
	o.contexts = segmentContexts(o.segments, previous.segments)
	return o
}

// standing reports whether overrides of the same rows and links would be the same again.
func (c *viewCompiler) standing(o *segmentOverrides) bool {
	for id, g := range o.segments {
		if Segments.Ref(c.State, id) != g.row {
			return false
		}
	}
	return !slices.ContainsFunc(o.served, func(s *ServedState) bool {
		return s == nil || !c.same(s, c.featureOf(s.State))
	})
}

// segmentOf is the segment of a link among those of o; nil when it is gone.
func (c *viewCompiler) segmentOf(link *FeatureSegment, o, previous *segmentOverrides) *servedSegment {
	if link == nil {
		return nil
	}
	g := o.segments[link.Segment]
	if g == nil {
		segment := Segments.Ref(c.State, link.Segment)
		if segment == nil {
			return nil
		}
		g = newServedSegment(segment, previous.segments[segment.ID])
		o.segments[segment.ID] = g
	}
	return g
}

// segmentContexts makes the engine's segments, by ascending id; a context whose
// overrides are the same stays the same.
func segmentContexts(segments, previous map[uint64]*servedSegment) []*eval.SegmentContext {
	contexts := make([]*eval.SegmentContext, 0, len(segments))
	for _, id := range slices.Sorted(maps.Keys(segments)) {
		g := segments[id]
		if old := previous[id]; old != nil && old.row == g.row && slices.Equal(old.overrides, g.overrides) {
			g.context = old.context
		} else {
			g.context = g.compile()
		}
		contexts = append(contexts, g.context)
	}
	return contexts
}

// rank gives every feature its overrides in the order of the engine's.
func (c *viewCompiler) rank() {
	v, previous := c.View, c.previous
	kept := v.overrides == previous.overrides
	for i := range v.Features {
		ranked := v.Engine.Overrides(i)
		if len(ranked) == 0 {
			continue
		}
		// The engine takes its lists over too, where nothing changed.
		if kept && i < len(previous.Features) {
			if old := previous.Engine.Overrides(i); len(old) > 0 && &old[0] == &ranked[0] {
				v.Features[i].Overrides = previous.Features[i].Overrides
				continue
			}
		}
		served := make([]*ServedState, len(ranked))
		for j, o := range ranked {
			served[j] = v.overrides.byContext[o.Context]
		}
		v.Features[i].Overrides = served
	}
}
