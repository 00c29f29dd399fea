package pattern

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Sets behind the class escapes, as the inside of an RE2 class.
const (
	digits     = `\p{Nd}`
	words      = `\p{L}\p{N}_`
	spaces     = `\t-\r\x1c-\x1f \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}`
	asciiSpace = `\t-\r `
)

// classEscape is the inside of a class for \d \w \s and, negated, \D \W \S.
func (t *translator) classEscape(r rune) (set string, negated, ok bool) {
	switch r {
	case 'd', 'D':
		set = digits
		t.cost += costSet
		if t.flags.ascii {
			set = "0-9"
		}
	case 'w', 'W':
		set = words
		t.cost += costWordSet
		if t.flags.ascii {
			set = "0-9A-Za-z_"
		}
	case 's', 'S':
		set = spaces
		t.cost += costSet
		if t.flags.ascii {
			set = asciiSpace
		}
	default:
		return "", false, false
	}
	return set, unicode.IsUpper(r), true
}

// class translates a bracketed set, of which the [ has been taken.
func (t *translator) class() bool {
	t.out.WriteByte('[')
	if t.take("^") {
		t.out.WriteByte('^')
	}
	for first := true; ; first = false {
		if t.at >= len(t.in) {
			return false
		}
		if t.peek() == ']' && !first {
			t.at++
			t.out.WriteByte(']')
			return true
		}
		if !t.classItem() {
			return false
		}
	}
}

// classItem translates one character, range or escape of a set.
func (t *translator) classItem() bool {
	low, isSet, ok := t.classCharacter()
	if !ok || isSet {
		// A set cannot begin a range.
		return ok && (!isSet || !t.rangeAhead())
	}
	high := low
	if t.rangeAhead() {
		t.at++
		high, isSet, ok = t.classCharacter()
		if !ok || isSet || high < low {
			return false
		}
	}
	if t.flags.ignoreCase && high-low > wideFoldSize {
		t.cost += costFoldSet
	}
	fmt.Fprintf(&t.out, `\x{%x}`, low)
	if high != low {
		fmt.Fprintf(&t.out, `-\x{%x}`, high)
	}
	return true
}

func (t *translator) rangeAhead() bool {
	return t.peek() == '-' && t.at+1 < len(t.in) && t.in[t.at+1] != ']'
}

// classCharacter reads one character of a set; a class escape is written at once.
func (t *translator) classCharacter() (r rune, isSet, ok bool) {
	r = t.peek()
	t.at++
	if r != '\\' {
		return r, false, r >= 0
	}
	if set, negated, ok := t.classEscape(t.peek()); ok {
		t.at++
		if negated {
			if t.flags.ignoreCase {
				t.cost += costFoldSet
			}
			set = complement(set)
		}
		t.out.WriteString(set)
		return 0, true, true
	}
	if t.take("b") {
		return '\b', false, true
	}
	r, ok = t.characterEscape()
	return r, false, ok
}

// complement writes the opposite of a set's inside, which RE2 cannot say
// inside a class, as ranges.
func complement(set string) string {
	switch set {
	case digits:
		return `\P{Nd}`
	case "0-9":
		return `\x00-/:-\x{10ffff}`
	case "0-9A-Za-z_":
		return "\\x00-/:-@\\[-\\^`\\{-\\x{10ffff}"
	case asciiSpace:
		return `\x00-\x08\x0e-\x1f!-\x{10ffff}`
	case spaces:
		return `\x00-\x08\x0e-\x1b!-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}` +
			`\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff}`
	}
	return notWords()
}

// notWords is the complement of words, gathered from the Unicode tables.
func notWords() string {
	type interval struct{ low, high rune }
	intervals := []interval{{'_', '_'}}
	add := func(low, high, stride rune) {
		if stride == 1 {
			intervals = append(intervals, interval{low, high})
			return
		}
		for r := low; r <= high; r += stride {
			intervals = append(intervals, interval{r, r})
		}
	}
	for _, table := range []*unicode.RangeTable{unicode.L, unicode.N} {
		for _, r := range table.R16 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range table.R32 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	slices.SortFunc(intervals, func(a, b interval) int { return int(a.low - b.low) })
	var b strings.Builder
	next := rune(0)
	for _, i := range append(intervals, interval{unicode.MaxRune + 1, 0}) {
		if next < i.low {
			fmt.Fprintf(&b, `\x{%x}-\x{%x}`, next, i.low-1)
		}
		next = max(next, i.high+1)
	}
	return b.String()
}
