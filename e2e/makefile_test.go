package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFmtNeedsNoGit has make fmt judge files that git knows nothing of, as in an unpacked archive or a clone of somebody else's.
func TestFmtNeedsNoGit(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("there is no make")
	}
	makefile, err := os.ReadFile("../Makefile")
	require.NoError(t, err)
	for content, good := range map[string]bool{"package a\n": true, "package  a\n": false, "package\n": false} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "Makefile"), makefile, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte(content), 0o600))
		cmd := exec.Command("make", "fmt")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.Equal(t, good, err == nil, "%q: %s", content, out)
	}
}
