package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/server/servertest"
)

// commands are all commands that do something.
func commands(under *cobra.Command) (list []*cobra.Command) {
	for _, c := range under.Commands() {
		if c.HasSubCommands() {
			list = append(list, commands(c)...)
		} else if c.Name() != "help" {
			list = append(list, c)
		}
	}
	return list
}

func groups(under *cobra.Command) (list []*cobra.Command) {
	list = append(list, under)
	for _, c := range under.Commands() {
		if c.HasSubCommands() {
			list = append(list, groups(c)...)
		}
	}
	return list
}

func TestEveryCommandHasExamples(t *testing.T) {
	document, err := os.ReadFile("../../docs/commandline.md")
	require.NoError(t, err)
	root := newRootCommand()
	list := commands(root)
	require.Greater(t, len(list), 25)
	for _, c := range append(list, groups(root)...) {
		require.NotEmpty(t, c.Short, c.CommandPath())
		require.NotEmpty(t, c.Example, c.CommandPath())
		require.Contains(t, c.Example, c.Name(), c.CommandPath())
		for line := range strings.Lines(c.Example) {
			require.True(t, strings.HasPrefix(line, "  "), "%s: %q", c.CommandPath(), line)
		}
	}
	for _, c := range list {
		require.Contains(t, string(document), "`"+c.CommandPath()+"`")
	}
}

func TestWrongUsageIsExitCode2(t *testing.T) {
	root := newRootCommand()
	for _, c := range groups(root) {
		path := strings.Fields(c.CommandPath())[1:]
		out, code := runCommand(t, newRootCommand(), append(path, "nonsense")...)
		require.Equal(t, 2, code, "%v: %s", path, out)
		out, code = runCommand(t, newRootCommand(), append(path, "--nonsense")...)
		require.Equal(t, 2, code, "%v: %s", path, out)
		out, code = runCommand(t, newRootCommand(), path...)
		require.Zero(t, code, out)
		require.Contains(t, out, "Usage:")
	}
	for _, c := range commands(root) {
		path := strings.Fields(c.CommandPath())[1:]
		out, code := runCommand(t, newRootCommand(), append(path, "--nonsense")...)
		require.Equal(t, 2, code, "%v: %s", path, out)
		if c.Parent() != root || c.Name() != "eval" { // reads its input
			many := append(path, strings.Split("a b c d e f g", " ")...)
			if c.Name() == "join" || c.Name() == "renew" || c.Name() == "show" { // lists
				many = path
			}
			out, code = runCommand(t, newRootCommand(), many...)
			require.Equal(t, 2, code, "%v: %s", many, out)
		}
	}
	out, code := runCommand(t, newRootCommand(), "clustre")
	require.Equal(t, 2, code)
	require.Contains(t, out, "did you mean cluster?")
}

// TestFilesAndAddressesAreExitCode2: a file that cannot be opened or made, and an address that is none, do not get better by trying again.
func TestFilesAndAddressesAreExitCode2(t *testing.T) {
	n := servertest.Start(t)
	t.Setenv("FLAGRAFT_TOKEN", n.Token(t))
	t.Setenv("FLAGRAFT_URL", n.Base)
	dir := t.TempDir()
	t.Chdir(dir)
	absent := filepath.Join(dir, "absent", "x")
	require.NoError(t, os.WriteFile("file", nil, 0o600))
	for _, args := range [][]string{
		{"export", "-o", absent}, {"backup", "create", "-o", absent}, {"backup", "create", "-o", "-"},
		{"ca", "show", absent}, {"ca", "issue", "n", "--dir", absent}, {"ca", "renew", "n", "--dir", absent}, {"ca", "init", "--dir", "file/ca"},
		{"ca", "init", "--days", "0"}, {"ca", "issue", "a/b"}, {"ca", "issue", "n", "--api"},
		{"org", "list", "--url", "ftp://127.0.0.1:8000"}, {"org", "list", "--url", "localhost:8000"}, {"org", "list", "--url", "127.0.0.1:8000"}, {"org", "list", "--url", "http://"},
		{"completion", "nosh"}, {"completion", "bash", "more"},
	} {
		out, code := runCommand(t, newRootCommand(), args...)
		require.Equal(t, 2, code, "%v: %s", args, out)
	}
	require.NoFileExists(t, "-", "a backup with all its secrets")
}

func TestNoAnswerIsExitCode3(t *testing.T) {
	t.Setenv("FLAGRAFT_URL", "http://"+freeAddress(t))
	t.Setenv("FLAGRAFT_TOKEN", "token")
	file := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(file, []byte(`{"flagraft_export":1}`), 0o600))
	for _, args := range [][]string{
		{"cluster", "status"}, {"cluster", "transfer"}, {"cluster", "gossip-keys", "list"}, {"org", "list"}, {"backup", "schedule", "list"},
		{"backup", "create", "-o", file + "2"}, {"export", "-o", file + "3"},
	} {
		out, code := runCommand(t, newRootCommand(), args...)
		require.Equal(t, 3, code, "%v: %s", args, out)
	}
	t.Setenv("FLAGRAFT_TOKEN", "")
	_, code := runCommand(t, newRootCommand(), "org", "list")
	require.Equal(t, 2, code, "no token")
}

func TestManualPagesOfEveryCommand(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	dir := filepath.Join(t.TempDir(), "man1")
	root := newRootCommand()
	out, code := runCommand(t, root, "man", dir)
	require.Zero(t, code, out)
	for _, c := range append(commands(newRootCommand()), groups(newRootCommand())...) {
		page, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"))
		require.NoError(t, err)
		require.Contains(t, string(page), "Nov 2023")
		require.Contains(t, string(page), "EXAMPLE", c.CommandPath())
	}
	page, err := os.ReadFile(filepath.Join(dir, "flagraft-serve.1"))
	require.NoError(t, err)
	require.Contains(t, string(page), "FLAGRAFT_MAX_CONNECTIONS", "the settings")
}

func TestTheShellCompletesSettings(t *testing.T) {
	for line, want := range map[string][]string{
		"serve --log-level |":  {"debug", "info", "warn", "error"},
		"doctor --smtp-tls |":  {"starttls", "tls", "none"},
		"serve --metrics-per|": {"--metrics-per-flag"},
		"serve --data-dir |":   {":16"}, // directories
		"serve --tls-cert |":   {":0"},  // files
		"backup sch|":          {"schedule"},
	} {
		var out bytes.Buffer
		root := newRootCommand()
		root.SetOut(&out)
		root.SetErr(&bytes.Buffer{})
		root.SetArgs(append([]string{"__complete"}, strings.Split(strings.TrimSuffix(line, "|"), " ")...))
		require.NoError(t, root.Execute())
		for _, w := range want {
			require.Contains(t, out.String(), w, line)
		}
	}
}
