package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

func TestBackupSchedules(t *testing.T) {
	dir := t.TempDir()
	n := servertest.Start(t, func(st *settings.Settings) { st.BackupDir = dir })
	require.Eventually(t, func() bool { return n.State().Level() == fsm.FormatLevel }, 20*time.Second, 5*time.Millisecond)
	t.Setenv("FLAGRAFT_TOKEN", n.Token(t))
	t.Setenv("FLAGRAFT_URL", n.Base)
	run := func(want int, args ...string) string {
		out, code := runCommand(t, newBackupCommand(), append([]string{"schedule"}, args...)...)
		require.Equal(t, want, code, "%v: %s", args, out)
		return out
	}
	run(exitUsage, "set", "nightly", "--when", "0 3 * * *")
	require.Contains(t, run(exitFailed, "set", "nightly", "--when", "sometimes", "--target", "here"), "not a schedule")
	require.Contains(t, run(0, "set", "nightly", "--when", "0 3 * * *", "--target", "here", "--keep", "3"), "0 3 * * *")
	require.Contains(t, run(0, "set", "nightly", "--keep", "5"), "0 3 * * *", "what is not given stays")
	run(0, "run", "nightly")
	require.Eventually(t, func() bool {
		files, _ := filepath.Glob(filepath.Join(dir, "here", "nightly-*.backup"))
		return len(files) == 1 && strings.Contains(run(0, "list", "-o", "json"), `"failures": 0`)
	}, 20*time.Second, 50*time.Millisecond)
	entries, err := os.ReadDir(filepath.Join(dir, "here"))
	require.NoError(t, err)
	_, code := runCommand(t, newBackupCommand(), "verify", filepath.Join(dir, "here", entries[0].Name()))
	require.Zero(t, code)
	require.Contains(t, run(0, "set", "nightly", "--disabled"), "false")
	run(exitFailed, "run", "nightly")
	run(0, "remove", "nightly")
	require.Contains(t, run(exitFailed, "remove", "nightly"), "no backup schedule")
	require.NotContains(t, run(0, "list"), "nightly")
}
