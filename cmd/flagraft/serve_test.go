package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAStopThatIsStuckEnds(t *testing.T) {
	refused := errors.New("refused")
	var out bytes.Buffer
	require.ErrorIs(t, stopWithin(t.Context(), time.Minute, 0, &out, func(context.Context) error { return refused }), refused)
	require.Empty(t, out.String())

	heeds := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	require.ErrorIs(t, stopWithin(t.Context(), time.Millisecond, time.Minute, &out, heeds), context.DeadlineExceeded)

	free := make(chan struct{})
	defer close(free)
	stuck := func(context.Context) error { <-free; return nil }
	require.ErrorContains(t, stopWithin(t.Context(), time.Millisecond, time.Millisecond, &out, stuck), "did not stop within 2ms")
	require.Contains(t, out.String(), "TestAStopThatIsStuckEnds", "it says what waits")
}

// TestAStopDuringTheStart: a node that is told to stop while it starts, at whichever moment, has stopped in order, and starts again.
func TestAStopDuringTheStart(t *testing.T) {
	dir := t.TempDir()
	for wait := time.Duration(0); wait < 100*time.Millisecond; wait += 4 * time.Millisecond {
		ctx, cancel := context.WithCancel(t.Context())
		if wait == 0 {
			cancel()
		}
		told := time.AfterFunc(wait, cancel)
		cmd := newServeCommand()
		cmd.SetArgs([]string{"--data-dir", dir, "--api-addr", "127.0.0.1:0", "--cluster-addr", "127.0.0.1:0", "--gossip-addr", "", "--management-addr", "127.0.0.1:0", "--log-level", "error"})
		require.NoError(t, cmd.ExecuteContext(ctx), "told after %v", wait)
		told.Stop()
		cancel()
	}
}

// TestAStartThatFailsSaysSo, which is no stop in order.
func TestAStartThatFailsSaysSo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "no-directory")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	cmd := newServeCommand()
	cmd.SetArgs([]string{"--data-dir", file, "--api-addr", "127.0.0.1:0", "--cluster-addr", "127.0.0.1:0", "--gossip-addr", "", "--management-addr", "", "--log-level", "error"})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	require.ErrorContains(t, cmd.ExecuteContext(t.Context()), "no-directory")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorContains(t, cmd.ExecuteContext(ended), "no-directory", "whatever else it was told")
}

// TestWrongSettingsAreAUsageError, as docs/commandline.md has it, whoever finds out, and doctor sees them before the first start.
func TestWrongSettingsAreAUsageError(t *testing.T) {
	for _, arg := range []string{"--keep-audit=0s", "--max-identities=60000001", "--max-trait-bytes=65537", "--trusted-proxies=proxy", "--memory-limit=much", "--mail-from=nobody",
		"--smtp-addr=mail.example.com", "--tls-cert=api.crt", "--leader-timeout=0s", "--webhook-timeout=0s", "--api-addr=", "--cluster-addr=", "--data-dir=",
		"--public-url=flags.example.com", "--frontend-url=flags.example.com:8080"} {
		nowhere := []string{"--data-dir", filepath.Join(t.TempDir(), "data"), "--api-addr", "127.0.0.1:0", "--cluster-addr", "127.0.0.1:0", "--gossip-addr", "", "--management-addr", "", arg}
		for args, want := range map[string]int{"serve": exitUsage, "doctor": exitUnhealthy} {
			cmd := newRootCommand()
			var out bytes.Buffer
			cmd.SetArgs(append([]string{args}, nowhere...))
			cmd.SetOut(&out)
			require.Equal(t, want, exitCode(cmd.ExecuteContext(t.Context())), "%s %s: %s", args, arg, &out)
		}
	}
}

// TestAFileThatCannotBeOpenedIsAUsageError, as docs/commandline.md has it.
func TestAFileThatCannotBeOpenedIsAUsageError(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	for _, args := range [][]string{
		{"--restore-from", missing}, {"--tls-cert", missing, "--tls-key", missing}, {"--cluster-ca", missing, "--cluster-cert", missing, "--cluster-key", missing},
		{"--cluster-secret-file", missing}, {"--data-dir", "/dev/null/data"},
	} {
		cmd := newRootCommand()
		cmd.SetArgs(append([]string{"serve", "--data-dir", t.TempDir(), "--api-addr", "127.0.0.1:0", "--cluster-addr", "127.0.0.1:0", "--gossip-addr", "", "--management-addr", "",
			"--log-level", "error"}, args...))
		require.Equal(t, exitUsage, exitCode(cmd.ExecuteContext(t.Context())), "%v", args)
	}
}
