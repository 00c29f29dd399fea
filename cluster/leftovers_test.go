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

// TestASnapshotHalfRemovedIsNoDamage: the oldest goes file by file when a new one is there, and a kill in between kept the node from starting.
func TestASnapshotHalfRemovedIsNoDamage(t *testing.T) {
	t.Parallel()
	m := newMember(t, func(c *Config) { c.TrailingBytes = 1 }).start()
	waitReady(t, m)
	for range 3 {
		m.propose("x")
		require.NoError(t, m.node.Snapshot())
	}
	m.crash()
	dir := filepath.Join(m.cfg.DataDir, "snapshots")
	half := filepath.Join(dir, "1-1-1795285")
	require.NoError(t, os.MkdirAll(half, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(half, "state.bin"), []byte("x"), 0o600))
	stopped, err := OpenStopped(m.cfg.DataDir, testLog())
	require.NoError(t, err)
	require.NoError(t, stopped.Close())
	m.start()
	waitReady(t, m)
	require.Equal(t, []string{"x", "x", "x"}, m.fsm.all())
	require.NoDirExists(t, half)
	kept, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, kept, keptSnapshots)

	// One of those that are read is damage as before.
	m.crash()
	require.NoError(t, os.Remove(filepath.Join(dir, kept[0].Name(), "meta.json")))
	require.ErrorIs(t, m.tryStart(), ErrCorrupt)
}

// TestTheOldestSnapshotsAreSurplus by term and index, not by the order of their names.
func TestTheOldestSnapshotsAreSurplus(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"9-700-3", "10-80-2", "10-100-1", "10-100-0", "12-1-1.tmp", "other"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"10-80-2", "9-700-3"}, surplusSnapshots(entries))
}
