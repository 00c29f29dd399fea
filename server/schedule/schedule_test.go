package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNext(t *testing.T) {
	at := time.Date(2026, 11, 21, 17, 4, 5, 0, time.UTC)
	for when, want := range map[string]string{
		"6h": "2026-11-21T23:04:05Z", "90m": "2026-11-21T18:34:05Z", " 1m ": "2026-11-21T17:05:05Z",
		"0 3 * * *": "2026-11-22T03:00:00Z", "*/15 * * * *": "2026-11-21T17:15:00Z", "30 2 * * 1": "2026-11-23T02:30:00Z", "0 0 1 1 *": "2027-01-01T00:00:00Z",
	} {
		next, err := Next(when, at)
		require.NoError(t, err, when)
		require.Equal(t, want, next.Format(time.RFC3339), when)
	}
	east := time.FixedZone("east", 8*3600)
	next, err := Next("0 3 * * *", at.In(east))
	require.NoError(t, err)
	require.Equal(t, "2026-11-22T03:00:00Z", next.UTC().Format(time.RFC3339), "cron fields are UTC")
	for _, when := range []string{"", "x", "0s", "59s", "-6h", "* * * *", "61 * * * *", "* * * * * *", "@daily", "0 0 30 2 *", strings.Repeat("9", 400)} {
		_, err := Next(when, at)
		require.Error(t, err, when)
	}
}

func TestRetry(t *testing.T) {
	now := time.Date(2026, 11, 21, 17, 0, 0, 0, time.UTC)
	far := now.Add(24 * time.Hour)
	for n, want := range map[uint32]time.Duration{1: time.Minute, 2: 2 * time.Minute, 6: 32 * time.Minute, 7: time.Hour, 4_000_000_000: time.Hour} {
		require.Equal(t, want, Retry(n, now, far).Sub(now))
	}
	require.Equal(t, now.Add(30*time.Second), Retry(3, now, now.Add(30*time.Second)))
}

func FuzzNext(f *testing.F) {
	for _, s := range []string{"6h", "0 3 * * *", "*/5 1-3 L * MON#2", "@daily", ""} {
		f.Add(s)
	}
	at := time.Date(2026, 11, 21, 17, 4, 5, 0, time.UTC)
	f.Fuzz(func(t *testing.T, when string) {
		if next, err := Next(when, at); err == nil && !next.After(at) {
			t.Fatalf("%q: %v is not after %v", when, next, at)
		}
	})
}
