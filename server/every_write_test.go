package server_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/credential"
	"github.com/flagraft/flagraft/server/route"
	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

// script is testdata/writes.txt played against a cluster.
type script struct {
	*testing.T
	nodes []*servertest.Node
	kept  map[string]string
	admin string // token
	done  []step

	attempt func(line int, d *step) // instead of do
}

// step is one write that was done.
type step struct {
	method, path, body, token, key string
	row                            *route.Row
	last                           bool // it ended its credentials
	answer                         servertest.Answer
}

// TestEveryWrite does every write of the table on a cluster of three, each through another node: what was written is there to be read, and a
// repetition with the same Idempotency-Key, on any node and after a change of leader, gets the first answer and writes nothing.
func TestEveryWrite(t *testing.T) {
	t.Parallel()
	nodes := servertest.Cluster(t, 3, func(st *settings.Settings) { st.LoginPerMinute, st.EmailActivation = 0, true })
	atLevel(t, nodes[0])
	s := &script{T: t, nodes: nodes, kept: map[string]string{}, admin: nodes[0].Token(t)}
	raw, err := os.ReadFile("testdata/writes.txt")
	require.NoError(t, err)
	for i, line := range strings.Split(string(raw), "\n") {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			s.line(i+1, line)
		}
	}
	seen := map[string]bool{}
	for _, d := range s.done {
		seen[d.row.OperationID] = true
	}
	for _, r := range nodes[0].Rows() {
		if r.Kind == route.Write && strings.HasPrefix(r.Path, "/api/v1/") {
			require.True(t, seen[r.OperationID], "%s %s is not in testdata/writes.txt", r.Method, r.Path)
		}
	}
	s.changeLeader()
	for i, d := range s.done {
		n := s.nodes[i%len(s.nodes)]
		if d.token != s.admin && !d.last {
			require.Equal(t, http.StatusUnauthorized, s.send(&d, n).Status, "another request ended these credentials")
			continue
		}
		s.repeat(&d, n)
	}
}

// line runs one line of the script.
func (s *script) line(n int, line string) {
	s.Helper()
	line = os.Expand(line, func(name string) string {
		require.Contains(s, s.kept, name, "line %d", n)
		return s.kept[name]
	})
	f := strings.Fields(line)
	switch f[0] {
	case "member":
		s.write(func(tx *fsm.Tx) {
			fsm.Memberships.Put(tx, fsm.Membership{Organisation: s.number(f[2]), User: s.number(s.kept[f[1]]), Role: fsm.RoleUser})
		})
	case "group":
		s.write(func(tx *fsm.Tx) {
			s.kept["group"] = fmt.Sprint(fsm.Groups.Put(tx, fsm.Group{Organisation: s.number(f[1]), Name: "G"}).ID)
		})
	case "invitehash":
		i, _ := fsm.Invites.Get(s.nodes[0].State(), s.number(f[1]))
		s.kept["invitehash"] = i.Hash
	case "state":
		for st := range fsm.FeatureStatesByEnvironment.All(s.nodes[0].State(), s.number(f[2]), fsm.StateDefault, s.number(f[1])) {
			s.kept["state"] = fmt.Sprint(st.ID)
		}
	case "health":
		for e := range fsm.FeatureHealthEventsByProject.All(s.nodes[0].State(), s.number(f[1])) {
			s.kept["health"] = fmt.Sprint(e.ID)
		}
	case "proof": // a one-time token as a mail would hold it
		s.kept["uid"], s.kept["proof"] = base64.RawURLEncoding.EncodeToString([]byte(f[1])), strings.Repeat(f[2], 40)
		s.write(func(tx *fsm.Tx) {
			fsm.OneTimeTokens.Put(tx, fsm.OneTimeToken{User: s.number(f[1]), Purpose: fsm.Purpose(s.number(f[2])),
				Hash: credential.HashMasterKey(s.kept["proof"]), Expires: tx.Now().Add(time.Hour)})
		})
	case "code": // of the authenticator with that secret
		code, err := totp.GenerateCode(f[1], time.Now())
		require.NoError(s, err)
		s.kept["code"] = code
	case "login":
		body := map[string]string{"email": f[1], "password": f[2]}
		s.kept[f[3]] = s.nodes[0].Client(s.T).Object("POST", "/api/v1/auth/login/", body, 200)["key"].(string)
	default:
		parts := strings.SplitN(line, " | ", 3)
		head := strings.Fields(strings.TrimRight(parts[0], " |"))
		d := step{token: s.admin, key: fmt.Sprint("line ", n)}
		if head[0] == "as" {
			d.token, head = s.kept[head[1]], head[2:]
		}
		d.method, d.path = head[0], head[1]
		if len(parts) > 1 {
			d.body = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(parts[1]), "|"))
			if strings.HasPrefix(d.body, "--") { // a form
				d.body = strings.ReplaceAll(d.body, `\r\n`, "\r\n")
			}
		}
		if s.attempt != nil {
			s.attempt(n, &d)
		} else {
			s.do(n, &d)
		}
		if len(parts) > 2 {
			s.keep(parts[2], d.answer.Raw)
		}
	}
}

func (s *script) number(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(s, err)
	return n
}

func (s *script) write(run func(*fsm.Tx)) {
	require.NoError(s, s.nodes[0].Update(s.Context(), func(tx *fsm.Tx) error { run(tx); return nil }))
}

// keep remembers members of an answer, "name=member ...".
func (s *script) keep(what, raw string) {
	var answer map[string]any
	for _, pair := range strings.Fields(what) {
		name, member, _ := strings.Cut(pair, "=")
		d := json.NewDecoder(strings.NewReader(raw))
		d.UseNumber()
		require.NoError(s, d.Decode(&answer), raw)
		require.NotNil(s, answer[member], "%s in %s", member, raw)
		s.kept[name] = fmt.Sprint(answer[member])
		if u, err := url.Parse(s.kept[name]); err == nil && u.Host != "" {
			s.kept[name] = u.Path // on whatever node
		}
	}
}

// send does a step on a node.
func (s *script) send(d *step, n *servertest.Node, headers ...string) servertest.Answer {
	c := n.Client(s.T).With("Authorization", "Token "+d.token).With("Idempotency-Key", d.key)
	for i := 0; i < len(headers); i += 2 {
		c = c.With(headers[i], headers[i+1])
	}
	if d.body == "" {
		return c.Do(d.method, d.path, nil)
	}
	return c.Do(d.method, d.path, d.body)
}

// do does a step for the first time, on a node that its line chooses, and demands what every write promises.
func (s *script) do(line int, d *step) {
	s.Helper()
	n := s.nodes[line%len(s.nodes)]
	d.row = rowOf(n, d.method, d.path)
	require.NotNil(s, d.row, "line %d: no row", line)
	d.answer = s.send(d, n)
	require.Less(s, d.answer.Status, 300, "line %d: %s %s %s: %s", line, d.method, d.path, d.body, d.answer.Raw)
	require.Empty(s, d.answer.Header.Get("Idempotency-Replayed"))
	require.NotEmpty(s, d.answer.Header.Get("Flagraft-Node"))
	index := s.index(d.answer)
	require.GreaterOrEqual(s, n.State().Index, index, "line %d: the node that answered does not show the write", line)
	s.repeat(d, n)
	s.repeat(d, s.nodes[(line+1)%len(s.nodes)])
	_, d.last = fsm.TokensByKey.First(n.State(), d.token)
	d.last = !d.last
	s.done = append(s.done, *d)
}

// rowOf finds the row of a path; literal segments win.
func rowOf(n *servertest.Node, method, path string) (row *route.Row) {
	for _, r := range n.Rows() {
		literal := row == nil || strings.Count(r.Path, "{") < strings.Count(row.Path, "{")
		if r.Method == method && literal && matches(r.Path, path) {
			row = r
		}
	}
	return row
}

// matches compares a path with a row's.
func matches(pattern, path string) bool {
	a, b := strings.Split(strings.Trim(pattern, "/"), "/"), strings.Split(strings.Trim(path, "/"), "/")
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && !strings.HasPrefix(a[i], "{") {
			return false
		}
	}
	return true
}

// repeat does a step again on a node and demands the first answer and no effect.
func (s *script) repeat(d *step, n *servertest.Node) {
	s.Helper()
	before := s.seq(n, d.answer)
	again := s.send(d, n)
	require.Equal(s, d.answer.Status, again.Status, "%s %s: %s", d.method, d.path, again.Raw)
	require.Equal(s, d.answer.Raw, again.Raw, "%s %s", d.method, d.path)
	require.Equal(s, d.answer.Header.Get("Content-Type"), again.Header.Get("Content-Type"))
	require.Equal(s, "true", again.Header.Get("Idempotency-Replayed"))
	require.Equal(s, before, s.seq(n, again), "%s %s: the repetition wrote something", d.method, d.path)
}

// seq is the number of changesets in the state that an answer tells of, but for those by which nodes forget what was deleted: they come when they like.
func (s *script) seq(n *servertest.Node, a servertest.Answer) uint64 {
	index := s.index(a)
	require.Eventually(s, func() bool { return n.State().Index >= index }, 10*time.Second, time.Millisecond)
	seq := n.State().Seq
	for e := range fsm.ChangeLog.Refs(n.State()) {
		kept := func(c fsm.RowChange) bool { return c.After != nil || !strings.HasPrefix(c.Model(), "Deleted") }
		if e.Author == (fsm.Author{}) && len(e.Changes) > 0 && !slices.ContainsFunc(e.Changes, kept) {
			seq--
		}
	}
	return seq
}

// index is the number in an answer's token.
func (s *script) index(a servertest.Answer) uint64 {
	s.Helper()
	_, digits, ok := strings.Cut(a.Header.Get("Flagraft-Index"), "-")
	require.True(s, ok, "no Flagraft-Index")
	return s.number(digits)
}

// changeLeader stops the leader; the last node of the list leads no more then either way.
func (s *script) changeLeader() {
	for i, n := range s.nodes {
		if n.IsLeader() {
			s.nodes = append(s.nodes[:i:i], s.nodes[i+1:]...)
			require.NoError(s, n.Stop(s.Context()))
			break
		}
	}
	require.Eventually(s, func() bool { return s.nodes[0].IsLeader() || s.nodes[1].IsLeader() }, 20*time.Second, 5*time.Millisecond)
	require.NotEqual(s, http.StatusServiceUnavailable, s.nodes[0].Client(s.T).Do("GET", "/api/v1/organisations/", nil).Status)
}
