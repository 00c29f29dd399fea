package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMain lets the test binary be the program itself, for tests that need a process.
func TestMain(m *testing.M) {
	if os.Getenv("FLAGRAFT_TEST_AS_PROGRAM") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// output collects what a process writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// runNode starts a node as a process; it is killed with the test.
func runNode(t *testing.T, env []string, args ...string) (*exec.Cmd, *output) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, os.Args[0], append([]string{"serve"}, args...)...)
	log := &output{}
	cmd.Env = append(append(os.Environ(), "FLAGRAFT_TEST_AS_PROGRAM=1"), env...)
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cancel(); _ = cmd.Wait() })
	return cmd, log
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// Secrets stay out of the log at debug level, out of every management page, out
// of the command line that others see, and files belong to one user alone.
func TestSecretsStaySecret(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process")
	}
	const clusterSecret, password, e2eToken, wrongPassword = "Kluster-Geheimnis-4711", "Pass-Wort-0815-Xyzzy", "E2E-Losung-31415", "Falsch-Wort-2718"
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	require.NoError(t, os.Mkdir(data, 0o755)) // made by somebody careless
	authority, certDir := filepath.Join(dir, "ca"), filepath.Join(dir, "certs")
	for _, args := range [][]string{{"init", "--dir", authority}, {"issue", "n1", "--dir", authority, "--out", certDir}} {
		_, err := ca(args...)
		require.NoError(t, err)
	}
	secretFile := filepath.Join(dir, "secret")
	require.NoError(t, os.WriteFile(secretFile, []byte(clusterSecret+"\n"), 0o600))
	api, wire, gossip, management := freeAddress(t), freeAddress(t), freeAddress(t), freeAddress(t)
	cmd, log := runNode(t, []string{"FLAGRAFT_E2E_TOKEN=" + e2eToken},
		"--data-dir", data, "--api-addr", api, "--cluster-addr", wire, "--gossip-addr", gossip, "--management-addr", management,
		"--cluster-secret-file", secretFile, "--admin-email", "admin@example.com", "--admin-password", password, "--log-level", "debug",
		"--cluster-ca", filepath.Join(authority, "ca.crt"), "--cluster-cert", filepath.Join(certDir, "n1.crt"), "--cluster-key", filepath.Join(certDir, "n1.key"))
	base := "http://" + api
	require.Eventually(t, func() bool {
		resp, err := http.Get(base + "/health")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == 200
	}, 30*time.Second, 20*time.Millisecond, "%s", log)

	secrets := []string{clusterSecret, password, e2eToken, wrongPassword}
	send := func(method, path, body string, headers ...string) map[string]any {
		t.Helper()
		req, err := http.NewRequest(method, base+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer func() { _ = resp.Body.Close() }()
		raw, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		var out map[string]any
		_ = json.Unmarshal(raw, &out) // some are lists or pages
		if resp.StatusCode >= 400 {
			for _, s := range secrets {
				require.NotContains(t, string(raw), s, path)
			}
		}
		return out
	}
	var token string
	require.Eventually(t, func() bool {
		token, _ = send("POST", "/api/v1/auth/login/", fmt.Sprintf(`{"email":"admin@example.com","password":%q}`, password), "Idempotency-Key", "one")["key"].(string)
		return token != ""
	}, 20*time.Second, 50*time.Millisecond)
	secrets = append(secrets, token)
	auth := []string{"Authorization", "Token " + token}
	send("POST", "/api/v1/auth/login/", fmt.Sprintf(`{"email":"admin@example.com","password":%q}`, wrongPassword))
	send("POST", "/api/v1/auth/login/", fmt.Sprintf(`{"email":"admin@example.com","password":%q`, wrongPassword))
	send("GET", "/api/v1/organisations/", "", "Authorization", "Token "+e2eToken)
	org := send("POST", "/api/v1/organisations/", `{"name":"O"}`, auth...)
	key, _ := send("POST", fmt.Sprintf("/api/v1/organisations/%v/master-api-keys/", org["id"]), `{"name":"k","is_admin":true}`, auth...)["key"].(string)
	require.NotEmpty(t, key)
	_, hidden, _ := strings.Cut(key, ".")
	secrets = append(secrets, hidden)
	send("GET", "/api/v1/organisations/", "", "Authorization", "Api-Key "+key)
	send("GET", "/api/v1/organisations/", "", "Authorization", "Api-Key "+key+"x")
	send("POST", "/api/v1/auth/users/", fmt.Sprintf(`{"email":"new@example.com","password":%q,"first_name":"","last_name":5}`, wrongPassword))
	send("POST", "/api/v1/e2etests/teardown/", `{`, "X-E2E-Test-Auth-Token", e2eToken+"x")
	send("PATCH", "/api/v1/nowhere/", `{}`, auth...)
	for _, garbage := range []string{"GET / HTTP/1.0\r\n\r\n", "FRC1", "\x16\x03\x01\x00\x05hello"} {
		c, err := net.Dial("tcp", wire)
		require.NoError(t, err)
		_, err = c.Write([]byte(garbage))
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, c)
		_ = c.Close()
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "cluster certificates") }, 20*time.Second, 10*time.Millisecond)
	nodeKey, err := os.ReadFile(filepath.Join(certDir, "n1.key"))
	require.NoError(t, err)
	secrets = append(secrets, strings.Split(string(nodeKey), "\n")[1])

	places := map[string]string{}
	for _, page := range []string{"/livez", "/readyz?verbose", "/status", "/metrics", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2", "/debug/pprof/heap?debug=1", "/settings"} {
		resp, err := http.Get("http://" + management + page)
		require.NoError(t, err)
		raw, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		_ = resp.Body.Close()
		places[page] = string(raw)
	}
	for _, name := range []string{"cmdline", "comm", "status"} {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", cmd.Process.Pid, name))
		if err == nil { // not everywhere
			places[name] = string(raw)
		}
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	_ = cmd.Wait()
	places["log"] = log.String()
	require.Contains(t, places["log"], "level=DEBUG")
	require.Contains(t, places["log"], "msg=stopped")
	for place, text := range places {
		for _, s := range secrets {
			require.NotContains(t, text, s, place)
		}
	}
	files := 0
	require.NoError(t, filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, "%s is %s", path, info.Mode())
		files++
		return nil
	}))
	require.Greater(t, files, 4)
}
