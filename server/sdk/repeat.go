package sdk

import (
	"strconv"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm"
)

// repeated answers for the request that clients send most: a stored identity, and
// exactly its traits in their order. Its body is compared with what is stored and
// not decoded, and the traits of the answer are copied from it. Everything else, a body
// written with spaces too, is left to the ordinary way, of which this is a part made fast.
//
// answer is dst with the beginning of the answer, up to the end of the traits; without ok it is dst.
func (s *SDK) repeated(ctx *fasthttp.RequestCtx, c caller, sc *scratch, dst []byte) (p person, answer []byte, ok bool) {
	if !c.view.Organisation.PersistTraitData || !c.mayChangeTraits() || !isJSON(ctx.Request.Header.ContentType()) {
		return p, dst, false
	}
	body := ctx.Request.Body()
	seen, applied := s.FSM.State().Index, s.FSM.Applied().Current()
	if p, answer, ok = s.repeats(c, sc, body, dst); !ok || !s.current(sc, sc.record.TraitCount() > 0) {
		return p, dst, false
	}
	if s.FSM.State().Index != seen {
		applied = s.FSM.Applied().Current()
		if p, answer, ok = s.repeats(c, sc, body, dst); !ok {
			return p, dst, false
		}
	}
	p.seen = c.shows(applied)
	return p, answer, true
}

// repeats compares a body with what is stored. When they are the same, the person and the
// record of sc are those of the identity.
func (s *SDK) repeats(c caller, sc *scratch, body, dst []byte) (p person, answer []byte, same bool) {
	b := scanner{data: body}
	if !b.word(`{"identifier":`) || !b.identifier(&sc.in) || len(sc.in.identifier) == 0 || !b.word(`,"traits":[`) {
		return p, dst, false
	}
	rec, ok := &sc.record, false
	if *rec, ok = s.stored(c, sc); !ok {
		return p, dst, false
	}
	p.identifier, p.id = text(sc.in.identifier), rec.ID()
	answer = append(appendIdentifier(dst, p), '[')
	traits, edge, ids := len(answer), s.Format == fsm.FormatEdge, successor{}
	for it := rec.Traits(); it.Next(); {
		key, value := sc.keys.key(it.KeyID()), it.Value()
		if key == nil || key.long || len(value) > maxTraitText {
			return p, dst, false // stored by who may write longer ones: refused here
		}
		first := len(answer) == traits
		if !first && !b.word(",") {
			return p, dst, false
		}
		start := b.at
		if !b.word(key.json) || !b.word(text(value)) || !b.word("}") {
			return p, dst, false
		}
		if !edge {
			answer = append(ids.appendTo(answer, it.ID(), first), body[start+1:b.at-1]...)
			continue
		}
		if !first {
			answer = append(answer, ',')
		}
		answer = append(answer, body[start:b.at]...)
	}
	if !edge && len(answer) > traits {
		answer = append(answer, traitEnd...)
	}
	if !b.word("]}") || b.at != len(body) {
		return p, dst, false
	}
	if c.view.Environment.HideSensitiveData {
		answer = answer[:traits]
	}
	sc.repeats = true
	return p, append(answer, ']'), true
}

// What stands around the ids in a list of traits.
const (
	traitEnd   = `,"transient":false}`
	traitBegin = `{"id":`
	beforeID   = traitEnd + "," + traitBegin
	afterID    = ","
)

// successor writes the ids of a list's traits, most of which follow the one before, as they do in
// an identity that was created with its traits.
type successor struct {
	last uint64
	text [len(beforeID) + 20 + len(afterID)]byte // of the last one, with what stands around it
	n    int                                     // bytes of it
}

// appendTo appends an id; but for the first of the list, the trait before it is ended.
func (s *successor) appendTo(dst []byte, id uint64, first bool) []byte {
	if ends := s.n - len(afterID) - 1; s.n > 0 && id > s.last && id-s.last == 1 && s.text[ends] < '9' {
		s.text[ends]++
	} else {
		s.n = len(append(strconv.AppendUint(append(s.text[:0], beforeID...), id, 10), afterID...))
	}
	s.last = id
	if first {
		return append(dst, s.text[len(beforeID)-len(traitBegin):s.n]...)
	}
	return append(dst, s.text[:s.n]...)
}
