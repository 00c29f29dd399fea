package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAFlagBeatsTheVariable: the token of another cluster, left in the environment, is not sent in place of the one that a flag names.
func TestAFlagBeatsTheVariable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("of a file\n"), 0o600))
	t.Setenv("FLAGRAFT_TOKEN", "of a variable")
	t.Setenv("FLAGRAFT_TOKEN_FILE", filepath.Join(t.TempDir(), "nowhere"))
	for want, r := range map[string]remote{"of a file": {tokenFile: file}, "of a flag": {token: "of a flag"}, "of a variable": {}} {
		token, err := r.credentials()
		require.NoError(t, err)
		require.Equal(t, want, token)
	}
	t.Setenv("FLAGRAFT_TOKEN", "")
	_, err := (&remote{}).credentials()
	require.ErrorContains(t, err, "nowhere")
}
