package eval

import (
	"strings"
	"unicode"

	"github.com/flagraft/flagraft/eval/jsonpath"
)

// listOfTexts gives the elements of a JSON array as the reference's str() does.
func listOfTexts(data []byte) ([]string, error) {
	node, err := jsonpath.Decode(data)
	if err != nil {
		return nil, err
	}
	elements, ok := node.([]any)
	if !ok {
		return nil, errLiteral
	}
	texts := make([]string, len(elements))
	for i, element := range elements {
		texts[i] = pyStr(element)
	}
	return texts, nil
}

// pyStr is Python's str() of a decoded JSON value.
func pyStr(node any) string {
	if text, ok := node.(string); ok {
		return text
	}
	var b strings.Builder
	writePyRepr(&b, node)
	return b.String()
}

func writePyRepr(b *strings.Builder, node any) {
	switch n := node.(type) {
	case string:
		writePyQuoted(b, n)
	case []any:
		b.WriteByte('[')
		for i, element := range n {
			if i > 0 {
				b.WriteString(", ")
			}
			writePyRepr(b, element)
		}
		b.WriteByte(']')
	case *jsonpath.Object:
		b.WriteByte('{')
		for i, name := range n.Names() {
			if i > 0 {
				b.WriteString(", ")
			}
			writePyQuoted(b, name)
			b.WriteString(": ")
			value, _ := n.Get(name)
			writePyRepr(b, value)
		}
		b.WriteByte('}')
	default:
		v, _ := nodeValue(node)
		b.Write(v.AppendText(nil))
	}
}

// writePyQuoted is Python's repr of a string.
func writePyQuoted(b *strings.Builder, s string) {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	b.WriteRune(quote)
	for _, r := range s {
		switch {
		case r == quote || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == ' ' || unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			writePyEscape(b, r)
		}
	}
	b.WriteRune(quote)
}

func writePyEscape(b *strings.Builder, r rune) {
	prefix, width := `\x`, 2
	switch {
	case r > 0xffff:
		prefix, width = `\U`, 8
	case r > 0xff:
		prefix, width = `\u`, 4
	}
	b.WriteString(prefix)
	for shift := 4 * (width - 1); shift >= 0; shift -= 4 {
		b.WriteByte(hexDigits[r>>shift&15])
	}
}
