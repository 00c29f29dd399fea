package route

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxDepth is how deep arrays and objects of a body may nest.
const MaxDepth = 64

// ParseJSON reads one strict JSON text. Its faults are worded as Python's json module words them, which is what clients of the reference
// see, with lines, columns and characters counted in code points. NaN and the infinities are refused.
func ParseJSON(data []byte) (Value, error) {
	if i := invalidUTF8(data); i >= 0 {
		return Value{}, parseError(fmt.Sprintf("'utf-8' codec can't decode byte 0x%02x in position %d: %s", data[i], i, utf8Fault(data[i:])))
	}
	p := jsonParser{data: data}
	if strings.HasPrefix(string(data[:min(3, len(data))]), "\ufeff") {
		return Value{}, p.fail("Unexpected UTF-8 BOM (decode using utf-8-sig)", 0)
	}
	p.space()
	v, err := p.value(0)
	if err != nil {
		return Value{}, err
	}
	p.space()
	if p.at < len(data) {
		return Value{}, p.fail("Extra data", p.at)
	}
	return v, nil
}

func parseError(msg string) *Error { return BadRequest("JSON parse error - " + msg) }

// invalidUTF8 gives the offset of the first wrong byte, or -1.
func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// utf8Fault words a fault as Python's decoder does.
func utf8Fault(b []byte) string {
	if b[0] < 0xc2 || b[0] > 0xf4 {
		return "invalid start byte"
	}
	need := 2
	if b[0] >= 0xe0 {
		need++
	}
	if b[0] >= 0xf0 {
		need++
	}
	for i := 1; i < need; i++ {
		if i >= len(b) {
			return "unexpected end of data"
		}
		if b[i]&0xc0 != 0x80 {
			break
		}
	}
	return "invalid continuation byte"
}

type jsonParser struct {
	data []byte
	at   int
}

// fail words a fault at a byte offset.
func (p *jsonParser) fail(msg string, at int) *Error {
	head := p.data[:min(at, len(p.data))]
	line, column, char := 1, 1, utf8.RuneCount(head)
	for _, c := range head {
		if c == '\n' {
			line++
		}
	}
	lastLine := head
	if i := strings.LastIndexByte(string(head), '\n'); i >= 0 {
		lastLine = head[i+1:]
	}
	column += utf8.RuneCount(lastLine)
	return parseError(fmt.Sprintf("%s: line %d column %d (char %d)", msg, line, column, char))
}

func (p *jsonParser) space() {
	for p.at < len(p.data) {
		switch p.data[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// peek gives the next byte, or 0 at the end.
func (p *jsonParser) peek() byte {
	if p.at < len(p.data) {
		return p.data[p.at]
	}
	return 0
}

func (p *jsonParser) value(depth int) (Value, error) {
	if depth > MaxDepth {
		return Value{}, p.fail(fmt.Sprintf("Nested more than %d levels deep", MaxDepth), p.at)
	}
	switch c := p.peek(); {
	case c == '"':
		s, err := p.string()
		return Value{Kind: String, Text: s}, err
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	}
	return p.word()
}

func (p *jsonParser) word() (Value, error) {
	rest := p.data[p.at:]
	for _, w := range [...]struct {
		text string
		v    Value
	}{{"null", Value{Kind: Null}}, {"true", Value{Kind: Bool, Text: "true"}}, {"false", Value{Kind: Bool, Text: "false"}}} {
		if hasPrefix(rest, w.text) {
			p.at += len(w.text)
			return w.v, nil
		}
	}
	for _, w := range [...]string{"NaN", "Infinity"} {
		if hasPrefix(rest, w) {
			return Value{}, outOfRange(w)
		}
	}
	return Value{}, p.fail("Expecting value", p.at)
}

func outOfRange(w string) *Error {
	return parseError("Out of range float values are not JSON compliant: '" + w + "'")
}

func hasPrefix(b []byte, s string) bool { return len(b) >= len(s) && string(b[:len(s)]) == s }

func (p *jsonParser) number() (Value, error) {
	start := p.at
	if p.peek() == '-' {
		p.at++
		if hasPrefix(p.data[p.at:], "Infinity") {
			return Value{}, outOfRange("-Infinity")
		}
	}
	switch c := p.peek(); {
	case c == '0':
		p.at++
	case c >= '1' && c <= '9':
		p.digits()
	default:
		return Value{}, p.fail("Expecting value", start)
	}
	kind := Int
	if p.peek() == '.' && isDigit(p.byteAt(p.at+1)) {
		p.at++
		p.digits()
		kind = Float
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		next := p.at + 1
		if s := p.byteAt(next); s == '+' || s == '-' {
			next++
		}
		if isDigit(p.byteAt(next)) {
			p.at = next
			p.digits()
			kind = Float
		}
	}
	return Value{Kind: kind, Text: string(p.data[start:p.at])}, nil
}

func (p *jsonParser) byteAt(i int) byte {
	if i < len(p.data) {
		return p.data[i]
	}
	return 0
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func (p *jsonParser) digits() {
	for isDigit(p.peek()) {
		p.at++
	}
}

func (p *jsonParser) array(depth int) (Value, error) {
	v := Value{Kind: List}
	p.at++
	p.space()
	if p.peek() == ']' {
		p.at++
		return v, nil
	}
	for {
		e, err := p.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		v.Items = append(v.Items, e)
		p.space()
		switch p.peek() {
		case ']':
			p.at++
			return v, nil
		case ',':
			p.at++
			p.space()
		default:
			return Value{}, p.fail("Expecting ',' delimiter", p.at)
		}
	}
}

func (p *jsonParser) object(depth int) (Value, error) {
	v := Value{Kind: Object}
	p.at++
	p.space()
	if p.peek() == '}' {
		p.at++
		return v, nil
	}
	for {
		if p.peek() != '"' || p.at >= len(p.data) {
			return Value{}, p.fail("Expecting property name enclosed in double quotes", p.at)
		}
		name, err := p.string()
		if err != nil {
			return Value{}, err
		}
		p.space()
		if p.peek() != ':' {
			return Value{}, p.fail("Expecting ':' delimiter", p.at)
		}
		p.at++
		p.space()
		e, err := p.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		v.Members = append(v.Members, Member{name, e})
		p.space()
		switch p.peek() {
		case '}':
			p.at++
			return v, nil
		case ',':
			p.at++
			p.space()
		default:
			return Value{}, p.fail("Expecting ',' delimiter", p.at)
		}
	}
}

// string reads a string at the opening quote.
func (p *jsonParser) string() (string, error) {
	open := p.at
	p.at++
	start := p.at
	for p.at < len(p.data) {
		switch c := p.data[p.at]; {
		case c == '"':
			p.at++
			return string(p.data[start : p.at-1]), nil
		case c == '\\':
			return p.escapedString(open, append([]byte(nil), p.data[start:p.at]...))
		case c < ' ':
			return "", p.fail("Invalid control character at", p.at)
		}
		p.at++
	}
	return "", p.fail("Unterminated string starting at", open)
}

// escapedString reads on from the first backslash.
func (p *jsonParser) escapedString(open int, buf []byte) (string, error) {
	for p.at < len(p.data) {
		switch c := p.data[p.at]; {
		case c == '"':
			p.at++
			return string(buf), nil
		case c == '\\':
			var err error
			if buf, err = p.escape(open, buf); err != nil {
				return "", err
			}
		case c < ' ':
			return "", p.fail("Invalid control character at", p.at)
		default:
			buf = append(buf, c)
			p.at++
		}
	}
	return "", p.fail("Unterminated string starting at", open)
}

const escapes = "\"\"\\\\//b\bf\fn\nr\rt\t"

func (p *jsonParser) escape(open int, buf []byte) ([]byte, error) {
	at := p.at
	if at+1 >= len(p.data) {
		return nil, p.fail("Unterminated string starting at", open)
	}
	c := p.data[at+1]
	if c != 'u' {
		for i := 0; i < len(escapes); i += 2 {
			if escapes[i] == c {
				p.at += 2
				return append(buf, escapes[i+1]), nil
			}
		}
		return nil, p.fail("Invalid \\escape", at)
	}
	r, ok := p.hex4(at + 2)
	if !ok {
		return nil, p.fail("Invalid \\uXXXX escape", at+1)
	}
	p.at += 6
	if r >= 0xd800 && r < 0xdc00 && p.byteAt(p.at) == '\\' && p.byteAt(p.at+1) == 'u' {
		if low, ok := p.hex4(p.at + 2); ok && low >= 0xdc00 && low < 0xe000 {
			p.at += 6
			return utf8.AppendRune(buf, 0x10000+(r-0xd800)<<10+(low-0xdc00)), nil
		}
	}
	if r >= 0xd800 && r < 0xe000 { // lone: kept as WTF-8, refused where text is wanted
		return append(buf, 0xe0|byte(r>>12), 0x80|byte(r>>6&0x3f), 0x80|byte(r&0x3f)), nil
	}
	return utf8.AppendRune(buf, r), nil
}

func (p *jsonParser) hex4(at int) (rune, bool) {
	if at+4 > len(p.data) {
		return 0, false
	}
	var r rune
	for _, c := range p.data[at : at+4] {
		switch {
		case isDigit(c):
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
