package sdk

import (
	"net"
	"strconv"
	"sync"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/eval"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// answerIdentity evaluates and answers {"identifier", "traits", "flags"}.
func (s *SDK) answerIdentity(ctx *fasthttp.RequestCtx, c caller, sc *scratch, p person) {
	s.identityHead(ctx, c, p)
	ctx.Response.Header.SetContentTypeBytes(jsonType)
	b := newIdentityBody()
	s.writeFlags(ctx, b, s.appendPerson(b.own, c.view, sc, p), c, sc, p)
}

// appendIdentifier begins an identity's answer, up to its traits.
func appendIdentifier(dst []byte, p person) []byte {
	return append(route.AppendString(append(dst, `{"identifier":`...), p.identifier), `,"traits":`...)
}

// appendPerson begins an identity's answer, with its traits.
func (s *SDK) appendPerson(dst []byte, v *fsm.View, sc *scratch, p person) []byte {
	return s.appendTraits(appendIdentifier(dst, p), v, sc.effective)
}

// writeFlags ends an identity's answer, which dst begins, and makes it b.
func (s *SDK) writeFlags(ctx *fasthttp.RequestCtx, b *identityBody, dst []byte, c caller, sc *scratch, p person) {
	dst = append(dst, `,"flags":`...)
	dst, list := s.appendFlags(dst, c, sc, p)
	b.send(ctx, dst, list)
}

// identityBody is the body of an identity's answer until it is written. The list
// of flags, most of it, is often the same for many identities: it goes into the
// connection's write buffer from where it lies, without a copy of the whole before.
type identityBody struct {
	net.Buffers // what is still to be written, of parts
	parts       [3][]byte
	own         []byte
}

var identityBodies = sync.Pool{New: func() any { return new(identityBody) }}

// newIdentityBody has own empty, with the room that it had before.
func newIdentityBody() *identityBody {
	b := identityBodies.Get().(*identityBody)
	b.own = b.own[:0]
	return b
}

// maxKept bounds what a body that waits for its next use keeps of a large answer.
const maxKept = 1 << 20

var objectEnd = []byte{'}'}

// send makes b, own and list and the end, the body of the answer.
func (b *identityBody) send(ctx *fasthttp.RequestCtx, own, list []byte) {
	b.own = own
	b.parts = [3][]byte{own, list, objectEnd}
	b.Buffers = b.parts[:]
	ctx.Response.SetBodyStream(b, len(own)+len(list)+len(objectEnd))
}

// Pieces implements [route.Pieces].
func (b *identityBody) Pieces() (first, second, third []byte) {
	return b.parts[0], b.parts[1], b.parts[2]
}

// Close takes b back once it is written, or never will be.
func (b *identityBody) Close() error {
	b.Buffers, b.parts = nil, [3][]byte{}
	if cap(b.own) <= maxKept {
		identityBodies.Put(b)
	}
	return nil
}

// identityHead sets the headers of every identity answer.
func (s *SDK) identityHead(ctx *fasthttp.RequestCtx, c caller, p person) {
	s.stamp(ctx, c.view, max(p.index, p.seen))
	ctx.Response.Header.SetCanonical(updatedAtHeader, c.view.UpdatedAt)
	if p.lost {
		ctx.Response.Header.SetCanonical(persistedHeader, valueFalse)
	}
}

func (s *SDK) appendTraits(dst []byte, v *fsm.View, traits []effectiveTrait) []byte {
	dst = append(dst, '[')
	if v.Environment.HideSensitiveData {
		return append(dst, ']')
	}
	for i := range traits {
		t := &traits[i]
		if t.gone {
			continue
		}
		if dst[len(dst)-1] != '[' {
			dst = append(dst, ',')
		}
		dst = s.appendTrait(dst, t)
	}
	return append(dst, ']')
}

func (s *SDK) appendTrait(dst []byte, t *effectiveTrait) []byte {
	if s.Format == fsm.FormatEdge {
		return append(append(t.appendKey(dst), t.value...), '}')
	}
	dst = append(dst, `{"id":`...)
	if t.id == 0 {
		dst = append(dst, "null"...)
	} else {
		dst = strconv.AppendUint(dst, t.id, 10)
	}
	start := len(dst)
	dst = append(t.appendKey(dst), t.value...)
	dst[start] = ','
	dst = strconv.AppendBool(append(dst, `,"transient":`...), t.transient)
	return append(dst, '}')
}

// appendKey appends the beginning of a trait, up to its value.
func (t *effectiveTrait) appendKey(dst []byte) []byte {
	if t.stored != nil {
		return append(dst, t.stored.json...)
	}
	return append(route.AppendString(append(dst, traitStart...), t.key), traitMiddle...)
}

// appendFlags evaluates p on what sc has and appends the list of what it is shown,
// or returns it where it is kept.
func (s *SDK) appendFlags(dst []byte, c caller, sc *scratch, p person) (own, list []byte) {
	v := c.view
	overrides := v.IdentityOverrides(p.id)
	if len(overrides) == 0 {
		if list = sc.known.list(v, c.server); list != nil {
			s.kept.Inc(sc.cell)
			return dst, list
		}
	}
	s.evaluated.Inc(sc.cell)
	sc.prepare(c, v.Engine, p)
	v.Engine.MatchSegments(&sc.subject, &sc.evaluation)
	var slot listSlot
	if len(overrides) == 0 {
		if slot, list = slotOf(v, &sc.evaluation, c.server, sc.known); list != nil {
			return dst, list
		}
	}
	v.Engine.DecideFeatures(&sc.subject, &sc.evaluation)
	start := len(dst)
	dst = append(dst, '[')
	first, split := true, false
	for i := range v.Features {
		f := v.Features[i].Default.Feature
		if own := overrideOf(v, overrides, f.ID); own != nil {
			if !v.Visible(f, own.State.Enabled, c.server) {
				continue
			}
			dst = comma(dst, &first)
			dst = own.AppendIdentityFlag(dst, s.Format, eval.SelectVariant(own.Context, sc.subject.IdentityKey()))
			continue
		}
		o := sc.evaluation.Outcomes[i]
		state := v.Winner(i, o)
		split = split || len(state.Options) > 0
		if !v.Visible(f, state.State.Enabled, c.server) {
			continue
		}
		dst = comma(dst, &first)
		dst = append(dst, state.Fragment(s.Format, int(o.Variant))...)
	}
	dst = append(dst, ']')
	if !split {
		slot.keep(dst[start:])
	}
	return dst, nil
}

func comma(dst []byte, first *bool) []byte {
	if *first {
		*first = false
		return dst
	}
	return append(dst, ',')
}

// overrideOf finds an identity's own state of a feature.
func overrideOf(v *fsm.View, rows []*fsm.FeatureState, feature uint64) *fsm.ServedState {
	for _, row := range rows {
		if row.Feature == feature {
			return v.ServeOverride(row)
		}
	}
	return nil
}

// answerFeature writes the one flag that ?feature= names, exactly.
func (s *SDK) answerFeature(ctx *fasthttp.RequestCtx, c caller, sc *scratch, p person, name string) {
	s.identityHead(ctx, c, p)
	v := c.view
	i, ok := v.Engine.FeatureIndex(name)
	if !ok {
		s.fail(ctx, route.Detail(fasthttp.StatusNotFound, msgFeatureNotFound))
		return
	}
	s.evaluated.Inc(sc.cell)
	sc.prepare(c, v.Engine, p)
	o := v.Engine.EvaluateFeature(&sc.subject, &sc.evaluation, i)
	state, variant := v.Winner(i, o), int(o.Variant)
	if own := overrideOf(v, v.IdentityOverrides(p.id), state.Feature.ID); own != nil {
		state, variant = own, eval.SelectVariant(own.Context, sc.subject.IdentityKey())
	}
	if !v.Visible(state.Feature, state.State.Enabled, c.server) {
		s.fail(ctx, route.Detail(fasthttp.StatusNotFound, msgFeatureNotFound))
		return
	}
	ctx.Response.Header.SetContentTypeBytes(jsonType)
	ctx.Response.SetBodyRaw(state.AppendIdentityFlag(nil, s.Format, variant))
}
