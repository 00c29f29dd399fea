package disk

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/nodes"
)

// needsNodes skips a test that starts processes, except in make e2e.
func needsNodes(t *testing.T) {
	t.Helper()
	if os.Getenv("FLAGRAFT_BINARY") == "" {
		t.Skip("FLAGRAFT_BINARY is not set: run make e2e")
	}
}

// cluster is three nodes with a volume each.
type cluster struct {
	*nodes.Cluster
	volumes []*Volume
}

func startOnVolumes(t *testing.T, ctx context.Context, binary string, size int64, extra ...string) *cluster {
	t.Helper()
	dir := t.TempDir()
	c := &cluster{}
	for i := range 3 {
		v, err := NewVolume(ctx, filepath.Join(dir, "node"+strconv.Itoa(i)), size)
		if errors.Is(err, ErrUnusable) {
			t.Skip(err)
		}
		require.NoError(t, err)
		t.Cleanup(func() {
			if err := v.Close(); err != nil {
				t.Error(err)
			}
		})
		c.volumes = append(c.volumes, v)
	}
	var err error
	c.Cluster, err = nodes.Start(ctx, binary, dir, 3, extra...)
	require.NoError(t, err)
	t.Cleanup(func() { tails(t, c.Cluster) })
	t.Cleanup(func() {
		for _, v := range c.volumes {
			_ = v.Thaw() // or the processes cannot end
		}
		c.Stop()
	})
	return c
}

func tails(t *testing.T, c *nodes.Cluster) {
	if !t.Failed() {
		return
	}
	for _, n := range c.Nodes {
		tail, _ := os.ReadFile(n.Log)
		t.Logf("%s:\n%s", n.Log, tail[max(0, len(tail)-3000):])
	}
}
