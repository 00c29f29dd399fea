package e2e

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/balancer"
	"github.com/flagraft/flagraft/e2e/nodes"
)

// rollout is the load of TestRollout: SDK calls that may not fail, and admin writes that may be repeated once.
type rollout struct {
	ctx  context.Context
	stop context.CancelFunc
	wait sync.WaitGroup
	base *nodes.Client // of the balancer
	p    *nodes.Project

	calls, unpersisted, writes, repeated atomic.Int64

	mu     sync.Mutex
	failed []string
	names  []string // acknowledged
	latest latest   // of these
}

func (l *rollout) fault(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = append(l.failed, time.Now().Format("05.000 ")+fmt.Sprintf(format, args...))
}

// sdk calls the SDK API until the load ends.
func (l *rollout) sdk(worker int) {
	c := l.base.With("X-Environment-Key", l.p.EnvironmentKey)
	for i := 0; l.ctx.Err() == nil; i++ {
		method, path, body := "GET", "/api/v1/flags/", any(nil)
		if i%2 == 1 {
			method, path = "POST", "/api/v1/identities/"
			body = map[string]any{"identifier": fmt.Sprint("u", worker), "traits": []any{map[string]any{"trait_key": "n", "trait_value": i}}}
		}
		a, err := c.Do(context.Background(), method, path, body)
		l.calls.Add(1)
		if err != nil || a.Status != http.StatusOK {
			l.fault("%s %s: %v %s", method, path, err, text(a))
		} else if a.Header.Get("Flagraft-Traits-Persisted") == "false" {
			l.unpersisted.Add(1)
		}
	}
}

// admin makes features until the load ends. A write that fails is repeated once, with its key.
func (l *rollout) admin(worker int) {
	for i := 0; l.ctx.Err() == nil; i++ {
		name := fmt.Sprintf("f_%d_%d", worker, i)
		c := *l.p.Admin
		c.Base = l.base.Base
		w := c.With("Idempotency-Key", name)
		path := fmt.Sprintf("/api/v1/projects/%d/features/", l.p.ID)
		a, err := w.Do(context.Background(), "POST", path, map[string]any{"name": name})
		l.writes.Add(1)
		if err != nil || a.Status != http.StatusCreated {
			l.repeated.Add(1)
			first := fmt.Sprint(err, " ", text(a))
			time.Sleep(100 * time.Millisecond)
			if a, err = w.Do(context.Background(), "POST", path, map[string]any{"name": name}); err != nil || a.Status != http.StatusCreated {
				l.fault("POST %s: %s, then %v %s", name, first, err, text(a))
				continue
			}
		}
		l.mu.Lock()
		l.names = append(l.names, name)
		l.latest.see(a)
		l.mu.Unlock()
		time.Sleep(20 * time.Millisecond)
	}
}

func text(a *nodes.Answer) string {
	if a == nil {
		return "no answer"
	}
	return fmt.Sprintf("%d %.200s", a.Status, a.Body)
}

// TestRollout restarts the nodes one after the other under load, behind a balancer: no SDK call fails, and no admin write that is repeated once.
func TestRollout(t *testing.T) {
	const probe = 500 * time.Millisecond
	c, ctx := start(t, 3, "--probe-interval", probe.String(), "--max-features", "100000")
	l := &rollout{p: everywhere(t, ctx, c)}
	l.ctx, l.stop = context.WithCancel(ctx)
	defer l.stop()
	var backends []*balancer.Backend
	for _, n := range c.Nodes {
		backends = append(backends, &balancer.Backend{Addr: n.API, Ready: "http://" + n.Management + "/readyz"})
	}
	b, err := balancer.Start(probe, backends...)
	require.NoError(t, err)
	defer b.Stop()
	l.base = c.Nodes[0].Client()
	l.base.Base = b.URL
	for w := range 6 {
		l.wait.Go(func() { l.sdk(w) })
	}
	for w := range 2 {
		l.wait.Go(func() { l.admin(w) })
	}
	before, err := c.Nodes[0].Status(ctx)
	require.NoError(t, err)
	began := time.Now()
	for _, n := range c.Nodes {
		n.Terminate()
		require.NoError(t, n.Start())
		require.NoError(t, n.WaitReady(ctx))
		time.Sleep(2 * probe) // the balancer takes it in again
	}
	took := time.Since(began)
	l.stop()
	l.wait.Wait()
	after, err := c.OneState(ctx)
	require.NoError(t, err)
	t.Logf("%v: %d SDK calls (%d with traits not stored), %d writes, %d of them repeated, %d terms",
		took.Round(time.Millisecond), l.calls.Load(), l.unpersisted.Load(), l.writes.Load(), l.repeated.Load(), after.Term-before.Term)
	require.Empty(t, l.failed)
	require.NotEmpty(t, l.names)
	for i, one := range backends {
		_, downs := one.Changes()
		require.EqualValues(t, 1, downs, "the balancer saw node %d leave", i)
	}
	l.present(t, ctx, c)
}

// present demands every acknowledged feature on every node.
func (l *rollout) present(t *testing.T, ctx context.Context, c *nodes.Cluster) {
	for _, n := range c.Nodes {
		have := featuresOn(t, ctx, n, l.p.EnvironmentKey, l.latest)
		for _, name := range l.names {
			require.True(t, have[name], "%s is missing on %s", name, n.API)
		}
	}
}

// TestSecondSignal: a draining node says so on its answers; a second SIGTERM ends it at once.
func TestSecondSignal(t *testing.T) {
	c, ctx := start(t, 3, "--probe-interval", "1m")
	n := c.Nodes[1]
	p := everywhere(t, ctx, c)
	sdk := n.Client().With("X-Environment-Key", p.EnvironmentKey)
	a, err := sdk.Must(ctx, "GET", "/api/v1/flags/", nil, 200)
	require.NoError(t, err)
	require.Empty(t, a.Header.Get("Connection"))
	require.NoError(t, n.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool {
		resp, err := http.Get("http://" + n.Management + "/readyz")
		if err != nil {
			return false
		}
		_ = resp.Body.Close() // only the status counts
		return resp.StatusCode == http.StatusServiceUnavailable
	}, 20*time.Second, 10*time.Millisecond)
	for range 3 { // it serves on; new connections are taken, and closed after their answer
		a, err = sdk.Must(ctx, "GET", "/api/v1/flags/", nil, 200)
		require.NoError(t, err)
		require.True(t, a.Closed, "Connection: close")
	}
	_, err = at(n, p.Admin).Must(ctx, "POST", fmt.Sprintf("/api/v1/projects/%d/tags/", p.ID), map[string]string{"label": "late"}, 201)
	require.NoError(t, err)
	require.True(t, n.Running())
	require.NoError(t, n.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool { return !n.Running() }, 20*time.Second, 10*time.Millisecond)
}
