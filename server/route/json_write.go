package route

import (
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString writes a JSON string as Django does: everything outside printable ASCII escaped, no HTML escaping. A lone surrogate (kept
// as three WTF-8 bytes) is written as the escape it came from; other invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		if c < 0x80 {
			dst = appendEscaped(dst, c)
			i++
		} else {
			var n int
			dst, n = appendEscapedRune(dst, s[i:])
			i += n
		}
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendEscaped(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
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
	return appendU(dst, rune(c))
}

func appendEscapedRune(dst []byte, s string) ([]byte, int) {
	if r, ok := surrogate(s); ok {
		return appendU(dst, r), 3
	}
	r, n := utf8.DecodeRuneInString(s)
	if r >= 0x10000 {
		r -= 0x10000
		dst = appendU(dst, 0xd800+r>>10)
		return appendU(dst, 0xdc00+r&0x3ff), n
	}
	return appendU(dst, r), n
}

func appendU(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// surrogate reads a WTF-8 surrogate at the start of s.
func surrogate(s string) (rune, bool) {
	if len(s) < 3 || s[0] != 0xed || s[1] < 0xa0 || s[1] > 0xbf || s[2]&0xc0 != 0x80 {
		return 0, false
	}
	return 0xd000 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f), true
}

// AppendFloat writes a float as Python's repr does: 2.0, 1.5, 1e-05, 1e+16. NaN and the infinities, which JSON lacks, become null.
func AppendFloat(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	abs := math.Abs(f)
	if abs != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	n := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	for _, c := range dst[n:] {
		if c == '.' {
			return dst
		}
	}
	return append(dst, '.', '0')
}

// AppendTime writes 2026-11-21T11:51:59.246116Z, always UTC. Like Python's isoformat it leaves the fraction out when it is zero.
func AppendTime(dst []byte, t time.Time) []byte {
	t = t.UTC()
	layout := `"2006-01-02T15:04:05.000000Z"`
	if t.Nanosecond()/1000 == 0 {
		layout = `"2006-01-02T15:04:05Z"`
	}
	return t.AppendFormat(dst, layout)
}
