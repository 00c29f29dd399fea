package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/portable"
	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

// runCommand runs a command and returns what it prints, its error included, and its exit code.
func runCommand(t *testing.T, command *cobra.Command, args ...string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetErr(&bytes.Buffer{})
	command.SetArgs(args)
	command.SilenceErrors, command.SilenceUsage = true, true
	err := command.ExecuteContext(t.Context())
	if err == nil {
		return out.String(), 0
	}
	return out.String() + err.Error(), exitCode(err)
}

func TestBackupCreateAndVerify(t *testing.T) {
	n := servertest.Start(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "a.backup")
	t.Setenv("FLAGRAFT_TOKEN", "wrong")
	out, code := runCommand(t, newBackupCommand(), "create", "-o", file, "--url", n.Base)
	require.Equal(t, 1, code)
	require.Contains(t, out, "401")
	require.NoFileExists(t, file)

	t.Setenv("FLAGRAFT_TOKEN", n.Token(t))
	out, code = runCommand(t, newBackupCommand(), "create", "-o", file, "--url", n.Base)
	require.Zero(t, code, out)
	require.Contains(t, out, "linearizable")
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "a temporary file is left")

	out, code = runCommand(t, newBackupCommand(), "verify", file)
	require.Zero(t, code, out)
	require.Contains(t, out, "good: every checksum")
	out, code = runCommand(t, newBackupCommand(), "verify", "-o", "json", file)
	require.Zero(t, code, out)
	var report struct {
		Epoch  string
		Tables []struct {
			Name string
			Rows int
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	require.Equal(t, n.State().Genesis.Epoch, report.Epoch)
	require.NotEmpty(t, report.Tables)

	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	for name, damage := range map[string][]byte{
		"cut": raw[:len(raw)/2], "flipped": append(append(bytes.Clone(raw[:400]), raw[400]^4), raw[401:]...), "foreign": []byte("PK\x03\x04 a zip file, or so it says"), "empty": {},
	} {
		bad := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(bad, damage, 0o600))
		out, code = runCommand(t, newBackupCommand(), "verify", bad)
		require.Equal(t, 1, code, name)
		require.Contains(t, out, "backup is not readable", name)
	}
	_, code = runCommand(t, newBackupCommand(), "verify", filepath.Join(dir, "absent"))
	require.Equal(t, 2, code)
}

// TestRestoreInsists on what may get better, and says so; on nothing else.
func TestRestoreInsists(t *testing.T) {
	for _, hopeless := range []error{usageError("no token"), &refused{status: 409}} {
		tries := 0
		require.Error(t, insist(t.Context(), io.Discard, func() error { tries++; return hopeless }))
		require.Equal(t, 1, tries, hopeless)
	}
	var notes bytes.Buffer
	answers := []error{&codedError{exitUnreachable, &refused{503, "no leader"}}, nil}
	require.NoError(t, insist(t.Context(), &notes, func() error { err := answers[0]; answers = answers[1:]; return err }))
	require.Empty(t, answers)
	require.Contains(t, notes.String(), "trying again")
	require.Contains(t, notes.String(), "no leader")
}

func TestBackupRestore(t *testing.T) {
	n := servertest.Start(t)
	require.Eventually(t, func() bool { return n.State().Level() >= fsm.RestoreLevel }, 20*time.Second, 10*time.Millisecond)
	t.Setenv("FLAGRAFT_TOKEN", n.Token(t))
	t.Setenv("FLAGRAFT_URL", n.Base)
	file := filepath.Join(t.TempDir(), "a.backup")
	_, code := runCommand(t, newBackupCommand(), "create", "-o", file)
	require.Zero(t, code)
	admin := n.Admin(t)
	organisation := admin.Object("POST", "/api/v1/organisations/", map[string]any{"name": "o"}, 201)["id"]
	admin.Object("POST", "/api/v1/projects/", map[string]any{"name": "p", "organisation": organisation}, 201)

	out, code := runCommand(t, newBackupCommand(), "restore", file)
	require.Equal(t, 1, code)
	require.Contains(t, out, "holds projects")
	out, code = runCommand(t, newBackupCommand(), "restore", "--force", file)
	require.Zero(t, code, out)
	require.Contains(t, out, "restored the state of")
	require.True(t, n.State().Empty())

	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	raw[len(raw)-40] ^= 1
	require.NoError(t, os.WriteFile(file, raw, 0o600))
	out, code = runCommand(t, newBackupCommand(), "restore", "--force", file)
	require.Equal(t, 1, code)
	require.Contains(t, out, "backup is not readable")
	_, code = runCommand(t, newBackupCommand(), "restore", file+"x")
	require.Equal(t, 2, code)
}

// TestRestoreWhoseAnswerIsLost asks again with a token that the restored state does not have; a bare 401 read as if nothing had been restored.
func TestRestoreWhoseAnswerIsLost(t *testing.T) {
	source, target := servertest.Start(t), servertest.Start(t)
	require.Eventually(t, func() bool {
		return target.State().Level() >= fsm.RestoreLevel && source.State().Level() >= fsm.RestoreLevel
	}, 20*time.Second, 10*time.Millisecond)
	file := filepath.Join(t.TempDir(), "a.backup")
	t.Setenv("FLAGRAFT_TOKEN", source.Token(t))
	_, code := runCommand(t, newBackupCommand(), "create", "-o", file, "--url", source.Base)
	require.Zero(t, code)

	base, err := url.Parse(target.Base)
	require.NoError(t, err)
	forward := httputil.NewSingleHostReverseProxy(base)
	lost, full := false, false
	between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if lost && full {
			w.WriteHeader(http.StatusInsufficientStorage)
			return
		}
		if lost || !strings.Contains(r.URL.Path, "/apply/") {
			forward.ServeHTTP(w, r)
			return
		}
		lost = true
		forward.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(between.Close)
	t.Setenv("FLAGRAFT_TOKEN", target.Token(t))
	out, code := runCommand(t, newBackupCommand(), "restore", "--force", file, "--url", between.URL)
	require.Equal(t, 1, code)
	require.Contains(t, out, "most likely the backup is restored")
	require.Contains(t, out, "401")
	require.Equal(t, source.State().Genesis.Seed, target.State().Genesis.Seed)

	out, code = runCommand(t, newBackupCommand(), "restore", "--force", file, "--url", between.URL)
	require.Equal(t, 1, code)
	require.NotContains(t, out, "most likely", "nothing was sent with that token")

	// What refuses the second attempt knows nothing of the first.
	t.Setenv("FLAGRAFT_TOKEN", source.Token(t))
	lost, full = false, true
	out, code = runCommand(t, newBackupCommand(), "restore", "--force", file, "--url", between.URL)
	require.Equal(t, 1, code)
	require.Contains(t, out, "may be restored all the same")
	require.Contains(t, out, "507")
}

func TestExportAndImport(t *testing.T) {
	source := servertest.Start(t, func(st *settings.Settings) { st.Demo = true })
	file := filepath.Join(t.TempDir(), "e.json")
	t.Setenv("FLAGRAFT_TOKEN", source.Token(t))
	out, code := runCommand(t, newExportCommand(), "-o", file, "--url", source.Base, "--identities")
	require.Zero(t, code, out)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	shown, code := runCommand(t, newExportCommand(), "-o", "-", "--url", source.Base, "--identities")
	require.Zero(t, code)
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	// The node may have noted something of its own between the two, so index and time may differ.
	_, content, _ := strings.Cut(string(raw), `"identities": true`)
	_, shown, _ = strings.Cut(shown, `"identities": true`)
	require.NotEmpty(t, content)
	require.Equal(t, content, shown)

	target := servertest.Start(t)
	t.Setenv("FLAGRAFT_TOKEN", target.Token(t))
	out, code = runCommand(t, newImportCommand(), file, "--url", target.Base)
	require.Zero(t, code, out)
	require.Contains(t, out, `project "Demo": id 1, 4 features`)
	out, code = runCommand(t, newImportCommand(), file, "--url", target.Base)
	require.Equal(t, 1, code)
	require.Contains(t, out, "already")
	_, code = runCommand(t, newImportCommand(), file+"x", "--url", target.Base)
	require.Equal(t, 2, code)
}

// TestImportThatEndsEarly tells what it imported, keys included, and how to go on; a part that no node answered for is sent again.
func TestImportThatEndsEarly(t *testing.T) {
	d := portable.Document{Format: portable.Format, Version: portable.Version, Organisations: []portable.Organisation{{Name: "O"}}}
	for _, name := range []string{"a", "b", "c"} {
		d.Organisations[0].Projects = append(d.Organisations[0].Projects,
			portable.Project{Name: name, Environments: []portable.Environment{{Name: "E", APIKey: "key-of-" + name}}})
	}
	raw, err := json.Marshal(d)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "e.json")
	require.NoError(t, os.WriteFile(file, raw, 0o600))

	n := servertest.Start(t)
	base, err := url.Parse(n.Base)
	require.NoError(t, err)
	forward := httputil.NewSingleHostReverseProxy(base)
	imports, fault := 0, func(http.ResponseWriter, *http.Request) {}
	between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if imports++; imports == 2 {
			fault(w, r)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(between.Close)
	t.Setenv("FLAGRAFT_TOKEN", n.Token(t))
	fault = func(w http.ResponseWriter, r *http.Request) { // the answer is lost
		forward.ServeHTTP(httptest.NewRecorder(), r)
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	out, code := runCommand(t, newImportCommand(), file, "--url", between.URL)
	require.Equal(t, 1, code)
	require.Contains(t, out, `project "a": id 1`)
	require.Contains(t, out, "E key-of-a")
	require.Contains(t, out, `it has a project "b" already`)
	require.Contains(t, out, "most likely this one")
	require.Contains(t, out, "1 of 3 projects were imported before")

	other := servertest.Start(t)
	if base, err = url.Parse(other.Base); err != nil {
		t.Fatal(err)
	}
	forward, imports = httputil.NewSingleHostReverseProxy(base), 0
	t.Setenv("FLAGRAFT_TOKEN", other.Token(t))
	fault = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }
	out, code = runCommand(t, newImportCommand(), file, "--url", between.URL)
	require.Zero(t, code, out)
	require.Contains(t, out, `project "c": id 3`)
}
