package route

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
)

// typeWriter describes Go types as JSON schemas; structs become components, named after their type.
type typeWriter struct {
	names   map[string]any // component name → the type or object it stands for
	order   []string
	schemas map[string]omap
}

func newTypeWriter() *typeWriter {
	return &typeWriter{names: map[string]any{}, schemas: map[string]omap{}}
}

func (w *typeWriter) components() omap {
	var out omap
	for _, n := range w.order {
		out = out.with(n, w.schemas[n])
	}
	return out
}

// component reserves a name for a type and builds its schema once; recursive types find the reservation.
func (w *typeWriter) component(name string, id any, build func() omap) omap {
	for base, i := name, 2; ; i++ {
		known, taken := w.names[name]
		if !taken {
			break
		}
		if known == id {
			return ref("schemas", name)
		}
		name = base + itoa(i)
	}
	w.names[name] = id
	w.order = append(w.order, name)
	w.schemas[name] = build()
	return ref("schemas", name)
}

var packagePath = regexp.MustCompile(`[\w./\-]*[./]`)

// typeName makes a component name: Page[pkg.Tag] becomes PaginatedTag.
func typeName(t reflect.Type) string {
	n := packagePath.ReplaceAllString(t.Name(), "")
	if inner, ok := strings.CutPrefix(strings.TrimPrefix(n, "Sized"), "Page["); ok {
		inner = strings.TrimSuffix(inner, "]")
		n = "Paginated" + strings.ToUpper(inner[:1]) + inner[1:] + "List"
	}
	n = strings.NewReplacer("[", "", "]", "", ",", "", "*", "", "·", "").Replace(n)
	if n == "" {
		return "Object"
	}
	return strings.ToUpper(n[:1]) + n[1:]
}

func nullable(s omap) omap {
	for i, m := range s {
		if t, ok := m.value.(string); ok && m.name == "type" {
			out := append(omap{}, s...)
			out[i].value = []string{t, "null"}
			return out
		}
	}
	if len(s) == 0 {
		return s
	}
	return omap{{"anyOf", []omap{s, {{"type", "null"}}}}}
}

func scalarSchema() omap {
	return oneOfTypes([]string{"string", "integer", "number", "boolean", "null"})
}

// numberSchema says how exact a number is: without the format, generators of clients (oapi-codegen for one) take 32 bits, which lose what they read.
func numberSchema() omap { return omap{{"type", "number"}, {"format", "double"}} }

// oneOfTypes describes a value of one of some types. Several besides null are alternatives of their own: a list of them in "type" says the
// same, but generators of clients (oapi-codegen for one) refuse it.
func oneOfTypes(types []string) omap {
	if len(types) == 1 {
		return typeSchema(types[0])
	}
	if len(types) == 2 && types[1] == "null" {
		return nullable(typeSchema(types[0]))
	}
	var all []omap
	for _, t := range types {
		all = append(all, typeSchema(t))
	}
	return omap{{"anyOf", all}}
}

func typeSchema(t string) omap {
	if t == "number" {
		return numberSchema()
	}
	return omap{{"type", t}}
}

// Alternatives is the Output of a raw handler that answers with one of several types: it returns a value of each.
type Alternatives interface{ Alternatives() []any }

var alternativesType = reflect.TypeFor[Alternatives]()

// output describes what the encoder writes for a type.
func (w *typeWriter) output(t reflect.Type) omap {
	switch {
	case t.Kind() == reflect.Interface, t == valueType, t == reflect.TypeFor[json.RawMessage]():
		return omap{}
	case t == scalarType:
		return scalarSchema()
	case t == timeType:
		return omap{{"type", "string"}, {"format", "date-time"}}
	case t.Kind() != reflect.Pointer && t.Implements(instantType): // one that is not set is null
		return nullable(omap{{"type", "string"}, {"format", "date-time"}})
	case t == uuidType:
		return omap{{"type", "string"}, {"format", "uuid"}}
	case t.Kind() == reflect.Struct && t.Implements(optionalType):
		v, _ := t.FieldByName("Value")
		return nullable(w.output(v.Type))
	case t.Kind() == reflect.Pointer:
		return nullable(w.output(t.Elem()))
	case t.Implements(alternativesType):
		var all []omap
		for _, a := range reflect.Zero(t).Interface().(Alternatives).Alternatives() {
			all = append(all, w.output(reflect.TypeOf(a)))
		}
		return omap{{"anyOf", all}}
	case t.Implements(appenderType), t.Implements(marshalerType):
		return omap{}
	case t.Implements(textType):
		return omap{{"type", "string"}}
	}
	return w.outputKind(t)
}

func (w *typeWriter) outputKind(t reflect.Type) omap {
	zero := reflect.Zero(t)
	switch {
	case t.Kind() == reflect.Bool:
		return omap{{"type", "boolean"}}
	case t.Kind() == reflect.String:
		return omap{{"type", "string"}}
	case zero.CanInt(), zero.CanUint():
		return omap{{"type", "integer"}}
	case zero.CanFloat():
		return numberSchema()
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Array:
		return omap{{"type", "array"}, {"items", w.output(t.Elem())}}
	case t.Kind() == reflect.Map:
		return omap{{"type", "object"}, {"additionalProperties", w.output(t.Elem())}}
	case t.Kind() == reflect.Struct:
		return w.component(typeName(t), t, func() omap { return w.outputObject(t) })
	}
	return omap{}
}

func (w *typeWriter) outputObject(t reflect.Type) omap {
	props, required := omap{}, []string{}
	for _, f := range jsonFields(t) {
		schema := w.output(f.field.Type)
		if types := describedTypes(f.field); types != nil {
			schema = oneOfTypes(types)
		}
		props = props.with(f.name, schema)
		if f.omit == nil {
			required = append(required, f.name)
		}
	}
	return omap{{"type", "object"}, {"required", required}, {"properties", props}}
}

// input describes a member the decoder reads.
func (w *typeWriter) input(f *field) omap {
	s := w.inputTarget(f)
	if f.def != nil {
		s = s.with("default", f.defaultValue())
	}
	if f.null && f.target.shape != shapeScalar {
		s = nullable(s)
	}
	return s
}

// defaultValue is the default as the member's own type.
func (f *field) defaultValue() any {
	switch f.target.shape {
	case shapeInt, shapeFloat, shapeBool:
		return json.RawMessage(*f.def)
	}
	return *f.def
}

func (w *typeWriter) inputTarget(f *field) omap {
	if f.types != nil {
		return oneOfTypes(f.types)
	}
	switch f.target.shape {
	case shapeString:
		return inputText(f)
	case shapeInt:
		return withRange(omap{{"type", "integer"}}, f)
	case shapeFloat:
		return withRange(numberSchema(), f)
	case shapeBool:
		return omap{{"type", "boolean"}}
	case shapeTime, shapeInstant:
		return omap{{"type", "string"}, {"format", "date-time"}}
	case shapeUUID:
		return omap{{"type", "string"}, {"format", "uuid"}}
	case shapeScalar:
		return scalarSchema()
	case shapeFile:
		return omap{{"type", "string"}, {"format", "binary"}}
	case shapeList:
		return inputList(f, w.input(f.target.elem))
	case shapeObject:
		return w.object(f.target.obj, f.target.typ, false)
	}
	return omap{}
}

func inputText(f *field) omap {
	s := omap{{"type", "string"}}
	if len(f.choices) > 0 {
		s = s.with("enum", f.choices)
	}
	if format := map[string]string{"email": "email", "url": "uri", "uuid": "uuid"}[f.format]; format != "" {
		s = s.with("format", format)
	}
	if f.hasMax {
		s = s.with("maxLength", f.max)
	}
	switch {
	case f.hasMin:
		s = s.with("minLength", f.min)
	case !f.blank && !f.param && len(f.choices) == 0:
		s = s.with("minLength", 1)
	}
	return s
}

func withRange(s omap, f *field) omap {
	if f.hasMin {
		s = s.with("minimum", f.min)
	}
	if f.hasMax {
		s = s.with("maximum", f.max)
	}
	return s
}

func inputList(f *field, items omap) omap {
	s := omap{{"type", "array"}, {"items", items}}
	if f.nonempty {
		s = s.with("minItems", 1)
	} else if f.hasMin {
		s = s.with("minItems", f.min)
	}
	if f.hasMax {
		s = s.with("maxItems", f.max)
	}
	return s
}

// patched is the identity of an object's form in PATCH, where nothing is required.
type patched struct{ o *object }

// object describes a struct of body members as a component, "TagRequest" or "PatchedTagRequest".
func (w *typeWriter) object(o *object, t reflect.Type, partial bool) omap {
	name := strings.TrimSuffix(strings.TrimSuffix(typeName(t), "Input"), "In") + "Request"
	var id any = t
	if partial {
		name, id = "Patched"+name, patched{o}
	}
	return w.component(name, requestOf{id}, func() omap {
		props, required := omap{}, []string{}
		for _, f := range o.fields {
			props = props.with(f.name, w.input(f))
			if f.required && !partial {
				required = append(required, f.name)
			}
		}
		s := omap{{"type", "object"}}
		if len(required) > 0 {
			s = s.with("required", required)
		}
		return s.with("properties", props)
	})
}

// requestOf keeps a type's input form apart from its output form.
type requestOf struct{ id any }
