package jsonpath

// MaxWork is a sensible bound of what queries may do together, in visited
// nodes and their like: some ten milliseconds.
const MaxWork = 500_000

// Query is a parsed JSONPath query. It is immutable.
type Query struct {
	segments []segment
	relative bool // starts at @, inside a filter
}

// segment is a child (or descendant) segment with at least one selector.
type segment struct {
	descendant bool
	selectors  []selector
}

type selectorKind uint8

const (
	selectName selectorKind = iota
	selectWildcard
	selectIndex
	selectSlice
	selectFilter
)

type selector struct {
	kind   selectorKind
	name   string
	index  int64
	slice  slice
	filter logical
}

// slice is start:end:step; absent parts depend on the sign of step.
type slice struct {
	start, end       int64
	hasStart, hasEnd bool
	step             int64
}

// Names are the member names of a query that consists of names only, such as
// $.a['b']; false for any other query.
func (q *Query) Names() ([]string, bool) {
	names := make([]string, 0, len(q.segments))
	for _, s := range q.segments {
		if s.descendant || len(s.selectors) != 1 || s.selectors[0].kind != selectName {
			return nil, false
		}
		names = append(names, s.selectors[0].name)
	}
	return names, true
}

// singular tells whether the query gives at most one node.
func (q *Query) singular() bool {
	for _, s := range q.segments {
		if s.descendant || len(s.selectors) != 1 || s.selectors[0].kind > selectIndex || s.selectors[0].kind == selectWildcard {
			return false
		}
	}
	return true
}

// First is the first node the query selects, in document order. It is false
// when there is none or when finding it takes more than work, from which it
// deducts what it did.
func (q *Query) First(root any, work *int) (any, bool) {
	var first any
	found := false
	e := &evaluator{root: root, work: *work}
	e.walk(root, q.segments, func(node any) bool {
		first, found = node, true
		return false
	})
	*work = e.work
	return first, found && e.work > 0
}

// evaluator is one evaluation. Every walk ends early when work is used up.
type evaluator struct {
	root any
	work int
}

func (e *evaluator) spend(units int) bool {
	e.work -= units
	return e.work > 0
}

// walk yields what the segments select from node; false means stop.
func (e *evaluator) walk(node any, segments []segment, yield func(any) bool) bool {
	if !e.spend(1) {
		return false
	}
	if len(segments) == 0 {
		return yield(node)
	}
	s, rest := &segments[0], segments[1:]
	next := func(child any) bool { return e.walk(child, rest, yield) }
	if s.descendant {
		return e.descend(node, s, next)
	}
	return e.selectAll(node, s, next)
}

// descend applies the segment to node and then to everything below it.
func (e *evaluator) descend(node any, s *segment, next func(any) bool) bool {
	if !e.spend(1) || !e.selectAll(node, s, next) {
		return false
	}
	return eachChild(node, func(child any) bool { return e.descend(child, s, next) })
}

func (e *evaluator) selectAll(node any, s *segment, next func(any) bool) bool {
	for i := range s.selectors {
		if !e.apply(node, &s.selectors[i], next) {
			return false
		}
	}
	return true
}

func (e *evaluator) apply(node any, s *selector, next func(any) bool) bool {
	switch s.kind {
	case selectName:
		if object, ok := node.(*Object); ok {
			if child, ok := object.Get(s.name); ok {
				return next(child)
			}
		}
	case selectWildcard:
		return eachChild(node, next)
	case selectIndex:
		if list, ok := node.([]any); ok {
			index := s.index
			if index < 0 {
				index += int64(len(list))
			}
			if index >= 0 && index < int64(len(list)) {
				return next(list[index])
			}
		}
	case selectSlice:
		if list, ok := node.([]any); ok {
			return s.slice.each(list, next)
		}
	case selectFilter:
		return eachChild(node, func(child any) bool {
			if !e.spend(1) {
				return false
			}
			return !s.filter.test(e, child) || next(child)
		})
	}
	return true
}

func eachChild(node any, next func(any) bool) bool {
	var children []any
	switch n := node.(type) {
	case []any:
		children = n
	case *Object:
		children = n.values
	}
	for _, child := range children {
		if !next(child) {
			return false
		}
	}
	return true
}

// each is RFC 9535 §2.3.4.2.
func (s slice) each(list []any, next func(any) bool) bool {
	n := int64(len(list))
	if s.step == 0 || n == 0 {
		return true
	}
	start, end := int64(0), n
	if s.step < 0 {
		start, end = n-1, -n-1
	}
	if s.hasStart {
		start = s.start
	}
	if s.hasEnd {
		end = s.end
	}
	if start < 0 {
		start += n
	}
	if end < 0 {
		end += n
	}
	if s.step > 0 {
		for i := clamp(start, 0, n); i < clamp(end, 0, n); i += s.step {
			if !next(list[i]) {
				return false
			}
		}
		return true
	}
	for i := clamp(start, -1, n-1); i > clamp(end, -1, n-1); i += s.step {
		if !next(list[i]) {
			return false
		}
	}
	return true
}

func clamp(i, low, high int64) int64 { return min(max(i, low), high) }
