package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/cluster/certs"
)

func ca(args ...string) (string, error) {
	cmd := newCACommand()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	err := cmd.Execute()
	return out.String(), err
}

func TestCA(t *testing.T) {
	dir := t.TempDir()
	authority, out := filepath.Join(dir, "ca"), filepath.Join(dir, "certs")
	run := func(want string, args ...string) {
		t.Helper()
		text, err := ca(args...)
		require.NoError(t, err, text)
		require.Contains(t, text, want)
	}
	fails := func(want string, args ...string) {
		t.Helper()
		_, err := ca(args...)
		require.ErrorContains(t, err, want)
	}
	content := func(path string) string {
		t.Helper()
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(raw)
	}
	fails("flagraft ca init", "issue", "n1", "--dir", authority, "--out", out)
	run("made ", "init", "--dir", authority)
	key := content(filepath.Join(authority, "ca.key"))
	run("kept ", "init", "--dir", authority)
	require.Equal(t, key, content(filepath.Join(authority, "ca.key")))

	run("made ", "issue", "n1", "--dir", authority, "--out", out)
	run("kept ", "issue", "n1", "--dir", authority, "--out", out)
	fails("something else", "issue", "n1", "--dir", authority, "--out", out, "--cluster-name", "staging")
	fails("at most 40", "issue", "n2", "--dir", authority, "--out", out, "--cluster-name", "Not A Name")
	fails("no name of a file", "issue", "../n2", "--dir", authority, "--out", out)
	fails("--api needs --host", "issue", "api", "--api", "--dir", authority, "--out", out)
	fails("--days", "issue", "n2", "--dir", authority, "--out", out, "--days", "0")
	run("made ", "issue", "api", "--api", "--host", "flags.example.com,10.0.0.5", "--dir", authority, "--out", out)

	// A key alone is not replaced; renewing keeps it.
	nodeKey := content(filepath.Join(out, "n1.key"))
	before := content(filepath.Join(out, "n1.crt"))
	require.NoError(t, os.Rename(filepath.Join(out, "n1.crt"), filepath.Join(out, "aside")))
	fails("--force only", "issue", "n1", "--dir", authority, "--out", out)
	require.NoError(t, os.Rename(filepath.Join(out, "aside"), filepath.Join(out, "n1.crt")))
	run("renewed ", "renew", "n1", "api", "--dir", authority, "--out", out)
	require.NotEqual(t, before, content(filepath.Join(out, "n1.crt")))
	require.Equal(t, nodeKey, content(filepath.Join(out, "n1.key")))
	run("kept ", "issue", "n1", "--dir", authority, "--out", out)
	run("renewed ", "renew", "n1", "--dir", authority, "--out", out, "--new-key")
	require.NotEqual(t, nodeKey, content(filepath.Join(out, "n1.key")))

	// Another authority: the same name is refused, renewing moves it.
	run("made ", "init", "--dir", authority+"2")
	fails("something else", "issue", "n1", "--dir", authority+"2", "--out", out)
	run("renewed ", "renew", "n1", "--dir", authority+"2", "--out", out)

	text, err := ca("show", filepath.Join(authority, "ca.crt"), filepath.Join(out, "n1.crt"), filepath.Join(out, "api.crt"), "-o", "json")
	require.NoError(t, err)
	var shown []shownCertificate
	require.NoError(t, json.Unmarshal([]byte(text), &shown))
	require.True(t, shown[0].Authority)
	require.Equal(t, []string{certs.NodeName("flagraft")}, shown[1].Names)
	require.ElementsMatch(t, []string{"flags.example.com", "10.0.0.5"}, shown[2].Names)
	require.WithinDuration(t, time.Now().Add(certs.NodeLifetime), shown[1].NotAfter, time.Hour)
	run("authority", "show", filepath.Join(authority, "ca.crt"))
	fails("no certificate", "show", filepath.Join(out, "n1.key"))

	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		if filepath.Ext(path) == ".key" {
			require.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), path)
		}
		return nil
	}))
	// Issuing from files that do not belong together fails.
	require.NoError(t, os.WriteFile(filepath.Join(authority, "ca.key"), []byte(content(filepath.Join(authority+"2", "ca.key"))), 0o600))
	fails("is not the key of", "issue", "n9", "--dir", authority, "--out", out)
}
