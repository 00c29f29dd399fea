package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/nodes"
)

// operator runs `flagraft cluster …` against a node as a superuser.
type operator struct {
	t     *testing.T
	ctx   context.Context
	bin   string
	token string
}

func newOperator(t *testing.T, ctx context.Context, n *nodes.Node) *operator {
	t.Helper()
	admin, err := n.Client().Login(ctx)
	require.NoError(t, err)
	return &operator{t, ctx, nodes.Binary(t), strings.TrimPrefix(admin.Header.Get("Authorization"), "Token ")}
}

// run returns what the command printed and its exit code.
func (o *operator) run(via *nodes.Node, args ...string) (out string, code int) {
	o.t.Helper()
	cmd := exec.CommandContext(o.ctx, o.bin, append([]string{"cluster"}, args...)...)
	cmd.Env = append(cmd.Environ(), "FLAGRAFT_TOKEN="+o.token, "FLAGRAFT_URL=http://"+via.API)
	var both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &both, &both
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return both.String(), exit.ExitCode()
	}
	require.NoError(o.t, err)
	return both.String(), 0
}

func (o *operator) must(via *nodes.Node, args ...string) string {
	o.t.Helper()
	out, code := o.run(via, args...)
	require.Zero(o.t, code, "%v: %s", args, out)
	return out
}

type membersSeen struct {
	Leader  string `json:"leader"`
	Healthy bool   `json:"healthy"`
	Members []struct {
		ID, Address, API, Role string
	} `json:"members"`
}

// until waits until the status that a node gives satisfies want.
func (o *operator) until(via *nodes.Node, what string, want func(membersSeen) bool) (s membersSeen) {
	o.t.Helper()
	deadline := time.Now().Add(90 * time.Second)
	for out := ""; ; time.Sleep(200 * time.Millisecond) {
		var code int
		s = membersSeen{}
		if out, code = o.run(via, "status", "-o", "json"); code == 0 || code == 4 {
			text, _, _ := strings.Cut(out, "\nflagraft:")
			require.NoError(o.t, json.Unmarshal([]byte(text), &s), out)
			if want(s) {
				return s
			}
		}
		require.True(o.t, time.Now().Before(deadline), "%s: %s", what, out)
	}
}

// voters waits until exactly these nodes vote, all of them healthy.
func (o *operator) voters(via *nodes.Node, want ...*nodes.Node) membersSeen {
	o.t.Helper()
	return o.until(via, fmt.Sprintf("%d voters", len(want)), func(s membersSeen) bool {
		at := map[string]bool{}
		for _, m := range s.Members {
			if m.Role == "leader" || m.Role == "voter" {
				at[m.Address] = true
			}
		}
		for _, n := range want {
			if !at[n.Cluster] {
				return false
			}
		}
		return s.Healthy && len(at) == len(want)
	})
}

// tell has a fresh node ask another one. It may be in the cluster before: a member
// that asks it names the cluster too.
func (o *operator) tell(fresh, via *nodes.Node) {
	o.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		out, code := o.run(via, "join", via.Cluster, "--management", fresh.Management)
		if code == 0 || code == 1 && strings.Contains(out, "this node is in cluster") {
			return
		}
		require.Equal(o.t, 3, code, out) // it is starting
		require.True(o.t, time.Now().Before(deadline), out)
	}
}

// addFeature makes a feature by way of one node and reads it on all.
func addFeature(t *testing.T, ctx context.Context, p *nodes.Project, via *nodes.Node, all []*nodes.Node, name string) {
	t.Helper()
	var a *nodes.Answer
	require.Eventually(t, func() bool {
		var err error
		a, err = at(via, p.Admin).With("Idempotency-Key", name).Do(ctx, "POST", fmt.Sprintf("/api/v1/projects/%d/features/", p.ID), map[string]any{"name": name})
		return err == nil && a.Status == http.StatusCreated
	}, 30*time.Second, 100*time.Millisecond)
	for _, n := range all {
		_, err := n.Client().With("X-Environment-Key", p.EnvironmentKey).With("Flagraft-Min-Index", a.Header.Get("Flagraft-Index")).
			Must(ctx, "GET", "/api/v1/flags/?feature="+name, nil, 200)
		require.NoError(t, err)
	}
}

// TestGrowShrinkAndReplace takes a cluster of one to three and back to two, loses a disk, and moves every node.
func TestGrowShrinkAndReplace(t *testing.T) {
	c, ctx := start(t, 1)
	first := c.Nodes[0]
	p := project(t, ctx, first)
	op := newOperator(t, ctx, first)
	second, err := c.Add()
	require.NoError(t, err)
	replica, err := c.Add("--non-voter")
	require.NoError(t, err)
	third, err := c.Place("--bootstrap-expect", "0") // last: nobody knows of it, so it must be told
	require.NoError(t, err)
	for _, n := range c.Nodes[1:] {
		require.NoError(t, n.Start())
	}
	op.tell(third, first)
	op.voters(first, first, second, third)
	op.until(first, "a replica", func(s membersSeen) bool {
		for _, m := range s.Members {
			if m.Address == replica.Cluster {
				return m.Role == "read-replica"
			}
		}
		return false
	})
	addFeature(t, ctx, p, second, c.Nodes, "grown")

	op.must(first, "transfer", second.Cluster)
	s := op.voters(third, first, second, third)
	require.Contains(t, op.must(third, "status"), s.Leader)

	// The leader is removed: it hands over, and says why it serves nobody.
	out := op.must(first, "remove", second.Cluster, "-o", "json")
	require.Contains(t, out, `"removed"`)
	require.Eventually(t, func() bool {
		a, err := second.Client().Do(ctx, "GET", "/api/v1/flags/", nil)
		return err == nil && a.Status == http.StatusServiceUnavailable && strings.Contains(a.Text("detail"), "removed from its cluster")
	}, 30*time.Second, 100*time.Millisecond)
	op.voters(first, first, third)
	addFeature(t, ctx, p, third, []*nodes.Node{first, third, replica}, "shrunk")
	out, code := op.run(first, "remove", "nobody")
	require.Equal(t, 1, code, out)

	// Its directory emptied, it comes back under a new id.
	second.Kill()
	require.NoError(t, second.Wipe())
	require.NoError(t, second.Start())
	op.voters(first, first, second, third)

	// A disk is lost: the new node takes the place of the old one.
	third.Kill()
	require.NoError(t, third.Wipe())
	require.NoError(t, third.Start())
	op.tell(third, first)
	op.voters(first, first, second, third)
	addFeature(t, ctx, p, third, c.Nodes, "replaced")

	// All move to other addresses at once.
	for _, n := range c.Nodes {
		n.Kill()
	}
	require.NoError(t, nodes.Move(c.Nodes...))
	for _, n := range c.Nodes {
		require.NoError(t, n.Start())
	}
	op.voters(first, first, second, third)
	require.NoError(t, replica.WaitReady(ctx))
	addFeature(t, ctx, p, second, c.Nodes, "moved")
	_, err = c.OneState(ctx)
	require.NoError(t, err)
}

// TestRecoverFromALostMajority loses two of three disks and goes on with the third.
func TestRecoverFromALostMajority(t *testing.T) {
	c, ctx := start(t, 3)
	p := everywhere(t, ctx, c)
	op := newOperator(t, ctx, c.Nodes[0])
	addFeature(t, ctx, p, c.Nodes[1], c.Nodes, "before")
	survivor := c.Nodes[2]
	dir := []string{"recover", "--data-dir", survivor.Dir}
	out, code := op.run(survivor, dir...)
	require.Equal(t, 1, code)
	require.Contains(t, out, "in use by another process")
	for _, n := range c.Nodes {
		n.Kill()
	}
	require.Contains(t, op.must(survivor, append(dir, "--dry-run", "-o", "json")...), `"written": false`)
	out, code = op.run(survivor, dir...) // nobody confirms
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "nothing was changed")
	out, code = op.run(survivor, append(dir, "--member", "nonsense", "--yes")...)
	require.Equal(t, 2, code, out)
	require.Contains(t, op.must(survivor, append(dir, "--yes")...), "written")

	require.NoError(t, survivor.Start())
	require.NoError(t, survivor.WaitReady(ctx))
	op.voters(survivor, survivor)
	addFeature(t, ctx, p, survivor, []*nodes.Node{survivor}, "alone")
	for _, n := range c.Nodes[:2] {
		require.NoError(t, n.Wipe())
		require.NoError(t, n.Start())
	}
	op.voters(survivor, c.Nodes...)
	addFeature(t, ctx, p, c.Nodes[0], c.Nodes, "three_again")
	for _, name := range []string{"before", "alone"} {
		_, err := c.Nodes[0].Client().With("X-Environment-Key", p.EnvironmentKey).Must(ctx, "GET", "/api/v1/flags/?feature="+name, nil, 200)
		require.NoError(t, err)
	}
}

// TestProcessesRaceToBootstrap starts and kills real processes at random while they form a cluster.
func TestProcessesRaceToBootstrap(t *testing.T) {
	bin := nodes.Binary(t)
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			random := rand.New(rand.NewPCG(seed, 11))
			c, err := nodes.Prepare(nodes.Options{Binary: bin, Dir: t.TempDir(), Count: 3})
			require.NoError(t, err)
			defer c.Stop()
			for range 6 {
				if n := c.Nodes[random.IntN(3)]; n.Running() {
					n.Kill()
				} else {
					require.NoError(t, n.Start())
				}
				time.Sleep(time.Duration(random.IntN(600)) * time.Millisecond)
			}
			for _, n := range c.Nodes {
				if !n.Running() {
					require.NoError(t, n.Start())
				}
			}
			ids := map[string]bool{}
			for _, n := range c.Nodes {
				require.NoError(t, n.WaitReady(ctx))
				s, err := n.Status(ctx)
				require.NoError(t, err)
				ids[s.ClusterID] = true
			}
			require.Len(t, ids, 1, "clusters")
		})
	}
}
