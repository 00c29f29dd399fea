package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/flagraft/flagraft/eval/jsonpath"
)

// maxRuleDepth bounds the nesting of rules in a decoded context.
const maxRuleDepth = 64

// DecodeContext reads an evaluation context from one JSON object. Object order
// is kept and numbers are read without loss. Errors name the member at fault.
// Unknown members are allowed; JSONPath properties can see them.
func DecodeContext(data []byte) (*Context, error) {
	d := decoder{}
	root := d.object("", data)
	c := &Context{raw: bytes.Clone(data)}
	environment := d.object("environment", root.need(&d, "environment"))
	c.Environment.Key = d.text("environment.key", environment.need(&d, "key"))
	c.Environment.Name = d.text("environment.name", environment.need(&d, "name"))
	if raw := root.get("identity"); !isNull(raw) {
		c.Identity = d.identity(raw)
	}
	if raw := root.get("features"); !isNull(raw) {
		for _, m := range d.object("features", raw).members {
			c.Features = append(c.Features, d.feature("features."+m.name, m.raw))
		}
	}
	if raw := root.get("segments"); !isNull(raw) {
		for _, m := range d.object("segments", raw).members {
			c.Segments = append(c.Segments, d.segment("segments."+m.name, m.raw))
		}
	}
	if d.err != nil {
		return nil, fmt.Errorf("evaluation context: %w", d.err)
	}
	return c, nil
}

// decoder remembers the first error; after one its results mean nothing.
type decoder struct{ err error }

func (d *decoder) fail(path, what string) {
	if d.err != nil {
		return
	}
	if path == "" {
		d.err = errors.New(what)
	} else {
		d.err = fmt.Errorf("%s: %s", path, what)
	}
}

type member struct {
	name string
	raw  json.RawMessage
}

// object is a JSON object split into members in order.
type object struct {
	path    string
	members []member
}

func (o object) get(name string) json.RawMessage {
	for _, m := range o.members {
		if m.name == name {
			return m.raw
		}
	}
	return nil
}

func (o object) need(d *decoder, name string) json.RawMessage {
	raw := o.get(name)
	if raw == nil {
		d.fail(join(o.path, name), "missing")
	}
	return raw
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func isNull(raw json.RawMessage) bool { return raw == nil || string(raw) == "null" }

// object splits raw. Of members with one name the last counts, at the place of
// the first.
func (d *decoder) object(path string, raw []byte) object {
	o := object{path: path}
	if d.err != nil {
		return o
	}
	j := json.NewDecoder(bytes.NewReader(raw))
	token, err := j.Token()
	if err != nil {
		d.fail(path, syntaxError(err))
		return o
	}
	if token != json.Delim('{') {
		d.fail(path, "not an object")
		return o
	}
	at := make(map[string]int)
	for j.More() {
		token, err := j.Token()
		if err != nil {
			d.fail(path, syntaxError(err))
			return o
		}
		name, _ := token.(string)
		var value json.RawMessage
		if err := j.Decode(&value); err != nil {
			d.fail(join(path, name), syntaxError(err))
			return o
		}
		if i, ok := at[name]; ok {
			o.members[i].raw = value
			continue
		}
		at[name] = len(o.members)
		o.members = append(o.members, member{name, value})
	}
	if _, err := j.Token(); err != nil {
		d.fail(path, syntaxError(err))
		return o
	}
	if _, err := j.Token(); err != io.EOF {
		d.fail(path, "more than one JSON value")
	}
	return o
}

func syntaxError(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "unexpected end of JSON"
	}
	return err.Error()
}

func (d *decoder) list(path string, raw []byte) []json.RawMessage {
	if d.err != nil || isNull(raw) {
		return nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		d.fail(path, "not a list")
	}
	return list
}

func (d *decoder) text(path string, raw []byte) string {
	v := d.scalar(path, raw)
	text, ok := v.AsString()
	if !ok {
		d.fail(path, "not a string")
	}
	return text
}

// optionalText takes a missing or null member as "".
func (d *decoder) optionalText(path string, raw []byte) string {
	if isNull(raw) {
		return ""
	}
	return d.text(path, raw)
}

func (d *decoder) scalar(path string, raw []byte) Value {
	if d.err != nil {
		return Value{}
	}
	v, err := ParseLiteral(raw)
	if err != nil {
		d.fail(path, err.Error())
	}
	return v
}

func (d *decoder) number(path string, raw []byte) Value {
	v := d.scalar(path, raw)
	if v.kind != KindInt && v.kind != KindFloat {
		d.fail(path, "not a number")
	}
	return v
}

func (d *decoder) identity(raw []byte) *IdentityContext {
	o := d.object("identity", raw)
	identity := &IdentityContext{
		Identifier: d.text("identity.identifier", o.need(d, "identifier")),
		Key:        d.optionalText("identity.key", o.get("key")),
	}
	if raw := o.get("traits"); !isNull(raw) {
		for _, m := range d.object("identity.traits", raw).members {
			identity.Traits = append(identity.Traits, Trait{m.name, d.trait("identity.traits."+m.name, m.raw)})
		}
	}
	return identity
}

// trait takes a list or an object as its text, as the reference does.
func (d *decoder) trait(path string, raw []byte) Value {
	v, err := ParseLiteral(raw)
	if err == nil {
		return v
	}
	node, err := jsonpath.Decode(raw)
	if err != nil {
		d.fail(path, err.Error())
		return Value{}
	}
	return Value{kind: KindString, text: pyStr(node), composite: true}
}

func (d *decoder) feature(path string, raw []byte) *FeatureContext {
	o := d.object(path, raw)
	f := &FeatureContext{
		Key:      d.text(path+".key", o.need(d, "key")),
		Name:     d.text(path+".name", o.need(d, "name")),
		Value:    d.scalar(path+".value", o.need(d, "value")),
		Metadata: d.metadata(path+".metadata", o.get("metadata")),
	}
	var ok bool
	if f.Enabled, ok = d.scalar(path+".enabled", o.need(d, "enabled")).AsBool(); !ok {
		d.fail(path+".enabled", "not a boolean")
	}
	if raw := o.get("priority"); !isNull(raw) {
		f.Priority = d.number(path+".priority", raw)
	}
	for i, raw := range d.list(path+".variants", o.get("variants")) {
		f.Variants = append(f.Variants, d.variant(fmt.Sprintf("%s.variants[%d]", path, i), raw))
	}
	return f
}

func (d *decoder) variant(path string, raw []byte) Variant {
	o := d.object(path, raw)
	return Variant{
		Key:      d.optionalText(path+".key", o.get("key")),
		Value:    d.scalar(path+".value", o.need(d, "value")),
		Weight:   d.number(path+".weight", o.need(d, "weight")),
		Priority: d.number(path+".priority", o.need(d, "priority")),
	}
}

// metadata keeps an object as it is; an empty one counts as absent.
func (d *decoder) metadata(path string, raw []byte) json.RawMessage {
	if isNull(raw) {
		return nil
	}
	if len(d.object(path, raw).members) == 0 {
		return nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		d.fail(path, err.Error())
	}
	return compact.Bytes()
}

func (d *decoder) segment(path string, raw []byte) *SegmentContext {
	o := d.object(path, raw)
	s := &SegmentContext{
		Key:      d.text(path+".key", o.need(d, "key")),
		Name:     d.text(path+".name", o.need(d, "name")),
		Rules:    d.rules(path+".rules", o.need(d, "rules"), 1),
		Metadata: d.metadata(path+".metadata", o.get("metadata")),
	}
	for i, raw := range d.list(path+".overrides", o.get("overrides")) {
		s.Overrides = append(s.Overrides, d.feature(fmt.Sprintf("%s.overrides[%d]", path, i), raw))
	}
	return s
}

func (d *decoder) rules(path string, raw []byte, depth int) []SegmentRule {
	if depth > maxRuleDepth {
		d.fail(path, "rules nested too deeply")
		return nil
	}
	var rules []SegmentRule
	for i, raw := range d.list(path, raw) {
		path := fmt.Sprintf("%s[%d]", path, i)
		o := d.object(path, raw)
		r := SegmentRule{
			Type:  d.text(path+".type", o.need(d, "type")),
			Rules: d.rules(path+".rules", o.get("rules"), depth+1),
		}
		for j, raw := range d.list(path+".conditions", o.get("conditions")) {
			r.Conditions = append(r.Conditions, d.condition(fmt.Sprintf("%s.conditions[%d]", path, j), raw))
		}
		rules = append(rules, r)
	}
	return rules
}

// condition takes a null or missing property or value as "", and a value that
// is neither string nor list as the text it would be stored as.
func (d *decoder) condition(path string, raw []byte) Condition {
	o := d.object(path, raw)
	c := Condition{
		Property: d.optionalText(path+".property", o.get("property")),
		Operator: d.text(path+".operator", o.need(d, "operator")),
	}
	value := o.get("value")
	if d.err != nil || isNull(value) {
		return c
	}
	if value[0] != '[' {
		c.Value = d.scalar(path+".value", value).Text()
		return c
	}
	list, err := listOfTexts(value)
	if err != nil {
		d.fail(path+".value", err.Error())
	}
	c.List, c.IsList = list, true
	return c
}
