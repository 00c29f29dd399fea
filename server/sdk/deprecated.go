package sdk

import (
	"strconv"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/eval"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/route"
)

// The routes of Flagsmith's first clients, with the identifier in the path.

// byPath identifies who the path names, creating the identity.
func (s *SDK) byPath(c *caller, m *route.Match, sc *scratch) (person, error) {
	var err error
	if sc.in.identifier, err = checkIdentifier([]byte(m.Decoded(0))); err != nil {
		return person{}, err
	}
	return s.identify(c, sc), nil
}

// getIdentity is GET /identities/{identifier}/: flags, traits and the segments
// that match.
func (s *SDK) getIdentity(ctx *fasthttp.RequestCtx, m *route.Match) {
	s.oldAnswer(ctx, m, fsm.UsageIdentities, func(c caller, sc *scratch, p person) []byte {
		dst := s.appendOldFlags([]byte(`{"flags":`), c, sc, p)
		dst = append(dst, `,"traits":`...)
		dst = s.appendTraits(dst, c.view, sc.effective)
		dst = append(dst, `,"segments":`...)
		return append(appendSegments(dst, c, sc, p), '}')
	})
}

// getIdentityFlags is GET /flags/{identifier}.
func (s *SDK) getIdentityFlags(ctx *fasthttp.RequestCtx, m *route.Match) {
	s.oldAnswer(ctx, m, fsm.UsageFlags, func(c caller, sc *scratch, p person) []byte {
		return s.appendOldFlags(nil, c, sc, p)
	})
}

func (s *SDK) oldAnswer(ctx *fasthttp.RequestCtx, m *route.Match, kind fsm.UsageKind, render func(caller, *scratch, person) []byte) {
	c, ok := s.enter(ctx, kind, false)
	if !ok {
		return
	}
	sc := s.scratch(ctx)
	defer s.release(sc)
	p, err := s.byPath(&c, m, sc)
	if err != nil {
		s.fail(ctx, err)
		return
	}
	sc.prepare(c, c.view.Engine, p)
	s.identityHead(ctx, c, p)
	ctx.Response.Header.SetContentTypeBytes(jsonType)
	ctx.Response.SetBodyRaw(render(c, sc, p))
}

// appendOldFlags appends the identity's flags without the member "variant".
func (s *SDK) appendOldFlags(dst []byte, c caller, sc *scratch, p person) []byte {
	v := c.view
	overrides := v.IdentityOverrides(p.id)
	v.Engine.Evaluate(&sc.subject, &sc.evaluation)
	dst = append(dst, '[')
	first := true
	for i := range v.Features {
		o := sc.evaluation.Outcomes[i]
		state, variant := v.Winner(i, o), int(o.Variant)
		if own := overrideOf(v, overrides, state.Feature.ID); own != nil {
			state, variant = own, eval.SelectVariant(own.Context, sc.subject.IdentityKey())
		}
		if v.Visible(state.Feature, state.State.Enabled, c.server) {
			dst = state.AppendVariant(comma(dst, &first), s.Format, variant)
		}
	}
	return append(dst, ']')
}

func appendSegments(dst []byte, c caller, sc *scratch, p person) []byte {
	all := c.view.Segments()
	sc.prepare(c, all, p)
	all.MatchSegments(&sc.subject, &sc.evaluation)
	dst = append(dst, '[')
	first := true
	for _, i := range sc.evaluation.AppendMatches(nil) {
		id, _ := strconv.ParseUint(all.Segment(i).Key, 10, 64)
		row := fsm.Segments.Ref(c.view.State, id)
		dst = strconv.AppendUint(append(comma(dst, &first), `{"id":`...), id, 10)
		dst = route.AppendString(append(dst, `,"name":`...), row.Name)
		dst = append(dst, `,"description":`...)
		if row.Description == nil {
			dst = append(dst, "null"...)
		} else {
			dst = route.AppendString(dst, *row.Description)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// deprecatedTraitInput is the body of POST /identities/{identifier}/traits/{trait_key}.
type deprecatedTraitInput struct {
	Value route.Value `json:"trait_value" v:"required"`

	literal []byte
}

// Validate checks the value and makes its literal.
func (t *deprecatedTraitInput) Validate(errs *route.Errors) {
	t.literal = requiredLiteral(t.Value, errs)
}

// postIdentityTrait is POST /identities/{identifier}/traits/{trait_key}.
func (s *SDK) postIdentityTrait(ctx *fasthttp.RequestCtx, m *route.Match) {
	c, ok := s.enterTraits(ctx, route.NonField(msgClientTraits))
	if !ok {
		return
	}
	in, err := s.deprecated.decode(ctx, m)
	if err != nil {
		s.fail(ctx, err)
		return
	}
	errs := &route.Errors{}
	identifier := requiredText(route.Value{Kind: route.String, Text: m.Decoded(0)}, "identifier", maxIdentifier, errs)
	key := requiredText(route.Value{Kind: route.String, Text: m.Decoded(1)}, "trait_key", maxTraitKey, errs)
	if err := errs.Err(); err != nil {
		s.fail(ctx, err)
		return
	}
	op := identity.Op{
		Kind: identity.KindSetTrait, Environment: c.view.Environment.ID,
		Identifier: []byte(identifier), Key: []byte(key), Value: in.literal,
	}
	if _, ok := s.done(ctx, c, []identity.Op{op}); !ok {
		return
	}
	t := effectiveTrait{key: key, value: in.literal}
	if rec, ok := s.lookup(c, op.Identifier); ok {
		_, t.id, _ = rec.Trait(key)
	}
	ctx.Response.SetBodyRaw(s.appendTrait(nil, &t))
}
