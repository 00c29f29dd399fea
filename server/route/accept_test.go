package route

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAcceptsGzip(t *testing.T) {
	for _, accept := range []string{"gzip", "GZIP", "deflate, gzip;q=1.0, *;q=0.5", "br,gzip", "notgzip, gzip", "gzip;q=0.001", "gzip ; q=0.5"} {
		require.True(t, AcceptsGzip([]byte(accept)), accept)
	}
	for _, accept := range []string{"", "identity", "notgzip", "gzipped", "x-not-gzip", "gzip;q=0", "gzip;Q=0.000", "gzip; q = 0", "br;q=1, gzip;q=0", "deflate;gzip"} {
		require.False(t, AcceptsGzip([]byte(accept)), accept)
	}
	list := []byte("deflate, br;q=0.5, GZIP;q=0.8")
	require.Zero(t, testing.AllocsPerRun(100, func() { AcceptsGzip(list) }))
}
