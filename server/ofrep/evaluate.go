package ofrep

import (
	"strconv"

	"github.com/flagraft/flagraft/eval"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
)

// evaluation decides flags of one View for one person.
type evaluation struct {
	view    *fsm.View
	nobody  bool
	own     []*fsm.FeatureState // the identity's overrides
	subject eval.Subject
	scratch eval.Evaluation
}

// choice is what one flag came to.
type choice struct {
	*fsm.ServedState
	variant  int  // as of package eval
	override bool // of a segment or of the identity
	varies   bool // somebody may get another answer
}

func (c choice) visible(by caller) bool {
	return by.view.Visible(c.Feature, c.State.Enabled, by.server)
}

// evaluation readies p for being evaluated in c's View.
func (a *API) evaluation(c caller, p person) *evaluation {
	a.evaluations.Add(1)
	e := &evaluation{view: c.view, nobody: p.nobody()}
	if e.nobody {
		return e
	}
	var rec identity.Record
	known := false
	if !p.anonymous {
		rec, known = a.FSM.State().Identities().Environment(c.view.Environment.ID).Lookup([]byte(p.identifier))
	}
	key := "" // the composite one; an identity that is not stored has no other
	if known {
		e.own = c.view.IdentityOverrides(rec.ID())
		if !c.view.Environment.UseCompositeKeyForHashing {
			key = strconv.FormatUint(rec.ID(), 10)
		}
	}
	s := &e.subject
	s.Reset(c.view.Engine)
	s.SetIdentity(p.identifier, key)
	if known {
		for it := rec.Traits(); it.Next(); {
			if v, err := eval.ParseLiteral(it.Value()); err == nil {
				s.SetTrait(it.Key(), v)
			}
		}
	}
	for _, t := range p.attributes {
		s.SetTrait(t.name, t.value)
	}
	return e
}

// all decides every flag, in the View's order.
func (e *evaluation) all() []choice {
	if !e.nobody {
		e.view.Engine.Evaluate(&e.subject, &e.scratch)
	}
	choices := make([]choice, len(e.view.Features))
	for i := range choices {
		if e.nobody {
			choices[i] = e.choose(i, eval.Outcome{Override: eval.NoOverride, Variant: eval.NoVariant})
		} else {
			choices[i] = e.choose(i, e.scratch.Outcomes[i])
		}
	}
	return choices
}

// one decides flag i alone.
func (e *evaluation) one(i int) choice {
	if e.nobody {
		return e.choose(i, eval.Outcome{Override: eval.NoOverride, Variant: eval.NoVariant})
	}
	return e.choose(i, e.view.Engine.EvaluateFeature(&e.subject, &e.scratch, i))
}

// choose applies the identity's own override over the engine's outcome.
func (e *evaluation) choose(i int, o eval.Outcome) choice {
	v := e.view
	c := choice{ServedState: v.Winner(i, o), variant: int(o.Variant), override: o.Override != eval.NoOverride}
	for _, row := range e.own {
		if row.Feature != c.Feature.ID {
			continue
		}
		if own := v.ServeOverride(row); own != nil {
			return choice{ServedState: own, variant: eval.SelectVariant(own.Context, e.subject.IdentityKey()), override: true}
		}
	}
	c.varies = c.override || len(v.Features[i].Overrides) > 0 || len(v.Features[i].Default.Options) > 0 || overriddenBySomebody(v, c.Feature.ID)
	return c
}

func overriddenBySomebody(v *fsm.View, feature uint64) bool {
	if !v.HasIdentityOverrides {
		return false
	}
	_, found := fsm.FeatureStatesByEnvironment.First(v.State, v.Environment.ID, fsm.StateIdentity, feature)
	return found
}
