package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestArguments(t *testing.T) {
	for _, args := range [][]string{{"rest"}, {"-o", "xml"}, {"-unknown"}, {"floor", "/nonexistent/answers"}} {
		require.Error(t, run(context.Background(), args, io.Discard, io.Discard), "%v", args)
	}
	// What measures nothing would miss no goal, and leave an empty page in the place of the last one.
	for _, args := range [][]string{{"-runs", "0"}, {"-duration", "0s"}, {"-only", "idenities-new"}, {"-only", "admin-writes", "-peers", "."}, {"-only", "admin-writes", "-scale"}} {
		page := filepath.Join(t.TempDir(), "page.md")
		args = append(args, "-check", "-report", page, "-binary", os.Args[0], "-dir", t.TempDir())
		require.ErrorContains(t, run(context.Background(), args, io.Discard, io.Discard), "bench: ", "%v", args)
		require.NoFileExists(t, page)
	}
	require.ErrorContains(t, run(context.Background(), []string{"-quick", "-binary", "/nonexistent", "-dir", t.TempDir()}, io.Discard, io.Discard), "nonexistent")
}
