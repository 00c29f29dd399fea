package jsonpath

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const document = `{"a":{"b":[1,2.0,"x",null,true,{"c":"deep"}],"k.k":1,"k'k":2,"é":"e","":"empty"},
	"o":{"j":{"j":1},"k":[5,3]},"n":{"x":1,"y":2},
	"books":[{"title":"A","price":8.95,"isbn":"1"},{"title":"B","price":12.99},{"title":"Cc","price":8.99,"tags":["t","u"]}]}`

func text(node any) string {
	switch n := node.(type) {
	case []any:
		parts := make([]string, len(n))
		for i := range n {
			parts[i] = text(n[i])
		}
		return "[" + strings.Join(parts, " ") + "]"
	case *Object:
		parts := make([]string, len(n.names))
		for i := range n.names {
			parts[i] = n.names[i] + ":" + text(n.values[i])
		}
		return "{" + strings.Join(parts, " ") + "}"
	}
	return fmt.Sprint(node)
}

func work() *int { units := MaxWork; return &units }

// selectAll lists the nodes the query selects; false when that takes more than work.
func selectAll(q *Query, root any, work *int) ([]any, bool) {
	var nodes []any
	e := &evaluator{root: root, work: *work}
	e.walk(root, q.segments, func(node any) bool {
		nodes = append(nodes, node)
		return true
	})
	*work = e.work
	return nodes, e.work > 0
}

func TestSelect(t *testing.T) {
	root, err := Decode([]byte(document))
	require.NoError(t, err)
	for query, want := range map[string]string{
		`$.a.b[0]`:                `[1]`,
		`$.a['k.k']`:              `[1]`,
		`$.a["k'k"]`:              `[2]`,
		`$.a['k\'k']`:             `[2]`,
		`$.a['\u00e9']`:           `[e]`,
		`$.a.é`:                   `[e]`,
		`$.a['']`:                 `[empty]`,
		`$.a .b [ 2 ]`:            `[x]`,
		`$.a.b[-1].c`:             `[deep]`,
		`$.a.b[9]`:                `[]`,
		`$.a.b[-9]`:               `[]`,
		`$.a.b.c`:                 `[]`,
		`$.a[0]`:                  `[]`,
		`$.n.*`:                   `[1 2]`,
		`$.n[*, 'x']`:             `[1 2 1]`,
		`$.n['y','x']`:            `[2 1]`,
		`$.a.b[1:3]`:              `[2.0 x]`,
		`$.a.b[ 1 : 3 ]`:          `[2.0 x]`,
		`$.a.b[::2]`:              `[1 x true]`,
		`$.a.b[4:1:-2]`:           `[true x]`,
		`$.a.b[:2]`:               `[1 2.0]`,
		`$.a.b[-2:]`:              `[true {c:deep}]`,
		`$.n..x`:                  `[1]`,
		`$..j`:                    `[{j:1} 1]`,
		`$.o..[*]`:                `[{j:1} [5 3] 1 5 3]`,
		`$.a.b[::0]`:              `[]`,
		`$.books[?@.isbn].title`:  `[A]`,
		`$.books[?!@.isbn].title`: `[B Cc]`,
		`$.books[?@.price < 10 && @.price>8.95].title`:     `[Cc]`,
		`$.books[?@.price == 8.950].title`:                 `[A]`,
		`$.books[?(@.title == 'A' || @.title=="B")].price`: `[8.95 12.99]`,
		`$.books[?!(@.title == 'A')].title`:                `[B Cc]`,
		`$.books[?length(@.title) == 2].title`:             `[Cc]`,
		`$.books[?count(@.tags[*]) == 2].title`:            `[Cc]`,
		`$.books[?value(@..isbn) == '1'].title`:            `[A]`,
		`$.books[?match(@.title, 'C.')].title`:             `[Cc]`,
		`$.books[?match(@.title, 'C')].title`:              `[]`,
		`$.books[?search(@.title, 'c')].title`:             `[Cc]`,
		`$.books[?search(@.title, @.isbn)].title`:          `[]`,
		`$.books[?@.isbn == $.books[0].isbn].title`:        `[A]`,
		`$.books[?@.nope == @.neither].title`:              `[A B Cc]`,
		`$.books[?@.nope <= @.neither].title`:              `[A B Cc]`,
		`$.books[?@.nope < @.neither].title`:               `[]`,
		`$.a.b[?@ == null]`:                                `[<nil>]`,
		`$.a.b[?@ == true]`:                                `[true]`,
		`$.a.b[?@ == 2]`:                                   `[2.0]`,
		`$.a.b[?@ == -0]`:                                  `[]`,
		`$.a.b[?@ >= 'x']`:                                 `[x]`,
		`$.o[?@.j == 1]`:                                   `[{j:1}]`,
		`$[?@ == $.n].x`:                                   `[1]`,
		`$.books[?match(@.title, '[')].title`:              `[]`,
		`$`:                                                "[" + text(root) + "]",
	} {
		q, err := Parse(query)
		require.NoError(t, err, query)
		nodes, ok := selectAll(q, root, work())
		require.True(t, ok)
		if nodes == nil {
			nodes = []any{}
		}
		require.Equal(t, want, text(nodes), query)
		first, ok := q.First(root, work())
		require.Equal(t, len(nodes) > 0, ok, query)
		if ok {
			require.Equal(t, text(nodes[0]), text(first), query)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, query := range []string{``, `a`, ` $`, `$ `, `$.`, `$.  x`, `$..`, `$.a b`, `$.1a`, `$[`, `$[]`, `$[a]`, `$['a]`, `$['a'`, `$["\'"]`,
		`$['\x']`, `$['\ud800']`, `$['\ud800\u0041']`, "$['\x01']", `$[01]`, `$[-0]`, `$[9007199254740992]`, `$[1.0]`, `$[1:2:3:4]`, `$.[0]`, `$[?]`, `$[?@.a ==]`,
		`$[?1]`, `$[?'a']`, `$[?true]`, `$[?@.* == 1]`, `$[?@..a == 1]`, `$[?length(@) ]`, `$[?length(@.*) == 1]`, `$[?count(1) == 1]`, `$[?match(@, 'a') == true]`,
		`$[?nope(@)]`, `$[?match(@)]`, `$[?length (@) == 1]`, `$[?!@ == 1]`, `$[?@ = 1]`, `$[?(@]`, `$[?01 == 1]`, `$[?1. == 1]`, `$[?@ == nul]`, `$.a[?@.b &&]`,
		"$.\xff", `$` + strings.Repeat(`[?@`, 40) + strings.Repeat(`]`, 40), `$` + strings.Repeat(".a", 1500)} {
		_, err := Parse(query)
		require.Error(t, err, query)
	}
}

func TestNames(t *testing.T) {
	for query, want := range map[string][]string{
		`$.a['b.c']["d"]`: {"a", "b.c", "d"}, `$`: {}, `$.a[0]`: nil, `$.a.*`: nil, `$..a`: nil, `$['a','b']`: nil,
	} {
		q, err := Parse(query)
		require.NoError(t, err)
		names, ok := q.Names()
		require.Equal(t, want != nil, ok, query)
		require.Equal(t, want, names, query)
	}
}

func TestDecode(t *testing.T) {
	node, err := Decode([]byte(`{"b":1,"a":2,"b":{"x":[]}}`))
	require.NoError(t, err)
	require.Equal(t, `{b:{x:[]} a:2}`, text(node))
	for _, bad := range []string{``, `{`, `[1,]`, `{"a"}`, `1 2`, `nope`, strings.Repeat("[", 1000) + strings.Repeat("]", 1000)} {
		_, err := Decode([]byte(bad))
		require.Error(t, err, bad)
	}
}

// TestExplosionIsBounded runs a query whose full answer would be astronomical.
func TestExplosionIsBounded(t *testing.T) {
	root, err := Decode([]byte(strings.Repeat(`[`, 300) + `1` + strings.Repeat(`,2]`, 300)))
	require.NoError(t, err)
	q, err := Parse(`$` + strings.Repeat(`..*`, 30) + `.nope`)
	require.NoError(t, err)
	_, ok := q.First(root, work())
	require.False(t, ok)
}

func FuzzQuery(f *testing.F) {
	root, err := Decode([]byte(document))
	require.NoError(f, err)
	for _, query := range []string{`$.a.b[0]`, `$..[?@.price<10 && match(@.title,'A.*')]`, `$['a',"b"][1:2:-1]`, `$[?length(@)==count(@.*)]`} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		q, err := Parse(query)
		if err != nil {
			return
		}
		start := time.Now()
		first, ok := q.First(root, work())
		if nodes, whole := selectAll(q, root, work()); whole {
			require.Equal(t, len(nodes) > 0, ok)
			if ok {
				require.Equal(t, text(nodes[0]), text(first))
			}
		}
		require.Less(t, time.Since(start), 5*time.Second)
	})
}
