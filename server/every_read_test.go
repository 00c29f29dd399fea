package server_test

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

// unread are the read rows that need what cannot be made here: a project to migrate.
var unread = map[string]bool{"/api/v1/projects/{id}/migrate-to-edge/": true}

// query is one read of the script.
type query struct {
	method, path, body string
	header, value      string // credentials
	status             int
	row                *route.Row
}

func (q *query) send(t *testing.T, n *servertest.Node, headers ...string) servertest.Answer {
	c := n.Client(t).With(q.header, q.value)
	for i := 0; i < len(headers); i += 2 {
		c = c.With(headers[i], headers[i+1])
	}
	if q.body == "" {
		return c.Do(q.method, q.path, nil)
	}
	return c.Do(q.method, q.path, q.body)
}

// reads plays testdata/reads.txt: it makes what there is to read and returns the reads.
func (s *script) reads() (out []*query) {
	raw, err := os.ReadFile("testdata/reads.txt")
	require.NoError(s, err)
	making := true
	for i, line := range strings.Split(string(raw), "\n") {
		switch line = strings.TrimSpace(line); {
		case line == "":
			if len(s.done) > 0 && making {
				making = false
				s.derive()
			}
		case line[0] == '#':
		case making:
			s.line(i+1, line)
		default:
			out = append(out, s.query(os.Expand(line, func(name string) string { return s.kept[name] })))
		}
	}
	return out
}

// derive keeps what no answer tells.
func (s *script) derive() {
	state := s.nodes[0].State()
	for a := range fsm.AuditLogs.Refs(state) {
		if a.Project == s.number(s.kept["project"]) {
			s.kept["audit"] = fmt.Sprint(a.ID)
		}
	}
	fs, _ := fsm.FeatureStates.Get(state, s.number(s.kept["state"]))
	s.kept["stateuuid"] = fs.UUID.String()
}

func (s *script) query(line string) *query {
	q := &query{header: "Authorization", value: "Token " + s.admin, status: 200}
	line, q.body, _ = strings.Cut(line, " | ")
	f := strings.Fields(line)
	switch f[0] {
	case "204", "400", "404":
		q.status, f = int(s.number(f[0])), f[1:]
	case "sdk":
		q.header, q.value, f = "X-Environment-Key", s.kept["env"], f[1:]
	case "server":
		q.header, q.value, f = "X-Environment-Key", s.kept["serverkey"], f[1:]
	}
	q.method, q.path = f[0], f[1]
	path, _, _ := strings.Cut(q.path, "?")
	q.row = rowOf(s.nodes[0], q.method, path)
	require.NotNil(s, q.row, line)
	return q
}

// TestEveryRead asks every read of the table, on each of three nodes, at each consistency, and again on one node that has no quorum.
func TestEveryRead(t *testing.T) {
	t.Parallel()
	nodes := servertest.Cluster(t, 3, func(st *settings.Settings) {
		st.LoginPerMinute, st.UsagePerMinute, st.LeaderTimeout = 0, 0, time.Second
	})
	atLevel(t, nodes[0])
	s := &script{T: t, nodes: nodes, kept: map[string]string{}, admin: nodes[0].Token(t)}
	queries := s.reads()
	seen := map[string]bool{}
	for _, q := range queries {
		seen[q.row.OperationID] = true
	}
	for _, r := range nodes[0].Rows() {
		_, raw := r.Handler.(route.RawHandler)
		if r.Kind == route.Read && !unread[r.Path] && (raw || strings.HasPrefix(r.Path, "/api/v1/")) {
			require.True(t, seen[r.OperationID], "%s %s is not in testdata/reads.txt", r.Method, r.Path)
		}
	}
	newest := s.done[len(s.done)-1].answer.Header.Get("Flagraft-Index")
	for i, q := range queries {
		s.levels(q, i, newest)
	}
	s.tooFar(queries, newest)
	s.alone()
	s.withoutQuorum(queries)
}

// levels asks at each consistency, one node after the other.
func (s *script) levels(q *query, turn int, newest string) {
	s.Helper()
	typed := q.header == "Authorization"
	for i, c := range []struct{ level, token, got string }{
		{"", "", "linearizable"}, {"local", "", "local"}, {"linearizable", "", "linearizable"}, {"min-index", newest, "min-index"},
		{"", newest, "min-index"}, {"", "zzzzzzzz-999999999", "linearizable"}, {"", "nonsense", "linearizable"}, {"min-index", "nonsense", "min-index"},
	} {
		n := s.nodes[(turn+i)%len(s.nodes)]
		a := q.send(s.T, n, "Flagraft-Consistency", c.level, "Flagraft-Min-Index", c.token)
		require.Equal(s, q.status, a.Status, "%s %s %+v: %s", q.method, q.path, c, a.Raw)
		require.NotEmpty(s, a.Header.Get("Flagraft-Node"))
		age, err := strconv.Atoi(a.Header.Get("Flagraft-Age"))
		require.NoError(s, err, "%s: Flagraft-Age", q.path)
		require.Less(s, age, 60_000)
		if typed {
			require.Equal(s, c.got, a.Header.Get("Flagraft-Consistency"), q.path)
		}
		if c.token == newest || c.level == "linearizable" {
			require.GreaterOrEqual(s, s.index(a), s.shown(q, newest), "%s %s %+v", q.method, q.path, c)
		}
	}
	require.Equal(s, 400, q.send(s.T, s.nodes[turn%len(s.nodes)], "Flagraft-Consistency", "eventual").Status)
}

// shown is the index that an answer must tell of: that of the write, for the SDK API of the environment's View.
func (s *script) shown(q *query, token string) uint64 {
	if q.header != "Authorization" {
		return 1
	}
	_, digits, _ := strings.Cut(token, "-")
	return s.number(digits)
}

// tooFar asks for an index that is far ahead: a bounded wait, then a clear refusal.
func (s *script) tooFar(queries []*query, newest string) {
	epoch, _, _ := strings.Cut(newest, "-")
	s.together(queries, func(q *query, n *servertest.Node) string {
		a := q.send(s.T, n, "Flagraft-Min-Index", epoch+"-999999999")
		return refused(q, a, "This node has not reached the requested index in time.")
	})
}

// refused says what is wrong with a refusal.
func refused(q *query, a servertest.Answer, text string) string {
	want := `{"detail":"` + text + `"}`
	if strings.HasPrefix(q.path, "/ofrep/") {
		want = a.Raw // OFREP has a shape of its own
	}
	after, err := strconv.Atoi(a.Header.Get("Retry-After"))
	if a.Status != http.StatusServiceUnavailable || err != nil || after < 1 || a.Raw != want {
		return fmt.Sprint(q.method, " ", q.path, ": ", a.Status, " ", a.Header.Get("Retry-After"), " ", a.Raw)
	}
	return ""
}

// together runs a check of every query at the same time, spread over the living nodes.
func (s *script) together(queries []*query, check func(*query, *servertest.Node) string) {
	s.Helper()
	faults := make([]string, len(queries))
	var all sync.WaitGroup
	for i, q := range queries {
		all.Go(func() { faults[i] = check(q, s.nodes[i%len(s.nodes)]) })
	}
	all.Wait()
	for _, f := range faults {
		require.Empty(s, f)
	}
}

// alone stops the leader and one more: the node that is left has no quorum.
func (s *script) alone() {
	for len(s.nodes) > 1 {
		for i, n := range s.nodes {
			if n.IsLeader() || len(s.nodes) == 2 && s.nodes[1-i].IsLeader() {
				s.nodes = append(s.nodes[:i:i], s.nodes[i+1:]...)
				require.NoError(s, n.Stop(s.Context()))
				break
			}
		}
	}
	require.Eventually(s, func() bool { return !s.nodes[0].IsLeader() }, 10*time.Second, time.Millisecond)
	n := s.nodes[0]
	require.Eventually(s, func() bool {
		return (&query{method: "GET", path: "/api/v1/organisations/", header: "Authorization", value: "Token " + s.admin}).
			send(s.T, n, "Flagraft-Consistency", "linearizable").Status == 503
	}, 10*time.Second, 10*time.Millisecond)
}

// withoutQuorum asks everything of the node that is left.
func (s *script) withoutQuorum(queries []*query) {
	s.together(queries, func(q *query, n *servertest.Node) string {
		a := q.send(s.T, n)
		if a.Status != q.status || q.header == "Authorization" && a.Header.Get("Flagraft-Consistency") != "local" || a.Header.Get("Flagraft-Age") == "0" {
			return fmt.Sprint(q.method, " ", q.path, ": ", a.Status, " ", a.Header, a.Raw)
		}
		return refused(q, q.send(s.T, n, "Flagraft-Consistency", "linearizable"), "No leader confirms a linearizable read.")
	})
	n := s.nodes[0]
	var writes []*query
	for _, r := range n.Rows() {
		if r.Kind == route.Write {
			writes = append(writes, &query{method: r.Method, path: unknownPath(r), header: "Authorization", value: "Token " + s.admin, body: "{}", row: r})
		}
	}
	s.together(writes, func(q *query, n *servertest.Node) string {
		began := time.Now()
		a := q.send(s.T, n)
		if took := time.Since(began); took > 20*time.Second {
			return fmt.Sprint(q.path, " took ", took)
		}
		return refused(q, a, "No leader could be reached in time; nothing was written. Please try again.")
	})
	sdk := n.Client(s.T).With("X-Environment-Key", s.kept["env"])
	who := map[string]any{"identifier": "new", "traits": []any{map[string]any{"trait_key": "a", "trait_value": 1}}}
	one := sdk.Do("POST", "/api/v1/identities/", who)
	require.Equal(s, 200, one.Status)
	require.Equal(s, "false", one.Header.Get("Flagraft-Traits-Persisted"))
	many := sdk.Do("POST", "/api/v1/bulk-identities", map[string]any{"data": []any{who}})
	require.Equal(s, 503, many.Status)
	require.Equal(s, "1", many.Header.Get("Retry-After"))
}
