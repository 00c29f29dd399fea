package eval

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
)

// maxIntDigits is where the reference's int() gives up on a text.
const maxIntDigits = 4300

func allDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// intFromDigits makes an integer of -?[0-9]+, which the caller has checked.
// It keeps s only when the number does not fit an int64.
func intFromDigits(s string) Value {
	negative := s[0] == '-'
	digits := s
	if negative {
		digits = s[1:]
	}
	for len(digits) > 1 && digits[0] == '0' {
		digits = digits[1:]
	}
	if len(digits) <= 19 { // always fits 64 bits unsigned
		var n uint64
		for i := 0; i < len(digits); i++ {
			n = n*10 + uint64(digits[i]-'0')
		}
		switch {
		case negative && n <= 1<<63:
			return Int(-int64(n))
		case !negative && n < 1<<63:
			return Int(int64(n))
		}
	}
	canonical := digits
	if negative {
		canonical = s[len(s)-len(digits)-1:]
		if canonical[0] != '-' { // zeros stood between sign and digits
			canonical = "-" + digits
		}
	}
	return Value{kind: KindInt, text: canonical}
}

// coerce turns a string that looks like a number into that number: -?[0-9]+ is
// an integer, -?[0-9]+\.[0-9]+ a float. Everything else stays.
func coerce(v Value) Value {
	if v.kind != KindString || v.composite {
		return v
	}
	s := v.text
	i := 0
	if i < len(s) && s[i] == '-' {
		i++
	}
	start := i
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	if i == start {
		return v
	}
	if i == len(s) {
		if i-start > maxIntDigits {
			return v
		}
		return intFromDigits(s)
	}
	if s[i] != '.' || i+1 == len(s) || !allDigits(s[i+1:]) {
		return v
	}
	f, _ := strconv.ParseFloat(s, 64)
	return Float(f)
}

// compareInts orders two integer values exactly.
func compareInts(a, b *Value) int {
	if a.text == "" && b.text == "" {
		x, y := int64(a.bits), int64(b.bits)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	}
	an, bn := a.negative(), b.negative()
	if an != bn {
		if an {
			return -1
		}
		return 1
	}
	// Same sign, at least one beyond int64: the longer digits are further out.
	sign := 1
	if an {
		sign = -1
	}
	switch {
	case a.text == "":
		return -sign
	case b.text == "":
		return sign
	case len(a.text) != len(b.text):
		if len(a.text) < len(b.text) {
			return -sign
		}
		return sign
	}
	return sign * strings.Compare(a.text, b.text)
}

func (v *Value) negative() bool {
	if v.text != "" {
		return v.text[0] == '-'
	}
	return int64(v.bits) < 0
}

// compareNumbers orders two numbers of either kind exactly; anything that is
// not a number counts as +infinity, like an absent priority.
func compareNumbers(a, b Value) int {
	if a.kind == KindInt && b.kind == KindInt {
		return compareInts(&a, &b)
	}
	x, y := priorityFloat(a), priorityFloat(b)
	if a.kind != KindInt && b.kind != KindInt || math.IsInf(x, 0) || math.IsInf(y, 0) {
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	}
	return bigFloat(a).Cmp(bigFloat(b))
}

func priorityFloat(v Value) float64 {
	f, ok := v.AsFloat()
	if !ok || math.IsNaN(f) {
		return math.Inf(1)
	}
	return f
}

func bigFloat(v Value) *big.Float {
	if v.kind == KindFloat {
		return big.NewFloat(v.float())
	}
	n, _ := new(big.Int).SetString(v.Text(), 10)
	return new(big.Float).SetInt(n)
}

// pyInt is Python's int(text): surrounding white space, a sign, single
// underscores between digits; no decimals and no exponent.
func pyInt(s string) (Value, bool) {
	s = pyStrip(s)
	sign := ""
	if s != "" && (s[0] == '+' || s[0] == '-') {
		if s[0] == '-' {
			sign = "-"
		}
		s = s[1:]
	}
	digits, rest := pyDigits(s)
	if digits == "" || rest != "" || len(digits) > maxIntDigits {
		return Value{}, false
	}
	return intFromDigits(sign + digits), true
}

// pyFloat is Python's float(text): white space, sign, underscores between
// digits, fraction, exponent, inf, infinity and nan in any case.
func pyFloat(s string) (float64, bool) {
	s = pyStrip(s)
	sign := ""
	if s != "" && (s[0] == '+' || s[0] == '-') {
		sign, s = s[:1], s[1:]
	}
	switch strings.ToLower(s) {
	case "inf", "infinity":
		f, _ := strconv.ParseFloat(sign+"inf", 64)
		return f, true
	case "nan":
		return math.NaN(), true
	}
	text := sign
	whole, rest := pyDigits(s)
	text += whole
	fraction := ""
	if strings.HasPrefix(rest, ".") {
		fraction, rest = pyDigits(rest[1:])
		text += "." + fraction
	}
	if whole == "" && fraction == "" {
		return 0, false
	}
	if rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		rest = rest[1:]
		text += "e"
		if rest != "" && (rest[0] == '+' || rest[0] == '-') {
			text += rest[:1]
			rest = rest[1:]
		}
		var exponent string
		if exponent, rest = pyDigits(rest); exponent == "" {
			return 0, false
		}
		text += exponent
	}
	if rest != "" {
		return 0, false
	}
	f, _ := strconv.ParseFloat(text, 64) // out of range: infinity or zero
	return f, true
}

// pyDigits takes decimal digits of any script, with single underscores between
// them, from the front of s and returns them as ASCII.
func pyDigits(s string) (digits, rest string) {
	var b strings.Builder
	end := 0
	underscore := false
	for i, r := range s {
		if r == '_' {
			if underscore || b.Len() == 0 {
				break
			}
			underscore = true
			continue
		}
		d, ok := decimalDigit(r)
		if !ok {
			break
		}
		underscore = false
		b.WriteByte('0' + d)
		end = i + len(string(r))
	}
	return b.String(), s[end:]
}

func decimalDigit(r rune) (byte, bool) {
	if r < 0x80 {
		return byte(r - '0'), r >= '0' && r <= '9'
	}
	for _, t := range unicode.Nd.R16 {
		if r >= rune(t.Lo) && r <= rune(t.Hi) {
			return byte((r - rune(t.Lo)) % 10), true
		}
	}
	for _, t := range unicode.Nd.R32 {
		if r >= rune(t.Lo) && r <= rune(t.Hi) {
			return byte((r - rune(t.Lo)) % 10), true
		}
	}
	return 0, false
}

// pyStrip takes off the white space that int() and float() do: not the separators U+001C to U+001F, which str.strip() does.
func pyStrip(s string) string { return strings.TrimFunc(s, unicode.IsSpace) }
