package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/servertest"
)

const (
	streamKey       = "environment"
	streamServerKey = "ser.environment"
)

// flagged gives the cluster an environment with a flag, and returns the path of its state.
func flagged(t testing.TB, leader *servertest.Node) (state string) {
	t.Helper()
	require.NoError(t, leader.Update(t.Context(), func(tx *fsm.Tx) error {
		org := fsm.Organisations.Put(tx, fsm.Organisation{UUID: uuid.New(), Name: "O"})
		for u := range fsm.Users.All(tx) {
			fsm.Memberships.Put(tx, fsm.Membership{Organisation: org.ID, User: u.ID, Role: fsm.RoleAdmin})
		}
		p := fsm.Projects.Put(tx, fsm.Project{UUID: uuid.New(), Name: "P", Organisation: org.ID})
		e := fsm.Environments.Put(tx, fsm.Environment{UUID: uuid.New(), Name: "E", APIKey: streamKey, Project: p.ID, UseIdentityOverridesInLocal: true, UpdatedAt: tx.Now()})
		fsm.EnvironmentAPIKeys.Put(tx, fsm.EnvironmentAPIKey{Environment: e.ID, Key: streamServerKey, Name: "server", Active: true})
		f := fsm.Features.Put(tx, fsm.Feature{UUID: uuid.New(), Name: "flag", Project: p.ID, Type: fsm.Standard, CreatedDate: tx.Now()})
		s := fsm.FeatureStates.Put(tx, fsm.FeatureState{UUID: uuid.New(), Feature: f.ID, Environment: e.ID, Version: 1, LiveFrom: tx.Now()})
		state = fmt.Sprintf("/api/v1/environments/%s/featurestates/%d/", streamKey, s.ID)
		return nil
	}))
	return state
}

// stream is a client of realtime.
type stream struct {
	t    testing.TB
	conn net.Conn
	body *bufio.Reader
}

func listen(t testing.TB, n *servertest.Node, header string) *stream {
	t.Helper()
	c, err := net.Dial("tcp", n.APIAddr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(30*time.Second)))
	_, err = fmt.Fprintf(c, "GET /sse/environments/%s/stream HTTP/1.1\r\nHost: h\r\n%s\r\n", streamKey, header)
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	require.Equal(t, 200, resp.StatusCode)
	require.Equal(t, []string{"chunked"}, resp.TransferEncoding)
	return &stream{t: t, conn: c, body: bufio.NewReader(resp.Body)}
}

// event reads the next one: its token and its updated_at in seconds.
func (s *stream) event() (token string, updated float64) {
	s.t.Helper()
	for {
		line, err := s.body.ReadString('\n')
		require.NoError(s.t, err)
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			token = strings.TrimSpace(id)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			var d struct {
				UpdatedAt float64 `json:"updated_at"`
			}
			require.NoError(s.t, json.Unmarshal([]byte(data), &d))
			return token, d.UpdatedAt
		}
	}
}

// until reads events until one is of a version, and demands that none was older than the one before.
func (s *stream) until(updated float64) {
	s.t.Helper()
	for last := 0.0; last != updated; {
		_, u := s.event()
		require.GreaterOrEqual(s.t, u, last)
		require.LessOrEqual(s.t, u, updated)
		last = u
	}
}

// updatedAt is the version of the flags that a node serves.
func updatedAt(t testing.TB, n *servertest.Node) (seconds float64) {
	t.Helper()
	a := n.Client(t).With("X-Environment-Key", streamKey).Do("GET", "/api/v1/flags/", nil)
	require.Equal(t, 200, a.Status, a.Raw)
	require.NoError(t, json.Unmarshal([]byte(a.Header.Get("X-Flagsmith-Document-Updated-At")), &seconds))
	return seconds
}

// set changes the flag through a node.
func set(t testing.TB, n *servertest.Node, state, token string, value any) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		a := n.Client(t).With("Authorization", "Token "+token).Do("PATCH", state, map[string]any{"enabled": true, "feature_state_value": value})
		if a.Status == http.StatusServiceUnavailable && time.Now().Before(deadline) {
			continue // leadership moved
		}
		require.Equal(t, 200, a.Status, a.Raw)
		return
	}
}

// onLeader runs a transaction that may be run twice on the node that leads: on a busy machine these impatient nodes may change it.
func onLeader(t testing.TB, nodes []*servertest.Node, run func(*fsm.Tx) error) {
	t.Helper()
	var err error
	require.Eventually(t, func() bool {
		i := max(0, slices.IndexFunc(nodes, func(n *servertest.Node) bool { return n.IsLeader() }))
		err = nodes[i].Update(t.Context(), run)
		return err == nil
	}, 20*time.Second, 20*time.Millisecond, "%v", err)
}

func TestAChangeReachesTheStreamsOfAllNodes(t *testing.T) {
	t.Parallel()
	nodes := servertest.Cluster(t, 3)
	state, token := flagged(t, nodes[0]), nodes[0].Token(t)
	streams := make([]*stream, len(nodes))
	for i, n := range nodes {
		require.Eventually(t, func() bool {
			return n.Client(t).With("X-Environment-Key", streamKey).Do("GET", "/api/v1/flags/", nil).Status == 200
		}, 10*time.Second, time.Millisecond)
		streams[i] = listen(t, n, "")
	}
	set(t, nodes[1], state, token, "new")
	want := updatedAt(t, nodes[1])
	for i, s := range streams {
		s.until(want)
		require.Equal(t, want, updatedAt(t, nodes[i]), "an event comes when the node serves what it announces")
	}
	for _, s := range streams { // and once more when all nodes have it
		id, updated := s.event()
		require.Equal(t, want, updated)
		again := listen(t, nodes[0], "Last-Event-ID: "+id+"\r\n")
		set(t, nodes[2], state, token, id)
		newest := updatedAt(t, nodes[2])
		again.until(newest) // nothing of the old version first
		want = newest
		for _, s := range streams {
			s.until(newest)
		}
	}
}

func TestStreamsOfAStoppedNodeGoOnElsewhere(t *testing.T) {
	t.Parallel()
	nodes := servertest.Cluster(t, 3)
	state, token := flagged(t, nodes[0]), nodes[0].Token(t)
	set(t, nodes[2], state, token, "one")
	s := listen(t, nodes[2], "")
	s.until(updatedAt(t, nodes[2]))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(t, nodes[2].Stop(ctx))
	rest, err := io.ReadAll(s.body) // in good order: the last chunk came
	require.NoError(t, err)
	id := "x"
	for _, m := range regexp.MustCompile(`(?m)^id: (.+)$`).FindAllSubmatch(rest, -1) {
		id = string(m[1])
	}
	set(t, nodes[1], state, token, "two")
	listen(t, nodes[1], "Last-Event-ID: "+id+"\r\n").until(updatedAt(t, nodes[1]))
}

// TestTwoChangesWithinASecond: clients that poll with a date, with a tag, and one that streams, each end on the second of two changes.
func TestTwoChangesWithinASecond(t *testing.T) {
	n := servertest.Start(t)
	state, token := flagged(t, n), n.Token(t)
	poll := func(header, value string) servertest.Answer {
		c := n.Client(t).With("X-Environment-Key", streamServerKey)
		if header != "" {
			c = c.With(header, value)
		}
		return c.Do("GET", "/api/v1/environment-document/", nil)
	}
	var first, second servertest.Answer
	var s *stream
	for ok := false; !ok; ok = first.Header.Get("Last-Modified") == second.Header.Get("Last-Modified") { // until no second begins in between
		s = listen(t, n, "")
		set(t, n, state, token, "first")
		first = poll("", "")
		require.Contains(t, first.Raw, `"feature_state_value":"first"`)
		s.until(updatedAt(t, n)) // fetches it too
		set(t, n, state, token, "second")
		second = poll("", "")
	}
	byDate := poll("If-Modified-Since", first.Header.Get("Last-Modified"))
	require.Equal(t, 200, byDate.Status)
	require.Contains(t, byDate.Raw, `"feature_state_value":"second"`)
	byTag := poll("If-None-Match", first.Header.Get("ETag"))
	require.Equal(t, 200, byTag.Status)
	require.Contains(t, byTag.Raw, `"feature_state_value":"second"`)
	require.Equal(t, http.StatusNotModified, poll("If-None-Match", byTag.Header.Get("ETag")).Status)
	s.until(updatedAt(t, n))
	require.Equal(t, fmt.Sprint(updatedAt(t, n)), fmt.Sprint(mustFloat(t, second.Header.Get("X-Flagsmith-Document-Updated-At"))))
}

func mustFloat(t testing.TB, s string) (f float64) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(s), &f))
	return f
}

// TestPagesFromSeveralNodes: each page of a document comes from another node, while the environment changes.
func TestPagesFromSeveralNodes(t *testing.T) {
	t.Parallel()
	nodes := servertest.Cluster(t, 3)
	state, token := flagged(t, nodes[0]), nodes[0].Token(t)
	const people = 300
	for i := range people {
		c := nodes[0].Client(t).With("X-Environment-Key", streamKey)
		require.Eventually(t, func() bool { // a change of leadership may cost a write
			a := c.Do("GET", fmt.Sprintf("/api/v1/identities/?identifier=person-%03d", i), nil)
			return a.Status == 200 && a.Header.Get("Flagraft-Traits-Persisted") == ""
		}, 20*time.Second, time.Millisecond)
	}
	override := func(from, n int, value string) {
		onLeader(t, nodes, func(tx *fsm.Tx) error {
			e, _ := fsm.EnvironmentsByAPIKey.First(tx, streamKey)
			f, _ := fsm.FeaturesByProject.First(tx, e.Project)
			for _, r := range tx.Identities().Environment(e.ID).Page(from, n) {
				s, _ := fsm.FeatureStatesByIdentity.First(tx, r.ID())
				long := strings.Repeat(value, 10_000)
				s.Feature, s.Environment, s.Identity, s.Version, s.Value = f.ID, e.ID, r.ID(), 1, fsm.FeatureValue{Type: fsm.Unicode, String: &long}
				fsm.FeatureStates.Put(tx, s)
			}
			tx.TouchEnvironment(e.ID)
			return nil
		})
	}
	for from := 0; from < people; from += 20 { // entries of moderate size: these nodes have little patience
		override(from, 20, "v")
	}
	c := func(i int) *servertest.Client {
		return nodes[i%3].Client(t).With("X-Environment-Key", streamServerKey).With("User-Agent", "flagsmith-nodejs-sdk/8.1.2")
	}
	a := c(0).Do("GET", "/api/v1/environment-document/", nil)
	link := regexp.MustCompile(`^<([^>]+)>; rel="next"$`)
	seen, pages := 0, 1
	for ; ; pages++ {
		require.Equal(t, 200, a.Status, a.Raw)
		var d struct {
			Overrides []struct {
				Features []struct {
					Value string `json:"feature_state_value"`
				} `json:"identity_features"`
			} `json:"identity_overrides"`
		}
		require.NoError(t, json.Unmarshal([]byte(a.Raw), &d))
		for _, o := range d.Overrides {
			require.Equal(t, byte('v'), o.Features[0].Value[0])
		}
		seen += len(d.Overrides)
		if a.Header.Get("Link") == "" {
			break
		}
		override(people-20, 20, "w") // those of the last page
		set(t, nodes[0], state, token, fmt.Sprint(pages))
		a = c(pages).Do("GET", link.FindStringSubmatch(a.Header.Get("Link"))[1], nil)
	}
	require.Equal(t, people, seen)
	require.Equal(t, 4, pages)
}
