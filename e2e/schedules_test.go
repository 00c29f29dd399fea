package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/destination"
)

// gateway starts versitygw, an S3 server, over an empty directory with one bucket,
// and returns its endpoint and that directory. FLAGRAFT_VERSITYGW names its binary.
func gateway(t *testing.T, bucket string) (endpoint, dir string) {
	t.Helper()
	bin := os.Getenv("FLAGRAFT_VERSITYGW")
	if bin == "" {
		t.Skip("FLAGRAFT_VERSITYGW is not set: no S3 server to test against")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	dir = t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, bucket), 0o755))
	cmd := exec.Command(bin, "--access", s3Access, "--secret", s3Secret, "--port", addr, "posix", dir)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it keeps nothing
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(out.String())
		}
	})
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, 20*time.Second, 50*time.Millisecond)
	return "http://" + addr, dir
}

const s3Access, s3Secret = "flagraft-test", "flagraft-test-secret"

// TestScheduledBackupsToS3 has three nodes upload backups to a real S3 server, and reads them back.
func TestScheduledBackupsToS3(t *testing.T) {
	endpoint, dir := gateway(t, "backups")
	c, ctx := start(t, 3, "--backup-s3-access-key", s3Access, "--backup-s3-secret-key", s3Secret)
	p := everywhere(t, ctx, c)
	risen(t, ctx, c)
	target := "s3://backups/flagraft?region=us-east-1&endpoint=" + endpoint
	const path = "/api/flagraft/v1/backups/schedules/"
	made, err := p.Admin.Must(ctx, "POST", path, map[string]any{"name": "offsite", "when": "6h", "target": target, "keep": 2}, 201)
	require.NoError(t, err)
	one := fmt.Sprintf("%s%d/", path, made.ID("id"))
	last := ""
	for range 3 {
		_, err := p.Admin.Must(ctx, "POST", one+"run/", nil, 200)
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			a, err := p.Admin.Must(ctx, "GET", one, nil, 200)
			require.NoError(t, err)
			require.Empty(t, a.Text("last_error"))
			file := a.Text("last_file")
			if file == "" || file == last {
				return false
			}
			last = file
			return true
		}, 30*time.Second, 50*time.Millisecond)
		time.Sleep(time.Second) // the second is part of the name
	}
	d, err := destination.Open(target, destination.Config{AccessKey: s3Access, SecretKey: s3Secret})
	require.NoError(t, err)
	names, err := d.List(ctx, "offsite-")
	require.NoError(t, err)
	require.Len(t, names, 2, "two are kept")
	require.Contains(t, names, last)

	bad, err := destination.Open(target, destination.Config{AccessKey: s3Access, SecretKey: "wrong"})
	require.NoError(t, err)
	_, err = bad.Put(ctx, "x", func(w io.Writer) error { _, err := w.Write([]byte("x")); return err })
	require.Error(t, err)
	fault := fmt.Errorf("the source broke off")
	_, err = d.Put(ctx, "offsite-broken", func(w io.Writer) error {
		_, _ = w.Write(make([]byte, 40<<20)) // past the first part
		return fault
	})
	require.ErrorIs(t, err, fault)
	names, err = d.List(ctx, "")
	require.NoError(t, err)
	require.Len(t, names, 2, "an upload that broke off leaves no object")

	raw, err := os.ReadFile(filepath.Join(dir, "backups", "flagraft", last))
	require.NoError(t, err)
	h, err := fsm.VerifyBackup(bytes.NewReader(raw))
	require.NoError(t, err)
	require.Equal(t, fsm.FormatLevel, h.Level)
}
