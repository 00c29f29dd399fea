package identity

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Errors of CanonicalValue.
var (
	ErrNotScalar = errors.New("identity: value is not a JSON scalar")
	ErrBadValue  = errors.New("identity: invalid JSON value")
)

// CanonicalValue returns the form in which trait values are stored and rendered, that of Python's json.dumps: strings
// in ASCII with \uXXXX in lower case, integers as their digits, floats as repr (1e3 is 1000.0), true, false, null. The
// same value has one form, so "unchanged" is a comparison of bytes. Objects and arrays give ErrNotScalar.
func CanonicalValue(raw []byte) ([]byte, error) { return AppendCanonicalValue(nil, raw) }

// AppendCanonicalValue appends the canonical form of raw to dst; dst is returned as it was on an error.
func AppendCanonicalValue(dst, raw []byte) ([]byte, error) {
	raw = bytes.Trim(raw, " \t\r\n")
	if len(raw) == 0 {
		return dst, ErrBadValue
	}
	switch raw[0] {
	case '"':
		return appendCanonicalString(dst, raw)
	case '{', '[':
		return dst, ErrNotScalar
	case 't', 'f', 'n':
		if s := string(raw); s == "true" || s == "false" || s == "null" {
			return append(dst, raw...), nil
		}
		return dst, ErrBadValue
	}
	return appendCanonicalNumber(dst, raw)
}

func appendCanonicalNumber(dst, raw []byte) ([]byte, error) {
	integer, ok := scanNumber(raw)
	switch {
	case !ok:
		return dst, ErrBadValue
	case integer && string(raw) == "-0":
		return append(dst, '0'), nil
	case integer:
		return append(dst, raw...), nil
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil && math.IsInf(f, 0) {
		return dst, ErrBadValue // JSON has no infinity
	}
	return AppendFloat(dst, f), nil
}

// AppendFloat appends a finite float as Python's repr writes it.
func AppendFloat(dst []byte, f float64) []byte {
	if f == 0 {
		if math.Signbit(f) {
			dst = append(dst, '-')
		}
		return append(dst, "0.0"...)
	}
	if abs := math.Abs(f); abs < 1e-4 || abs >= 1e16 {
		return strconv.AppendFloat(dst, f, 'e', -1, 64) // exponent of two digits or more, as Python's
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if bytes.IndexByte(dst[start:], '.') < 0 {
		dst = append(dst, ".0"...)
	}
	return dst
}

// scanNumber checks the JSON grammar of a number; integer means neither fraction nor exponent.
func scanNumber(b []byte) (integer, ok bool) {
	i := 0
	digits := func() bool {
		from := i
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(b) && b[i] == '-' {
		i++
	}
	from := i
	if !digits() || b[from] == '0' && i > from+1 {
		return false, false
	}
	integer = true
	if i < len(b) && b[i] == '.' {
		i++
		if integer = false; !digits() {
			return false, false
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if integer = false; !digits() {
			return false, false
		}
	}
	return integer, i == len(b)
}

func appendCanonicalString(dst, raw []byte) ([]byte, error) {
	start := len(dst)
	dst = append(dst, '"')
	i := 1
	for i < len(raw) {
		switch c := raw[i]; {
		case c == '"':
			if i != len(raw)-1 {
				return dst[:start], ErrBadValue
			}
			return append(dst, '"'), nil
		case c == '\\':
			r, n := scanEscape(raw[i:])
			if n == 0 {
				return dst[:start], ErrBadValue
			}
			dst = appendEscaped(dst, r)
			i += n
		case c < ' ':
			return dst[:start], ErrBadValue
		case c < utf8.RuneSelf:
			dst = appendEscaped(dst, rune(c))
			i++
		default:
			r, n := utf8.DecodeRune(raw[i:])
			if r == utf8.RuneError && n == 1 {
				return dst[:start], ErrBadValue
			}
			dst = appendEscaped(dst, r)
			i += n
		}
	}
	return dst[:start], ErrBadValue
}

// scanEscape decodes the escape sequence that starts b; n is 0 when it is none. A lone surrogate stays one, as in Python.
func scanEscape(b []byte) (r rune, n int) {
	if len(b) < 2 {
		return 0, 0
	}
	const from, to = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if i := bytes.IndexByte([]byte(from), b[1]); i >= 0 {
		return rune(to[i]), 2
	}
	r, ok := hex4(b)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(r) {
		if low, ok := hex4(b[6:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
	}
	return r, 6
}

// LoneSurrogate reports whether JSON has half a surrogate pair in it, which is no character: encoding/json puts U+FFFD in its place without a word.
func LoneSurrogate(json []byte) bool {
	for i := 0; i < len(json); i++ {
		if json[i] != '\\' {
			continue
		}
		r, n := scanEscape(json[i:]) // a pair is one rune
		if utf16.IsSurrogate(r) {
			return true
		}
		i += max(n, 1) - 1
	}
	return false
}

// hex4 reads \uXXXX.
func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// AppendString appends s as a canonical string literal. Bytes that are no UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		dst = appendEscaped(dst, r)
	}
	return append(dst, '"')
}

func appendEscaped(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	if r >= ' ' && r <= '~' {
		return append(dst, byte(r))
	}
	if r > 0xffff {
		high, low := utf16.EncodeRune(r)
		return appendHex4(appendHex4(dst, high), low)
	}
	return appendHex4(dst, r)
}

func appendHex4(dst []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	return append(dst, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}

// ValueKind is the type of a trait value.
type ValueKind uint8

// Types of canonical literals.
const (
	KindOfNull ValueKind = iota
	KindOfString
	KindOfInt
	KindOfFloat
	KindOfBool
)

// KindOfValue tells the type of a canonical literal by its first bytes.
func KindOfValue(literal []byte) ValueKind {
	if len(literal) == 0 {
		return KindOfNull
	}
	switch literal[0] {
	case '"':
		return KindOfString
	case 't', 'f':
		return KindOfBool
	case 'n':
		return KindOfNull
	}
	if bytes.ContainsAny(literal, ".e") {
		return KindOfFloat
	}
	return KindOfInt
}

// AppendUnquoted appends the text of a canonical string literal in UTF-8; a lone surrogate becomes U+FFFD.
func AppendUnquoted(dst, literal []byte) []byte {
	for i, end := 1, len(literal)-1; i < end; {
		if literal[i] != '\\' {
			dst = append(dst, literal[i])
			i++
			continue
		}
		r, n := scanEscape(literal[i:end])
		if n == 0 {
			return dst
		}
		dst = utf8.AppendRune(dst, r)
		i += n
	}
	return dst
}
