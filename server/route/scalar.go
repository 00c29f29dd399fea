package route

import (
	"strconv"
)

// Scalar is a JSON value without members: a feature value or a trait value. Objects and lists become the text that Python would print,
// as the reference stores them. The zero Scalar is null.
type Scalar struct {
	v Value
}

// Kind is Null, Bool, Int, Float or String.
func (s Scalar) Kind() ValueKind {
	if s.v.Kind == Missing {
		return Null
	}
	return s.v.Kind
}

// IsNull reports null.
func (s Scalar) IsNull() bool { return s.Kind() == Null }

// Text is the content of a string, or what Python's str() gives for the rest ("True", "1.5", "None").
func (s Scalar) Text() string { return PythonStr(s.v) }

// Bool is the value of a boolean.
func (s Scalar) Bool() bool { return s.v.Text == "true" }

// Int is the value of an integer; ok is false for the other kinds and outside 64 bits.
func (s Scalar) Int() (n int64, ok bool) {
	if s.v.Kind != Int {
		return 0, false
	}
	n, err := strconv.ParseInt(s.v.Text, 10, 64)
	return n, err == nil
}

// Float is the value of an integer or a float.
func (s Scalar) Float() (f float64, ok bool) {
	if s.v.Kind != Int && s.v.Kind != Float {
		return 0, false
	}
	f, err := strconv.ParseFloat(s.v.Text, 64)
	return f, err == nil
}

// AppendJSON writes the canonical literal: "text" with non-ASCII escaped, 5, 2.0, true, null.
func (s Scalar) AppendJSON(dst []byte) []byte { return s.v.AppendJSON(dst) }

// Literal is the canonical JSON literal.
func (s Scalar) Literal() string { return string(s.AppendJSON(nil)) }

// ScalarOf makes a Scalar of a parsed value.
func ScalarOf(v Value) Scalar {
	if v.Kind == List || v.Kind == Object {
		return Scalar{Value{Kind: String, Text: PythonStr(v)}}
	}
	return Scalar{v}
}

// StringScalar is a text.
func StringScalar(s string) Scalar { return Scalar{Value{Kind: String, Text: s}} }

// IntScalar is an integer.
func IntScalar(n int64) Scalar { return Scalar{Value{Kind: Int, Text: strconv.FormatInt(n, 10)}} }

// FloatScalar is a float.
func FloatScalar(f float64) Scalar {
	return Scalar{Value{Kind: Float, Text: string(AppendFloat(nil, f))}}
}

// BoolScalar is a boolean.
func BoolScalar(b bool) Scalar { return Scalar{Value{Kind: Bool, Text: strconv.FormatBool(b)}} }
