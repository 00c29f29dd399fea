package pattern

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Python compiles a pattern of Python's re module so that it matches from the
// start of the text, as re.match does; nil when the pattern is refused.
//
// \d \w \s are Unicode, $ also matches before a final newline, {,n} repeats,
// (?#…) is a comment. Look-around, back-references, atomic groups, possessive
// quantifiers, conditionals and verbose mode do not exist in RE2 and are
// refused. \b and \B know ASCII words only.
func Python(expression string) *regexp.Regexp {
	if utf8.RuneCountInString(expression) > maxLength || !utf8.ValidString(expression) {
		return nil
	}
	t := &translator{in: []rune(expression)}
	if !t.run() {
		return nil
	}
	return compile(`\A(?:` + t.out.String() + `)`)
}

// flags are the inline flags in force.
type flags struct{ ascii, dotAll, ignoreCase, multiline bool }

type translator struct {
	in    []rune
	at    int
	out   strings.Builder
	flags flags
	stack []flags // of the open groups
	cost  int     // of compiling the sets so far
}

// Large sets dominate the time that compiling takes; these are their relative
// costs, and what a pattern may spend (a few milliseconds).
const (
	costSet      = 1
	costWordSet  = 4
	costFoldSet  = 32 // a wide range without regard to case
	maxCost      = 256
	wideFoldSize = 1000
)

func (t *translator) peek() rune {
	if t.at < len(t.in) {
		return t.in[t.at]
	}
	return -1
}

func (t *translator) take(token string) bool {
	runes := []rune(token)
	if t.at+len(runes) > len(t.in) || string(t.in[t.at:t.at+len(runes)]) != token {
		return false
	}
	t.at += len(runes)
	return true
}

func (t *translator) run() bool {
	for t.at < len(t.in) {
		if !t.one() || t.out.Len() > maxTranslated || t.cost > maxCost {
			return false
		}
	}
	return len(t.stack) == 0
}

// one translates the next item of the pattern; false when it cannot be.
func (t *translator) one() bool {
	r := t.in[t.at]
	t.at++
	switch r {
	case '\\':
		return t.escape()
	case '[':
		return t.class()
	case '(':
		return t.group()
	case ')':
		if len(t.stack) == 0 {
			return false
		}
		t.flags = t.stack[len(t.stack)-1]
		t.stack = t.stack[:len(t.stack)-1]
		t.out.WriteByte(')')
	case '^':
		t.emitIf(t.flags.multiline, `(?m:^)`, `\A`)
	case '$':
		t.emitIf(t.flags.multiline, `(?m:$)`, `(?:\n?\z)`)
	case '.':
		t.emitIf(t.flags.dotAll, `(?s:.)`, `[^\n]`)
	case '{':
		t.repeat()
	case '*', '+', '?', '|':
		t.out.WriteRune(r)
	default:
		t.literal(r)
	}
	return true
}

func (t *translator) emitIf(condition bool, yes, no string) {
	if condition {
		t.out.WriteString(yes)
	} else {
		t.out.WriteString(no)
	}
}

func (t *translator) literal(r rune) {
	t.out.WriteString(regexp.QuoteMeta(string(r)))
}

// repeat translates {m}, {m,}, {,n} and {m,n}; any other brace is a literal.
func (t *translator) repeat() {
	start := t.at
	low := t.number()
	high, comma := low, t.take(",")
	if comma {
		high = t.number()
	}
	if !t.take("}") || low == "" && !comma {
		t.at = start
		t.out.WriteString(`\{`)
		return
	}
	if low == "" {
		low = "0"
	}
	t.out.WriteString("{" + low)
	if comma {
		t.out.WriteString("," + high)
	}
	t.out.WriteString("}")
}

func (t *translator) number() string {
	start := t.at
	for t.peek() >= '0' && t.peek() <= '9' {
		t.at++
	}
	return string(t.in[start:t.at])
}

func (t *translator) group() bool {
	outer := t.flags
	switch {
	case t.take("?#"):
		for t.at < len(t.in) {
			t.at++
			if t.in[t.at-1] == ')' {
				return true
			}
		}
		return false
	case t.take("?:"):
		t.out.WriteString("(?:")
	case t.take("?P<"):
		t.out.WriteString("(?P<")
		for t.at < len(t.in) && t.peek() != '>' {
			t.out.WriteRune(t.peek())
			t.at++
		}
		if !t.take(">") {
			return false
		}
		t.out.WriteString(">")
	case t.peek() == '?':
		t.at++
		return t.flagGroup()
	default:
		t.out.WriteString("(")
	}
	t.stack = append(t.stack, outer)
	return true
}

// flagGroup translates (?flags) at the start and (?flags-flags:…) anywhere.
func (t *translator) flagGroup() bool {
	start := t.at - 2
	outer, inner := t.flags, t.flags
	on := true
	for ; ; t.at++ {
		switch t.peek() {
		case 'i':
			inner.ignoreCase = on
		case 'm':
			inner.multiline = on
		case 's':
			inner.dotAll = on
		case 'a':
			inner.ascii = on
		case 'u':
			inner.ascii = false
		case '-':
			if !on {
				return false
			}
			on = false
		case ':':
			t.at++
			t.stack = append(t.stack, outer)
			t.flags = inner
			t.emitIf(inner.ignoreCase, "(?i:", "(?-i:")
			return true
		case ')':
			t.at++
			if start != 0 || !on {
				return false // global flags belong to the start
			}
			t.flags = inner
			if inner.ignoreCase {
				t.out.WriteString("(?i)")
			}
			return true
		default: // look-around, conditionals, atomic groups, verbose mode
			return false
		}
	}
}

func (t *translator) escape() bool {
	r := t.peek()
	if set, negated, ok := t.classEscape(r); ok {
		t.at++
		t.emitIf(negated, "[^"+set+"]", "["+set+"]")
		return true
	}
	switch r {
	case 'A', 'b', 'B':
		t.at++
		t.out.WriteString(`\` + string(r))
		return true
	case 'Z', 'z':
		t.at++
		t.out.WriteString(`\z`)
		return true
	}
	if r >= '1' && r <= '9' && !t.octalAhead() {
		return false // back-reference
	}
	literal, ok := t.characterEscape()
	if ok {
		t.literal(literal)
	}
	return ok
}

// octalAhead tells whether three octal digits follow, which are a character.
func (t *translator) octalAhead() bool {
	if t.at+3 > len(t.in) || t.in[t.at] > '3' {
		return false
	}
	for _, r := range t.in[t.at : t.at+3] {
		if r < '0' || r > '7' {
			return false
		}
	}
	return true
}

// characterEscape reads what follows a backslash as one character.
func (t *translator) characterEscape() (rune, bool) {
	r := t.peek()
	t.at++
	switch r {
	case -1:
		return 0, false
	case 'a':
		return '\a', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	case 'v':
		return '\v', true
	case 'x':
		return t.hex(2)
	case 'u':
		return t.hex(4)
	case 'U':
		return t.hex(8)
	}
	if r >= '0' && r <= '7' {
		return t.octal()
	}
	if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
		return 0, false
	}
	return r, true
}

func (t *translator) hex(count int) (rune, bool) {
	if t.at+count > len(t.in) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(t.in[t.at:t.at+count]), 16, 32)
	t.at += count
	return rune(n), err == nil && utf8.ValidRune(rune(n))
}

// octal reads up to three octal digits, of which the first has been taken.
func (t *translator) octal() (rune, bool) {
	start := t.at - 1
	for t.at < len(t.in) && t.at < start+3 && t.peek() >= '0' && t.peek() <= '7' {
		t.at++
	}
	n, err := strconv.ParseUint(string(t.in[start:t.at]), 8, 32)
	return rune(n), err == nil && n <= 0o377
}
