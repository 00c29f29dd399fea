package jsonpath

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/flagraft/flagraft/eval/pattern"
)

// logical is a part of a filter that is true or false for a node.
type logical interface {
	test(e *evaluator, current any) bool
}

// valuer is a part of a filter with a value, which may be absent.
type valuer interface {
	value(e *evaluator, current any) (any, bool)
}

type orExpr []logical

func (x orExpr) test(e *evaluator, current any) bool {
	for _, part := range x {
		if part.test(e, current) {
			return true
		}
	}
	return false
}

type andExpr []logical

func (x andExpr) test(e *evaluator, current any) bool {
	for _, part := range x {
		if !part.test(e, current) {
			return false
		}
	}
	return true
}

type notExpr struct{ inner logical }

func (x notExpr) test(e *evaluator, current any) bool { return !x.inner.test(e, current) }

// existsExpr is a query used as a test.
type existsExpr struct{ query *Query }

func (x existsExpr) test(e *evaluator, current any) bool {
	found := false
	e.query(x.query, current, func(any) bool {
		found = true
		return false
	})
	return found
}

func (e *evaluator) query(q *Query, current any, yield func(any) bool) {
	start := e.root
	if q.relative {
		start = current
	}
	e.walk(start, q.segments, yield)
}

type literalExpr struct{ literal any }

func (x literalExpr) value(*evaluator, any) (any, bool) { return x.literal, true }

// singularExpr is a query of at most one node used as a value.
type singularExpr struct{ query *Query }

func (x singularExpr) value(e *evaluator, current any) (value any, ok bool) {
	e.query(x.query, current, func(node any) bool {
		value, ok = node, true
		return false
	})
	return value, ok
}

type comparison struct {
	left, right valuer
	operator    string
}

func (x comparison) test(e *evaluator, current any) bool {
	a, okA := x.left.value(e, current)
	b, okB := x.right.value(e, current)
	switch x.operator {
	case "==":
		return e.equal(a, b, okA, okB)
	case "!=":
		return !e.equal(a, b, okA, okB)
	case "<":
		return e.less(a, b, okA, okB)
	case ">":
		return e.less(b, a, okB, okA)
	case "<=":
		return e.less(a, b, okA, okB) || e.equal(a, b, okA, okB)
	default:
		return e.less(b, a, okB, okA) || e.equal(a, b, okA, okB)
	}
}

func (e *evaluator) equal(a, b any, okA, okB bool) bool {
	if !okA || !okB {
		return okA == okB
	}
	return e.same(a, b)
}

// same is deep equality; numbers compare by value.
func (e *evaluator) same(a, b any) bool {
	if !e.spend(1) {
		return false
	}
	switch x := a.(type) {
	case Number:
		y, ok := b.(Number)
		return ok && compareNumbers(x, y) == 0
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !e.same(x[i], y[i]) {
				return false
			}
		}
		return true
	case *Object:
		y, ok := b.(*Object)
		if !ok || len(x.names) != len(y.names) {
			return false
		}
		for i, name := range x.names {
			other, ok := y.Get(name)
			if !ok || !e.same(x.values[i], other) {
				return false
			}
		}
		return true
	case string:
		y, ok := b.(string)
		return ok && x == y
	case bool:
		y, ok := b.(bool)
		return ok && x == y
	}
	return a == nil && b == nil
}

func (e *evaluator) less(a, b any, okA, okB bool) bool {
	if !okA || !okB {
		return false
	}
	switch x := a.(type) {
	case Number:
		y, ok := b.(Number)
		return ok && compareNumbers(x, y) < 0
	case string:
		y, ok := b.(string)
		return ok && x < y
	}
	return false
}

func compareNumbers(a, b Number) int {
	if a == b {
		return 0
	}
	if isInt(a) && isInt(b) {
		x, okX := new(big.Int).SetString(string(a), 10)
		y, okY := new(big.Int).SetString(string(b), 10)
		if okX && okY {
			return x.Cmp(y)
		}
	}
	x, _ := strconv.ParseFloat(string(a), 64)
	y, _ := strconv.ParseFloat(string(b), 64)
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

func isInt(n Number) bool { return len(n) < 400 && !strings.ContainsAny(string(n), ".eE") }

// lengthFunction counts the characters, elements or members of a value.
type lengthFunction struct{ of valuer }

func (f lengthFunction) value(e *evaluator, current any) (any, bool) {
	v, _ := f.of.value(e, current)
	n := 0
	switch x := v.(type) {
	case string:
		n = utf8.RuneCountInString(x)
	case []any:
		n = len(x)
	case *Object:
		n = len(x.names)
	default:
		return nil, false
	}
	return Number(strconv.Itoa(n)), true
}

type countFunction struct{ of *Query }

func (f countFunction) value(e *evaluator, current any) (any, bool) {
	n := 0
	e.query(f.of, current, func(any) bool {
		n++
		return true
	})
	return Number(strconv.Itoa(n)), true
}

// valueFunction is the node of a query that has exactly one.
type valueFunction struct{ of *Query }

func (f valueFunction) value(e *evaluator, current any) (value any, ok bool) {
	n := 0
	e.query(f.of, current, func(node any) bool {
		value = node
		n++
		return n < 2
	})
	if n != 1 {
		return nil, false
	}
	return value, true
}

// compileWork is what compiling a regular expression found in the document
// costs, and ten times what each byte of it costs.
const compileWork = 5000

// matchFunction is match() and search().
type matchFunction struct {
	text, expression valuer
	whole            bool
	compiled         *regexp.Regexp // of a literal expression
}

func (f matchFunction) test(e *evaluator, current any) bool {
	v, _ := f.text.value(e, current)
	text, ok := v.(string)
	if !ok {
		return false
	}
	compiled := f.compiled
	if compiled == nil {
		v, _ := f.expression.value(e, current)
		expression, ok := v.(string)
		if !ok || !e.spend(compileWork+compileWork/10*len(expression)) {
			return false
		}
		compiled = pattern.IRegexp(expression, f.whole)
	}
	if compiled == nil || !e.spend(1+len(text)) {
		return false
	}
	return compiled.MatchString(text)
}
