package jsonpath

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxQueryLength = 2000 // bytes
	maxNesting     = 32
	maxInteger     = 1<<53 - 1
)

// ErrTooLong is returned for a query beyond the length this package reads.
var ErrTooLong = errors.New("JSONPath query too long")

// Parse reads a query, which starts with $.
func Parse(text string) (*Query, error) {
	if len(text) > maxQueryLength {
		return nil, ErrTooLong
	}
	if !utf8.ValidString(text) {
		return nil, errors.New("JSONPath query is not UTF-8")
	}
	p := &parser{text: text}
	if !p.take("$") {
		return nil, p.fail("$ expected")
	}
	segments, err := p.segments()
	if err != nil {
		return nil, err
	}
	if p.at < len(text) {
		return nil, p.fail("unexpected text")
	}
	return &Query{segments: segments}, nil
}

type parser struct {
	text  string
	at    int
	depth int
}

func (p *parser) fail(what string) error { return fmt.Errorf("JSONPath at %d: %s", p.at, what) }

func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) take(token string) bool {
	if strings.HasPrefix(p.text[p.at:], token) {
		p.at += len(token)
		return true
	}
	return false
}

func (p *parser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\n\r", p.text[p.at]) >= 0 {
		p.at++
	}
}

// segments reads as many as there are and leaves white space behind them unread.
func (p *parser) segments() ([]segment, error) {
	var segments []segment
	for {
		start := p.at
		p.space()
		if c := p.peek(); c != '.' && c != '[' {
			p.at = start
			return segments, nil
		}
		s, err := p.segment()
		if err != nil {
			return nil, err
		}
		segments = append(segments, s)
	}
}

func (p *parser) segment() (segment, error) {
	s := segment{descendant: p.take("..")}
	dotted := s.descendant || p.take(".")
	if p.peek() == '[' && (s.descendant || !dotted) {
		selectors, err := p.bracketed()
		s.selectors = selectors
		return s, err
	}
	if p.take("*") {
		s.selectors = []selector{{kind: selectWildcard}}
		return s, nil
	}
	name := p.shorthand()
	if name == "" {
		return s, p.fail("member name expected")
	}
	s.selectors = []selector{{kind: selectName, name: name}}
	return s, nil
}

// shorthand reads a member name after a dot; "" when there is none.
func (p *parser) shorthand() string {
	start := p.at
	for p.at < len(p.text) {
		r, size := utf8.DecodeRuneInString(p.text[p.at:])
		first := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80
		if !first && (p.at == start || r < '0' || r > '9') {
			break
		}
		p.at += size
	}
	return p.text[start:p.at]
}

func (p *parser) bracketed() ([]selector, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, p.fail("nested too deeply")
	}
	defer func() { p.depth-- }()
	p.take("[")
	var selectors []selector
	for {
		p.space()
		s, err := p.selector()
		if err != nil {
			return nil, err
		}
		selectors = append(selectors, s)
		p.space()
		if p.take("]") {
			return selectors, nil
		}
		if !p.take(",") {
			return nil, p.fail(", or ] expected")
		}
	}
}

func (p *parser) selector() (selector, error) {
	switch p.peek() {
	case '\'', '"':
		name, err := p.quoted()
		return selector{kind: selectName, name: name}, err
	case '*':
		p.at++
		return selector{kind: selectWildcard}, nil
	case '?':
		p.at++
		p.space()
		filter, err := p.or()
		return selector{kind: selectFilter, filter: filter}, err
	}
	return p.indexOrSlice()
}

func (p *parser) indexOrSlice() (selector, error) {
	start, hasStart, err := p.integer()
	if err != nil {
		return selector{}, err
	}
	afterStart := p.at
	p.space()
	if !p.take(":") {
		if !hasStart {
			return selector{}, p.fail("selector expected")
		}
		p.at = afterStart
		return selector{kind: selectIndex, index: start}, nil
	}
	s := slice{start: start, hasStart: hasStart, step: 1}
	p.space()
	if s.end, s.hasEnd, err = p.integer(); err != nil {
		return selector{}, err
	}
	afterEnd := p.at
	p.space()
	if !p.take(":") {
		p.at = afterEnd
		return selector{kind: selectSlice, slice: s}, nil
	}
	afterColon := p.at
	p.space()
	step, hasStep, err := p.integer()
	if err != nil {
		return selector{}, err
	}
	if hasStep {
		s.step = step
	} else {
		p.at = afterColon
	}
	return selector{kind: selectSlice, slice: s}, nil
}

// integer reads an optional integer without leading zeros, within ±(2^53-1).
func (p *parser) integer() (n int64, ok bool, err error) {
	start := p.at
	p.take("-")
	digits := p.digits()
	text := p.text[start:p.at]
	if digits == 0 {
		if text != "" {
			return 0, false, p.fail("digit expected")
		}
		return 0, false, nil
	}
	n, err = strconv.ParseInt(text, 10, 64)
	if err != nil || n > maxInteger || n < -maxInteger || text == "-0" || digits > 1 && strings.TrimPrefix(text, "-")[0] == '0' {
		return 0, false, p.fail("not an integer")
	}
	return n, true, nil
}

func (p *parser) digits() int {
	start := p.at
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
	}
	return p.at - start
}

// quoted reads a string literal in either kind of quotes.
func (p *parser) quoted() (string, error) {
	quote := p.peek()
	p.at++
	var b strings.Builder
	for p.at < len(p.text) {
		c := p.text[p.at]
		p.at++
		switch {
		case c == quote:
			return b.String(), nil
		case c < 0x20:
			return "", p.fail("control character")
		case c != '\\':
			b.WriteByte(c)
		default:
			r, err := p.escape(quote)
			if err != nil {
				return "", err
			}
			b.WriteRune(r)
		}
	}
	return "", p.fail("string not closed")
}

func (p *parser) escape(quote byte) (rune, error) {
	c := p.peek()
	p.at++
	switch c {
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case '/', '\\', quote:
		return rune(c), nil
	case 'u':
		return p.unicodeEscape()
	}
	return 0, p.fail("unknown escape")
}

func (p *parser) unicodeEscape() (rune, error) {
	high, ok := p.hex4()
	if !ok || high >= 0xdc00 && high < 0xe000 {
		return 0, p.fail("bad \\u escape")
	}
	if high < 0xd800 || high >= 0xe000 {
		return high, nil
	}
	if !p.take(`\u`) {
		return 0, p.fail("low surrogate expected")
	}
	low, ok := p.hex4()
	if !ok || low < 0xdc00 || low >= 0xe000 {
		return 0, p.fail("low surrogate expected")
	}
	return 0x10000 + (high-0xd800)<<10 + (low - 0xdc00), nil
}

func (p *parser) hex4() (rune, bool) {
	if p.at+4 > len(p.text) {
		return 0, false
	}
	n, err := strconv.ParseUint(p.text[p.at:p.at+4], 16, 32)
	p.at += 4
	return rune(n), err == nil
}
