package admin

import (
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/eval"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/route"
)

// Why an identity gets its flags: an operation of our own. The answer has the members of `flagraft eval --explain`, flags, segments and
// trace, made by the engine that answers POST /identities/ and the same choice of overrides.

// ownOverrides is what the trace calls the identity's own overrides, as the engine's contexts do; they come before every segment.
const ownOverrides = "identity_overrides"

type explainQuery struct {
	Identifier string                    `query:"identifier"`
	UUID       route.Optional[uuid.UUID] `query:"identity_uuid"`
	Feature    string                    `query:"feature"` // name or id; all flags without
}

type explainInput struct {
	Identifier route.Optional[string]         `json:"identifier" v:"null,max=2000"`
	UUID       route.Optional[uuid.UUID]      `json:"identity_uuid" v:"null"`
	Traits     route.Optional[[]explainTrait] `json:"traits" v:"null"` // laid over the stored ones; null removes. Nothing is stored
	Feature    route.Value                    `json:"feature"`         // name or id; all flags without
}

type explainTrait struct {
	Key   string       `json:"trait_key" v:"required,max=200"`
	Value route.Scalar `json:"trait_value" v:"required"`
}

// explanation is the answer.
type explanation struct {
	Identity explainedIdentity        `json:"identity"`
	Flags    map[string]explainedFlag `json:"flags"`
	Segments []explainedSegment       `json:"segments"` // that matched
	Trace    eval.Trace               `json:"trace"`
	// Hidden are flags that answers to client-side keys leave out.
	Hidden []string `json:"hidden"`
}

type explainedIdentity struct {
	Identifier string      `json:"identifier"`
	UUID       *uuid.UUID  `json:"identity_uuid"` // null: not stored
	Key        string      `json:"key"`           // what is hashed
	Traits     []edgeTrait `json:"traits"`
}

type explainedFlag struct {
	Name    string     `json:"name"`
	Enabled bool       `json:"enabled"`
	Value   eval.Value `json:"value"`
	Reason  string     `json:"reason"`
	Variant *string    `json:"variant"`
}

type explainedSegment struct {
	Name string `json:"name"`
}

func explainRows() []route.Row {
	const path = "/api/flagraft/v1/environments/{environment_api_key}/explain/"
	key := Path("environment_api_key")
	view := All(EnvironmentPermission("VIEW_ENVIRONMENT", key).Missing404(), EnvironmentPermission("VIEW_IDENTITIES", key))
	return []route.Row{
		{Method: "GET", Path: path, OperationID: "flagraft_v1_environments_explain_retrieve", Tag: "Identities", Auth: route.Admin, Permission: view,
			Summary: "Explain why an identity gets its flags.", Handler: read(explainStored)},
		{Method: "POST", Path: path, OperationID: "flagraft_v1_environments_explain_create", Tag: "Identities", Auth: route.Admin, Permission: view,
			Summary: "Explain why an identity would get its flags with other traits. Nothing is stored.", Handler: read(explain)},
	}
}

func explainStored(c *Ctx, in explainQuery) (explanation, error) {
	body := explainInput{UUID: in.UUID}
	if in.Identifier != "" {
		body.Identifier = route.Some(in.Identifier)
	}
	if in.Feature != "" {
		body.Feature = route.Value{Kind: route.String, Text: in.Feature}
	}
	return explain(c, body)
}

func explain(c *Ctx, in explainInput) (explanation, error) {
	v, err := c.view()
	if err != nil {
		return explanation{}, err
	}
	only := ""
	if in.Feature.Kind > route.Null {
		f, err := edgeStateInput{Feature: in.Feature}.feature(c)
		if err != nil {
			return explanation{}, err
		}
		only = f.Name
	}
	e := explainer{view: v, engine: v.Engine}
	if err := e.identify(c, in); err != nil {
		return explanation{}, err
	}
	e.lay(in.Traits.Value)
	e.evaluate(only)
	return e.out, nil
}

// explainer makes one explanation.
type explainer struct {
	view    *fsm.View
	engine  *eval.Environment
	subject *eval.Subject
	id      uint64 // of the stored identity
	own     []*fsm.FeatureState
	out     explanation
}

// identify sets whom it is about: a stored identity with its traits and overrides, or somebody who would be new.
func (e *explainer) identify(c *Ctx, in explainInput) error {
	var rec identity.Record
	var known bool
	switch {
	case in.UUID.Set && !in.UUID.Null:
		var err error
		if rec, err = findEdgeIdentity(c, in.UUID.Value); err != nil {
			return err
		}
		known = true
	case in.Identifier.Value == "":
		return route.Field("identifier", route.MsgRequired)
	default:
		rec, known = c.identities().Lookup([]byte(in.Identifier.Value))
	}
	if !known {
		e.stranger(in.Identifier.Value)
		return nil
	}
	e.subject, e.id = c.subject(e.engine, &rec), rec.ID()
	id := uuid.UUID(rec.UUID())
	e.out.Identity = explainedIdentity{Identifier: string(rec.Identifier()), UUID: &id, Key: e.subject.IdentityKey()}
	for it := rec.Traits(); it.Next(); {
		e.out.Identity.Traits = append(e.out.Identity.Traits, edgeTrait{Key: it.Key(), Value: scalarOfLiteral(it.Value())})
	}
	return nil
}

// stranger makes it about somebody who is not stored.
func (e *explainer) stranger(identifier string) {
	e.subject = &eval.Subject{}
	e.subject.Reset(e.engine)
	e.subject.SetIdentity(identifier, "") // has no id yet that could be hashed
	e.out.Identity = explainedIdentity{Identifier: identifier, Key: e.subject.IdentityKey()}
}

// lay puts the request's traits over the stored ones.
func (e *explainer) lay(traits []explainTrait) {
	shown := e.out.Identity.Traits
	place := make(map[string]int, len(shown)+len(traits))
	for i, t := range shown {
		place[t.Key] = i
	}
	final := make(map[string]int, len(traits)) // the last of a key counts: the others would be set, and looked for, in vain
	for i, t := range traits {
		final[t.Key] = i
	}
	for i, t := range traits {
		if final[t.Key] != i {
			continue
		}
		at, there := place[t.Key]
		literal, err := identity.CanonicalValue([]byte(t.Value.Literal()))
		if err != nil || t.Value.IsNull() {
			if there {
				e.subject.RemoveTrait(t.Key)
				delete(place, t.Key)
			}
			continue
		}
		value, _ := eval.ParseLiteral(literal) // canonical
		e.subject.SetTrait(t.Key, value)
		if !there {
			at, shown = len(shown), append(shown, edgeTrait{Key: t.Key})
			place[t.Key] = at
		}
		shown[at].Value = scalarOfLiteral(literal)
	}
	e.out.Identity.Traits = slices.DeleteFunc(shown, func(t edgeTrait) bool { _, kept := place[t.Key]; return !kept })
}

// evaluate runs the engine with a trace, and puts the identity's own overrides over what it found. With a feature's name only what concerns
// it is kept: its flag, and the segments that override it.
func (e *explainer) evaluate(only string) {
	engine, trace := e.engine, eval.Trace{}
	if e.id != 0 {
		e.own = e.view.IdentityOverrides(e.id)
	}
	evaluation := &eval.Evaluation{Trace: &trace}
	engine.Evaluate(e.subject, evaluation)
	e.out.Flags = map[string]explainedFlag{}
	concerned := make([]bool, engine.SegmentCount())
	for i := range trace.Features {
		t := trace.Features[i]
		if only != "" && only != t.Name {
			continue
		}
		for _, o := range engine.Overrides(i) {
			concerned[o.Segment] = true
		}
		e.feature(t, e.view.Features[i].Default.Feature)
	}
	for i, t := range trace.Segments {
		if !concerned[i] {
			continue
		}
		e.out.Trace.Segments = append(e.out.Trace.Segments, t)
		if t.Matched {
			e.out.Segments = append(e.out.Segments, explainedSegment{t.Name})
		}
	}
}

// feature adds one flag.
func (e *explainer) feature(t eval.FeatureTrace, f *fsm.Feature) {
	for _, row := range e.own {
		if row.Feature != f.ID {
			continue
		}
		if s := e.view.ServeOverride(row); s != nil {
			e.override(&t, s.Context)
		}
	}
	e.out.Trace.Features = append(e.out.Trace.Features, t)
	flag := explainedFlag{Name: t.Name, Enabled: t.Enabled, Value: t.Value, Reason: t.Reason}
	if t.Variant != "" {
		flag.Variant = &t.Variant
	}
	e.out.Flags[t.Name] = flag
	if !e.view.Visible(f, t.Enabled, false) {
		e.out.Hidden = append(e.out.Hidden, t.Name)
	}
}

// override makes own the winner of a feature.
func (e *explainer) override(t *eval.FeatureTrace, own *eval.FeatureContext) {
	for i := range t.Overrides {
		t.Overrides[i].Won = false
	}
	first := eval.OverrideTrace{Segment: ownOverrides, Priority: eval.Int(math.MinInt64), Matched: true, Won: true}
	t.Overrides = slices.Insert(t.Overrides, 0, first)
	variant, name := eval.SelectVariant(own, e.subject.IdentityKey()), ownOverrides
	t.Enabled, t.Value = own.Enabled, eval.ValueOf(own, variant)
	t.Reason = string(eval.AppendReason(nil, own, variant, &name))
	t.Percentage = nil
	if variant != eval.NoVariant {
		percentage := eval.Percentage(own.Key, e.subject.IdentityKey())
		t.Percentage = &percentage
	}
	t.Variant, _ = eval.VariantName(own, variant)
}
