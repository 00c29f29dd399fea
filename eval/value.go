package eval

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// Kind is the JSON type of a Value; integers and floats are told apart by
// their literal, as the reference does.
type Kind uint8

// The kinds of a Value. The zero Value is null.
const (
	KindNull Kind = iota
	KindBool
	KindInt
	KindFloat
	KindString
)

// Value is a JSON scalar: a trait value, a feature value, a weight or a
// priority. Integers are exact at any size. The zero Value is null.
type Value struct {
	text string // the string, or the canonical digits of an integer beyond int64
	bits uint64 // bool, int64 or float64
	kind Kind
	// composite marks a string that stands for a list or an object: traits of
	// that shape are outside the schema and are seen as text only.
	composite bool
}

// Null is the null Value, the same as the zero Value.
func Null() Value { return Value{} }

// Bool is a boolean Value.
func Bool(b bool) Value {
	v := Value{kind: KindBool}
	if b {
		v.bits = 1
	}
	return v
}

// Int is an integer Value.
func Int(i int64) Value { return Value{kind: KindInt, bits: uint64(i)} }

// Float is a float Value; infinities are allowed (priorities use them).
func Float(f float64) Value { return Value{kind: KindFloat, bits: math.Float64bits(f)} }

// String is a string Value. It keeps s, it does not copy it.
func String(s string) Value { return Value{kind: KindString, text: s} }

// Kind tells the type of the value.
func (v Value) Kind() Kind { return v.kind }

// IsNull tells whether the value is null.
func (v Value) IsNull() bool { return v.kind == KindNull }

// AsBool is the boolean; false when the value is of another kind.
func (v Value) AsBool() (b, ok bool) { return v.bits == 1, v.kind == KindBool }

// AsFloat is the number as float64, of an integer too; false for other kinds.
func (v Value) AsFloat() (float64, bool) {
	switch {
	case v.kind == KindFloat:
		return math.Float64frombits(v.bits), true
	case v.kind == KindInt && v.text == "":
		return float64(int64(v.bits)), true
	case v.kind == KindInt:
		f, _ := strconv.ParseFloat(v.text, 64)
		return f, true
	}
	return 0, false
}

// AsString is the string; false when the value is of another kind.
func (v Value) AsString() (string, bool) { return v.text, v.kind == KindString }

// Equal tells whether two values have the same kind and content. 1 and 1.0 differ.
func (v Value) Equal(other Value) bool {
	return v.kind == other.kind && v.bits == other.bits && v.text == other.text
}

// isBig tells whether the value is an integer that does not fit an int64.
func (v *Value) isBig() bool { return v.kind == KindInt && v.text != "" }

func (v *Value) float() float64 { return math.Float64frombits(v.bits) }

// AppendText appends the text form the reference uses where a string is
// needed: True, False, None, 12, 12.0, 1e+16, and strings as they are.
func (v Value) AppendText(dst []byte) []byte {
	switch v.kind {
	case KindString:
		return append(dst, v.text...)
	case KindInt:
		if v.text != "" {
			return append(dst, v.text...)
		}
		return strconv.AppendInt(dst, int64(v.bits), 10)
	case KindFloat:
		return appendFloat(dst, v.float())
	case KindBool:
		if v.bits == 1 {
			return append(dst, "True"...)
		}
		return append(dst, "False"...)
	}
	return append(dst, "None"...)
}

// Text is AppendText as a string.
func (v Value) Text() string {
	if v.kind == KindString {
		return v.text
	}
	return string(v.AppendText(nil))
}

// AppendJSON appends the value as a JSON literal. Infinity, which a literal
// like 1e999 gives, is written as one that reads back as infinity.
func (v Value) AppendJSON(dst []byte) []byte {
	switch v.kind {
	case KindString:
		return appendJSONString(dst, v.text)
	case KindInt:
		return v.AppendText(dst)
	case KindFloat:
		f := v.float()
		switch {
		case math.IsNaN(f):
			return append(dst, "null"...)
		case math.IsInf(f, 1):
			return append(dst, "1e999"...)
		case math.IsInf(f, -1):
			return append(dst, "-1e999"...)
		}
		return appendFloat(dst, f)
	case KindBool:
		return strconv.AppendBool(dst, v.bits == 1)
	}
	return append(dst, "null"...)
}

// MarshalJSON makes a Value a JSON literal.
func (v Value) MarshalJSON() ([]byte, error) { return v.AppendJSON(nil), nil }

// appendFloat renders f as Python's repr does: shortest digits, at least one
// decimal, exponent form only below 1e-4 and from 1e16 on.
func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	}
	if abs := math.Abs(f); abs != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	for _, c := range dst[start:] {
		if c == '.' {
			return dst
		}
	}
	return append(dst, ".0"...)
}

const hexDigits = "0123456789abcdef"

// appendJSONString quotes s, escaping only what JSON demands; invalid UTF-8
// becomes U+FFFD.
func appendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[start:i]...), "\uFFFD"...)
				start = i + 1
			}
			i += size
			continue
		}
		if c >= 0x20 && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}
