package bench

import (
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/require"
)

// newHistogram holds one latency in microseconds.
func newHistogram(t *testing.T, micros int64) *hdrhistogram.Histogram {
	t.Helper()
	h := hdrhistogram.New(1, 1e6, 3)
	require.NoError(t, h.RecordValue(micros))
	return h
}
