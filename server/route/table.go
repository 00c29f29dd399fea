package route

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Table is the compiled set of rows; safe for use by many goroutines.
type Table struct {
	rows   []*Row
	static map[string]*leaf // whole paths without parameters, in both slash forms
	root   node
}

// node is one path segment in the tree of parameterised paths.
type node struct {
	children map[string]*node
	param    *node
	leaf     *leaf
}

// leaf holds the rows of one path.
type leaf struct {
	pattern string
	rows    [methodCount]*Row
	allow   string
}

// The methods that rows may use, in the order in which Allow lists them.
const (
	mGet = iota
	mPost
	mPut
	mPatch
	mDelete
	methodCount
)

var methodNames = [methodCount]string{"GET", "POST", "PUT", "PATCH", "DELETE"}

// methodIndex gives the slot of a method; HEAD is served by GET.
func methodIndex(method []byte) int {
	switch string(method) {
	case "GET", "HEAD":
		return mGet
	case "POST":
		return mPost
	case "PUT":
		return mPut
	case "PATCH":
		return mPatch
	case "DELETE":
		return mDelete
	}
	return -1
}

// NewTable compiles rows: router, input schemas and output encoders. All faults of the table are reported together.
func NewTable(groups ...[]Row) (*Table, error) {
	t := &Table{static: map[string]*leaf{}}
	var faults []error
	ids := map[string]bool{}
	for _, g := range groups {
		for i := range g {
			r := g[i]
			if err := t.add(&r, ids); err != nil {
				faults = append(faults, fmt.Errorf("%s %s: %w", r.Method, r.Path, err))
			}
		}
	}
	for _, r := range t.rows {
		l := t.leafOf(r.Path)
		l.allow = l.allowed()
	}
	return t, errors.Join(faults...)
}

// Rows lists the rows in the order given.
func (t *Table) Rows() []*Row { return t.rows }

func (t *Table) add(r *Row, ids map[string]bool) error {
	m := methodIndex([]byte(r.Method))
	r.paramNames = pathParams(r.Path)
	switch {
	case m < 0 || r.Method == http.MethodHead:
		return errors.New("unknown method")
	case !strings.HasPrefix(r.Path, "/"):
		return errors.New("path does not start with a slash")
	case len(r.paramNames) > MaxParams:
		return errors.New("too many path parameters")
	case r.OperationID == "":
		return errors.New("no operation id")
	case ids[r.OperationID]:
		return fmt.Errorf("operation id %q is taken", r.OperationID)
	case r.Handler == nil:
		return errors.New("no handler")
	}
	ids[r.OperationID] = true
	if err := r.compile(); err != nil {
		return err
	}
	l := t.leafOf(r.Path)
	if l.rows[m] != nil {
		return fmt.Errorf("same path as %s", l.rows[m].OperationID)
	}
	l.rows[m] = r
	t.rows = append(t.rows, r)
	return nil
}

// compile prepares the schema and the encoder of a typed row.
func (r *Row) compile() error {
	if _, ok := r.Handler.(Typed); !ok {
		if _, ok := r.Handler.(RawHandler); !ok {
			return fmt.Errorf("handler %T is neither typed nor raw", r.Handler)
		}
		return nil
	}
	s, err := CompileSchema(r.Handler.Input())
	if err != nil {
		return err
	}
	if err := s.checkParams(r.paramNames); err != nil {
		return err
	}
	r.schema = s
	r.encoder = NewEncoder(r.Handler.Output())
	return nil
}

// Params lists the parameter names of the row's path, in order.
func (r *Row) Params() []string { return r.paramNames }

func pathParams(path string) []string {
	var names []string
	for seg := range strings.SplitSeq(path, "/") {
		if n, ok := paramName(seg); ok {
			names = append(names, n)
		}
	}
	return names
}

func paramName(segment string) (string, bool) {
	if len(segment) > 2 && segment[0] == '{' && segment[len(segment)-1] == '}' {
		return segment[1 : len(segment)-1], true
	}
	return "", false
}

// leafOf finds or makes the leaf of a pattern. Patterns that differ only in parameter names share one.
func (t *Table) leafOf(pattern string) *leaf {
	bare := strings.TrimSuffix(pattern, "/")
	if !strings.Contains(pattern, "{") {
		if l := t.static[bare]; l != nil {
			return l
		}
		l := &leaf{pattern: pattern}
		t.static[bare], t.static[bare+"/"] = l, l
		t.insert(bare, l)
		return l
	}
	return t.insert(bare, nil)
}

// insert walks the tree, making what is missing. Static paths stand in the tree too: they hide parameters of the same shape.
func (t *Table) insert(bare string, l *leaf) *leaf {
	n := &t.root
	for seg := range strings.SplitSeq(strings.TrimPrefix(bare, "/"), "/") {
		if _, ok := paramName(seg); ok {
			if n.param == nil {
				n.param = &node{}
			}
			n = n.param
			continue
		}
		if n.children == nil {
			n.children = map[string]*node{}
		}
		if n.children[seg] == nil {
			n.children[seg] = &node{}
		}
		n = n.children[seg]
	}
	if n.leaf == nil {
		if l == nil {
			l = &leaf{pattern: bare + "/"}
		}
		n.leaf = l
	}
	return n.leaf
}

func (l *leaf) allowed() string {
	if g := l.rows[mGet]; g != nil && g.NoHead {
		return "OPTIONS, GET" // in the reference's order
	}
	var names []string
	for i, r := range l.rows {
		if r != nil {
			names = append(names, methodNames[i])
		}
	}
	if slices.Contains(names, "GET") {
		names = append(names, "HEAD")
	}
	return strings.Join(append(names, "OPTIONS"), ", ")
}

// Lookup finds the row of a request. path is as sent, percent-encoded, without the query. It fills m and reports whether a row matched;
// when not, m.Allow tells a wrong method (not empty: 405) from an unknown path (empty: 404). A literal segment wins over a parameter.
// It does not allocate.
func (t *Table) Lookup(method, path []byte, m *Match) bool {
	m.Row, m.Allow, m.n = nil, "", 0
	l := t.static[string(path)]
	if l == nil {
		if len(path) == 0 || path[0] != '/' {
			return false
		}
		rest := path[1:]
		if n := len(rest); n > 0 && rest[n-1] == '/' {
			rest = rest[:n-1]
		}
		if l = t.root.find(rest, m); l == nil {
			return false
		}
	}
	m.Allow = l.allow
	i := methodIndex(method)
	if i < 0 || l.rows[i] == nil {
		return false
	}
	m.Row = l.rows[i]
	return true
}

// find descends with the rest of the path; it comes back from a literal segment that leads nowhere.
func (n *node) find(rest []byte, m *Match) *leaf {
	seg, tail, last := cut(rest)
	if len(seg) == 0 {
		return nil
	}
	if child := n.children[string(seg)]; child != nil {
		if last {
			if child.leaf != nil {
				return child.leaf
			}
		} else if l := child.find(tail, m); l != nil {
			return l
		}
	}
	if n.param == nil || m.n == MaxParams {
		return nil
	}
	m.values[m.n] = seg
	m.n++
	if last {
		if n.param.leaf != nil {
			return n.param.leaf
		}
	} else if l := n.param.find(tail, m); l != nil {
		return l
	}
	m.n--
	return nil
}

// cut splits off the first segment.
func cut(path []byte) (seg, tail []byte, last bool) {
	for i, c := range path {
		if c == '/' {
			return path[:i], path[i+1:], false
		}
	}
	return path, nil, true
}
