package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unsafe"
)

// ErrNotScalar is returned by ParseLiteral for a list or an object.
var ErrNotScalar = errors.New("not a scalar")

var errLiteral = errors.New("not a JSON literal")

// ParseLiteral reads one JSON scalar literal, surrounding white space allowed.
//
// It does not allocate for null, booleans, numbers that fit 64 bits and strings
// without escapes. The Value of such a string (and of an integer beyond 64
// bits) aliases data: data must not change while the Value is in use.
func ParseLiteral(data []byte) (Value, error) {
	data = trimJSONSpace(data)
	if len(data) == 0 {
		return Value{}, errLiteral
	}
	switch c := data[0]; {
	case c == '"':
		return parseStringLiteral(data)
	case c == '-' || c >= '0' && c <= '9':
		return parseNumberLiteral(data)
	case c == 'n' && string(data) == "null":
		return Value{}, nil
	case c == 't' && string(data) == "true":
		return Bool(true), nil
	case c == 'f' && string(data) == "false":
		return Bool(false), nil
	case c == '[' || c == '{':
		return Value{}, ErrNotScalar
	}
	return Value{}, errLiteral
}

func trimJSONSpace(data []byte) []byte {
	for len(data) > 0 && isJSONSpace(data[0]) {
		data = data[1:]
	}
	for len(data) > 0 && isJSONSpace(data[len(data)-1]) {
		data = data[:len(data)-1]
	}
	return data
}

func isJSONSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func parseStringLiteral(data []byte) (Value, error) {
	for i := 1; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			if i != len(data)-1 {
				return Value{}, errLiteral
			}
			return String(alias(data[1:i])), nil
		case c == '\\':
			var s string
			if err := json.Unmarshal(data, &s); err != nil {
				return Value{}, fmt.Errorf("string literal: %w", err)
			}
			return String(s), nil
		case c < 0x20:
			return Value{}, errLiteral
		}
	}
	return Value{}, errLiteral
}

// alias is b as a string without a copy.
func alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func parseNumberLiteral(data []byte) (Value, error) {
	isInt, ok := scanNumber(data)
	if !ok {
		return Value{}, errLiteral
	}
	text := alias(data)
	if isInt {
		return intFromDigits(text), nil
	}
	// Out of range gives an infinity or zero, as in the reference.
	f, _ := strconv.ParseFloat(text, 64)
	return Float(f), nil
}

// scanNumber checks the JSON number grammar over all of data and tells whether
// the literal has neither fraction nor exponent.
func scanNumber(data []byte) (isInt, ok bool) {
	i := 0
	if i < len(data) && data[i] == '-' {
		i++
	}
	n := digitsAt(data, i)
	if n == 0 || n > 1 && data[i] == '0' {
		return false, false
	}
	i += n
	isInt = true
	if i < len(data) && data[i] == '.' {
		n = digitsAt(data, i+1)
		if n == 0 {
			return false, false
		}
		i += 1 + n
		isInt = false
	}
	if i < len(data) && (data[i] == 'e' || data[i] == 'E') {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		n = digitsAt(data, i)
		if n == 0 {
			return false, false
		}
		i += n
		isInt = false
	}
	return isInt, i == len(data)
}

func digitsAt(data []byte, i int) int {
	n := 0
	for i+n < len(data) && data[i+n] >= '0' && data[i+n] <= '9' {
		n++
	}
	return n
}
