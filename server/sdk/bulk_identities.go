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
	in, err := s.bulkBody.decode(ctx, m)
	if err != nil {
		s.fail(ctx, err)
		return
	}
	persist := c.view.Organisation.PersistTraitData && (c.server || c.view.Environment.AllowClientTraits)
	ops := make([]identity.Op, 0, len(in.Data))
	for _, item := range in.Data {
		if item.Transient.Value {
			continue
		}
		op := upsert(c, item.Identifier)
		for _, t := range item.Traits.Value {
			if persist && !t.Transient.Value {
				op.Traits = append(op.Traits, identity.TraitOp{Key: []byte(t.Key), Value: t.literal})
			}
		}
		ops = append(ops, op)
	}
	if _, ok := s.done(ctx, c, ops); ok {
		ctx.Response.SetBodyString("{}")
	}
}
