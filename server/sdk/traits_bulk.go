package sdk

import (
	"strings"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/route"
)

// putTraits is PUT /traits/bulk/: a list of traits of any identities, null
// deletes; the answer is the whole trait list of each identity that was set one,
// without what was not sent where the environment hides traits.
func (s *SDK) putTraits(ctx *fasthttp.RequestCtx, _ *route.Match) {
	c, ok := s.enterTraits(ctx, route.BadRequest(msgClientBulk))
	if !ok {
		return
	}
	body, err := bodyOf(ctx)
	if err == nil && body.Kind != route.List {
		err = route.BadRequest(msgInvalidData)
	}
	if err != nil {
		s.fail(ctx, err)
		return
	}
	b := bulkTraits{caller: c, at: map[string]int{}}
	errs := &route.Errors{}
	for i, item := range body.Items {
		if item.Kind != route.Object {
			s.fail(ctx, route.BadRequest(msgInvalidData))
			return
		}
		b.add(item, errs.Item(i))
	}
	if err := errs.Err(); err != nil {
		s.fail(ctx, err)
		return
	}
	if _, ok := s.done(ctx, c, append(b.deletes, b.upserts...)); !ok {
		return
	}
	dst := []byte{'['}
	for _, op := range b.upserts {
		rec, ok := s.lookup(c, op.Identifier)
		if !ok {
			continue // deleted since
		}
		shown := b.shown(op)
		for it := rec.Traits(); it.Next(); {
			if shown != nil && !shown[it.Key()] {
				continue
			}
			if len(dst) > 1 {
				dst = append(dst, ',')
			}
			dst = appendTraitEcho(dst, string(op.Identifier), it.Key(), it.Value())
		}
	}
	ctx.Response.SetBodyRaw(append(dst, ']'))
}

// bodyOf parses the request body, whatever its format.
func bodyOf(ctx *fasthttp.RequestCtx) (route.Value, error) {
	return route.ParseBody(string(ctx.Request.Header.ContentType()), ctx.Request.Body())
}

// bulkTraits gathers the operations of a bulk request, one upsert an identity.
type bulkTraits struct {
	caller
	deletes, upserts []identity.Op
	at               map[string]int // of upserts by identifier
}

func (b *bulkTraits) add(item route.Value, errs *route.Errors) {
	literal, msg := literalOf(item.Get("trait_value"))
	if msg != "" {
		errs.Add("trait_value", msg)
	}
	key := requiredText(item.Get("trait_key"), "trait_key", maxTraitKey, errs)
	identifier := ""
	switch ref := item.Get("identity"); ref.Kind {
	case route.Missing:
		errs.Add("identity", route.MsgRequired)
	case route.Object:
		inner := &route.Errors{}
		identifier = requiredText(ref.Get("identifier"), "identifier", maxIdentifier, inner)
		if !inner.Empty() {
			*errs.At("identity") = *inner
		}
	default:
		errs.At("identity").NonField("Invalid data. Expected a dictionary.")
	}
	if !errs.Empty() {
		return
	}
	if literal == nil {
		b.deletes = append(b.deletes, identity.Op{
			Kind: identity.KindDeleteTrait, Environment: b.view.Environment.ID, Identifier: []byte(identifier), Key: []byte(key),
		})
		return
	}
	i, ok := b.at[identifier]
	if !ok {
		i = len(b.upserts)
		b.at[identifier] = i
		b.upserts = append(b.upserts, upsert(b.caller, identifier))
	}
	b.upserts[i].Traits = append(b.upserts[i].Traits, identity.TraitOp{Key: []byte(key), Value: literal})
}

// shown are the keys of the traits that the answer may show of an identity; nil: all. Where the
// environment hides them, these are the ones that the client has just sent: keys of SDKs are public.
func (b *bulkTraits) shown(op identity.Op) map[string]bool {
	if !b.view.Environment.HideSensitiveData {
		return nil
	}
	keys := make(map[string]bool, len(op.Traits))
	for _, t := range op.Traits {
		keys[string(t.Key)] = true
	}
	return keys
}

// requiredText reads a text member of a hand-checked object.
func requiredText(v route.Value, name string, limit int, errs *route.Errors) string {
	switch v.Kind {
	case route.Missing:
		errs.Add(name, route.MsgRequired)
		return ""
	case route.Null:
		errs.Add(name, route.MsgNull)
		return ""
	case route.String, route.Int, route.Float:
	default:
		errs.Add(name, route.MsgString)
		return ""
	}
	t := strings.TrimSpace(route.PythonStr(v))
	switch msg := route.TextFault(t); {
	case msg != "":
		errs.Add(name, msg)
	case t == "":
		errs.Add(name, route.MsgBlank)
	case utf8.RuneCountInString(t) > limit:
		errs.Add(name, route.MaxLengthText(limit))
	}
	return t
}
