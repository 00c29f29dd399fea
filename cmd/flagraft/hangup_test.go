package main

import (
	"context"
	"net/http"
	"os"
	"os/exec"
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

// Whoever reads the log or the welcome of a node may go, as | head does, or a log collector that is restarted: the node goes on, and stops in order.
func TestNobodyReadsWhatItSays(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process")
	}
	read, write, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, read.Close())
	management := freeAddress(t)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, os.Args[0], "serve", "--demo", "--data-dir", t.TempDir(), "--api-addr", freeAddress(t), "--cluster-addr", freeAddress(t), "--gossip-addr", "",
		"--management-addr", management)
	cmd.Env = append(os.Environ(), "FLAGRAFT_TEST_AS_PROGRAM=1")
	cmd.Stdout, cmd.Stderr = write, write
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cancel(); _ = cmd.Wait() })
	require.NoError(t, write.Close())
	require.Eventually(t, func() bool {
		resp, err := http.Get("http://" + management + "/readyz")
		return err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	}, 30*time.Second, 10*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
}
