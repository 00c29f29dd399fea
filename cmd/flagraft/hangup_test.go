package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A service manager may ask for certificates to be read again at any time; the signal's default is to end the process.
func TestHangupWhileItStartsAndStops(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process")
	}
	cmd, log := runNode(t, nil, "--data-dir", t.TempDir(), "--api-addr", freeAddress(t), "--cluster-addr", freeAddress(t), "--gossip-addr", freeAddress(t),
		"--management-addr", freeAddress(t), "--admin-email", "admin@example.com", "--admin-password", "Pass-Wort-0815-Xyzzy", "--log-level", "debug")
	says := func(text string) {
		require.Eventually(t, func() bool { return strings.Contains(log.String(), text) }, 30*time.Second, time.Millisecond, "%s", log)
	}
	says("level=")
	require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
	says("msg=ready")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	says("msg=stopping")
	require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
	require.NoError(t, cmd.Wait(), "%s", log)
	says("msg=stopped")
}
