package route

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Encoder writes values of one type as Flagsmith writes JSON: compact, members in struct order, non-ASCII escaped, floats as Python
// prints them (2.0), times in microseconds with a Z, nil slices as [] and nil maps as {}. Tags are those of encoding/json (name,
// omitempty, omitzero, "-", embedded structs). A type may write itself with AppendJSON([]byte) []byte.
type Encoder struct {
	encode encodeFunc
}

type encodeFunc func(dst []byte, v reflect.Value) []byte

// appender is a type that writes itself.
type appender interface{ AppendJSON(dst []byte) []byte }

// instant is a replicated time: microseconds, zero when not set.
type instant interface {
	Std() time.Time
	IsZero() bool
}

var (
	appenderType  = reflect.TypeFor[appender]()
	instantType   = reflect.TypeFor[instant]()
	optionalType  = reflect.TypeFor[optional]()
	marshalerType = reflect.TypeFor[json.Marshaler]()
	textType      = reflect.TypeFor[encoding.TextMarshaler]()
	timeType      = reflect.TypeFor[time.Time]()
)

// NewEncoder compiles the encoder of a type; nil encodes whatever comes.
func NewEncoder(t reflect.Type) *Encoder {
	if t == nil {
		return &Encoder{encodeAny}
	}
	return &Encoder{(&encoderCompiler{seen: map[reflect.Type]*encodeFunc{}}).compile(t)}
}

// Append writes v, whose type is the encoder's, to dst.
func (e *Encoder) Append(dst []byte, v any) []byte {
	if v == nil {
		return append(dst, "null"...)
	}
	return e.encode(dst, reflect.ValueOf(v))
}

// drafts are buffers that answers are written into: a list of a thousand features would grow its own twelve times.
var drafts = sync.Pool{New: func() any { return new([]byte) }}

const largestDraft = 1 << 20 // larger ones are not kept

// Bytes writes v into memory of its own, no more than it takes: an answer waits there until its client has read it.
func (e *Encoder) Bytes(v any) []byte {
	draft := drafts.Get().(*[]byte)
	*draft = e.Append((*draft)[:0], v)
	out := bytes.Clone(*draft)
	if cap(*draft) <= largestDraft {
		drafts.Put(draft)
	}
	return out
}

// AppendJSON writes any value; for hot types keep an Encoder.
func AppendJSON(dst []byte, v any) []byte {
	switch x := v.(type) {
	case nil:
		return append(dst, "null"...)
	case string:
		return AppendString(dst, x)
	case appender:
		return x.AppendJSON(dst)
	}
	return NewEncoder(reflect.TypeOf(v)).Append(dst, v)
}

func encodeAny(dst []byte, v reflect.Value) []byte {
	if v.Kind() == reflect.Interface {
		if v.IsNil() {
			return append(dst, "null"...)
		}
		v = v.Elem()
	}
	return AppendJSON(dst, v.Interface())
}

// encoderCompiler remembers types under way, so that recursive ones end.
type encoderCompiler struct {
	seen map[reflect.Type]*encodeFunc
}

func (c *encoderCompiler) compile(t reflect.Type) encodeFunc {
	if f, ok := c.seen[t]; ok {
		return func(dst []byte, v reflect.Value) []byte { return (*f)(dst, v) }
	}
	slot := new(encodeFunc)
	c.seen[t] = slot
	*slot = c.build(t)
	return *slot
}

func (c *encoderCompiler) build(t reflect.Type) encodeFunc {
	if f := c.special(t); f != nil {
		return f
	}
	switch t.Kind() {
	case reflect.Bool:
		return func(dst []byte, v reflect.Value) []byte { return strconv.AppendBool(dst, v.Bool()) }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(dst []byte, v reflect.Value) []byte { return strconv.AppendInt(dst, v.Int(), 10) }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return func(dst []byte, v reflect.Value) []byte { return strconv.AppendUint(dst, v.Uint(), 10) }
	case reflect.Float32, reflect.Float64:
		return func(dst []byte, v reflect.Value) []byte { return AppendFloat(dst, v.Float()) }
	case reflect.String:
		return func(dst []byte, v reflect.Value) []byte { return AppendString(dst, v.String()) }
	case reflect.Slice, reflect.Array:
		return c.list(t)
	case reflect.Map:
		return c.mapping(t)
	case reflect.Pointer:
		return c.pointer(t)
	case reflect.Struct:
		return c.object(t)
	}
	return encodeAny
}

// special handles the types that do not follow their kind.
func (c *encoderCompiler) special(t reflect.Type) encodeFunc {
	switch {
	case t.Kind() == reflect.Interface:
		return encodeAny
	case t == timeType:
		return func(dst []byte, v reflect.Value) []byte { return AppendTime(dst, v.Interface().(time.Time)) }
	case t.Kind() != reflect.Pointer && t.Implements(optionalType):
		return c.optional(t)
	case t.Implements(appenderType):
		return nilIsNull(t, func(dst []byte, v reflect.Value) []byte { return v.Interface().(appender).AppendJSON(dst) })
	case t.Kind() != reflect.Pointer && t.Implements(instantType):
		return func(dst []byte, v reflect.Value) []byte {
			i := v.Interface().(instant)
			if i.IsZero() {
				return append(dst, "null"...)
			}
			return AppendTime(dst, i.Std())
		}
	case t.Kind() == reflect.Pointer:
		return nil
	case t.Implements(marshalerType):
		return nilIsNull(t, func(dst []byte, v reflect.Value) []byte {
			b, err := v.Interface().(json.Marshaler).MarshalJSON()
			if err != nil {
				return append(dst, "null"...)
			}
			return append(dst, b...)
		})
	case t.Implements(textType):
		return nilIsNull(t, func(dst []byte, v reflect.Value) []byte {
			b, err := v.Interface().(encoding.TextMarshaler).MarshalText()
			if err != nil {
				return append(dst, "null"...)
			}
			return AppendString(dst, string(b))
		})
	}
	return nil
}

func nilIsNull(t reflect.Type, f encodeFunc) encodeFunc {
	switch t.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		return func(dst []byte, v reflect.Value) []byte {
			if v.IsNil() {
				return append(dst, "null"...)
			}
			return f(dst, v)
		}
	}
	return f
}

func (c *encoderCompiler) optional(t reflect.Type) encodeFunc {
	value, _ := t.FieldByName("Value")
	set, _ := t.FieldByName("Set")
	null, _ := t.FieldByName("Null")
	inner := c.compile(value.Type)
	return func(dst []byte, v reflect.Value) []byte {
		if !v.FieldByIndex(set.Index).Bool() || v.FieldByIndex(null.Index).Bool() {
			return append(dst, "null"...)
		}
		return inner(dst, v.FieldByIndex(value.Index))
	}
}

func (c *encoderCompiler) list(t reflect.Type) encodeFunc {
	elem := c.compile(t.Elem())
	return func(dst []byte, v reflect.Value) []byte {
		dst = append(dst, '[')
		for i := range v.Len() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = elem(dst, v.Index(i))
		}
		return append(dst, ']')
	}
}

// mapping writes a map with its keys in order.
func (c *encoderCompiler) mapping(t reflect.Type) encodeFunc {
	elem := c.compile(t.Elem())
	return func(dst []byte, v reflect.Value) []byte {
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(mapKey(a), mapKey(b)) })
		dst = append(dst, '{')
		for i, k := range keys {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendString(dst, mapKey(k))
			dst = append(dst, ':')
			dst = elem(dst, v.MapIndex(k))
		}
		return append(dst, '}')
	}
}

func mapKey(k reflect.Value) string {
	switch {
	case k.Kind() == reflect.String:
		return k.String()
	case k.CanInt():
		return strconv.FormatInt(k.Int(), 10)
	case k.CanUint():
		return strconv.FormatUint(k.Uint(), 10)
	}
	return ""
}

func (c *encoderCompiler) pointer(t reflect.Type) encodeFunc {
	elem := c.compile(t.Elem())
	return func(dst []byte, v reflect.Value) []byte {
		if v.IsNil() {
			return append(dst, "null"...)
		}
		return elem(dst, v.Elem())
	}
}

// member is one member of an encoded struct.
type member struct {
	prefix string // `"name":`
	index  []int
	omit   func(reflect.Value) bool
	encode encodeFunc
}

func (c *encoderCompiler) object(t reflect.Type) encodeFunc {
	var members []member
	for _, f := range jsonFields(t) {
		members = append(members, member{
			prefix: string(AppendString(nil, f.name)) + ":",
			index:  f.field.Index,
			omit:   f.omit,
			encode: c.compile(f.field.Type),
		})
	}
	return func(dst []byte, v reflect.Value) []byte {
		dst = append(dst, '{')
		first := true
		for i := range members {
			m := &members[i]
			f, err := v.FieldByIndexErr(m.index)
			if err != nil || m.omit != nil && m.omit(f) {
				continue
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(dst, m.prefix...)
			dst = m.encode(dst, f)
		}
		return append(dst, '}')
	}
}

// isEmpty follows encoding/json, and leaves out an Optional that is not set and a zero struct.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.Array:
		return v.Len() == 0
	}
	return v.IsZero()
}

// jsonField is a struct member with its JSON name.
type jsonField struct {
	name  string
	omit  func(reflect.Value) bool // nil: always written
	field reflect.StructField
}

// jsonFields lists the JSON members of a struct in order, embedded structs in place.
func jsonFields(t reflect.Type) []jsonField {
	var out []jsonField
	for _, f := range reflect.VisibleFields(t) {
		tag, tagged := f.Tag.Lookup("json")
		name, opts, _ := strings.Cut(tag, ",")
		if name == "-" || !f.IsExported() || f.Anonymous && !tagged && f.Type.Kind() == reflect.Struct {
			continue
		}
		if name == "" {
			name = f.Name
		}
		var omit func(reflect.Value) bool
		switch opts {
		case "omitempty":
			omit = isEmpty
		case "omitzero":
			omit = reflect.Value.IsZero
		}
		out = append(out, jsonField{name, omit, f})
	}
	return out
}
