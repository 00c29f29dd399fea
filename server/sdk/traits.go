package sdk

import (
	"strconv"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/route"
)

const (
	msgNoTraits     = "Organisation is not authorised to store traits."
	msgClientTraits = "Setting traits not allowed with client key."
	msgClientBulk   = "Unable to set traits with client key."
	msgInvalidData  = "Invalid request data"
)

// identityRef names the identity of a trait request.
type identityRef struct {
	Identifier string `json:"identifier" v:"required,max=2000"`
}

// traitInputBody is the body of POST /traits/ and an item of PUT /traits/bulk/.
type traitInputBody struct {
	Identity identityRef `json:"identity" v:"required"`
	Key      string      `json:"trait_key" v:"required,max=200"`
	Value    route.Value `json:"trait_value" v:"required"`

	literal []byte
}

// Validate checks the value and makes its literal.
func (t *traitInputBody) Validate(errs *route.Errors) { t.literal = requiredLiteral(t.Value, errs) }

// requiredLiteral is literalOf for a member trait_value that may not be null.
func requiredLiteral(v route.Value, errs *route.Errors) []byte {
	literal, msg := literalOf(v)
	if msg == "" && literal == nil {
		msg = route.MsgNull
	}
	if msg != "" {
		errs.Add("trait_value", msg)
	}
	return literal
}

// enterTraits is enter for requests that only write traits.
func (s *SDK) enterTraits(ctx *fasthttp.RequestCtx, clientRefusal error) (caller, bool) {
	c, ok := s.enter(ctx, fsm.UsageTraits, false)
	if !ok {
		return c, false
	}
	if !c.view.Organisation.PersistTraitData {
		s.fail(ctx, route.Forbidden(msgNoTraits))
		return c, false
	}
	if !c.mayChangeTraits() {
		s.fail(ctx, clientRefusal)
		return c, false
	}
	return c, true
}

// done stores operations and reports whether all were taken; else the refusal is
// written.
func (s *SDK) done(ctx *fasthttp.RequestCtx, c caller, ops []identity.Op) ([]identity.Result, bool) {
	index, results, err := s.store(ctx, ops)
	if err == nil {
		err = s.refusals(ops, results)
	}
	if err != nil {
		s.fail(ctx, err)
		return nil, false
	}
	s.stamp(ctx, c.view, index)
	ctx.Response.Header.SetContentTypeBytes(jsonType)
	return results, true
}

// postTrait is POST /traits/: one trait, answered as stored.
func (s *SDK) postTrait(ctx *fasthttp.RequestCtx, m *route.Match) {
	c, ok := s.enterTraits(ctx, route.NonField(msgClientTraits))
	if !ok {
		return
	}
	in, err := s.traitBody.decode(ctx, m)
	if err != nil {
		s.fail(ctx, err)
		return
	}
	op := upsert(c, in.Identity.Identifier, identity.TraitOp{Key: []byte(in.Key), Value: in.literal})
	if _, ok := s.done(ctx, c, []identity.Op{op}); ok {
		ctx.Response.SetBodyRaw(appendTraitEcho(nil, in.Identity.Identifier, in.Key, in.literal))
	}
}

func upsert(c caller, identifier string, traits ...identity.TraitOp) identity.Op {
	return identity.Op{Kind: identity.KindUpsert, Environment: c.view.Environment.ID, Identifier: []byte(identifier), Traits: traits}
}

func appendTraitEcho(dst []byte, identifier, key string, literal []byte) []byte {
	dst = route.AppendString(append(dst, `{"identity":{"identifier":`...), identifier)
	dst = append(append(dst, `},"trait_value":`...), literal...)
	dst = route.AppendString(append(dst, `,"trait_key":`...), key)
	return append(dst, '}')
}

// incrementInput is the body of POST /traits/increment-value/.
type incrementInput struct {
	Key        string `json:"trait_key" v:"required,max=200"`
	Identifier string `json:"identifier" v:"required,max=2000"`
	By         int64  `json:"increment_by" v:"required"`
}

// postIncrement is POST /traits/increment-value/.
func (s *SDK) postIncrement(ctx *fasthttp.RequestCtx, m *route.Match) {
	c, ok := s.enterTraits(ctx, route.NonField(msgClientTraits))
	if !ok {
		return
	}
	in, err := s.incrementBody.decode(ctx, m)
	if err != nil {
		s.fail(ctx, err)
		return
	}
	results, ok := s.done(ctx, c, []identity.Op{{
		Kind: identity.KindIncrement, Environment: c.view.Environment.ID,
		Identifier: []byte(in.Identifier), Key: []byte(in.Key), Delta: in.By,
	}})
	if !ok {
		return
	}
	var value []byte
	if len(results) == 1 && results[0].LastChange != 0 { // else it was applied by an earlier attempt
		value = strconv.AppendInt(nil, results[0].Value, 10)
	} else if value, err = s.sumOf(c, in); err != nil {
		s.fail(ctx, err)
		return
	}
	dst := route.AppendString([]byte(`{"trait_key":`), in.Key)
	dst = append(append(dst, `,"trait_value":`...), value...)
	dst = route.AppendString(append(dst, `,"identifier":`...), in.Identifier)
	ctx.Response.SetBodyRaw(append(dst, '}'))
}

// sumOf looks up what an increment came to of which the result was lost: it may have been refused.
func (s *SDK) sumOf(c caller, in *incrementInput) ([]byte, error) {
	var value []byte
	if rec, ok := s.lookup(c, []byte(in.Identifier)); ok {
		value, _, _ = rec.Trait(in.Key)
	}
	if len(value) == 0 {
		return nil, route.Detail(fasthttp.StatusServiceUnavailable, msgIncrement)
	}
	if _, err := strconv.ParseInt(text(value), 10, 64); err != nil {
		return nil, s.refusal(identity.Result{Status: identity.StatusNotInteger})
	}
	return value, nil
}
