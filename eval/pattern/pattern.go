// Package pattern compiles regular expressions of other dialects to RE2, for
// untrusted patterns: what does not translate, is invalid or would be large is
// refused, so that neither compiling nor matching takes long.
package pattern

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

const (
	maxLength     = 2000  // characters of a pattern: a condition may have 1000, of up to four bytes
	maxTranslated = 32000 // bytes after translation
	maxSize       = 2000  // instructions, roughly
)

// compile compiles a translated expression unless it is too large; nil when
// it is refused.
func compile(expression string) *regexp.Regexp {
	if len(expression) > maxTranslated {
		return nil
	}
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil || size(parsed) > maxSize {
		return nil
	}
	compiled, err := regexp.Compile(expression)
	if err != nil {
		return nil
	}
	return compiled
}

// size is about the number of instructions the expression compiles to.
func size(r *syntax.Regexp) int {
	n := 1
	if r.Op == syntax.OpLiteral {
		n = len(r.Rune)
	}
	for _, sub := range r.Sub {
		n += size(sub)
		if n > maxSize {
			return n
		}
	}
	if r.Op == syntax.OpRepeat {
		n *= max(r.Min, r.Max, 1)
	}
	return n
}

// IRegexp compiles an I-Regexp (RFC 9485), which matches the whole text or,
// for a search, any part of it; nil when the pattern is refused.
func IRegexp(expression string, whole bool) *regexp.Regexp {
	if utf8.RuneCountInString(expression) > maxLength || !utf8.ValidString(expression) {
		return nil
	}
	var b strings.Builder
	inClass, escaped := false, false
	for _, r := range expression {
		switch {
		case escaped:
			escaped = false
		case r == '\\':
			escaped = true
		case r == '[':
			inClass = true
		case r == ']':
			inClass = false
		case r == '.' && !inClass:
			b.WriteString(`[^\n\r]`)
			continue
		}
		b.WriteRune(r)
	}
	if whole {
		return compile(`\A(?:` + b.String() + `)\z`)
	}
	return compile(b.String())
}
