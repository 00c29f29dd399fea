package webhook

import (
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/flagraft/flagraft/server/route"
)

// Body is the request body of an event, byte for byte as Python writes it with sorted keys: receivers were written against that.
func Body(event string, data any) ([]byte, error) {
	v, err := route.ParseJSON(route.AppendJSON(nil, data))
	if err != nil {
		return nil, err
	}
	b := append(appendSorted([]byte(`{"data": `), v), `, "event_type": `...)
	return append(appendText(b, event), '}'), nil
}

func appendSorted(dst []byte, v route.Value) []byte {
	switch v.Kind {
	case route.Object:
		members := slices.Clone(v.Members)
		slices.SortStableFunc(members, func(a, b route.Member) int { return strings.Compare(a.Name, b.Name) })
		dst = append(dst, '{')
		for i, m := range members {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = append(appendText(dst, m.Name), ": "...)
			dst = appendSorted(dst, m.Value)
		}
		return append(dst, '}')
	case route.List:
		dst = append(dst, '[')
		for i, item := range v.Items {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendSorted(dst, item)
		}
		return append(dst, ']')
	case route.String:
		return appendText(dst, v.Text)
	case route.Null, route.Missing:
		return append(dst, "null"...)
	}
	return append(dst, v.Text...) // numbers and booleans
}

const hexDigits = "0123456789abcdef"

// appendText writes a string in ASCII.
func appendText(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			dst = appendASCII(dst, c)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 && i+2 < len(s) && s[i] == 0xED { // a lone surrogate, in three bytes
			r, n = 0xD000|rune(s[i+1]&0x3F)<<6|rune(s[i+2]&0x3F), 3
		}
		if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
			dst = appendUnit(appendUnit(dst, high), low)
		} else {
			dst = appendUnit(dst, r)
		}
		i += n
	}
	return append(dst, '"')
}

func appendASCII(dst []byte, c byte) []byte {
	if i := strings.IndexByte("\"\\\n\r\t\b\f", c); i >= 0 {
		return append(dst, '\\', `"\nrtbf`[i])
	}
	if c < ' ' || c == 0x7f {
		return appendUnit(dst, rune(c))
	}
	return append(dst, c)
}

func appendUnit(dst []byte, u rune) []byte {
	return append(dst, '\\', 'u', hexDigits[u>>12&15], hexDigits[u>>8&15], hexDigits[u>>4&15], hexDigits[u&15])
}
