package route

import (
	"math/big"
	"strconv"
	"strings"
)

// ValueKind is the JSON kind of a Value.
type ValueKind uint8

// The kinds. Missing is the zero Value.
const (
	Missing ValueKind = iota
	Null
	Bool
	Int
	Float
	String
	List
	Object
	Upload // a file of a multipart body
)

// python gives the name that Django's messages use for a kind.
func (k ValueKind) python() string {
	return [...]string{"NoneType", "NoneType", "bool", "int", "float", "str", "list", "dict", "InMemoryUploadedFile"}[k]
}

// Value is a parsed body: JSON, or a form shaped like it. Numbers keep their literal, so nothing is lost.
type Value struct {
	Kind ValueKind
	// Text is the content of a string (lone surrogates as their three WTF-8 bytes), the literal of a number, "true" or "false".
	Text    string
	Items   []Value  // of a List
	Members []Member // of an Object, in order, duplicates included
	File    *File    // of an Upload

	form bool // an Object that came from a form: lists are repeated members, "" may stand for null
}

// Member is one member of an object.
type Member struct {
	Name  string
	Value Value
}

// File is an uploaded file.
type File struct {
	Name string
	Data []byte
}

// Get gives a member of an object (of duplicates the last), or the Missing value.
func (v Value) Get(name string) Value {
	for i := len(v.Members) - 1; i >= 0; i-- {
		if v.Members[i].Name == name {
			return v.Members[i].Value
		}
	}
	return Value{}
}

// Unique lists an object's members as Python's dict would hold them: of duplicates the last value, at the first place.
func (v Value) Unique() []Member {
	at := make(map[string]int, len(v.Members))
	out := make([]Member, 0, len(v.Members))
	for _, m := range v.Members {
		if i, ok := at[m.Name]; ok {
			out[i].Value = m.Value
			continue
		}
		at[m.Name] = len(out)
		out = append(out, m)
	}
	return out
}

// Int gives an integer leniently, as an id in a body is read: 7, "7" and 7.0.
func (v Value) Int() (int64, bool) {
	n, msg := integer(v)
	if msg != "" || !n.IsInt64() {
		return 0, false
	}
	return n.Int64(), true
}

// Str gives the text of a string or number, trimmed.
func (v Value) Str() (string, bool) {
	switch v.Kind {
	case String:
		return strings.TrimSpace(v.Text), true
	case Int, Float:
		return PythonStr(v), true
	}
	return "", false
}

// AppendJSON writes the value in compact form; of duplicate members the last stays.
func (v Value) AppendJSON(dst []byte) []byte {
	switch v.Kind {
	case Missing, Null, Upload:
		return append(dst, "null"...)
	case Bool:
		return append(dst, v.Text...)
	case Int:
		return append(dst, intText(v.Text)...)
	case Float:
		return appendFloatLiteral(dst, v.Text)
	case String:
		return AppendString(dst, v.Text)
	case List:
		dst = append(dst, '[')
		for i, e := range v.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = e.AppendJSON(dst)
		}
		return append(dst, ']')
	}
	dst = append(dst, '{')
	for i, m := range v.Unique() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, m.Name)
		dst = append(dst, ':')
		dst = m.Value.AppendJSON(dst)
	}
	return append(dst, '}')
}

// PythonStr is Python's str() of the value: how Django stores what is not a string in a text column.
func PythonStr(v Value) string {
	switch v.Kind {
	case String:
		return v.Text
	case Bool:
		if v.Text == "true" {
			return "True"
		}
		return "False"
	case Int:
		return intText(v.Text)
	case Float:
		return floatText(v.Text)
	case Missing, Null:
		return "None"
	}
	return string(appendPythonRepr(nil, v))
}

// appendPythonRepr writes Python's repr(): {'a': [1, True, None]}.
func appendPythonRepr(dst []byte, v Value) []byte {
	switch v.Kind {
	case String:
		return appendPythonQuoted(dst, v.Text)
	case List:
		dst = append(dst, '[')
		for i, e := range v.Items {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendPythonRepr(dst, e)
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for i, m := range v.Unique() {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendPythonQuoted(dst, m.Name)
			dst = append(dst, ": "...)
			dst = appendPythonRepr(dst, m.Value)
		}
		return append(dst, '}')
	}
	return append(dst, PythonStr(v)...)
}

// appendPythonQuoted writes a string as repr() does: single quotes unless only they occur in it.
func appendPythonQuoted(dst []byte, s string) []byte {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	dst = append(dst, quote)
	for _, r := range s {
		switch {
		case r == rune(quote) || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case r < ' ' || r == 0x7f:
			dst = append(dst, `\x`...)
			dst = append(dst, hexDigits[r>>4], hexDigits[r&15])
		default:
			dst = append(dst, string(r)...)
		}
	}
	return append(dst, quote)
}

// intText is the literal of an integer as Python prints it: "-0" is "0".
func intText(s string) string {
	if s == "-0" {
		return "0"
	}
	return s
}

// appendFloatLiteral writes a float literal as Python prints the number it stands for.
func appendFloatLiteral(dst []byte, literal string) []byte {
	f, _ := strconv.ParseFloat(literal, 64)
	return AppendFloat(dst, f)
}

// floatText is Python's str() of a float literal: one that is too large is infinite there.
func floatText(literal string) string {
	if _, err := strconv.ParseFloat(literal, 64); err == nil {
		return string(appendFloatLiteral(nil, literal))
	}
	if strings.HasPrefix(literal, "-") {
		return "-inf"
	}
	return "inf"
}

// bigInt reads an integer literal of any size.
func bigInt(s string) (*big.Int, bool) { return new(big.Int).SetString(s, 10) }
