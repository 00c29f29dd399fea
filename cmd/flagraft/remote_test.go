package main

import (
	"net/http"
	"net/http/httptest"
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

// During an upgrade the command may be newer than the node, which answers what it does not know with a page.
func TestAPageIsNoReason(t *testing.T) {
	for want, answer := range map[string]http.HandlerFunc{
		"the node answers 404: it does not know this request; it runs an older version": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte("<!doctype html>\n<h1>Not Found</h1>"))
		},
		"the node answers 404: No Node matches": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"detail":"No Node matches the given query."}`))
		},
	} {
		rec := httptest.NewRecorder()
		answer(rec, nil)
		err := refusal(rec.Result())
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "<")
	}
}
