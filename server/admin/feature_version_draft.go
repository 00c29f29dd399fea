package admin

import (
	"slices"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// draft is a version while it is changed: its row and what it holds, which the methods keep like the tables.
type draft struct {
	c       *Ctx
	version fsm.FeatureVersion
	states  []fsm.FeatureVersionState
}

// newDraft makes a version of c.Feature in c.Environment out of the live one.
func newDraft(c *Ctx, v fsm.FeatureVersion) *draft {
	v.Environment, v.Feature, v.CreatedBy = c.Environment.ID, c.Feature.ID, c.Principal.UserID()
	return openDraft(c, c.Tx.DraftVersion(v))
}

func openDraft(c *Ctx, v fsm.FeatureVersion) *draft {
	return &draft{c: c, version: v, states: fsm.StatesOf(c, v)}
}

// list are the default and the overrides, the winner first.
func (d *draft) list() []fsm.FeatureVersionState { return fsm.StatesOf(d.c, d.version) }

// find gives the default (segment 0) or the override of a segment that wins; nil when there is none.
func (d *draft) find(segment uint64) *fsm.FeatureVersionState {
	i := slices.IndexFunc(d.states, func(s fsm.FeatureVersionState) bool { return s.Link.Segment == segment })
	if i < 0 {
		return nil
	}
	return &d.states[i]
}

// conflict is the refusal of a change that the version's overrides do not allow.
func (d *draft) conflict(msg string) error {
	return route.FieldText("message", "An unresolvable conflict occurred: "+msg)
}

// create adds a segment override, which starts as the feature does; errs gets what is wrong with its segment.
func (d *draft) create(in versionStateInput, errs *route.Errors) (fsm.FeatureVersionState, error) {
	segment := in.Segment.Value.Segment
	if segment == 0 {
		return fsm.FeatureVersionState{}, route.FieldText("message", "Cannot create FeatureState objects that are not segment overrides.")
	}
	if full(len(d.states)-1, d.c.Env.Options.MaxSegmentOverrides) { // one is the default
		errs.Add("environment", MsgOverridesLimit)
	}
	if err := checkLink(d.c, d.version.Feature, segment, errs.At("feature_segment")); err != nil {
		return fsm.FeatureVersionState{}, nil // errs has it, at its place
	}
	if d.find(segment) != nil {
		return fsm.FeatureVersionState{}, d.conflict("segment override already exists for segment '" + segmentName(d.c, segment) + "'")
	}
	s := fsm.FeatureState{Value: startValue(d.c.Project, d.c.Feature), Feature: d.version.Feature, Environment: d.version.Environment, Version: 1}
	if err := in.state().apply(d.c, &s); err != nil {
		return fsm.FeatureVersionState{}, err
	}
	var priority *int64
	in.Segment.Value.Priority.IntoPtr(&priority)
	return d.add(s, segment, priority), nil
}

// add puts a new override after the others, or at a priority; who has that priority already, and all after it, move down. One that will
// take the place of a live override has its seed, so that nobody gets another variant.
func (d *draft) add(s fsm.FeatureState, segment uint64, priority *int64) fsm.FeatureVersionState {
	for _, live := range fsm.StatesInPlace(d.c, d.version.Environment, d.version.Feature) {
		if live.Link.Segment == segment {
			s.Seed = live.State.HashSeed()
		}
	}
	link := fsm.FeatureSegment{Feature: d.version.Feature, Segment: segment, Environment: d.version.Environment}
	link.Priority = placeLink(d.links(), priority, d.relink)
	added := d.c.Tx.AddVersionState(d.version, s, link)
	d.states = append(d.states, added)
	return added
}

// links are the feature segments of the overrides.
func (d *draft) links() []fsm.FeatureSegment {
	var links []fsm.FeatureSegment
	for _, s := range d.states {
		if s.Link.ID != 0 {
			links = append(links, s.Link)
		}
	}
	return links
}

// relink stores the changed feature segment of an override.
func (d *draft) relink(link fsm.FeatureSegment) {
	i := slices.IndexFunc(d.states, func(s fsm.FeatureVersionState) bool { return s.Link.ID == link.ID })
	d.states[i].Link = link
	fsm.FeatureVersionStates.Put(d.c.Tx, d.states[i])
}

// addDefault adds the default of a feature that lost it before the environment kept versions: it starts as in a new environment.
func (d *draft) addDefault() *fsm.FeatureVersionState {
	s := newDefaultState(d.c.Tx, d.c.Project, d.c.Feature, d.version.Environment)
	d.states = append(d.states, d.c.Tx.AddVersionState(d.version, s, fsm.FeatureSegment{}))
	return &d.states[len(d.states)-1]
}

// update changes a state. An override stays with its segment; a priority is taken as it is.
func (d *draft) update(s fsm.FeatureVersionState, in versionStateInput) (fsm.FeatureVersionState, error) {
	if in.Segment.Set && !in.Segment.Null && in.Segment.Value.Segment != 0 && in.Segment.Value.Segment != s.Link.Segment {
		return s, route.Field("feature_segment", "Cannot change the segment of a feature state")
	}
	if err := in.state().apply(d.c, &s.State); err != nil {
		return s, err
	}
	if s.Link.ID != 0 {
		s.Link.Priority = in.Segment.Value.Priority.Or(s.Link.Priority)
	}
	return d.put(s), nil
}

// put stores a changed state. It is live when its version is, even if it was scheduled before the environment kept versions.
func (d *draft) put(s fsm.FeatureVersionState) fsm.FeatureVersionState {
	s.State.UpdatedAt, s.State.LiveFrom = d.c.Now(), 0
	i := slices.IndexFunc(d.states, func(o fsm.FeatureVersionState) bool { return o.ID == s.ID })
	d.states[i] = fsm.FeatureVersionStates.Put(d.c.Tx, s)
	return s
}

// remove drops an override. The others keep their priorities: only their order counts.
func (d *draft) remove(s fsm.FeatureVersionState) {
	fsm.FeatureVersionStates.Delete(d.c.Tx, s.ID)
	d.states = slices.DeleteFunc(d.states, func(o fsm.FeatureVersionState) bool { return o.ID == s.ID })
}

// publish publishes the version at its live_from, or now.
func (d *draft) publish() {
	if d.version.LiveFrom.IsZero() {
		d.version.LiveFrom = d.c.Now()
	}
	d.version.PublishedBy, d.version.UpdatedAt = d.c.Principal.UserID(), d.c.Now()
	d.version = d.c.Tx.PublishVersion(d.version)
}
