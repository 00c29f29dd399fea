package sdk

import (
	"github.com/valyala/fasthttp"
)

// repeated answers for the request that clients send most: a stored identity, and
// exactly its traits in their order. Its body is compared with what is stored and
// not decoded. Everything else, a body written with spaces too, is left to the
// ordinary way, of which this is a part made fast.
func (s *SDK) repeated(ctx *fasthttp.RequestCtx, c caller, sc *scratch) (p person, ok bool) {
	if !c.view.Organisation.PersistTraitData || !c.mayChangeTraits() || !isJSON(ctx.Request.Header.ContentType()) {
		return p, false
	}
	body := ctx.Request.Body()
	seen := s.FSM.State().Index
	if p, ok = s.repeats(c, sc, body); !ok || !s.Fresh() {
		return p, false
	}
	if len(sc.effective) == 0 {
		return p, true
	}
	if !s.catchUp(sc) {
		return p, false
	}
	if s.FSM.State().Index != seen {
		return s.repeats(c, sc, body)
	}
	return p, true
}

// repeats compares a body with what is stored. When they are the same, the person
// and the record and the traits of sc are those of the identity.
func (s *SDK) repeats(c caller, sc *scratch, body []byte) (p person, same bool) {
	b := scanner{data: body}
	if !b.word(`{"identifier":`) || !b.identifier(&sc.in) || len(sc.in.identifier) == 0 || !b.word(`,"traits":[`) {
		return p, false
	}
	rec, ok := &sc.record, false
	if *rec, ok = s.stored(c, sc); !ok {
		return p, false
	}
	p.identifier, p.id = text(sc.in.identifier), rec.ID()
	sc.effective = sc.effective[:0]
	for it := rec.Traits(); it.Next(); {
		t := sc.have(&it)
		if len(sc.effective) > 1 && !b.word(",") {
			return p, false
		}
		if t.stored == nil || len(t.key) > maxTraitKey || len(t.value) > maxTraitText {
			return p, false // stored by who may write longer ones: refused here
		}
		if !b.word(t.stored.json) || !b.word(text(t.value)) || !b.word("}") {
			return p, false
		}
	}
	return p, b.word("]}") && b.at == len(body)
}
