package sdk

import (
	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/route"
)

// bulkInput is the body of POST /bulk-identities: at most 100 identities, as the
// official clients send them.
type bulkInput struct {
	Data []bulkItemInput `json:"data" v:"required,max=100"`
}

type bulkItemInput struct {
	Identifier string                           `json:"identifier" v:"required,max=2000"`
	Traits     route.Optional[[]traitItemInput] `json:"traits" v:"null"`
	Transient  route.Optional[bool]             `json:"transient" v:"null"`
}

// postBulk is POST /bulk-identities: creates the missing identities and sets
// their traits, null deletes. What is not known to be stored is 503.
func (s *SDK) postBulk(ctx *fasthttp.RequestCtx, m *route.Match) {
	c, ok := s.enter(ctx, fsm.UsageIdentities, false)
	if !ok {
		return
	}
	ops, err := s.bulkOps(ctx, m, c)
	if err != nil {
		s.fail(ctx, err)
		return
	}
	if _, ok := s.done(ctx, c, ops); ok {
		ctx.Response.SetBodyString("{}")
	}
}

// maxBulk is how many identities a request may have.
const maxBulk = 100

// bulkOps reads the body, the plain shape without the ordinary decoder.
func (s *SDK) bulkOps(ctx *fasthttp.RequestCtx, m *route.Match, c caller) ([]identity.Op, error) {
	persist := c.view.Organisation.PersistTraitData && c.mayChangeTraits()
	if isJSON(ctx.Request.Header.ContentType()) {
		sc := s.scratch(ctx)
		defer s.release(sc)
		if ops, ok := sc.scanBulk(ctx.Request.Body(), c.view.Environment.ID, persist); ok {
			return ops, nil
		}
	}
	return s.decodeBulk(ctx, m, c.view.Environment.ID, persist)
}

// scanBulk is [scratch.scan] for many: {"data": [...]} and nothing else.
func (sc *scratch) scanBulk(data []byte, environment uint64, persist bool) ([]identity.Op, bool) {
	p := scanner{data: data}
	if !p.open('{') {
		return nil, false
	}
	if name, ok := p.member(); !ok || string(name) != "data" || !p.open('[') {
		return nil, false
	}
	var ops []identity.Op
	for n := 0; !p.closed(']'); n++ {
		sc.in.reset()
		sc.arena = sc.arena[:0]
		if n == maxBulk || !sc.person(&p) || len(sc.in.identifier) == 0 || !p.next(']') {
			return nil, false
		}
		if !sc.in.transient {
			ops = append(ops, ownedUpsert(environment, &sc.in, persist, false))
		}
	}
	if p.space(); !p.closed('}') {
		return nil, false
	}
	p.space()
	return ops, p.at == len(data)
}

// decodeBulk is the long way of scanBulk.
func (s *SDK) decodeBulk(ctx *fasthttp.RequestCtx, m *route.Match, environment uint64, persist bool) ([]identity.Op, error) {
	in, err := s.bulkBody.decode(ctx, m)
	if err != nil {
		return nil, err
	}
	ops := make([]identity.Op, 0, len(in.Data))
	for _, item := range in.Data {
		if item.Transient.Value {
			continue
		}
		op := identity.Op{Kind: identity.KindUpsert, Environment: environment, Identifier: []byte(item.Identifier)}
		for _, t := range item.Traits.Value {
			if persist && !t.Transient.Value {
				op.Traits = append(op.Traits, identity.TraitOp{Key: []byte(t.Key), Value: t.literal})
			}
		}
		ops = append(ops, op)
	}
	return ops, nil
}
