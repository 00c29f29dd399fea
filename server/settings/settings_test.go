package settings

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

func load(t *testing.T, args ...string) (*Settings, error) {
	t.Helper()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	l := Register(flags)
	require.NoError(t, flags.Parse(args))
	return l.Load()
}

func TestPrecedence(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.yaml")
	require.NoError(t, os.WriteFile(file, []byte("data-dir: file\napi-addr: file\ncluster-addr: file\njoin: [a, b]\nread-timeout: 7s\nlogin-per-minute: 0\n"), 0o600))
	t.Setenv("FLAGRAFT_API_ADDR", "env")
	t.Setenv("FLAGRAFT_DATA_DIR", "env")
	s, err := load(t, "--config", file, "--data-dir", "flag", "--demo")
	require.NoError(t, err)
	require.Equal(t, "flag", s.DataDir)
	require.Equal(t, "env", s.APIAddr)
	require.Equal(t, "file", s.ClusterAddr)
	require.Equal(t, []string{"a", "b"}, s.Join)
	require.Equal(t, 7*time.Second, s.ReadTimeout)
	require.Zero(t, s.LoginPerMinute)
	require.True(t, s.Demo)
	require.Equal(t, "core", s.SDKFormat)
	require.Equal(t, 20_000, s.Options().FeatureValueLimit)
	require.Equal(t, 90*24*time.Hour, s.Retention().ChangeLog)
}

func TestFaultsAreReportedTogether(t *testing.T) {
	t.Setenv("FLAGRAFT_READ_TIMEOUT", "soon")
	file := filepath.Join(t.TempDir(), "f.yaml")
	require.NoError(t, os.WriteFile(file, []byte("nonsense: 1\n"), 0o600))
	_, err := load(t, "--config", file, "--log-level", "loud")
	for _, want := range []string{"FLAGRAFT_READ_TIMEOUT", `"nonsense"`, `log-level must be one of debug, info, warn, error, not "loud"`} {
		require.ErrorContains(t, err, want)
	}
}

func TestSecretsAreNotLogged(t *testing.T) {
	s, err := load(t, "--cluster-secret", "hush", "--admin-password", "hush")
	require.NoError(t, err)
	require.NotContains(t, s.Attributes(), "hush")
	require.Contains(t, s.Attributes(), "data-dir")
}
