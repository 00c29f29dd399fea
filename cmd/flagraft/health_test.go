package main

import (
	"bytes"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func runHealth(t *testing.T, args ...string) (string, int) {
	t.Helper()
	cmd := newHealthCommand()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs(args)
	err := cmd.Execute()
	var coded *codedError
	switch {
	case err == nil:
		return out.String(), 0
	case errors.As(err, &coded):
		return out.String() + err.Error(), coded.code
	}
	return err.Error(), exitFailed
}

func TestHealth(t *testing.T) {
	ready := true
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" && !ready {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = w.Write([]byte(r.URL.Path + "\n"))
	}))
	defer s.Close()
	addr := strings.TrimPrefix(s.URL, "http://")

	out, code := runHealth(t, "--management", addr)
	require.Equal(t, "/readyz\n", out)
	require.Zero(t, code)

	ready = false
	out, code = runHealth(t, "--management", addr)
	require.Contains(t, out, "/readyz")
	require.Equal(t, exitFailed, code)
	_, code = runHealth(t, "--live", "--management", addr)
	require.Zero(t, code)

	_, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	t.Setenv("FLAGRAFT_MANAGEMENT_ADDR", ":"+port) // as a container says it
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:9")
	_, code = runHealth(t, "--live")
	require.Zero(t, code)

	s.Close()
	_, code = runHealth(t)
	require.Equal(t, exitUnreachable, code)
	_, code = runHealth(t, "--management", "nonsense")
	require.Equal(t, exitUsage, code)
}
