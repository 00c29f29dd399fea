package fsm

import (
	"strconv"
	"time"
	"unicode/utf8"
)

// JSON as Flagsmith writes it: compact, everything outside printable ASCII
// escaped, floats as Python's repr.

const hexDigits = "0123456789abcdef"

// httpDate is the layout of Last-Modified; times are in UTC.
const httpDate = "Mon, 02 Jan 2006 15:04:05 GMT"

func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		r, n := rune(c), 1
		if c >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		dst = appendEscape(dst, r)
		i += n
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

func appendEscape(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	}
	if r >= 0x10000 {
		r -= 0x10000
		dst = appendU(dst, 0xd800+r>>10)
		r = 0xdc00 + r&0x3ff
	}
	return appendU(dst, r)
}

func appendU(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

func appendOptional(dst []byte, s *string) []byte {
	if s == nil {
		return append(dst, "null"...)
	}
	return appendString(dst, *s)
}

// AppendJSON appends the value as readers see it.
func (v FeatureValue) AppendJSON(dst []byte) []byte {
	switch {
	case v.IsNull():
		return append(dst, "null"...)
	case v.Type == Int:
		return strconv.AppendInt(dst, *v.Integer, 10)
	case v.Type == Bool:
		return strconv.AppendBool(dst, *v.Boolean)
	default:
		return appendString(dst, *v.String)
	}
}

// appendTime appends a quoted time in UTC; zone is "Z" or "+00:00". Like
// Python's isoformat it leaves the fraction out when it is zero.
func appendTime(dst []byte, t Time, zone string) []byte {
	layout := "2006-01-02T15:04:05.000000"
	if t%1_000_000 == 0 {
		layout = "2006-01-02T15:04:05"
	}
	dst = t.Std().AppendFormat(append(dst, '"'), layout)
	return append(append(dst, zone...), '"')
}

// appendSeconds appends a time as Unix seconds with a fraction.
func appendSeconds(dst []byte, t Time) []byte {
	return appendFloat(dst, float64(t)/float64(time.Second/time.Microsecond))
}

// appendFloat appends a float that is neither tiny nor huge as Python prints it.
func appendFloat(dst []byte, f float64) []byte {
	n := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	for _, c := range dst[n:] {
		if c == '.' {
			return dst
		}
	}
	return append(dst, ".0"...)
}
