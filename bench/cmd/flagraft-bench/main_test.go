package main

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestArguments(t *testing.T) {
	for _, args := range [][]string{{"rest"}, {"-o", "xml"}, {"-unknown"}, {"floor", "/nonexistent/answers"}} {
		require.Error(t, run(context.Background(), args, io.Discard, io.Discard), "%v", args)
	}
	require.ErrorContains(t, run(context.Background(), []string{"-quick", "-binary", "/nonexistent", "-dir", t.TempDir()}, io.Discard, io.Discard), "nonexistent")
}
