// Package servertest starts real nodes in the test's process and talks to them over loopback.
package servertest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/cluster"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server"
	"github.com/flagraft/flagraft/server/settings"
)

// The account that every node is founded with.
const (
	AdminEmail    = "admin@example.com"
	AdminPassword = "flagsmith-Admin-1!"
)

// Node is a running node.
type Node struct {
	*server.Node
	// Base is the address of its API, "http://127.0.0.1:40000".
	Base string

	settings *settings.Settings
	timing   cluster.Timing
}

// FastTiming are timers for tests: elections take a fraction of a second.
func FastTiming() cluster.Timing {
	return cluster.Timing{Election: 150 * time.Millisecond, Lease: 100 * time.Millisecond, Heartbeat: 20 * time.Millisecond, Discovery: 20 * time.Millisecond}
}

// Start runs a node of one with the default settings on free ports, changed by the given functions, and stops it with the test. It is ready,
// and its superuser is made.
func Start(t testing.TB, change ...func(*settings.Settings)) *Node {
	t.Helper()
	n := Launch(t, change...)
	n.WaitReady(t)
	return n
}

// StartWith is Start with a function that sets up the node before it starts.
func StartWith(t testing.TB, setUp func(*server.Node), change ...func(*settings.Settings)) *Node {
	t.Helper()
	n := launch(t, FastTiming(), setUp, change...)
	n.WaitReady(t)
	return n
}

// calmTiming are timers for clusters in tests: three nodes and their clients on
// two busy cores keep their leader.
func calmTiming() cluster.Timing {
	timing := FastTiming()
	timing.Election, timing.Lease = 2*time.Second, 1900*time.Millisecond
	return timing
}

// Launch is Start without waiting.
func Launch(t testing.TB, change ...func(*settings.Settings)) *Node {
	t.Helper()
	return launch(t, FastTiming(), nil, change...)
}

func launch(t testing.TB, timing cluster.Timing, setUp func(*server.Node), change ...func(*settings.Settings)) *Node {
	t.Helper()
	var used *settings.Settings
	n := prepare(t, timing, logger(), append(slices.Clone(change), func(st *settings.Settings) { used = st })...)
	if setUp != nil {
		setUp(n)
	}
	bringUp(t, n)
	return &Node{Node: n, Base: "http://" + n.APIAddr(), settings: used, timing: timing}
}

// Relauncher gives the function that starts the node again once it is stopped: with its data, at its cluster address, on another API port.
func (n *Node) Relauncher(t testing.TB) func() *Node {
	t.Helper()
	again := *n.settings
	again.ClusterAddr = n.ClusterAddr()
	return func() *Node { return launch(t, n.timing, nil, func(st *settings.Settings) { *st = again }) }
}

// LaunchLogged is Launch with a log of the test's own; setUp, if given, sets up the node before it starts.
func LaunchLogged(t testing.TB, log *slog.Logger, setUp func(*server.Node), change ...func(*settings.Settings)) *Node {
	t.Helper()
	n := prepare(t, FastTiming(), log, change...)
	if setUp != nil {
		setUp(n)
	}
	bringUp(t, n)
	return &Node{Node: n, Base: "http://" + n.APIAddr()}
}

// TryStart returns why a node does not start; it fails the test if it does.
func TryStart(t testing.TB, change ...func(*settings.Settings)) error {
	t.Helper()
	n := prepare(t, FastTiming(), logger(), change...)
	err := n.Start(context.Background())
	if err == nil {
		require.NoError(t, n.Stop(context.Background()))
		t.Fatal("the node started")
	}
	return err
}

func prepare(t testing.TB, timing cluster.Timing, log *slog.Logger, change ...func(*settings.Settings)) *server.Node {
	watch(t)
	st := settings.Defaults()
	st.DataDir = t.TempDir()
	st.APIAddr, st.ClusterAddr, st.ManagementAddr, st.GossipAddr = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", ""
	st.AdminEmail, st.AdminPassword = AdminEmail, AdminPassword
	st.ProbeInterval = 0 // no balancer in front
	for _, f := range change {
		f(st)
	}
	n := server.New(st, server.Build{Version: "test"}, log)
	n.Timing = timing
	return n
}

func bringUp(t testing.TB, n *server.Node) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	require.NoError(t, n.Start(ctx))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		require.NoError(t, n.Stop(ctx))
	})
}

// logger is silent unless FLAGRAFT_TEST_LOG is set.
func logger() *slog.Logger {
	if os.Getenv("FLAGRAFT_TEST_LOG") == "" {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, nil))
}

// WaitReady returns when the node is ready and the superuser can sign in.
func (n *Node) WaitReady(t testing.TB) {
	t.Helper()
	require.Eventually(t, func() bool { return n.Ready() && n.Founded() }, 20*time.Second, 5*time.Millisecond, "the node does not become ready")
}

// Client talks JSON to a node.
type Client struct {
	t       testing.TB
	base    string
	Headers http.Header
}

// Client makes a client without credentials.
func (n *Node) Client(t testing.TB) *Client {
	return &Client{t: t, base: n.Base, Headers: http.Header{}}
}

// Admin makes a client with the superuser's token.
func (n *Node) Admin(t testing.TB) *Client {
	return n.Client(t).With("Authorization", "Token "+n.Token(t))
}

// Token signs the superuser in and returns its token, the same each time.
func (n *Node) Token(t testing.TB) string {
	t.Helper()
	return n.Client(t).Object("POST", "/api/v1/auth/login/", map[string]any{"email": AdminEmail, "password": AdminPassword}, 200)["key"].(string)
}

// Founded reports whether the superuser is made.
func (n *Node) Founded() bool {
	for range fsm.Users.Refs(n.State()) {
		return true
	}
	return false
}

// With makes a client that sends one more header.
func (c *Client) With(name, value string) *Client {
	h := c.Headers.Clone()
	h.Set(name, value)
	return &Client{t: c.t, base: c.base, Headers: h}
}

// Answer is what a request came to.
type Answer struct {
	Status int
	Header http.Header
	Raw    string
}

// requestLimit is more than any request takes, a restore included, on a busy machine.
const requestLimit = 90 * time.Second

// Do sends a request. body is nil, a string that is sent as it is, or a value that is sent as JSON.
func (c *Client) Do(method, path string, body any) Answer {
	c.t.Helper()
	var payload io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		payload = bytes.NewBufferString(b)
	default:
		raw, err := json.Marshal(b)
		require.NoError(c.t, err)
		payload = bytes.NewReader(raw)
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), requestLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, payload)
	require.NoError(c.t, err)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if form, ok := body.(string); ok && strings.HasPrefix(form, "--") {
		boundary, _, _ := strings.Cut(form[2:], "\r\n")
		req.Header.Set("Content-Type", "multipart/form-data; boundary="+boundary)
	}
	for k, v := range c.Headers {
		req.Header[k] = v
	}
	resp, err := http.DefaultTransport.RoundTrip(req) // follows no redirect
	require.NoError(c.t, err)
	defer func() { _ = resp.Body.Close() }() // only read
	raw, err := io.ReadAll(resp.Body)
	require.NoError(c.t, err)
	return Answer{Status: resp.StatusCode, Header: resp.Header, Raw: string(raw)}
}

// Object sends a request, demands a status, and gives the answer's object.
func (c *Client) Object(method, path string, body any, status int) map[string]any {
	c.t.Helper()
	a := c.Do(method, path, body)
	require.Equal(c.t, status, a.Status, "%s %s: %s", method, path, a.Raw)
	out := map[string]any{}
	if a.Raw != "" {
		require.NoError(c.t, json.Unmarshal([]byte(a.Raw), &out), a.Raw)
	}
	return out
}

// List is Object for answers that are arrays.
func (c *Client) List(method, path string, body any, status int) []any {
	c.t.Helper()
	a := c.Do(method, path, body)
	require.Equal(c.t, status, a.Status, "%s %s: %s", method, path, a.Raw)
	var out []any
	require.NoError(c.t, json.Unmarshal([]byte(a.Raw), &out), a.Raw)
	return out
}
