package jsonpath

import (
	"github.com/flagraft/flagraft/eval/pattern"
)

func (p *parser) or() (logical, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, p.fail("nested too deeply")
	}
	defer func() { p.depth-- }()
	var parts orExpr
	for {
		part, err := p.and()
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
		if !p.operator("||") {
			break
		}
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return parts, nil
}

func (p *parser) and() (logical, error) {
	var parts andExpr
	for {
		part, err := p.basic()
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
		if !p.operator("&&") {
			break
		}
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return parts, nil
}

// operator takes the token with white space around it, or nothing.
func (p *parser) operator(token string) bool {
	start := p.at
	p.space()
	if !p.take(token) {
		p.at = start
		return false
	}
	p.space()
	return true
}

// basic reads a parenthesis, a negation, a comparison or a test.
func (p *parser) basic() (logical, error) {
	if p.take("!") {
		p.space()
		inner, err := p.negated()
		if err != nil {
			return nil, err
		}
		return notExpr{inner}, nil
	}
	if p.peek() == '(' {
		return p.parenthesis()
	}
	left, err := p.term()
	if err != nil {
		return nil, err
	}
	start := p.at
	p.space()
	operator := p.comparisonOperator()
	if operator == "" {
		p.at = start
		return p.asTest(left)
	}
	p.space()
	right, err := p.term()
	if err != nil {
		return nil, err
	}
	x := comparison{operator: operator}
	if x.left, err = p.asValue(left); err != nil {
		return nil, err
	}
	if x.right, err = p.asValue(right); err != nil {
		return nil, err
	}
	return x, nil
}

func (p *parser) negated() (logical, error) {
	if p.peek() == '(' {
		return p.parenthesis()
	}
	term, err := p.term()
	if err != nil {
		return nil, err
	}
	return p.asTest(term)
}

func (p *parser) parenthesis() (logical, error) {
	p.take("(")
	p.space()
	inner, err := p.or()
	if err != nil {
		return nil, err
	}
	p.space()
	if !p.take(")") {
		return nil, p.fail(") expected")
	}
	return inner, nil
}

func (p *parser) comparisonOperator() string {
	for _, operator := range []string{"==", "!=", "<=", ">=", "<", ">"} {
		if p.take(operator) {
			return operator
		}
	}
	return ""
}

// term reads a *Query, a literalExpr, or a function (logical or valuer).
func (p *parser) term() (any, error) {
	switch c := p.peek(); {
	case c == '@' || c == '$':
		p.at++
		segments, err := p.segments()
		return &Query{segments: segments, relative: c == '@'}, err
	case c == '\'' || c == '"':
		s, err := p.quoted()
		return literalExpr{s}, err
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	case c >= 'a' && c <= 'z':
		return p.wordOrFunction()
	}
	return nil, p.fail("expression expected")
}

func (p *parser) number() (any, error) {
	start := p.at
	p.take("-")
	first := p.peek()
	n := p.digits()
	if n == 0 || n > 1 && first == '0' {
		return nil, p.fail("not a number")
	}
	if p.take(".") && p.digits() == 0 {
		return nil, p.fail("digit expected")
	}
	if p.take("e") || p.take("E") {
		if !p.take("+") {
			p.take("-")
		}
		if p.digits() == 0 {
			return nil, p.fail("digit expected")
		}
	}
	return literalExpr{Number(p.text[start:p.at])}, nil
}

func (p *parser) wordOrFunction() (any, error) {
	start := p.at
	for p.at < len(p.text) {
		c := p.text[p.at]
		if c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			break
		}
		p.at++
	}
	word := p.text[start:p.at]
	if p.peek() == '(' {
		return p.function(word)
	}
	switch word {
	case "true":
		return literalExpr{true}, nil
	case "false":
		return literalExpr{false}, nil
	case "null":
		return literalExpr{nil}, nil
	}
	return nil, p.fail("unknown word")
}

func (p *parser) function(name string) (any, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, p.fail("nested too deeply")
	}
	defer func() { p.depth-- }()
	arguments, err := p.arguments()
	if err != nil {
		return nil, err
	}
	want := map[string]int{"length": 1, "count": 1, "value": 1, "match": 2, "search": 2}[name]
	if want == 0 || len(arguments) != want {
		return nil, p.fail("no such function")
	}
	switch name {
	case "length":
		of, err := p.asValue(arguments[0])
		return lengthFunction{of}, err
	case "count", "value":
		query, ok := arguments[0].(*Query)
		if !ok {
			return nil, p.fail("query expected")
		}
		if name == "count" {
			return countFunction{query}, nil
		}
		return valueFunction{query}, nil
	}
	return p.matchFunction(arguments, name == "match")
}

func (p *parser) matchFunction(arguments []any, whole bool) (any, error) {
	f := matchFunction{whole: whole}
	var err error
	if f.text, err = p.asValue(arguments[0]); err != nil {
		return nil, err
	}
	if f.expression, err = p.asValue(arguments[1]); err != nil {
		return nil, err
	}
	if literal, ok := f.expression.(literalExpr); ok {
		if expression, ok := literal.literal.(string); ok {
			f.compiled = pattern.IRegexp(expression, whole)
			if f.compiled == nil {
				f.expression = literalExpr{} // never matches
			}
		}
	}
	return f, nil
}

func (p *parser) arguments() ([]any, error) {
	p.take("(")
	p.space()
	var arguments []any
	if p.take(")") {
		return nil, nil
	}
	for {
		argument, err := p.term()
		if err != nil {
			return nil, err
		}
		arguments = append(arguments, argument)
		p.space()
		if p.take(")") {
			return arguments, nil
		}
		if !p.take(",") {
			return nil, p.fail(", or ) expected")
		}
		p.space()
	}
}

// asTest is a term where a test is wanted: a query or a logical function.
func (p *parser) asTest(term any) (logical, error) {
	switch t := term.(type) {
	case *Query:
		return existsExpr{t}, nil
	case logical:
		return t, nil
	}
	return nil, p.fail("comparison expected")
}

// asValue is a term where a value is wanted: a literal, a singular query or a
// function with a value.
func (p *parser) asValue(term any) (valuer, error) {
	switch t := term.(type) {
	case *Query:
		if t.singular() {
			return singularExpr{t}, nil
		}
	case valuer:
		return t, nil
	}
	return nil, p.fail("single value expected")
}
