package destination

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// trial puts, lists and removes files in an empty destination.
func trial(t *testing.T, d Destination, size int) {
	t.Helper()
	ctx := t.Context()
	text := strings.Repeat("0123456789abcdef", size/16)
	write := func(w io.Writer) error { _, err := io.Copy(w, strings.NewReader(text)); return err }
	for _, name := range []string{"b-2", "a-1", "b-1"} {
		n, err := d.Put(ctx, name, write)
		require.NoError(t, err)
		require.Equal(t, int64(len(text)), n)
	}
	fault := errors.New("fault")
	_, err := d.Put(ctx, "b-3", func(w io.Writer) error {
		if err := write(w); err != nil {
			return err
		}
		return fault
	})
	require.ErrorIs(t, err, fault)
	list := func(prefix string) []string {
		names, err := d.List(ctx, prefix)
		require.NoError(t, err)
		return names
	}
	require.Equal(t, []string{"b-1", "b-2"}, list("b-"), "what failed is not there")
	require.Equal(t, []string{"a-1", "b-1", "b-2"}, list(""))
	require.NoError(t, d.Remove(ctx, "b-1"))
	require.NoError(t, d.Remove(ctx, "b-1"), "it is gone already")
	require.Equal(t, []string{"b-2"}, list("b-"))
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = d.Put(ended, "b-4", write)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []string{"a-1", "b-2"}, list(""))
}

func TestDirectory(t *testing.T) {
	root := filepath.Join(t.TempDir(), "backups")
	d, err := Open("daily/east", Config{Root: root})
	require.NoError(t, err)
	trial(t, d, 3<<20)
	info, err := os.Stat(filepath.Join(root, "daily/east/a-1"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	entries, err := os.ReadDir(filepath.Join(root, "daily/east"))
	require.NoError(t, err)
	require.Len(t, entries, 2, "nothing unfinished is left")

	dead := filepath.Join(root, "daily/east/.a-9"+unfinished)
	require.NoError(t, os.WriteFile(dead, []byte("x"), 0o600))
	old := time.Now().Add(-2 * unfinishedAge)
	require.NoError(t, os.Chtimes(dead, old, old))
	_, err = d.Put(t.Context(), "a-2", func(io.Writer) error { return nil })
	require.NoError(t, err)
	require.NoFileExists(t, dead)
}

func TestDirectoriesStayBelowTheRoot(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	for _, target := range []string{"", "..", "a/../../b", "/etc", outside, root + "x"} {
		_, err := Open(target, Config{Root: root})
		require.ErrorIs(t, err, ErrTarget, target)
	}
	_, err := Open("daily", Config{})
	require.ErrorContains(t, err, "no backup directory")
	_, err = Open(filepath.Join(root, "daily"), Config{Root: root})
	require.NoError(t, err)

	require.NoError(t, os.Symlink(outside, filepath.Join(root, "link")))
	d, err := Open("link", Config{Root: root})
	require.NoError(t, err)
	_, err = d.Put(t.Context(), "x", func(io.Writer) error { return nil })
	require.Error(t, err, "a link leads out of the root")
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestTargets(t *testing.T) {
	for _, target := range []string{
		"s3://", "s3:///x", "s3://ab", "s3://ab/c?region=a", "s3://a..b", "s3://bkt:9/x", "s3://key:secret@bkt/x", "s3://bkt?region=a&access_key=x", "s3://bkt#x", "s3://bkt?endpoint=host:1", "s3://bkt?endpoint=ftp://h",
		"s3://bkt?endpoint=http://u:p@h", "s3://bkt?endpoint=http://h/path", "s3://bkt?%zz", "", "ftp://x", "a\x00b", "s3://\x7f", "..", "../x", "a/../../b",
	} {
		err := Check(target)
		require.ErrorIs(t, err, ErrTarget, target)
		require.NotContains(t, err.Error(), "secret")
	}
	for target, want := range map[string]location{
		"s3://bkt":      {bucket: "bkt", endpoint: "s3.amazonaws.com", secure: true},
		"s3://bkt/a/c/": {bucket: "bkt", prefix: "a/c/", endpoint: "s3.amazonaws.com", secure: true},
		"s3://bkt/p?endpoint=http://127.0.0.1:7070&region=eu": {bucket: "bkt", prefix: "p/", endpoint: "127.0.0.1:7070", region: "eu"},
	} {
		require.NoError(t, Check(target))
		l, err := parseBucket(target)
		require.NoError(t, err)
		require.Equal(t, want, l)
	}
	for _, target := range []string{"daily", "a/../b", ".", "/mnt/backups"} { // whether the last is below the root each node knows of its own
		require.NoError(t, Check(target), target)
	}
}
