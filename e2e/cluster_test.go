package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/nodes"
)

func start(t *testing.T, n int, extra ...string) (*nodes.Cluster, context.Context) {
	t.Helper()
	bin := nodes.Binary(t)
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	t.Cleanup(cancel)
	dir := t.TempDir()
	c, err := nodes.Start(ctx, bin, dir, n, extra...)
	require.NoError(t, err)
	t.Cleanup(func() {
		c.Stop()
		if t.Failed() {
			for _, n := range c.Nodes {
				tail, _ := os.ReadFile(n.Log)
				t.Logf("%s:\n%s", n.Log, tail[max(0, len(tail)-4000):])
			}
		}
	})
	return c, ctx
}

func project(t *testing.T, ctx context.Context, n *nodes.Node) *nodes.Project {
	t.Helper()
	p, err := n.Client().NewProject(ctx, "Acme")
	require.NoError(t, err)
	return p
}

// everywhere makes a project that every node knows.
func everywhere(t *testing.T, ctx context.Context, c *nodes.Cluster) *nodes.Project {
	t.Helper()
	p := project(t, ctx, c.Nodes[0])
	_, err := c.OneState(ctx)
	require.NoError(t, err)
	return p
}

func at(n *nodes.Node, c *nodes.Client) *nodes.Client {
	d := *c
	d.Base = "http://" + n.API
	return &d
}

// TestWriteThroughEachNode writes through each node and reads the change back at
// once: on the same node, and on the others with the index of the answer.
func TestWriteThroughEachNode(t *testing.T) {
	c, ctx := start(t, 3)
	p := project(t, ctx, c.Nodes[0])
	for round := range 10 {
		for i, n := range c.Nodes {
			name := fmt.Sprintf("flag_%d_%d", round, i)
			admin := at(n, p.Admin)
			a, err := admin.Must(ctx, "POST", fmt.Sprintf("/api/v1/projects/%d/features/", p.ID),
				map[string]any{"name": name, "default_enabled": true, "initial_value": name}, 201)
			require.NoError(t, err)
			index := a.Header.Get("Flagraft-Index")
			require.NotEmpty(t, index)
			for j, m := range c.Nodes {
				sdk := m.Client().With("X-Environment-Key", p.EnvironmentKey)
				if j != i {
					sdk = sdk.With("Flagraft-Min-Index", index)
				}
				f, err := sdk.Must(ctx, "GET", "/api/v1/flags/?feature="+name, nil, 200)
				require.NoError(t, err, "written on node %d, read on node %d", i, j)
				require.Equal(t, name, f.Text("feature_state_value"))
			}
		}
	}
}

// load writes features and traits and reads flags until it is stopped, and keeps
// what was acknowledged.
type load struct {
	p    *nodes.Project
	ctx  context.Context
	stop context.CancelFunc
	wait sync.WaitGroup

	mu           sync.Mutex
	features     []string // acknowledged
	latest       latest   // of these
	traits       map[string]string
	writes       atomic.Int64
	reads        atomic.Int64
	failedReads  atomic.Int64
	lastReadFail atomic.Value
	gap          atomic.Int64 // longest time between acknowledged writes of one writer, ns
}

func startLoad(ctx context.Context, p *nodes.Project, c *nodes.Cluster, living func(*nodes.Node) bool) *load {
	l := &load{p: p, traits: map[string]string{}}
	l.ctx, l.stop = context.WithCancel(ctx)
	for w := range 4 {
		l.wait.Go(func() { l.writeFeatures(c, w, living) })
		l.wait.Go(func() { l.writeTraits(c, w, living) })
	}
	for _, n := range c.Nodes {
		l.wait.Go(func() { l.read(n, living) })
	}
	return l
}

func (l *load) end() { l.stop(); l.wait.Wait() }

func (l *load) writeFeatures(c *nodes.Cluster, w int, living func(*nodes.Node) bool) {
	last := time.Now()
	for i := 0; l.ctx.Err() == nil; i++ {
		n := c.Nodes[(w+i)%len(c.Nodes)]
		if !living(n) {
			continue
		}
		name := fmt.Sprintf("w%d_%d", w, i)
		a, err := at(n, l.p.Admin).Do(l.ctx, "POST", fmt.Sprintf("/api/v1/projects/%d/features/", l.p.ID), map[string]any{"name": name})
		if err != nil || a.Status != http.StatusCreated {
			continue
		}
		l.mu.Lock()
		l.features = append(l.features, name)
		l.latest.see(a)
		l.mu.Unlock()
		l.writes.Add(1)
		for gap := int64(time.Since(last)); ; {
			if old := l.gap.Load(); gap <= old || l.gap.CompareAndSwap(old, gap) {
				break
			}
		}
		last = time.Now()
		time.Sleep(5 * time.Millisecond)
	}
}

func (l *load) writeTraits(c *nodes.Cluster, w int, living func(*nodes.Node) bool) {
	for i := 0; l.ctx.Err() == nil; i++ {
		n := c.Nodes[(w+i)%len(c.Nodes)]
		if !living(n) {
			continue
		}
		id, value := fmt.Sprintf("user-%d-%d", w, i%50), fmt.Sprint(i)
		a, err := n.Client().With("X-Environment-Key", l.p.EnvironmentKey).Do(l.ctx, "POST", "/api/v1/identities/",
			map[string]any{"identifier": id, "traits": []any{map[string]any{"trait_key": "n", "trait_value": value}}})
		acked := err == nil && a.Status == http.StatusOK && a.Header.Get("Flagraft-Traits-Persisted") != "false"
		l.mu.Lock()
		if acked {
			l.traits[id] = value
		} else {
			delete(l.traits, id) // unknown outcome: the old or the new value may stand
		}
		l.mu.Unlock()
	}
}

func (l *load) read(n *nodes.Node, living func(*nodes.Node) bool) {
	sdk := n.Client().With("X-Environment-Key", l.p.EnvironmentKey)
	for l.ctx.Err() == nil {
		if !living(n) {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		a, err := sdk.Do(l.ctx, "GET", "/api/v1/flags/", nil)
		if l.ctx.Err() != nil || !living(n) {
			continue // killed while the request was under way
		}
		l.reads.Add(1)
		if err != nil || a.Status != http.StatusOK {
			l.failedReads.Add(1)
			l.lastReadFail.Store(fmt.Sprint(n.API, " ", err, " ", a))
		}
	}
}

// latest is the highest index that answers told: what was acknowledged is served by every node that shows it.
type latest struct {
	index uint64
	token string // asks for it; "": none was told
}

func (l *latest) see(a *nodes.Answer) {
	token := a.Header.Get("Flagraft-Index")
	_, digits, _ := strings.Cut(token, "-")
	if index, _ := strconv.ParseUint(digits, 10, 64); index > l.index {
		*l = latest{index, token}
	}
}

// featuresOn are the names of the features that a node serves, once it shows an index.
func featuresOn(t *testing.T, ctx context.Context, n *nodes.Node, key string, shows latest) map[string]bool {
	t.Helper()
	require.NotEmpty(t, shows.token)
	a, err := n.Client().With("X-Environment-Key", key).With("Flagraft-Min-Index", shows.token).Must(ctx, "GET", "/api/v1/flags/", nil, 200)
	require.NoError(t, err)
	var flags []struct{ Feature struct{ Name string } }
	require.NoError(t, json.Unmarshal(a.Body, &flags))
	have := map[string]bool{}
	for _, f := range flags {
		have[f.Feature.Name] = true
	}
	return have
}

// check reads everything acknowledged from the node.
func (l *load) check(t *testing.T, ctx context.Context, n *nodes.Node) {
	t.Helper()
	have := featuresOn(t, ctx, n, l.p.EnvironmentKey, l.latest)
	for _, name := range l.features {
		require.True(t, have[name], "acknowledged feature %s is missing on %s", name, n.API)
	}
	for id, value := range l.traits {
		a, err := n.Client().With("X-Environment-Key", l.p.EnvironmentKey).Must(ctx, "GET", "/api/v1/identities/?identifier="+id, nil, 200)
		require.NoError(t, err)
		var got struct {
			Traits []struct {
				Key   string `json:"trait_key"`
				Value any    `json:"trait_value"`
			}
		}
		require.NoError(t, json.Unmarshal(a.Body, &got))
		require.Len(t, got.Traits, 1, "traits of %s on %s", id, n.API)
		require.Equal(t, value, got.Traits[0].Value, "acknowledged trait of %s on %s", id, n.API)
	}
}

// TestKillTheLeader kills the leader under load: nothing acknowledged is lost, no
// read on a living node fails, writes come back, the killed node catches up.
func TestKillTheLeader(t *testing.T) {
	c, ctx := start(t, 3)
	p := everywhere(t, ctx, c)
	for round := range 3 {
		var dead atomic.Pointer[nodes.Node]
		l := startLoad(ctx, p, c, func(n *nodes.Node) bool { return n != dead.Load() })
		time.Sleep(time.Second)
		leader, err := c.Leader(ctx)
		require.NoError(t, err)
		dead.Store(leader)
		killed := time.Now()
		leader.Kill()
		before := l.writes.Load()
		require.Eventually(t, func() bool { return l.writes.Load() > before }, 30*time.Second, 5*time.Millisecond)
		back := time.Since(killed)
		time.Sleep(time.Second)
		l.end()
		t.Logf("round %d: writes back after %v, longest gap %v, %d writes, %d reads, %d failed reads",
			round, back.Round(time.Millisecond), time.Duration(l.gap.Load()).Round(time.Millisecond), l.writes.Load(), l.reads.Load(), l.failedReads.Load())
		require.Zero(t, l.failedReads.Load(), "last: %v", l.lastReadFail.Load())
		require.NoError(t, leader.Start())
		require.NoError(t, leader.WaitReady(ctx))
		s, err := c.OneState(ctx)
		require.NoError(t, err)
		t.Logf("one state %s at index %d", s.StateHash, s.StateHashIndex)
		for _, n := range c.Nodes {
			l.check(t, ctx, n)
		}
	}
}

// TestKillAll kills all nodes at once under writes: after a restart nothing
// acknowledged is missing, and a single node alone still answers SDK reads.
func TestKillAll(t *testing.T) {
	c, ctx := start(t, 3)
	p := everywhere(t, ctx, c)
	var down atomic.Bool
	l := startLoad(ctx, p, c, func(*nodes.Node) bool { return !down.Load() })
	time.Sleep(2 * time.Second)
	down.Store(true)
	c.Stop()
	l.end()
	require.NotEmpty(t, l.features)

	alone := c.Nodes[1]
	require.NoError(t, alone.Start())
	sdk := alone.Client().With("X-Environment-Key", p.EnvironmentKey)
	require.Eventually(t, func() bool {
		a, err := sdk.Do(ctx, "GET", "/api/v1/flags/", nil)
		return err == nil && a.Status == 200
	}, 20*time.Second, 20*time.Millisecond, "one node of three answers SDK reads")
	a, err := sdk.Must(ctx, "POST", "/api/v1/identities/",
		map[string]any{"identifier": "lonely", "traits": []any{map[string]any{"trait_key": "k", "trait_value": 1}}}, 200)
	require.NoError(t, err)
	require.Equal(t, "false", a.Header.Get("Flagraft-Traits-Persisted"))

	require.NoError(t, c.Nodes[0].Start())
	require.NoError(t, c.Nodes[2].Start())
	for _, n := range c.Nodes {
		require.NoError(t, n.WaitReady(ctx))
	}
	_, err = c.OneState(ctx)
	require.NoError(t, err)
	for _, n := range c.Nodes {
		l.check(t, ctx, n)
	}
}

// TestCutOff freezes the majority: the node left over serves flags and never says
// that a trait was stored.
func TestCutOff(t *testing.T) {
	c, ctx := start(t, 3)
	p := everywhere(t, ctx, c)
	leader, err := c.Leader(ctx)
	require.NoError(t, err)
	var left *nodes.Node
	for _, n := range c.Nodes {
		if n != leader {
			left = n
		}
	}
	sdk := left.Client().With("X-Environment-Key", p.EnvironmentKey)
	body := func(v int) any {
		return map[string]any{"identifier": "u", "traits": []any{map[string]any{"trait_key": "k", "trait_value": v}}}
	}
	_, err = sdk.Must(ctx, "POST", "/api/v1/identities/", body(1), 200)
	require.NoError(t, err)
	for _, n := range c.Nodes {
		if n != left {
			require.NoError(t, n.Pause())
		}
	}
	for i := range 10 {
		a, err := sdk.Must(ctx, "POST", "/api/v1/identities/", body(2+i), 200)
		require.NoError(t, err)
		require.Equal(t, "false", a.Header.Get("Flagraft-Traits-Persisted"), "write %d", i)
		_, err = sdk.Must(ctx, "GET", "/api/v1/flags/", nil, 200)
		require.NoError(t, err)
	}
	a, err := sdk.Do(ctx, "POST", "/api/v1/bulk-identities", map[string]any{"data": []any{body(99)}})
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, a.Status)
	require.NotEmpty(t, a.Header.Get("Retry-After"))
	for _, n := range c.Nodes {
		require.NoError(t, n.Resume())
	}
	_, err = c.OneState(ctx)
	require.NoError(t, err)
}
