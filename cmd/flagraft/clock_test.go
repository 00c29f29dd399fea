package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSteppedClock: the clock is off by what the file says, also after it changed; a bad file changes nothing.
func TestSteppedClock(t *testing.T) {
	file := filepath.Join(t.TempDir(), "offset")
	t.Setenv(clockOffsetFile, file)
	clock := wallClock()
	off := func() time.Duration { return time.Until(clock()).Round(time.Minute) }
	require.Zero(t, off(), "there is no file")
	for text, want := range map[string]time.Duration{"1h": time.Hour, "-2h\n": -2 * time.Hour} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		require.Eventually(t, func() bool { return off() == want }, 10*time.Second, 10*time.Millisecond)
	}
	have := off()
	require.NoError(t, os.WriteFile(file, []byte("soon"), 0o600))
	time.Sleep(150 * time.Millisecond)
	require.Equal(t, have, off())
}
