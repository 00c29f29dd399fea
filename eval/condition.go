package eval

import (
	"math"
	"regexp"
	"strings"

	"github.com/flagraft/flagraft/eval/jsonpath"
)

type operator uint8

const (
	opUnknown operator = iota
	opEqual
	opNotEqual
	opGreaterThan
	opGreaterThanInclusive
	opLessThan
	opLessThanInclusive
	opContains
	opNotContains
	opRegex
	opPercentageSplit
	opModulo
	opIsSet
	opIsNotSet
	opIn
)

func operatorOf(name string) operator {
	switch name {
	case Equal:
		return opEqual
	case NotEqual:
		return opNotEqual
	case GreaterThan:
		return opGreaterThan
	case GreaterThanInclusive:
		return opGreaterThanInclusive
	case LessThan:
		return opLessThan
	case LessThanInclusive:
		return opLessThanInclusive
	case Contains:
		return opContains
	case NotContains:
		return opNotContains
	case Regex:
		return opRegex
	case PercentageSplit:
		return opPercentageSplit
	case Modulo:
		return opModulo
	case IsSet:
		return opIsSet
	case IsNotSet:
		return opIsNotSet
	case In:
		return opIn
	}
	return opUnknown
}

// source is where a condition's context value comes from. Every source but
// fromTrait and fromHashKey prefers a trait of the property's literal name.
type source uint8

const (
	fromTrait source = iota
	fromHashKey
	fromIdentifier
	fromIdentityKey
	fromEnvironmentKey
	fromEnvironmentName
	fromTraitPath
	fromQuery
)

// Which casts of the condition value succeeded.
const (
	castInt     uint8 = 1 << iota // integer, in condition.integer
	castBig                       // integer beyond int64, in detail.big
	castFloat                     // float, in condition.float
	castTrue                      // boolean
	castSemver                    // asks for a semantic version
	castVersion                   // and is one, in detail.version
)

// condition is a compiled condition: its value is cast to every type a
// context value may ask for. It fits a cache line; the rest is in detail.
type condition struct {
	op      operator
	source  source
	casts   uint8
	valid   bool  // the value is well formed for an operator that needs it so
	slot    int32 // trait of the property's name
	text    string
	integer int64
	float   float64
	detail  *detail
}

type detail struct {
	property  string
	operator  string
	big       Value
	version   version
	pattern   *regexp.Regexp
	members   map[string]struct{}
	divisor   float64
	remainder float64
	pathSlot  int32
	query     *jsonpath.Query
}

// match evaluates the condition for the subject.
func (c *condition) match(s *Subject, ev *Evaluation, trace *RuleTrace) bool {
	v := &s.values[c.slot]
	if c.source != fromTrait && (v.kind == KindNull || c.source == fromHashKey) {
		v = c.resolve(s, ev)
	}
	ev.hasBucket = false
	holds := c.holds(v, ev)
	if trace != nil {
		trace.addCondition(c, *v, holds, ev)
	}
	return holds
}

// resolve is the context value of a condition that is not about a plain trait.
func (c *condition) resolve(s *Subject, ev *Evaluation) *Value {
	ev.queried = Value{}
	switch c.source {
	case fromHashKey: // the key as it is, not coerced
		if s.hasIdentity {
			ev.queried = String(s.key)
		}
	case fromIdentifier:
		return &s.identifierValue
	case fromIdentityKey:
		return &s.keyValue
	case fromEnvironmentKey:
		return &s.env.keyValue
	case fromEnvironmentName:
		return &s.env.nameValue
	case fromTraitPath:
		if v := &s.values[c.detail.pathSlot]; !v.composite {
			return v
		}
	case fromQuery:
		ev.queried = s.query(c.detail.query)
	}
	return &ev.queried
}

// holds applies the operator to a context value. A missing value satisfies
// only IS_NOT_SET.
func (c *condition) holds(v *Value, ev *Evaluation) bool {
	if v.kind == KindNull {
		return c.op == opIsNotSet
	}
	switch c.op {
	case opEqual:
		return c.equal(v)
	case opNotEqual:
		return c.notEqual(v)
	case opGreaterThan:
		return c.greaterThan(v)
	case opGreaterThanInclusive:
		return c.greaterThanInclusive(v)
	case opLessThan:
		return c.lessThan(v)
	case opLessThanInclusive:
		return c.lessThanInclusive(v)
	case opContains:
		return c.contains(v)
	case opNotContains:
		return c.notContains(v)
	case opRegex:
		return c.regex(v, ev)
	case opPercentageSplit:
		return c.percentageSplit(v, ev)
	case opModulo:
		return c.modulo(v)
	case opIsSet:
		return true
	case opIn:
		return c.in(v, ev)
	}
	return false // opIsNotSet and opUnknown
}

// order is how a context value relates to the condition value.
type order uint8

const (
	incomparable order = iota // the condition value has no cast to the type
	unordered                 // a NaN is involved
	less
	same
	greater
)

func orderOf(comparison int) order { return order(int(same) + comparison) }

// compare casts the condition value to the type of the context value.
func (c *condition) compare(v *Value) order {
	switch v.kind {
	case KindString:
		if c.casts&castSemver != 0 {
			return c.compareVersion(v.text)
		}
		return orderOf(strings.Compare(v.text, c.text))
	case KindInt:
		return c.compareInt(v)
	case KindFloat:
		return c.compareFloat(v.float())
	case KindBool:
		return orderOf(int(v.bits) - int(c.casts&castTrue/castTrue))
	}
	return incomparable
}

func (c *condition) compareInt(v *Value) order {
	switch {
	case c.casts&castInt != 0:
		number := Int(c.integer)
		return orderOf(compareInts(v, &number))
	case c.casts&castBig != 0:
		return orderOf(compareInts(v, &c.detail.big))
	}
	return incomparable
}

func (c *condition) compareFloat(f float64) order {
	switch {
	case c.casts&castFloat == 0:
		return incomparable
	case f < c.float:
		return less
	case f > c.float:
		return greater
	case f == c.float:
		return same
	}
	return unordered
}

func (c *condition) compareVersion(text string) order {
	if c.casts&castVersion == 0 {
		return incomparable
	}
	v, ok := parseVersion(text)
	if !ok {
		return incomparable
	}
	return orderOf(v.compare(c.detail.version))
}

func (c *condition) equal(v *Value) bool {
	if v.kind == KindString && c.casts&castSemver == 0 {
		return v.text == c.text
	}
	return c.compare(v) == same
}

func (c *condition) notEqual(v *Value) bool {
	o := c.compare(v)
	return o != incomparable && o != same
}

func (c *condition) greaterThan(v *Value) bool { return c.compare(v) == greater }

func (c *condition) greaterThanInclusive(v *Value) bool { return c.compare(v) >= same }

func (c *condition) lessThan(v *Value) bool { return c.compare(v) == less }

func (c *condition) lessThanInclusive(v *Value) bool {
	o := c.compare(v)
	return o == less || o == same
}

// contains is for strings only: a text of digits has become a number.
func (c *condition) contains(v *Value) bool {
	return v.kind == KindString && strings.Contains(v.text, c.text)
}

func (c *condition) notContains(v *Value) bool {
	return v.kind == KindString && !strings.Contains(v.text, c.text)
}

// regex matches from the start of the value's text form.
func (c *condition) regex(v *Value, ev *Evaluation) bool {
	if c.detail.pattern == nil {
		return false
	}
	if v.kind == KindString {
		return c.detail.pattern.MatchString(v.text)
	}
	ev.buf = v.AppendText(ev.buf[:0])
	return c.detail.pattern.Match(ev.buf)
}

// percentageSplit compares the bucket of segment key and value, inclusively.
func (c *condition) percentageSplit(v *Value, ev *Evaluation) bool {
	if c.casts&castFloat == 0 {
		return false
	}
	if ev.Trace == nil && (c.float < 0 || c.float >= 100) {
		return c.float >= 100 // whatever the bucket
	}
	ev.buf = append(ev.buf[:0], ev.segmentKey...)
	ev.buf = append(ev.buf, ',')
	ev.buf = v.AppendText(ev.buf)
	ev.bucket, ev.hasBucket = percentageOf(ev.buf), true
	return ev.bucket <= c.float
}

// modulo is floored: the result has the sign of the divisor. Booleans count.
func (c *condition) modulo(v *Value) bool {
	if !c.valid {
		return false
	}
	var x float64
	switch v.kind {
	case KindBool:
		x = float64(v.bits)
	case KindInt, KindFloat:
		x, _ = v.AsFloat()
	default:
		return false
	}
	m := math.Mod(x, c.detail.divisor)
	if m != 0 && (m < 0) != (c.detail.divisor < 0) {
		m += c.detail.divisor
	}
	return m == c.detail.remainder
}

// in is membership of a text or of an integer's digits; floats and booleans
// are never members.
func (c *condition) in(v *Value, ev *Evaluation) bool {
	switch v.kind {
	case KindString:
		_, ok := c.detail.members[v.text]
		return ok
	case KindInt:
		ev.buf = v.AppendText(ev.buf[:0])
		_, ok := c.detail.members[string(ev.buf)]
		return ok
	}
	return false
}
