package admin

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/flagraft/flagraft/eval"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/route"
)

// viewWait bounds the wait for a View that shows what the request read.
const viewWait = 2 * time.Second

// view gives the compiled c.Environment. Outside a transaction it is at least as new as the state that the request reads; inside one it is
// as new as it was in the before step, where it should have been asked for once.
func (c *Ctx) view() (*fsm.View, error) {
	live, ok := c.Env.Views.ByID(c.Environment.ID)
	if !ok {
		return nil, route.NotFound(fsm.Environments.Name())
	}
	if state, ok := c.Reader.(*fsm.State); ok {
		ctx, cancel := context.WithTimeout(c.Context, viewWait)
		defer cancel()
		if c.Env.Views.Wait(ctx, state.Index, c.Environment.ID) != nil {
			return nil, route.Unavailable("The environment is still being compiled.", 1)
		}
	}
	if v := live.View(); v != nil {
		return v, nil
	}
	return nil, route.Unavailable("The environment is still being compiled.", 1)
}

// hashKey is what an identity is hashed by in c.Environment.
func (c *Ctx) hashKey(rec *identity.Record) string {
	if c.Environment.UseCompositeKeyForHashing {
		return c.Environment.APIKey + "_" + string(rec.Identifier())
	}
	return strconv.FormatUint(rec.ID(), 10)
}

// subject is an identity with its stored traits, ready to be evaluated on an engine of c.Environment.
func (c *Ctx) subject(engine *eval.Environment, rec *identity.Record) *eval.Subject {
	s := &eval.Subject{}
	c.setSubject(s, engine, rec)
	return s
}

// setSubject makes s, which may have been somebody else before, an identity.
func (c *Ctx) setSubject(s *eval.Subject, engine *eval.Environment, rec *identity.Record) {
	s.Reset(engine)
	s.SetIdentity(string(rec.Identifier()), c.hashKey(rec))
	for it := rec.Traits(); it.Next(); {
		if v, err := eval.ParseLiteral(it.Value()); err == nil {
			s.SetTrait(it.Key(), v)
		}
	}
}

// liveShare is a multivariate value of a state whose option exists.
type liveShare struct {
	fsm.MultivariateValue
	option *fsm.MultivariateOption
}

func liveShares(r fsm.Reader, s *fsm.FeatureState) []liveShare {
	var shares []liveShare
	for _, v := range s.Multivariate {
		if o := fsm.MultivariateOptions.Ref(r, v.Option); o != nil {
			shares = append(shares, liveShare{v, o})
		}
	}
	slices.SortFunc(shares, func(a, b liveShare) int { return cmp.Compare(a.ID, b.ID) })
	return shares
}

// valueFor is the value that a state serves to an identity: that of the option it falls to, or the state's own.
func (c *Ctx) valueFor(s *fsm.FeatureState, rec *identity.Record) fsm.FeatureValue {
	shares := liveShares(c, s)
	spec := &eval.FeatureContext{Key: strconv.FormatUint(s.HashSeed(), 10)}
	for _, v := range shares {
		spec.Variants = append(spec.Variants, eval.Variant{Weight: eval.Float(v.Percentage), Priority: eval.Int(int64(v.ID))})
	}
	if i := eval.SelectVariant(spec, c.hashKey(rec)); i >= 0 {
		return shares[i].option.Value
	}
	return s.Value
}

// servedFlag is a flag as an identity gets it, and why.
type servedFlag struct {
	Feature      servedFeature  `json:"feature"`
	Enabled      bool           `json:"enabled"`
	Value        route.Scalar   `json:"feature_state_value" types:"string,integer,boolean,null"`
	OverriddenBy *string        `json:"overridden_by"` // "SEGMENT", "IDENTITY"
	Segment      *servedSegment `json:"segment"`
	Shares       []servedShare  `json:"multivariate_feature_state_values"`
}

type servedFeature struct {
	ID   uint64          `json:"id"`
	Name string          `json:"name"`
	Type fsm.FeatureType `json:"type"`
}

type servedSegment struct {
	ID   uint64 `json:"id"`
	Name string `json:"name"`
}

type servedShare struct {
	Option struct {
		Value route.Scalar `json:"value" types:"string,integer,boolean,null"`
	} `json:"multivariate_feature_option"`
	Percentage float64 `json:"percentage_allocation"`
}

// evaluateIdentity lists every flag of c.Environment as the identity gets it, by the evaluator of the SDK API: its own override, else the
// override of the best matching segment, else the default. With hide, flags are left out that hide_disabled_flags hides. Overrides are those
// that c reads, so a transaction sees what it wrote.
func evaluateIdentity(c *Ctx, rec *identity.Record, hide bool) ([]servedFlag, error) {
	v, err := c.view()
	if err != nil {
		return nil, err
	}
	now := v.State.Time
	if c.Tx != nil {
		now = max(now, c.Tx.Now())
	}
	own := map[uint64]*fsm.FeatureState{}
	for s := range fsm.FeatureStatesByIdentity.Refs(c, rec.ID()) {
		if v.InForce(s, now) {
			own[s.Feature] = s
		}
	}
	subject, evaluation := c.subject(v.Engine, rec), &eval.Evaluation{}
	v.Engine.Evaluate(subject, evaluation)
	flags := make([]servedFlag, 0, len(v.Features))
	for i := range v.Features {
		outcome := evaluation.Outcomes[i]
		winner := v.Winner(i, outcome)
		f := winner.Feature
		flag := servedFlag{Feature: servedFeature{f.ID, f.Name, f.Type}}
		if s := own[f.ID]; s != nil {
			flag.overridden(c, s, rec)
		} else {
			flag.evaluated(v, winner, int(outcome.Variant))
		}
		if !hide || v.Visible(f, flag.Enabled, true) {
			flags = append(flags, flag)
		}
	}
	return flags, nil
}

// overridden fills in the identity's own state.
func (f *servedFlag) overridden(c *Ctx, s *fsm.FeatureState, rec *identity.Record) {
	by := "IDENTITY"
	f.OverriddenBy, f.Enabled, f.Value = &by, s.Enabled, renderRaw(c.valueFor(s, rec))
	for _, v := range liveShares(c, s) {
		f.addShare(v.option, v.Percentage)
	}
}

// evaluated fills in what the engine chose.
func (f *servedFlag) evaluated(v *fsm.View, winner *fsm.ServedState, variant int) {
	f.Enabled, f.Value = winner.State.Enabled, renderRaw(winner.Value(variant))
	for i, value := range winner.Values {
		f.addShare(winner.Options[i], value.Percentage)
	}
	if winner.Segment == nil {
		return
	}
	by := "SEGMENT"
	f.OverriddenBy = &by
	if s := fsm.Segments.Ref(v.State, winner.Segment.Segment); s != nil {
		f.Segment = &servedSegment{s.ID, s.Name}
	}
}

func (f *servedFlag) addShare(o *fsm.MultivariateOption, percentage float64) {
	s := servedShare{Percentage: percentage}
	s.Option.Value = renderRaw(o.Value)
	f.Shares = append(f.Shares, s)
}
