package settings

import (
	"os"
	"path/filepath"
	"strings"
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

// A number that cannot be read is none below the smallest, too.
func TestNumbersThatCannotBeReadAreOneFault(t *testing.T) {
	t.Setenv("FLAGRAFT_MAX_REQUESTS", "many")
	_, err := load(t)
	require.ErrorContains(t, err, "FLAGRAFT_MAX_REQUESTS")
	require.NotContains(t, err.Error(), "must be above 0")
}

func TestSecretsFromFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	t.Setenv("FLAGRAFT_ADMIN_PASSWORD_FILE", write("p", "from a file\n"))
	config := write("c.yaml", "e2e-token-file: "+write("t", "token")+"\n")
	s, err := load(t, "--config", config, "--cluster-secret-file", write("s", " spaces stay \r\n"))
	require.NoError(t, err)
	require.Equal(t, "from a file", s.AdminPassword)
	require.Equal(t, " spaces stay ", s.ClusterSecret)
	require.Equal(t, "token", s.E2EToken)
	require.NotContains(t, s.Attributes(), "from a file")

	for want, args := range map[string][]string{
		"both given": {"--cluster-secret", "x", "--cluster-secret-file", write("s", "y")},
		"no such":    {"--cluster-secret-file", filepath.Join(dir, "nowhere")},
		"is empty":   {"--cluster-secret-file", write("e", "\n")},
	} {
		_, err := load(t, args...)
		require.ErrorContains(t, err, want)
	}
	require.ElementsMatch(t, []string{"cluster-secret", "admin-password", "e2e-token"}, SecretFlags()[:3])
}

func TestSecretsAreNotLogged(t *testing.T) {
	s, err := load(t, "--cluster-secret", "hush", "--admin-password", "hush")
	require.NoError(t, err)
	require.NotContains(t, s.Attributes(), "hush")
	require.Contains(t, s.Attributes(), "data-dir")
}

// A text is what the file says, whatever else YAML could read it as, and a key without a value says nothing.
func TestTextsOfTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.yaml")
	require.NoError(t, os.WriteFile(file, []byte("admin-password: 0012345670\ncluster-secret: 12345678901234567890123\norganisation-name: 1e3\n"+
		"e2e-token: 2026-11-26\nsmtp-password: 0x1F\nfrontend-url:\ngossip-addr: ~\nsmtp-addr: \"\"\ntrusted-proxies:\njoin: [010, b]\nmax-body-bytes: 2_000_000\ntls-min-version: 1.3\ndemo: true\n"), 0o600))
	s, err := load(t, "--config", file)
	require.NoError(t, err)
	require.Equal(t, "0012345670", s.AdminPassword)
	require.Equal(t, "12345678901234567890123", s.ClusterSecret)
	require.Equal(t, "1e3", s.OrganisationName)
	require.Equal(t, "2026-11-26", s.E2EToken)
	require.Equal(t, "0x1F", s.SMTPPassword)
	require.Empty(t, s.FrontendURL)
	require.Equal(t, "127.0.0.1:8002", s.GossipAddr, "the default")
	require.Empty(t, s.TrustedProxies)
	require.Equal(t, []string{"010", "b"}, s.Join)
	require.Equal(t, 2_000_000, s.MaxBodyBytes)
	require.Equal(t, "1.3", s.TLSMinVersion)
	require.True(t, s.Demo)
}

// Below 0 is nothing, and 0 is refused where it would not be "no limit" but the end of everything, or another number.
func TestNumbersThatWouldKeepOrServeNothing(t *testing.T) {
	for _, arg := range []string{"--keep-audit=0s", "--keep-change-log=0", "--keep-audit-bytes=0", "--keep-idempotency=-1h", "--max-requests=0", "--max-connections=-1",
		"--max-header-bytes=0", "--hash-concurrency=0", "--snapshot-log-bytes=0", "--trailing-log-bytes=0", "--stop-timeout=-5s", "--bootstrap-expect=-3", "--login-per-minute=-1"} {
		_, err := load(t, arg)
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		require.ErrorContains(t, err, name+" must ", arg)
	}
	t.Setenv("FLAGRAFT_KEEP_USAGE", "0s")
	_, err := load(t)
	require.ErrorContains(t, err, "keep-usage must be above 0, not 0s")
	t.Setenv("FLAGRAFT_KEEP_USAGE", "1h")
	_, err = load(t, "--login-per-minute=0", "--max-features=0", "--probe-interval=0", "--bootstrap-expect=0", "--max-streams=0", "--min-free-disk-mb=0")
	require.NoError(t, err)
}

// A template that nobody has filled in is a map to YAML, and was the password "map[]".
func TestOnlyListsAreListsInTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.yaml")
	for _, line := range []string{"admin-password: {{ password }}", "cluster-secret: [hush, hushed]", "admin-password-file: {{ file }}", "join: {a: b}", "join: [[a], b]", "read-timeout: {a: 1s}"} {
		require.NoError(t, os.WriteFile(file, []byte(line+"\n"), 0o600))
		_, err := load(t, "--config", file)
		name, _, _ := strings.Cut(line, ":")
		require.ErrorContains(t, err, file+": "+name+": neither a list nor a map fits here")
		require.NotContains(t, err.Error(), "hush")
		require.NotContains(t, err.Error(), "unknown")
	}
	require.NoError(t, os.WriteFile(file, []byte("cluster-addr: &a a:1\njoin: [*a, b:1]\nadmin-password: '{{ mine }}'\n"), 0o600))
	s, err := load(t, "--config", file)
	require.NoError(t, err)
	require.Equal(t, []string{"a:1", "b:1"}, s.Join)
	require.Equal(t, "{{ mine }}", s.AdminPassword)
}

// A secret and the file of one are the same setting: a flag beats a variable, which beats the file of settings. In one place they contradict each other.
func TestPrecedenceOfSecrets(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	secret := write("secret", "of a file")
	text, named := write("text.yaml", "admin-password: of the settings\n"), write("named.yaml", "admin-password-file: "+secret+"\n")
	const variable, variableFile = "FLAGRAFT_ADMIN_PASSWORD", "FLAGRAFT_ADMIN_PASSWORD_FILE"
	for _, c := range []struct {
		variables map[string]string
		args      []string
		want      string
	}{
		{map[string]string{variable: "of a variable"}, []string{"--config", named}, "of a variable"},
		{map[string]string{variableFile: secret}, []string{"--config", text}, "of a file"},
		{map[string]string{variableFile: secret}, []string{"--admin-password", "of a flag"}, "of a flag"},
		{map[string]string{variable: "of a variable"}, []string{"--admin-password-file", secret}, "of a file"},
		{map[string]string{variable: "", variableFile: secret}, nil, "of a file"}, // Compose files pass on what is not set as empty
		{map[string]string{variable: "of a variable", variableFile: secret}, nil, ""},
	} {
		for name, value := range c.variables {
			t.Setenv(name, value)
		}
		s, err := load(t, c.args...)
		if c.want == "" {
			require.ErrorContains(t, err, "both given")
		} else {
			require.NoError(t, err)
			require.Equal(t, c.want, s.AdminPassword)
		}
		for name := range c.variables {
			require.NoError(t, os.Unsetenv(name))
		}
	}
}

// Settings behind a line --- were left out in silence.
func TestTheFileIsOneDocument(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.yaml")
	for text, good := range map[string]bool{"": true, "# nothing\n": true, "---\ndemo: true\n": true, "demo: true\n---\n": true, "demo: true\n...\n": true,
		"demo: true\n---\nmax-writes: 7\n": false, "demo: true\n---\n]\n": false, "just a text\n": false} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := load(t, "--config", file)
		require.Equal(t, good, err == nil, "%q: %v", text, err)
	}
}

// A read replica of an earlier version that is started with its old settings must not come back as a voter.
func TestOldNamesAreRefusedByTheNewOne(t *testing.T) {
	const told = "it is called non-voter now"
	_, err := load(t, "--read-replica")
	require.ErrorContains(t, err, "--read-replica is a setting of an earlier version: "+told)
	file := filepath.Join(t.TempDir(), "f.yaml")
	require.NoError(t, os.WriteFile(file, []byte("read-replica: true\ntrust-proxy-headers: false\n"), 0o600))
	_, err = load(t, "--config", file)
	require.ErrorContains(t, err, file+": read-replica is a setting of an earlier version: "+told)
	require.NotContains(t, err.Error(), "trust-proxy-headers", "what is off asks for nothing")
	t.Setenv("FLAGRAFT_READ_REPLICA", "true")
	t.Setenv("FLAGRAFT_TRUST_PROXY_HEADERS", "1")
	_, err = load(t)
	require.ErrorContains(t, err, "FLAGRAFT_READ_REPLICA is a setting of an earlier version: "+told)
	require.ErrorContains(t, err, "FLAGRAFT_TRUST_PROXY_HEADERS is a setting of an earlier version: trusted-proxies takes its place")
	t.Setenv("FLAGRAFT_READ_REPLICA", "false")
	t.Setenv("FLAGRAFT_TRUST_PROXY_HEADERS", "")
	_, err = load(t)
	require.ErrorContains(t, err, "FLAGRAFT_TRUST_PROXY_HEADERS")
	require.NotContains(t, err.Error(), "FLAGRAFT_READ_REPLICA")
}

// A list is read alike wherever it is given: the address " b:1" of a flag was no address.
func TestListsAreReadAlikeEverywhere(t *testing.T) {
	const text = "a:1, b:1,,c:1 ,"
	want := []string{"a:1", "b:1", "c:1"}
	s, err := load(t, "--join", text)
	require.NoError(t, err)
	require.Equal(t, want, s.Join, "a flag")
	s, err = load(t, "--join", "a:1, b:1", "--join", "c:1")
	require.NoError(t, err)
	require.Equal(t, want, s.Join, "a flag given twice")
	file := filepath.Join(t.TempDir(), "f.yaml")
	require.NoError(t, os.WriteFile(file, []byte("join: '"+text+"'\n"), 0o600))
	s, err = load(t, "--config", file)
	require.NoError(t, err)
	require.Equal(t, want, s.Join, "the file")
	t.Setenv("FLAGRAFT_JOIN", text)
	s, err = load(t)
	require.NoError(t, err)
	require.Equal(t, want, s.Join, "a variable")
	s, err = load(t, "--join", "")
	require.NoError(t, err)
	require.Empty(t, s.Join, "an empty flag beats it")
}

// Another file named in the file was not read, and nothing said so.
func TestTheFileNamesNoOther(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.yaml")
	require.NoError(t, os.WriteFile(file, []byte("config: other.yaml\n"), 0o600))
	_, err := load(t, "--config", file)
	require.ErrorContains(t, err, file+": config: a file cannot name another one")
}
