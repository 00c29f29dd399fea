package disk

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/mutant"
	"github.com/flagraft/flagraft/e2e/nodes"
)

// healing bounds every recovery in this harness.
const healing = 15 * time.Second

// within waits for what is promised within d.
func within(t *testing.T, d time.Duration, what string, ok func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	require.Eventually(t, ok, d, 20*time.Millisecond, what)
	return time.Since(began).Round(10 * time.Millisecond)
}

// writes, which only one goroutine may call, makes an admin write through a node and returns the answer's status, 0 without one.
func (l *Load) writes(ctx context.Context, n *nodes.Node) (int, *nodes.Answer) {
	f := &l.features[adminWriters]
	number := l.next.Add(1)
	f.tried.Store(number)
	a, err := n.Client().With("Authorization", "Api-Key "+l.Project.Master).Do(ctx, "PATCH", l.featurePath(f), map[string]any{"feature_state_value": number})
	if err != nil {
		return 0, nil
	}
	if a.Status == http.StatusOK {
		f.acked.Store(number)
	}
	return a.Status, a
}

func text(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s: %s", url, raw)
	return string(raw)
}

// requireReadOnly checks what each face of a node says while nothing can be written.
func requireReadOnly(t *testing.T, ctx context.Context, l *Load, n *nodes.Node) {
	t.Helper()
	status, a := l.writes(ctx, n)
	require.Equal(t, http.StatusInsufficientStorage, status)
	require.Contains(t, a.Text("detail"), "read-only")
	require.NotEmpty(t, a.Header.Get("Retry-After"))

	sdk := n.Client().With("X-Environment-Key", l.Project.ServerKey)
	body := map[string]any{"identifier": "somebody", "traits": []any{map[string]any{"trait_key": "n", "trait_value": time.Now().UnixNano()}}}
	a, err := sdk.Must(ctx, "POST", "/api/v1/identities/", body, 200)
	require.NoError(t, err, "evaluation goes on")
	require.Equal(t, "false", a.Header.Get("Flagraft-Traits-Persisted"))
	_, err = sdk.Must(ctx, "GET", "/api/v1/flags/", nil, 200)
	require.NoError(t, err)
	_, err = sdk.Must(ctx, "POST", "/api/v1/bulk-identities", map[string]any{"data": []any{body}}, http.StatusInsufficientStorage)
	require.NoError(t, err)

	require.Contains(t, text(t, "http://"+n.Management+"/readyz?verbose"), "[!] read-only")
	require.Contains(t, text(t, "http://"+n.Management+"/status"), `"read_only": true`)
	require.Contains(t, text(t, "http://"+n.Management+"/metrics"), "flagraft_read_only 1")
}

// TestDiskNearlyFull fills the leader's disk: another node leads, and writes go
// on. Then all disks: writes are refused, reads go on. Then space is freed, and
// writes come back without anybody's help.
func TestDiskNearlyFull(t *testing.T) {
	needsNodes(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	c := startOnVolumes(t, ctx, mutant.Build(t), 256<<20, "--min-free-disk-mb", "60")
	l, err := NewLoad(ctx, c.Cluster, rate, fewPeople)
	require.NoError(t, err)
	first, err := c.Leader(ctx)
	require.NoError(t, err)
	free := make([]func() error, 3)
	for i, n := range c.Nodes {
		if n == first {
			free[i], err = c.volumes[i].Fill(30 << 20)
			require.NoError(t, err)
		}
	}
	took := within(t, healing, "another node leads", func() bool {
		n, err := c.Leader(ctx)
		return err == nil && n != first
	})
	t.Logf("leadership left the full disk after %v", took)
	for _, n := range c.Nodes {
		status, _ := l.writes(ctx, n)
		require.Equal(t, http.StatusOK, status, "one full disk does not stop writes")
	}
	for i, n := range c.Nodes {
		if n != first {
			free[i], err = c.volumes[i].Fill(30 << 20)
			require.NoError(t, err)
		}
	}
	for _, n := range c.Nodes {
		within(t, healing, "read-only", func() bool { s, _ := l.writes(ctx, n); return s == http.StatusInsufficientStorage })
		within(t, healing, "every node knows", func() bool { s, err := n.Status(ctx); return err == nil && s.ReadOnly })
		requireReadOnly(t, ctx, l, n)
	}
	for i := range free {
		require.NoError(t, free[i]())
	}
	for _, n := range c.Nodes {
		took = within(t, healing, "writes are back", func() bool { s, _ := l.writes(ctx, n); return s == http.StatusOK })
	}
	t.Logf("writes were back %v after space was freed", took)
	c.requireNothingLost(t, ctx, l)
}

func (c *cluster) requireNothingLost(t *testing.T, ctx context.Context, l *Load) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	_, err := c.OneState(ctx)
	require.NoError(t, err)
	for _, n := range c.Nodes {
		lost, err := l.Lost(ctx, n)
		require.NoError(t, err)
		require.Empty(t, lost)
	}
}

// TestNoSpaceAtAll lets something else take every last block under load: no node
// ends, reads go on, there is no storm of elections, and writes come back with the space.
func TestNoSpaceAtAll(t *testing.T) {
	needsNodes(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	c := startOnVolumes(t, ctx, mutant.Build(t), 128<<20, append(smallLogs, "--min-free-disk-mb", "1")...)
	l, err := NewLoad(ctx, c.Cluster, rate, fewPeople)
	require.NoError(t, err)
	writing, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan struct{})
	go func() { l.Run(writing); close(done) }()
	pause(ctx, time.Second)
	before, err := c.Nodes[0].Status(ctx)
	require.NoError(t, err)
	for _, v := range c.volumes {
		free, err := v.Fill(0)
		require.NoError(t, err)
		defer free()
	}
	pause(ctx, 6*time.Second)
	for _, n := range c.Nodes {
		require.True(t, n.Running(), "a full disk is no reason to end")
		_, err := n.Client().With("X-Environment-Key", l.Project.ServerKey).Must(ctx, "GET", "/api/v1/flags/", nil, 200)
		require.NoError(t, err)
	}
	after, err := c.Nodes[0].Status(ctx)
	require.NoError(t, err)
	t.Logf("term %d before, %d after 6 s without space", before.Term, after.Term)
	require.LessOrEqual(t, after.Term, before.Term+6, "elections flap")
	for _, v := range c.volumes {
		free, err := v.Fill(1 << 40) // takes nothing
		require.NoError(t, err)
		require.NoError(t, free())
	}
	took := within(t, healing, "writes are back", func() bool { s, _ := l.writes(ctx, c.Nodes[0]); return s == http.StatusOK })
	t.Logf("writes were back %v after space was freed", took)
	stop()
	<-done
	c.requireNothingLost(t, ctx, l)
}
