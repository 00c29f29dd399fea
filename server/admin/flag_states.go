package admin

import (
	"slices"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// flagStates are the default and the overrides of c.Feature in c.Environment while the flag API changes them.
type flagStates interface {
	list() []fsm.FeatureVersionState // the default, then the overrides, the winner first
	links() []fsm.FeatureSegment
	put(s fsm.FeatureVersionState) fsm.FeatureVersionState
	add(s fsm.FeatureState, segment uint64, priority *int64) fsm.FeatureVersionState
	relink(link fsm.FeatureSegment)
	remove(s fsm.FeatureVersionState)
	publish()
}

// flagStates opens the flag: in place, or as a new version where the environment keeps versions. Nothing counts before publish.
func (c *Ctx) flagStates() flagStates {
	if c.Environment.UseV2FeatureVersioning {
		return newDraft(c, fsm.FeatureVersion{})
	}
	return &plainStates{c: c}
}

// plainStates are those of an environment without versions; each change is booked by itself.
type plainStates struct {
	c         *Ctx
	reordered bool
}

func (p *plainStates) list() []fsm.FeatureVersionState {
	return fsm.StatesInPlace(p.c, p.c.Environment.ID, p.c.Feature.ID)
}

func (p *plainStates) links() []fsm.FeatureSegment {
	return fsm.FeatureSegmentsByEnvironment.List(p.c, p.c.Environment.ID, p.c.Feature.ID)
}

func (p *plainStates) put(s fsm.FeatureVersionState) fsm.FeatureVersionState {
	before, _ := fsm.FeatureStates.Get(p.c, s.ID)
	s.State = updateState(p.c, before, s.State)
	return s
}

func (p *plainStates) add(s fsm.FeatureState, segment uint64, priority *int64) fsm.FeatureVersionState {
	for _, link := range p.links() {
		if link.Segment == segment { // an override that was never given a state
			unlinkSegment(p.c, link)
		}
	}
	link := linkSegment(p.c, p.c.Feature.ID, segment, priority)
	s.FeatureSegment = link.ID
	s = createOverride(p.c, s, startValue(p.c.Project, p.c.Feature))
	return fsm.FeatureVersionState{ID: s.ID, State: s, Link: link}
}

func (p *plainStates) relink(link fsm.FeatureSegment) {
	p.c.putLink(link)
	p.reordered = true
}

func (p *plainStates) remove(s fsm.FeatureVersionState) { unlinkSegment(p.c, s.Link) }

// publish: a new order by this door is not in the reference's audit log, but clients must hear of it.
func (p *plainStates) publish() {
	if p.reordered {
		p.c.Tx.TouchEnvironment(p.c.Environment.ID)
	}
}

// overrideOf finds the override of a segment that wins.
func overrideOf(states flagStates, segment uint64) (fsm.FeatureVersionState, bool) {
	list := states.list()
	i := slices.IndexFunc(list, func(s fsm.FeatureVersionState) bool { return segment != 0 && s.Link.Segment == segment })
	if i < 0 {
		return fsm.FeatureVersionState{}, false
	}
	return list[i], true
}

// changeDefault changes the default.
func changeDefault(states flagStates, change func(*fsm.FeatureState) error) error {
	list := states.list()
	if len(list) == 0 || list[0].State.Kind() != fsm.StateDefault {
		return route.NotFound(fsm.FeatureStates.Name())
	}
	s := list[0]
	s.State.Multivariate = slices.Clone(s.State.Multivariate)
	if err := change(&s.State); err != nil {
		return err
	}
	states.put(s)
	return nil
}

// changeOverride changes the override of a segment, or makes it; errs gets what is wrong with the segment. Without a priority an override
// stays where it is, a new one comes last.
func changeOverride(c *Ctx, states flagStates, segment uint64, priority *int64, errs *route.Errors, change func(*fsm.FeatureState) error) error {
	s, ok := overrideOf(states, segment)
	if !ok {
		if checkLink(c, c.Feature.ID, segment, errs) != nil {
			return nil // errs has it
		}
		s.State = fsm.FeatureState{Feature: c.Feature.ID, Environment: c.Environment.ID, Value: startValue(c.Project, c.Feature), Version: 1}
		if err := change(&s.State); err != nil {
			return err
		}
		states.add(s.State, segment, priority)
		return nil
	}
	if err := change(&s.State); err != nil {
		return err
	}
	states.put(s)
	if priority != nil && *priority != s.Link.Priority {
		moveLink(states.links(), s.Link.ID, *priority, states.relink)
	}
	return nil
}
