package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUnfinishedSnapshotsGo: what a killed process left half-written is gone after the next start; whole snapshots stay.
func TestUnfinishedSnapshotsGo(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, removeLeftovers(dir), "there are no snapshots")
	half, whole := filepath.Join(dir, "snapshots", "4-631-1795285.tmp"), filepath.Join(dir, "snapshots", "4-600-1795284")
	for _, d := range []string{half, whole} {
		require.NoError(t, os.MkdirAll(d, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(d, "state.bin"), []byte("x"), 0o600))
	}
	require.NoError(t, removeLeftovers(dir))
	require.NoDirExists(t, half)
	require.DirExists(t, whole)
}
