package ofrep

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/eval"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/route"
)

// maxIdentifier is the longest identifier, in characters.
const maxIdentifier = 2000

// person is whom flags are evaluated for; the zero person is nobody.
type person struct {
	identifier string
	anonymous  bool // the identifier is made up: nothing stored is looked at
	attributes []attribute
}

func (p person) nobody() bool { return p.identifier == "" }

// attribute is a trait for this evaluation.
type attribute struct {
	name    string
	literal []byte // canonical, as traits are stored
	value   eval.Value
}

// person reads the request's context and counts the request.
func (a *API) person(ctx *fasthttp.RequestCtx, c caller) (person, *fault) {
	if !isJSON(ctx.Request.Header.ContentType()) {
		return person{}, notJSON
	}
	given, f := contextOf(ctx.Request.Body())
	if f != nil {
		return person{}, f
	}
	p, f := readPerson(given, c.server || c.view.Environment.AllowClientTraits)
	if f != nil {
		return person{}, f
	}
	kind := fsm.UsageIdentities
	if p.nobody() {
		kind = fsm.UsageFlags
	}
	a.Usage.Request(c.view.Environment.ID, kind, fsm.RequestClient(route.ClientOf(ctx)))
	return p, nil
}

// isJSON accepts application/json, with parameters, and a missing type.
func isJSON(contentType []byte) bool {
	media, _, _ := strings.Cut(string(contentType), ";")
	media = strings.ToLower(strings.TrimSpace(media))
	return media == "" || media == jsonType
}

// contextOf gives the member "context" of a body: an object, empty when missing.
func contextOf(body []byte) (route.Value, *fault) {
	if len(body) == 0 {
		return route.Value{}, nil
	}
	v, err := route.ParseJSON(slices.Clone(body))
	if err != nil {
		return v, &fault{fasthttp.StatusBadRequest, "PARSE_ERROR", messageOf(err)}
	}
	if v.Kind != route.Object {
		return v, notObject
	}
	given := v.Get("context")
	switch given.Kind {
	case route.Missing, route.Null, route.Object:
		return given, nil
	}
	return given, invalidContext("The context must be an object.")
}

// messageOf is the text of a refusal of package route.
func messageOf(err error) string {
	var refused *route.Error
	if !errors.As(err, &refused) {
		return err.Error()
	}
	v, err := route.ParseJSON(route.AppendJSON(nil, refused.Body))
	if err != nil {
		return "The body could not be read."
	}
	return v.Get("detail").Text
}

func readPerson(given route.Value, attributes bool) (person, *fault) {
	p := person{}
	switch key := given.Get("targetingKey"); key.Kind {
	case route.Missing, route.Null:
	case route.String:
		p.identifier = strings.TrimSpace(key.Text)
	default:
		return p, invalidContext("The targetingKey must be a string.")
	}
	if msg := route.TextFault(p.identifier); msg != "" {
		return p, invalidContext("targetingKey: " + msg)
	}
	if utf8.RuneCountInString(p.identifier) > maxIdentifier {
		return p, invalidContext("targetingKey: " + route.MaxLengthText(maxIdentifier))
	}
	if attributes {
		for _, object := range []route.Value{given, given.Get("traits")} {
			var f *fault
			if p.attributes, f = appendAttributes(p.attributes, object); f != nil {
				return p, f
			}
		}
	}
	if p.nobody() && len(p.attributes) > 0 {
		p.identifier, p.anonymous = nameOf(p.attributes), true
	}
	return p, nil
}

// appendAttributes appends the scalars of an object; a later one of a name
// replaces the earlier.
func appendAttributes(dst []attribute, object route.Value) ([]attribute, *fault) {
	at := make(map[string]int, len(dst)+len(object.Members))
	for i := range dst {
		at[dst[i].name] = i
	}
	for _, m := range object.Unique() {
		t, ok, f := readAttribute(m)
		if f != nil {
			return dst, f
		}
		if !ok {
			continue
		}
		if i, known := at[t.name]; known {
			dst[i] = t
			continue
		}
		at[t.name] = len(dst)
		dst = append(dst, t)
	}
	return dst, nil
}

// readAttribute reads a member that is a trait; one that is none is not ok. What
// POST /identities/ refuses is refused here, too: without the attribute the stored
// trait of that name would decide.
func readAttribute(m route.Member) (t attribute, ok bool, f *fault) {
	if m.Name == "targetingKey" {
		return t, false, nil
	}
	raw := []byte(m.Value.Text)
	switch m.Value.Kind {
	case route.String:
		if msg := route.TextFault(m.Value.Text); msg != "" {
			return t, false, invalidContext(m.Name + ": " + msg)
		}
		raw = route.AppendString(nil, m.Value.Text)
	case route.Bool, route.Int, route.Float:
	default:
		return t, false, nil
	}
	if msg := route.TextFault(m.Name); msg != "" {
		return t, false, invalidContext("The name of an attribute: " + msg)
	}
	literal, err := identity.CanonicalValue(raw)
	if err != nil {
		return t, false, invalidContext(m.Name + ": A valid number is required.")
	}
	value, err := eval.ParseLiteral(literal)
	// Names of traits are stored without white space around them.
	return attribute{strings.TrimSpace(m.Name), literal, value}, err == nil, nil
}

// nameOf is the identifier of a request with attributes alone, the same that
// POST /identities/ makes up: the SHA-256 of all keys and values by key.
func nameOf(attributes []attribute) string {
	var buf []byte
	for _, t := range sorted(attributes) {
		buf = append(buf, t.name...)
		buf = t.value.AppendText(buf)
	}
	sum := sha256.Sum256(buf)
	return hex.EncodeToString(sum[:])
}

func sorted(attributes []attribute) []attribute {
	return slices.SortedFunc(slices.Values(attributes), func(a, b attribute) int { return cmp.Compare(a.name, b.name) })
}
