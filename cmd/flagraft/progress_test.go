package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestProgressInPlainLines(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, "read", strings.NewReader(strings.Repeat("x", 3_000_000)), 4_000_000)
	_, err := io.ReadFull(p, make([]byte, 1_000_000))
	require.NoError(t, err)
	require.Empty(t, out.String(), "it did not take long yet")
	p.began = p.began.Add(-time.Hour)
	_, err = io.ReadFull(p, make([]byte, 1_000_000))
	require.NoError(t, err)
	require.Regexp(t, `^read 2\.0 MB of 4\.0 MB \(50 %\), 0\.0 MB/s, 1h\S* left\n$`, out.String())
	_, err = io.ReadFull(p, make([]byte, 1000))
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(out.String(), "\n"), "one line each two seconds")
	_, err = io.Copy(io.Discard, p)
	require.NoError(t, err)
}

func TestProgressWithoutAnEnd(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, "received", strings.NewReader("abc"), -1)
	p.began = p.began.Add(-10 * time.Second)
	_, err := io.Copy(io.Discard, p)
	require.NoError(t, err)
	require.Regexp(t, `^received 0\.0 MB, 0\.0 MB/s\n$`, out.String())
}

func TestProgressOfSteps(t *testing.T) {
	var out bytes.Buffer
	s := newSteps(&out, "imported", 4)
	s.began = s.began.Add(-10 * time.Second)
	s.step()
	require.Equal(t, "imported 1 of 4 (25 %), 0/s, 30s left\n", out.String())
	s.end()
}
