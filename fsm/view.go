package fsm

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/flagraft/flagraft/eval"
)

// View is one environment compiled for reading: immutable, published through one
// atomic pointer. It is compiled by the environment's actor from one State and
// compares nothing with a clock.
//
// Parts whose rows did not change are taken over from the View before: compiled
// contexts, and what was rendered of them.
type View struct {
	Index        uint64 // of the state it was compiled from
	State        *State
	Environment  *Environment
	Project      *Project
	Organisation *Organisation

	// Engine evaluates identities. Its features are Features, its segments those
	// that override something here, by ascending id.
	Engine *eval.Environment
	// Features are the environment's flags by ascending id of their default state.
	Features []ServedFeature

	// HideDisabled: disabled flags are left out of SDK answers.
	HideDisabled bool
	// HasIdentityOverrides: some identity has an override in this environment.
	HasIdentityOverrides bool

	// UpdatedAt is the value of X-Flagsmith-Document-Updated-At, LastModified that
	// of Last-Modified, IndexToken that of Flagraft-Index.
	UpdatedAt, LastModified, IndexToken []byte

	// Compiled is when it was made.
	Compiled Span

	states    map[uint64]*ServedState // the defaults, by feature state
	overrides *segmentOverrides
	marked    overridesMark
	*onDemand
	prepared *prepared
}

// onDemand is what a View works out when it is first asked, once: sync.Once lets
// the first caller work while others wait for the same result; a fleet polls at
// the same moment after a change.
type onDemand struct {
	flags    [formats][2]bodySlot // client key, server key
	document bodySlot
	pieces   []piece // identity overrides of the document, cut into pages
	paged    atomic.Bool
	pageOnce sync.Once
	pages    []bodySlot

	secondOnce sync.Once
	shared     bool

	matcherOnce sync.Once
	matcher     *eval.Environment

	overriddenOnce sync.Once
	overridden     []uint64 // identities with overrides, ascending
	manyOverridden bool     // too many to list
}

// ServedFeature is one flag of an environment.
type ServedFeature struct {
	Default *ServedState
	// Overrides are the segment overrides in the order of Engine.Overrides.
	Overrides []*ServedState
}

// Winner returns the state that feature i serves under an outcome of Engine.
func (v *View) Winner(i int, o eval.Outcome) *ServedState {
	f := &v.Features[i]
	if o.Override < 0 {
		return f.Default
	}
	return f.Overrides[o.Override]
}

// Visible reports whether an SDK answer shows the flag: server-key-only flags
// need a server key, disabled ones may be hidden.
func (v *View) Visible(f *Feature, enabled, server bool) bool {
	return (server || !f.IsServerKeyOnly) && (enabled || !v.HideDisabled)
}

// compileView compiles an environment; nil when it is gone. previous may be nil.
func compileView(s *State, environment uint64, previous *View) *View {
	v := newView(s, environment)
	if v == nil {
		return nil
	}
	if previous == nil {
		previous = &View{overrides: &segmentOverrides{}}
	}
	c := viewCompiler{View: v, previous: previous}
	c.compile()
	return v
}

// newView is a View of which nothing is compiled; nil when the environment is gone.
func newView(s *State, environment uint64) *View {
	e := Environments.Ref(s, environment)
	if e == nil {
		return nil
	}
	p := Projects.Ref(s, e.Project)
	if p == nil {
		return nil
	}
	o := Organisations.Ref(s, p.Organisation)
	if o == nil {
		return nil
	}
	v := &View{Index: s.Index, State: s, Environment: e, Project: p, Organisation: o, HideDisabled: p.HideDisabledFlags, onDemand: &onDemand{}, prepared: &prepared{}}
	if e.HideDisabledFlags != nil {
		v.HideDisabled = *e.HideDisabledFlags
	}
	_, v.HasIdentityOverrides = FeatureStatesByEnvironment.First(s, e.ID, StateIdentity)
	v.UpdatedAt = appendSeconds(nil, e.UpdatedAt)
	v.LastModified = e.UpdatedAt.Std().AppendFormat(nil, httpDate)
	v.IndexToken = AppendIndexToken(nil, s.Genesis.Epoch, s.Index)
	return v
}

// moved returns the View for a newer state in which nothing that concerns the
// environment changed: it keeps everything and lets go of the old state, whose
// superseded rows and tree nodes would otherwise stay in memory.
func (v *View) moved(s *State) *View {
	n := *v
	n.prepared = &prepared{}
	n.State, n.Index = s, s.Index
	n.IndexToken = AppendIndexToken(nil, s.Genesis.Epoch, s.Index)
	return &n
}

// AppendIndexToken appends "<epoch>-<index>".
func AppendIndexToken(dst []byte, epoch string, index uint64) []byte {
	return strconv.AppendUint(append(append(dst, epoch...), '-'), index, 10)
}

// ReadIndexToken reads what AppendIndexToken wrote; a token of another epoch, or none, is 0.
func ReadIndexToken(token, epoch string) uint64 {
	of, digits, ok := strings.Cut(token, "-")
	if !ok || of != epoch {
		return 0
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// viewCompiler fills in the served parts of a View.
type viewCompiler struct {
	*View
	previous *View
	feature  *Feature // of the row before: rows come by feature
}

func (c *viewCompiler) compile() {
	v := c.View
	defaults, _ := liveStates(v.State, v.Environment.ID, StateDefault, len(c.previous.states))
	slices.SortFunc(defaults, func(a, b *FeatureState) int { return cmp.Compare(a.ID, b.ID) })
	v.states = make(map[uint64]*ServedState, len(defaults))
	v.Features = make([]ServedFeature, 0, len(defaults))
	spec := &eval.Spec{Key: v.Environment.APIKey, Name: v.Environment.Name, Features: make([]*eval.FeatureContext, 0, len(defaults))}
	for _, row := range defaults {
		if s := c.serve(row, nil, c.previous.states); s != nil {
			v.states[row.ID] = s
			v.Features = append(v.Features, ServedFeature{Default: s})
			spec.Features = append(spec.Features, s.Context)
		}
	}
	v.overrides = c.serveOverrides()
	spec.Segments = v.overrides.contexts
	v.Engine = eval.Compile(spec, c.previous.Engine)
	c.rank()
}

// liveStates returns the states of one kind that are in force: of several
// versions of a state the newest one that is live. Live is judged by the
// replicated time of the state, which the Scheduler moves past due times. They are
// about as many as expected. From the time until on, others may be in force.
func liveStates(s *State, environment uint64, kind byte, expected int) (live []*FeatureState, until Time) {
	live, until = make([]*FeatureState, 0, expected), math.MaxInt64
	for row := range FeatureStatesByEnvironment.Refs(s, environment, kind) { // by feature, then id
		if row.LiveFrom > s.Time {
			until = min(until, row.LiveFrom)
			continue
		}
		i := len(live) - 1
		for ; i >= 0 && live[i].Feature == row.Feature; i-- {
			if live[i].FeatureSegment == row.FeatureSegment {
				break
			}
		}
		switch {
		case i < 0 || live[i].Feature != row.Feature:
			live = append(live, row)
		case row.Version >= live[i].Version: // of equal versions the higher id
			live[i] = row
		}
	}
	return live, until
}
