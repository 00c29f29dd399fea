package server_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/server"
	"github.com/flagraft/flagraft/server/servertest"
)

// logBook is a log that a test reads.
type logBook struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (b *logBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// of are the records of a request.
func (b *logBook) of(id string) (records []map[string]any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for line := range strings.Lines(b.buf.String()) {
		var r map[string]any
		if json.Unmarshal([]byte(line), &r) == nil && r["request_id"] == id {
			records = append(records, r)
		}
	}
	return records
}

func TestEveryAnswerNamesItsRequest(t *testing.T) {
	var book logBook
	level := new(slog.LevelVar)
	n := servertest.LaunchLogged(t, slog.New(slog.NewJSONHandler(&book, &slog.HandlerOptions{Level: level})), func(n *server.Node) { n.LogLevel = level })
	n.WaitReady(t)
	tags := project(t, n)
	level.Set(slog.LevelDebug)
	c := n.Client(t).With("X-Environment-Key", "environment")
	made := c.Do("GET", "/api/v1/flags/", nil).Header.Get("X-Request-ID")
	require.Regexp(t, "^[0-9a-f]{12}-[0-9a-f]+$", made)
	again := c.Do("GET", "/api/v1/flags/", nil).Header.Get("X-Request-ID")
	require.NotEqual(t, made, again)

	admin := n.Admin(t)
	for id, answer := range map[string]servertest.Answer{
		"raw":     c.With("X-Request-ID", "raw").Do("GET", "/api/v1/flags/", nil),
		"read":    admin.With("X-Request-ID", "read").Do("GET", tags, nil),
		"write":   admin.With("X-Request-ID", "write").Do("POST", tags, map[string]any{"label": "x"}),
		"refused": n.Client(t).With("X-Request-ID", "refused").Do("GET", tags, nil),
		"nowhere": c.With("X-Request-ID", "nowhere").Do("GET", "/nowhere/", nil),
	} {
		require.Equal(t, []string{id}, answer.Header.Values("X-Request-ID"))
		records := book.of(id)
		require.NotEmpty(t, records, id)
		last := records[len(records)-1]
		require.Equal(t, "request", last["msg"])
		require.EqualValues(t, answer.Status, last["status"])
	}
	strange := c.With("X-Request-ID", "two words").Do("GET", "/api/v1/flags/", nil).Header.Get("X-Request-ID")
	require.Regexp(t, "^[0-9a-f]{12}-[0-9a-f]+$", strange)
}

func TestTheLogLevelChangesWhileANodeRuns(t *testing.T) {
	var book logBook
	level := new(slog.LevelVar)
	n := servertest.LaunchLogged(t, slog.New(slog.NewJSONHandler(&book, &slog.HandlerOptions{Level: level})), func(n *server.Node) { n.LogLevel = level })
	ask := func(method, body string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+n.ManagementAddr()+"/log-level", strings.NewReader(body))
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(text)
	}
	quiet := func(id string) int {
		n.Client(t).With("X-Request-ID", id).Do("GET", "/version/", nil)
		return len(book.of(id))
	}
	require.Zero(t, quiet("before"))
	code, text := ask("GET", "")
	require.Equal(t, []any{200, "info\n"}, []any{code, text})
	code, text = ask("PUT", "debug")
	require.Equal(t, []any{200, "debug\n"}, []any{code, text})
	require.NotZero(t, quiet("during"))
	code, _ = ask("PUT", "loud")
	require.Equal(t, 400, code)
	code, _ = ask("PUT", "WARN")
	require.Equal(t, 200, code)
	require.Zero(t, quiet("after"))
}
