package sdk

import (
	"context"
	"reflect"
	"strconv"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/route"
)

const (
	msgTextTooLong = "Value string is too long. Must be less than 2000 character"
	msgBigInteger  = "Integers must fit 64 bits."
)

// identifyInput is the body of POST /identities/.
type identifyInput struct {
	Identifier route.Optional[string]           `json:"identifier" v:"null,blank,max=2000"`
	Traits     route.Optional[[]traitItemInput] `json:"traits" v:"null"`
	Transient  route.Optional[bool]             `json:"transient" v:"null"`
}

type traitItemInput struct {
	Key       string               `json:"trait_key" v:"required,max=200"`
	Value     route.Value          `json:"trait_value" v:"required,null"`
	Transient route.Optional[bool] `json:"transient" v:"null"`

	literal []byte
}

// Validate checks the value and makes its literal.
func (t *traitItemInput) Validate(errs *route.Errors) {
	var msg string
	if t.literal, msg = literalOf(t.Value); msg != "" {
		errs.Add("trait_value", msg)
	}
}

// literalOf returns the canonical literal of a trait value, nil for null, or a
// message. Lists and objects become the text that the reference stores.
func literalOf(v route.Value) ([]byte, string) {
	switch v.Kind {
	case route.Missing, route.Null:
		return nil, ""
	case route.Upload:
		return nil, route.MsgString
	case route.Int:
		if _, err := strconv.ParseInt(v.Text, 10, 64); err != nil {
			return nil, msgBigInteger
		}
	case route.List, route.Object:
		v = route.Value{Kind: route.String, Text: route.PythonStr(v)}
	}
	raw := []byte(v.Text)
	if v.Kind == route.String {
		if msg := route.TextFault(v.Text); msg != "" {
			return nil, msg
		}
		if utf8.RuneCountInString(v.Text) > maxTraitText {
			return nil, msgTextTooLong
		}
		raw = route.AppendString(nil, v.Text)
	}
	literal, err := identity.CanonicalValue(raw)
	if err != nil {
		return nil, route.MsgNumber
	}
	return literal, ""
}

// decoders reads bodies that are not of the plain shape into typed inputs.
type decoder[In any] struct{ schema *route.Schema }

func newDecoder[In any]() decoder[In] {
	schema, err := route.CompileSchema(reflect.TypeFor[In]())
	if err != nil {
		panic(err) // an input type of this package is wrong
	}
	return decoder[In]{schema}
}

// decode reads the request into an In that owns its memory.
func (d decoder[In]) decode(ctx *fasthttp.RequestCtx, m *route.Match) (*In, error) {
	call := route.NewCall(context.Background(), m, requestOf(ctx))
	in, err := d.schema.Decode(call)
	if err != nil {
		return nil, err
	}
	return in.(*In), nil
}

// requestOf copies what decoding looks at.
func requestOf(ctx *fasthttp.RequestCtx) *route.Request {
	return &route.Request{
		Method:  string(ctx.Method()),
		Query:   string(ctx.URI().QueryString()),
		Headers: []route.Header{{Name: "Content-Type", Value: string(ctx.Request.Header.ContentType())}},
		Body:    append([]byte(nil), ctx.Request.Body()...),
	}
}

// decodeIdentify is the long way of scan.
func (s *SDK) decodeIdentify(ctx *fasthttp.RequestCtx, m *route.Match, sc *scratch) error {
	sc.in.reset()
	in, err := s.identifyBody.decode(ctx, m)
	if err != nil {
		return err
	}
	sc.in.identifier = []byte(in.Identifier.Value)
	sc.in.transient = in.Transient.Value
	sc.in.traits = appendTraits(sc.in.traits, in.Traits.Value)
	return nil
}

func appendTraits(dst []traitInput, items []traitItemInput) []traitInput {
	for _, t := range items {
		dst = append(dst, traitInput{key: []byte(t.Key), value: t.literal, transient: t.Transient.Value})
	}
	return dst
}

// identifyInputOf reads a POST /identities/ body, the plain shape without
// allocating.
func (s *SDK) identifyInputOf(ctx *fasthttp.RequestCtx, m *route.Match, sc *scratch) error {
	if isJSON(ctx.Request.Header.ContentType()) && sc.scan(ctx.Request.Body()) {
		return nil
	}
	return s.decodeIdentify(ctx, m, sc)
}

// isJSON recognises the content types that need no closer look.
func isJSON(contentType []byte) bool {
	const json = "application/json"
	if len(contentType) < len(json) || string(contentType[:len(json)]) != json {
		return false
	}
	rest := contentType[len(json):]
	return len(rest) == 0 || rest[0] == ';'
}
