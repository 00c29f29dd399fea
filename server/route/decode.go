package route

import (
	"net/http"
	"net/url"
	"reflect"
	"strings"
)

// Decode reads the call's path, query and body into a new value of the input type and returns a pointer to it. Every failing member is
// reported in one *Errors; a path parameter that cannot be what it should be is 404.
func (s *Schema) Decode(c *Call) (any, error) {
	if s.typ == nil {
		return &struct{}{}, nil
	}
	d := decoder{partial: c.Request.Method == http.MethodPatch}
	in := reflect.New(s.typ)
	dst := in.Elem()
	if !d.path(s.path, c, dst) {
		return nil, NotFoundDetail()
	}
	errs := &Errors{}
	d.query(s.query, c, dst, errs)
	if s.decode {
		body, err := c.Body()
		if err != nil {
			return nil, err
		}
		if err := d.body(s, body, dst, errs); err != nil {
			return nil, err
		}
	}
	if !errs.Empty() {
		return nil, errs
	}
	if v, ok := in.Interface().(validator); ok {
		v.Validate(errs)
	}
	return in.Interface(), errs.Err()
}

// decoder binds values to Go members.
type decoder struct {
	partial bool // PATCH: outside of lists and of what is whole nothing is required, nothing gets a default
}

func (d *decoder) path(fields []*field, c *Call, dst reflect.Value) bool {
	for _, f := range fields {
		errs := &Errors{}
		d.present(f, Value{Kind: String, Text: c.Param(f.name)}, dst.FieldByIndex(f.index), errs)
		if !errs.Empty() {
			return false
		}
	}
	return true
}

func (d *decoder) query(fields []*field, c *Call, dst reflect.Value, errs *Errors) {
	if len(fields) == 0 {
		return
	}
	q := c.Query()
	full := decoder{}
	for _, f := range fields {
		full.field(f, queryValue(f, q), dst.FieldByIndex(f.index), errs)
	}
}

// queryValue shapes a query parameter like a body member; of repetitions the last counts, or all for a list.
func queryValue(f *field, q url.Values) Value {
	all, ok := q[f.name]
	if !ok {
		return Value{}
	}
	if f.target.shape != shapeList {
		last := all[len(all)-1]
		if last == "" && (f.target.shape != shapeString || len(f.choices) > 0) {
			return Value{}
		}
		if f.null && f.target.shape == shapeBool && strings.EqualFold(last, "null") {
			return Value{Kind: Null} // as the reference reads it; the front end writes unset filters so
		}
		return Value{Kind: String, Text: strings.ToValidUTF8(last, "\ufffd")}
	}
	v := Value{Kind: List}
	for _, s := range all {
		parts := []string{s}
		if f.csv {
			parts = strings.Split(s, ",")
		}
		for _, p := range parts {
			if p = strings.TrimSpace(p); p != "" {
				v.Items = append(v.Items, Value{Kind: String, Text: strings.ToValidUTF8(p, "\ufffd")})
			}
		}
	}
	return v
}

func (d *decoder) body(s *Schema, body Value, dst reflect.Value, errs *Errors) error {
	if s.whole != nil {
		d.present(s.whole, body, dst.FieldByIndex(s.whole.index), errs)
		return nil
	}
	if body.Kind == Null {
		return NonField("No data provided")
	}
	if body.Kind != Object {
		return NonField(expectedDict(body.Kind.python()))
	}
	d.members(s.body, body, dst, errs)
	return nil
}

// members binds the members of an object.
func (d *decoder) members(o *object, v Value, dst reflect.Value, errs *Errors) {
	for _, f := range o.fields {
		m := v.Get(f.name)
		if v.form && f.target.shape == shapeList {
			m = formList(v, f.name)
		}
		if v.form && m.Kind == String && m.Text == "" && f.null && !f.blank {
			m = Value{Kind: Null}
		}
		d.field(f, m, dst.FieldByIndex(f.index), errs)
	}
}

// formList gathers the repetitions of a form field.
func formList(v Value, name string) Value {
	out := Value{}
	for _, m := range v.Members {
		if m.Name == name {
			out.Kind = List
			out.Items = append(out.Items, m.Value)
		}
	}
	return out
}

// field binds a member that may be missing.
func (d *decoder) field(f *field, v Value, dst reflect.Value, errs *Errors) {
	if v.Kind != Missing {
		d.present(f, v, dst, errs.sub(f.name))
		return
	}
	switch {
	case d.partial:
	case f.def != nil:
		d.present(f, Value{Kind: String, Text: *f.def}, dst, errs.sub(f.name))
	case f.required && f.target.shape == shapeFile:
		errs.Add(f.name, MsgNoUpload)
	case f.required:
		errs.Add(f.name, MsgRequired)
	}
}

// sub is At for fields that usually have nothing to report; "" is the body itself.
func (e *Errors) sub(name string) *Errors {
	if name == "" {
		return e
	}
	return e.At(name)
}

// fail appends a message here.
func (e *Errors) fail(msg string) { e.msgs = append(e.msgs, msg) }

// present binds a value that was sent, through Optional and pointer.
func (d *decoder) present(f *field, v Value, dst reflect.Value, errs *Errors) {
	isNull := v.Kind == Null && f.target.shape != shapeScalar && f.target.shape != shapeValue
	if isNull && !f.null {
		errs.fail(MsgNull)
		return
	}
	if f.optional {
		dst.FieldByName("Set").SetBool(true)
		if v.Kind == Null {
			dst.FieldByName("Null").SetBool(true)
		}
		dst = dst.FieldByName("Value")
	}
	if isNull {
		return
	}
	if f.pointer {
		p := reflect.New(f.target.typ)
		dst.Set(p)
		dst = p.Elem()
	}
	d.bind(f, v, dst, errs)
}

// bind converts a non-null value.
func (d *decoder) bind(f *field, v Value, dst reflect.Value, errs *Errors) {
	switch f.target.shape {
	case shapeList:
		d.list(f, v, dst, errs)
	case shapeObject:
		if f.whole {
			d = &decoder{}
		}
		d.nested(f.target.obj, v, dst, errs)
	default:
		if msg := f.leaf(v, dst); msg != "" {
			errs.fail(msg)
		}
	}
}

func (d *decoder) nested(o *object, v Value, dst reflect.Value, errs *Errors) {
	if v.Kind != Object {
		errs.NonField(expectedDict(v.Kind.python()))
		return
	}
	inner := &Errors{}
	d.members(o, v, dst, inner)
	if o.validates && inner.Empty() {
		dst.Addr().Interface().(validator).Validate(inner)
	}
	errs.merge(inner)
}

// merge takes over the content of other, which stands for the same place.
func (e *Errors) merge(other *Errors) {
	if !other.Empty() {
		*e = *other
	}
}

// list binds a list. Elements that are objects report by position, the others under their number, as the reference does.
func (d *decoder) list(f *field, v Value, dst reflect.Value, errs *Errors) {
	objects := f.target.elem.target.shape == shapeObject
	say := errs.fail
	if objects {
		say = func(msg string) { errs.NonField(msg) }
	}
	if v.Kind != List {
		say(expectedList(v.Kind.python()))
		return
	}
	if msg := f.checkLen(len(v.Items)); msg != "" {
		say(msg)
		return
	}
	out := reflect.MakeSlice(f.target.typ, len(v.Items), len(v.Items))
	inner, complete := &Errors{}, decoder{} // also in a PATCH: an element takes the place of what was there
	for i, item := range v.Items {
		e := &Errors{}
		complete.element(f.target.elem, item, out.Index(i), e)
		f.report(inner, i, e, objects)
	}
	if objects && !inner.Empty() {
		_ = inner.Item(len(v.Items) - 1) // a list as long as the input
	}
	dst.Set(out)
	errs.merge(inner)
}

func (d *decoder) element(f *field, v Value, dst reflect.Value, errs *Errors) {
	if v.Kind == Null && f.target.shape == shapeObject && !f.null {
		errs.NonField(expectedDict(v.Kind.python()))
		return
	}
	d.present(f, v, dst, errs)
}

// report files an element's messages.
func (f *field) report(list *Errors, i int, e *Errors, objects bool) {
	switch {
	case objects:
		*list.Item(i) = *e
	case e.Empty():
	case f.pk:
		list.msgs = append(list.msgs, e.msgs...)
	default:
		*list.At(itoa(i)) = *e
	}
}
