package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDamagedSnapshotsAreNoticed(t *testing.T) {
	t.Parallel()
	m := newMember(t, nil).start()
	waitReady(t, m)
	m.propose("something")
	require.NoError(t, m.node.Snapshot())
	m.crash()
	found, err := filepath.Glob(filepath.Join(m.cfg.DataDir, "snapshots", "*", "meta.json"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	sound, err := os.ReadFile(found[0])
	require.NoError(t, err)
	require.Contains(t, string(sound), "127.0.0.1", "the member's address")
	for _, change := range [][2]string{{`"Term":`, `"Term":1`}, {`"Index":`, `"Index":1`}, {`"ID":"`, `"ID":"1`}, {`"Version":1`, `"Version":0`}, {`{`, `[`}, {`127.0.0.1`, `127.0.0.3`}} {
		require.NoError(t, os.WriteFile(found[0], []byte(strings.Replace(string(sound), change[0], change[1], 1)), 0o600))
		err := m.tryStart()
		require.ErrorIs(t, err, ErrCorrupt, "%v", change)
		require.ErrorContains(t, err, "snapshots", "%v", change)
	}
	state := filepath.Join(filepath.Dir(found[0]), "state.bin")
	content, err := os.ReadFile(state)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(found[0], sound, 0o600))
	content[len(content)/2] ^= 4
	require.NoError(t, os.WriteFile(state, content, 0o600))
	require.ErrorIs(t, m.tryStart(), ErrCorrupt)
	content[len(content)/2] ^= 4
	require.NoError(t, os.WriteFile(state, content, 0o600))
	m.start()
	m.crash()
	require.NoError(t, os.Remove(filepath.Join(filepath.Dir(found[0]), snapshotSeal)))
	m.start() // a snapshot of an older binary
}
