package disk

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/mutant"
	"github.com/flagraft/flagraft/e2e/nodes"
)

const damages = 18

// TestDamagedFiles kills a node, changes a byte of one of its files or cuts the file off, and starts the node, again and again: it refuses and
// names the file, or ends with the state and the members of the others. It never answers what was never true, and never panics.
// Left out is the log itself: TestDamageOfTheLogIsNoticed. FLAGRAFT_DAMAGE_SEED repeats a run.
func TestDamagedFiles(t *testing.T) {
	needsNodes(t)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("FLAGRAFT_DAMAGE_SEED"); s != "" {
		var err error
		seed, err = strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	c, err := nodes.Start(ctx, mutant.Build(t), t.TempDir(), 3, append(smallLogs, "--cluster-secret", "the secret of damaged nodes")...)
	require.NoError(t, err)
	t.Cleanup(func() { c.Stop(); tails(t, c) })
	l, err := NewLoad(ctx, c, rate, fewPeople)
	require.NoError(t, err)
	fillFiles(t, ctx, c, l)

	d := &damaged{Cluster: c, load: l, shown: map[string]bool{}}
	d.write(t, ctx, c.Nodes[0])
	kinds := slices.Sorted(maps.Keys(files(t, c.Nodes[0])))
	require.Subset(t, kinds, []string{"gossip-keys.json", "log.extent", "meta.json", "meta.sum", "node.json", "state.bin"})
	rng.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	refused := 0
	for i := range damages {
		n := c.Nodes[rng.IntN(3)]
		n.Kill()
		d.write(t, ctx, d.other(n)) // there is something to catch up with
		of := files(t, n)[kinds[i%len(kinds)]]
		path := of[rng.IntN(len(of))]
		sound, err := os.ReadFile(path)
		require.NoError(t, err)
		spoilt, what := damageOf(rng, sound)
		what = fmt.Sprintf("%s: %s", path, what)
		require.NoError(t, os.WriteFile(path, spoilt, 0o600))
		if d.comesUp(t, ctx, n, path, what) {
			t.Logf("%s: came up", what)
		} else {
			t.Logf("%s: refused", what)
			refused++
			require.NoError(t, os.WriteFile(path, sound, 0o600))
			require.True(t, d.comesUp(t, ctx, n, path, what+", and put right"))
		}
	}
	require.Positive(t, refused)
}

// fillFiles has each node make every file that it ever makes.
func fillFiles(t *testing.T, ctx context.Context, c *nodes.Cluster, l *Load) {
	t.Helper()
	_, err := l.Project.Admin.Must(ctx, "POST", "/api/flagraft/v1/cluster/gossip-keys/", nil, 200, 201)
	require.NoError(t, err)
	writing, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { l.Run(writing); close(done) }()
	defer func() { stop(); <-done }()
	for _, n := range c.Nodes {
		require.Eventually(t, func() bool { f := files(t, n); return len(f["meta.sum"]) == 2 && len(f["gossip-keys.json"]) == 1 },
			time.Minute, 50*time.Millisecond)
	}
}

// files are those of a node by their names, without the log, the empty and the unfinished ones.
func files(t *testing.T, n *nodes.Node) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	_ = filepath.WalkDir(n.Dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() == "log.db" || strings.Contains(path, ".tmp") {
			return nil // a running node removes files meanwhile
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			all[e.Name()] = append(all[e.Name()], path)
		}
		return nil
	})
	return all
}

func damageOf(rng *rand.Rand, sound []byte) (spoilt []byte, what string) {
	at := rng.IntN(len(sound))
	if rng.IntN(4) == 0 {
		return sound[:at], fmt.Sprintf("cut off at %d of %d", at, len(sound))
	}
	spoilt = bytes.Clone(sound)
	spoilt[at] ^= byte(1 + rng.IntN(255))
	return spoilt, fmt.Sprintf("byte %d of %d is %#02x, not %#02x", at, len(sound), spoilt[at], sound[at])
}

// damaged is a cluster and what it may answer.
type damaged struct {
	*nodes.Cluster
	load  *Load
	shown map[string]bool // answers that were true at some time
}

func (d *damaged) other(than *nodes.Node) *nodes.Node {
	return d.Nodes[(slices.Index(d.Nodes, than)+1)%len(d.Nodes)]
}

func (d *damaged) flags(ctx context.Context, n *nodes.Node) (*nodes.Answer, error) {
	return n.Client().With("X-Environment-Key", d.load.Project.ServerKey).Do(ctx, "GET", "/api/v1/flags/", nil)
}

// write changes a flag a few times.
func (d *damaged) write(t *testing.T, ctx context.Context, via *nodes.Node) {
	t.Helper()
	for range 3 {
		within(t, healing, "a write", func() bool { status, _ := d.load.writes(ctx, via); return status == http.StatusOK })
		a, err := d.flags(ctx, via)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, a.Status)
		d.shown[string(a.Body)] = true
	}
}

// comesUp starts the node and tells whether it serves; then it has what the others have.
func (d *damaged) comesUp(t *testing.T, ctx context.Context, n *nodes.Node, path, what string) bool {
	t.Helper()
	logged, err := os.ReadFile(n.Log)
	require.NoError(t, err)
	require.NoError(t, n.Start())
	up := false
	for began := time.Now(); n.Running() && !up; {
		if a, err := d.flags(ctx, n); err == nil && a.Status == http.StatusOK {
			require.True(t, d.shown[string(a.Body)], "%s: served %s", what, a.Body)
		}
		soon, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		up = n.WaitReady(soon) == nil
		cancel()
		require.Less(t, time.Since(began), 2*healing, "%s: neither up nor ended", what)
	}
	if up {
		d.requireSame(t, ctx, n, what)
	}
	log, err := os.ReadFile(n.Log)
	require.NoError(t, err)
	log = log[len(logged):]
	require.NotContains(t, string(log), "panic:", what)
	require.NotContains(t, string(log), "goroutine ", what)
	if !up {
		require.Positive(t, n.ExitCode(), what)
		require.Contains(t, string(log), path, what)
	}
	return up
}

func (d *damaged) requireSame(t *testing.T, ctx context.Context, n *nodes.Node, what string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	_, err := d.OneState(ctx)
	require.NoError(t, err, what)
	lost, err := d.load.Lost(ctx, n)
	require.NoError(t, err, what)
	require.Empty(t, lost, what)
	want, err := d.flags(ctx, d.other(n))
	require.NoError(t, err, what)
	got, err := d.flags(ctx, n)
	require.NoError(t, err, what)
	require.Equal(t, string(want.Body), string(got.Body), what)
	require.Equal(t, members(t, ctx, d.other(n)), members(t, ctx, n), what)
	require.Len(t, members(t, ctx, n), 3, what)
}

// members are the addresses of the nodes by their ids.
func members(t *testing.T, ctx context.Context, n *nodes.Node) map[string]string {
	t.Helper()
	s, err := n.Status(ctx)
	require.NoError(t, err)
	m := map[string]string{}
	for _, p := range s.Peers {
		m[p.ID] = fmt.Sprint(p.Address, " ", p.Voter)
	}
	return m
}
