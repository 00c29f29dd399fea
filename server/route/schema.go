package route

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Schema is a compiled input type: what Decode does with a request, and what the API description says about it.
type Schema struct {
	typ    reflect.Type
	path   []*field
	query  []*field
	body   *object // members of the body; nil when the type takes the whole body, or none
	whole  *field  // the member with body:""
	decode bool    // whether the body is read at all
}

// shape is the kind of target a value is bound to.
type shape uint8

const (
	shapeString shape = iota
	shapeInt
	shapeFloat
	shapeBool
	shapeTime
	shapeInstant // a replicated time: an integer of microseconds with Std()
	shapeUUID
	shapeScalar
	shapeValue
	shapeFile
	shapeList
	shapeObject
	shapeCustom
)

// valueReader is a type that reads itself; the error's text becomes the field's message.
type valueReader interface{ FromValue(Value) error }

var (
	scalarType      = reflect.TypeFor[Scalar]()
	valueType       = reflect.TypeFor[Value]()
	fileType        = reflect.TypeFor[File]()
	uuidType        = reflect.TypeFor[uuid.UUID]()
	valueReaderType = reflect.TypeFor[valueReader]()
	validatorType   = reflect.TypeFor[validator]()
)

// validator is an input with object-level checks.
type validator interface{ Validate(*Errors) }

// target is a compiled Go type below Optional and pointers.
type target struct {
	shape shape
	typ   reflect.Type
	elem  *field  // of a list: its elements
	obj   *object // of an object
}

// object is a compiled struct of body members.
type object struct {
	typ       reflect.Type
	fields    []*field
	validates bool
}

// field is one input member with its rules.
type field struct {
	name     string
	index    []int
	param    bool // from the path or the query
	optional bool // Optional[T]
	pointer  bool // *T, or Optional[*T]
	target   target
	types    []string // what the description says, where the Go type tells less
	rules
}

// rules is the v tag.
type rules struct {
	required, null, blank, notrim, pk, nonempty, csv, whole bool

	hasMin, hasMax bool
	min, max       int64
	choices        []string
	format         string // email, url, uuid, slug
	def            *string
}

// CompileSchema compiles an input type. nil and struct{} compile to a schema that reads nothing.
func CompileSchema(t reflect.Type) (*Schema, error) {
	s := &Schema{typ: t}
	if t == nil {
		return s, nil
	}
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("input %s is not a struct", t)
	}
	c := &schemaCompiler{objects: map[reflect.Type]*object{}}
	for _, f := range reflect.VisibleFields(t) {
		if err := s.addField(c, f); err != nil {
			return nil, fmt.Errorf("input %s.%s: %w", t, f.Name, err)
		}
	}
	obj, err := c.object(t)
	if err != nil {
		return nil, err
	}
	if len(obj.fields) > 0 {
		s.body = obj
	}
	if s.body != nil && s.whole != nil {
		return nil, fmt.Errorf("input %s takes members and the whole body", t)
	}
	s.decode = s.body != nil || s.whole != nil
	return s, nil
}

// ReadsBody reports whether the input takes anything from the request body.
func (s *Schema) ReadsBody() bool { return s != nil && s.decode }

func (s *Schema) addField(c *schemaCompiler, f reflect.StructField) error {
	if !f.IsExported() {
		return nil
	}
	if name, ok := f.Tag.Lookup("path"); ok {
		p, err := c.param(name, f)
		s.path = append(s.path, p)
		return err
	}
	if name, ok := f.Tag.Lookup("query"); ok {
		p, err := c.param(name, f)
		s.query = append(s.query, p)
		return err
	}
	if _, ok := f.Tag.Lookup("body"); ok {
		p, err := c.field("", f)
		s.whole = p
		return err
	}
	return nil
}

// checkParams compares the path members with the parameters of the row's path: every member must name one.
func (s *Schema) checkParams(params []string) error {
	for _, f := range s.path {
		if !slices.Contains(params, f.name) {
			return fmt.Errorf("input %s reads path parameter %q, which the path lacks", s.typ, f.name)
		}
	}
	return nil
}

// schemaCompiler remembers structs under way, so that recursive ones end.
type schemaCompiler struct {
	objects map[reflect.Type]*object
}

// object compiles the json members of a struct.
func (c *schemaCompiler) object(t reflect.Type) (*object, error) {
	if o, ok := c.objects[t]; ok {
		return o, nil
	}
	o := &object{typ: t, validates: reflect.PointerTo(t).Implements(validatorType)}
	c.objects[t] = o
	for _, f := range reflect.VisibleFields(t) {
		tag, ok := f.Tag.Lookup("json")
		name, _, _ := strings.Cut(tag, ",")
		if !ok || name == "-" || name == "" || !f.IsExported() {
			continue
		}
		m, err := c.field(name, f)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", t, f.Name, err)
		}
		o.fields = append(o.fields, m)
	}
	return o, nil
}

// param compiles a member that comes from the path or the query.
func (c *schemaCompiler) param(name string, f reflect.StructField) (*field, error) {
	m, err := c.field(name, f)
	if err == nil {
		m.param = true
	}
	return m, err
}

func (c *schemaCompiler) field(name string, f reflect.StructField) (*field, error) {
	r, err := parseRules(f.Tag.Get("v"))
	if err != nil {
		return nil, err
	}
	m := &field{name: name, index: f.Index, types: describedTypes(f), rules: r}
	return m, c.typed(m, f.Type)
}

// describedTypes is the types tag.
func describedTypes(f reflect.StructField) []string {
	if t, ok := f.Tag.Lookup("types"); ok {
		return strings.Split(t, ",")
	}
	return nil
}

// typed unwraps Optional and pointers and compiles what is below.
func (c *schemaCompiler) typed(m *field, t reflect.Type) error {
	if t.Kind() == reflect.Struct && t.Implements(optionalType) {
		m.optional = true
		v, _ := t.FieldByName("Value")
		t = v.Type
	}
	if t.Kind() == reflect.Pointer && !t.Implements(valueReaderType) {
		m.pointer, m.null = true, true
		t = t.Elem()
	}
	target, err := c.target(t, m.rules)
	m.target = target
	return err
}

func (c *schemaCompiler) target(t reflect.Type, r rules) (target, error) {
	out := target{typ: t}
	switch {
	case t == scalarType:
		out.shape = shapeScalar
	case t == valueType:
		out.shape = shapeValue
	case t == fileType:
		out.shape = shapeFile
	case t == timeType:
		out.shape = shapeTime
	case t == uuidType:
		out.shape = shapeUUID
	case reflect.PointerTo(t).Implements(valueReaderType):
		out.shape = shapeCustom
	case t.Kind() == reflect.Int64 && t.Implements(instantType):
		out.shape = shapeInstant
	case t.Kind() == reflect.String:
		out.shape = shapeString
	case t.Kind() == reflect.Bool:
		out.shape = shapeBool
	case t.Kind() == reflect.Float32, t.Kind() == reflect.Float64:
		out.shape = shapeFloat
	case reflect.Zero(t).CanInt(), reflect.Zero(t).CanUint():
		out.shape = shapeInt
	case t.Kind() == reflect.Slice:
		out.shape = shapeList
		elem := r
		elem.nonempty, elem.required, elem.null, elem.def = false, false, false, nil
		elem.hasMin, elem.hasMax = false, false
		out.elem = &field{rules: elem}
		return out, c.typed(out.elem, t.Elem())
	case t.Kind() == reflect.Struct:
		out.shape = shapeObject
		obj, err := c.object(t)
		out.obj = obj
		return out, err
	default:
		return out, fmt.Errorf("no way to read a %s", t)
	}
	return out, nil
}

func parseRules(tag string) (rules, error) {
	var r rules
	if tag == "" {
		return r, nil
	}
	for part := range strings.SplitSeq(tag, ",") {
		name, arg, _ := strings.Cut(part, "=")
		if err := r.set(name, arg); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (r *rules) set(name, arg string) (err error) {
	switch name {
	case "required":
		r.required = true
	case "null":
		r.null = true
	case "blank":
		r.blank = true
	case "notrim":
		r.notrim = true
	case "pk":
		r.pk = true
	case "nonempty":
		r.nonempty = true
	case "csv":
		r.csv = true
	case "whole":
		r.whole = true
	case "min":
		r.hasMin = true
		r.min, err = strconv.ParseInt(arg, 10, 64)
	case "max":
		r.hasMax = true
		r.max, err = strconv.ParseInt(arg, 10, 64)
	case "choice":
		r.choices = strings.Split(arg, "|")
	case "default":
		r.def = &arg
	case "email", "url", "uuid", "slug":
		r.format = name
	default:
		err = fmt.Errorf("unknown rule %q", name)
	}
	return err
}

// setInstant stores a time in a replicated time: an integer of microseconds. Its zero is no time at all: the epoch itself, with which clients
// end keys at once, is told apart by a microsecond.
func setInstant(dst reflect.Value, t time.Time) { dst.SetInt(cmp.Or(t.UnixMicro(), 1)) }
