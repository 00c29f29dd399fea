package sdk

import (
	"bytes"

	"github.com/flagraft/flagraft/fsm/identity"
)

// Limits of SDK input, in characters.
const (
	maxIdentifier = 2000
	maxTraitKey   = 200
	maxTraitText  = 2000
)

// scan reads the plain shape of an identify body without allocating: known
// members once each, strings of printable ASCII without escapes, scalars within
// their limits. Everything else, faults included, is left to decodeIdentify,
// which gives the same result for what scan accepts. The result aliases data.
func (sc *scratch) scan(data []byte) bool {
	p := scanner{data: data}
	if !sc.person(&p) {
		return false
	}
	p.space()
	return p.at == len(data)
}

// person reads one identity with its traits into sc.in.
func (sc *scratch) person(p *scanner) bool {
	in := &sc.in
	seen := 0
	if !p.open('{') {
		return false
	}
	for !p.closed('}') {
		name, ok := p.member()
		if !ok {
			return false
		}
		switch string(name) {
		case "identifier":
			ok = p.once(&seen, 1) && p.identifier(in)
		case "traits":
			ok = p.once(&seen, 2) && sc.traits(p)
		case "transient":
			ok = p.once(&seen, 4) && p.bool(&in.transient)
		default:
			return false
		}
		if !ok || !p.next('}') {
			return false
		}
	}
	return true
}

func (sc *scratch) traits(p *scanner) bool {
	if !p.open('[') {
		return false
	}
	for !p.closed(']') {
		t := traitInput{}
		if !sc.trait(p, &t) || !p.next(']') {
			return false
		}
		sc.in.traits = append(sc.in.traits, t)
	}
	return true
}

// usualTrait reads a trait as most clients write it, key first and no spaces; it
// may say false to what trait takes.
func (sc *scratch) usualTrait(p *scanner, t *traitInput) (ok bool) {
	if !p.word(`{"trait_key":`) {
		return false
	}
	if t.key, ok = p.traitKey(); !ok || !p.word(`,"trait_value":`) {
		return false
	}
	t.value, ok = sc.value(p)
	return ok && p.word("}")
}

func (p *scanner) traitKey() ([]byte, bool) {
	key, ok := p.string()
	key = bytes.Trim(key, " ")
	return key, ok && len(key) > 0 && len(key) <= maxTraitKey
}

func (sc *scratch) trait(p *scanner, t *traitInput) bool {
	start := p.at
	if sc.usualTrait(p, t) {
		return true
	}
	p.at, *t = start, traitInput{}
	seen := 0
	if !p.open('{') {
		return false
	}
	for !p.closed('}') {
		name, ok := p.member()
		if !ok {
			return false
		}
		switch string(name) {
		case "trait_key":
			ok = p.once(&seen, 1)
			if ok {
				t.key, ok = p.traitKey()
			}
		case "trait_value":
			ok = p.once(&seen, 2)
			if ok {
				t.value, ok = sc.value(p)
			}
		case "transient":
			ok = p.once(&seen, 4) && p.bool(&t.transient)
		default:
			return false
		}
		if !ok || !p.next('}') {
			return false
		}
	}
	return seen&3 == 3
}

// value reads a scalar as a canonical literal, nil for null.
func (sc *scratch) value(p *scanner) ([]byte, bool) {
	start := p.at
	switch c := p.peek(); {
	case c == '"':
		s, ok := p.string()
		return p.data[start:p.at], ok && len(s) <= maxTraitText
	case c == 't' && p.word("true"), c == 'f' && p.word("false"):
		return p.data[start:p.at], true
	case c == 'n' && p.word("null"):
		return nil, true
	}
	for p.at < len(p.data) && isNumberByte(p.data[p.at]) {
		p.at++
	}
	literal := p.data[start:p.at]
	if plainInteger(literal) {
		return literal, true
	}
	n := len(sc.arena)
	var err error
	if sc.arena, err = identity.AppendCanonicalValue(sc.arena, literal); err != nil || bytes.IndexByte(literal, '.') < 0 {
		return nil, false // exponents without a dot and huge integers go the long way
	}
	return sc.arena[n:len(sc.arena):len(sc.arena)], true
}

func isNumberByte(c byte) bool {
	return c >= '0' && c <= '9' || c == '-' || c == '.' || c == '+' || c == 'e' || c == 'E'
}

// plainInteger reports a canonical integer literal that surely fits 64 bits.
func plainInteger(b []byte) bool {
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 18 || b[0] == '0' && (len(b) > 1 || negative) {
		return false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// scanner walks over a body. Its methods report false for everything that is not
// of the plain shape.
type scanner struct {
	data []byte
	at   int
}

func (p *scanner) space() {
	for p.at < len(p.data) {
		switch p.data[p.at] {
		case ' ', '\n', '\t', '\r':
			p.at++
		default:
			return
		}
	}
}

func (p *scanner) peek() byte {
	if p.at < len(p.data) {
		return p.data[p.at]
	}
	return 0
}

// open reads an opening bracket and the space around it.
func (p *scanner) open(c byte) bool {
	p.space()
	if p.peek() != c {
		return false
	}
	p.at++
	p.space()
	return true
}

// closed reads a closing bracket, if there is one.
func (p *scanner) closed(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.at++
	return true
}

// next reads what follows an element: a comma and another element, or, left for
// closed, the bracket.
func (p *scanner) next(end byte) bool {
	p.space()
	if p.peek() == end {
		return true
	}
	if p.peek() != ',' {
		return false
	}
	p.at++
	p.space()
	return p.peek() != end
}

// member reads a name and its colon.
func (p *scanner) member() ([]byte, bool) {
	name, ok := p.string()
	if !ok {
		return nil, false
	}
	p.space()
	if p.peek() != ':' {
		return nil, false
	}
	p.at++
	p.space()
	return name, true
}

// string reads a string of printable ASCII without escapes; it aliases data.
func (p *scanner) string() ([]byte, bool) {
	if p.peek() != '"' {
		return nil, false
	}
	p.at++
	start := p.at
	for i, c := range p.data[start:] {
		if !ends[c] {
			continue
		}
		p.at = start + i + 1
		return p.data[start : start+i], c == '"'
	}
	return nil, false
}

// ends marks the bytes that a plain string does not contain.
var ends = func() (t [256]bool) {
	for c := range t {
		t[c] = c < ' ' || c > '~' || c == '"' || c == '\\'
	}
	return t
}()

func (p *scanner) word(w string) bool {
	if len(p.data)-p.at < len(w) || string(p.data[p.at:p.at+len(w)]) != w {
		return false
	}
	p.at += len(w)
	return true
}

func (p *scanner) bool(b *bool) bool {
	*b = p.word("true")
	return *b || p.word("false")
}

func (p *scanner) identifier(in *identifyRequest) bool {
	if p.word("null") {
		return true
	}
	s, ok := p.string()
	in.identifier = bytes.Trim(s, " ")
	return ok && len(in.identifier) <= maxIdentifier
}

// once reports whether a member was not seen before, and notes it.
func (p *scanner) once(seen *int, bit int) bool {
	fresh := *seen&bit == 0
	*seen |= bit
	return fresh
}
