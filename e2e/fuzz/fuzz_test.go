package fuzz

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/ledger"
)

// TestCampaign plays campaigns over targets made for it: what they did is counted and written down, and one that fails ends the campaign and
// leaves its input.
func TestCampaign(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a package")
	}
	dir := t.TempDir()
	file := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	file("go.mod", "module example.com/m\n\ngo 1.26\n")
	file("m_test.go", `package m

import "testing"

func FuzzGood(f *testing.F) {
	f.Add([]byte("a"))
	f.Fuzz(func(t *testing.T, b []byte) {})
}

func FuzzBad(f *testing.F) {
	f.Add([]byte("a"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 3 {
			panic("too long")
		}
	})
}
`)
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "-mod=mod")
	results := filepath.Join(dir, "results.jsonl")
	campaign := Campaign{Each: 2 * time.Second, Results: results, Commit: "c", Log: t.Logf}
	play := func(only string) (Result, error) {
		var err error
		campaign.Targets, err = Targets(t.Context(), t.TempDir(), regexp.MustCompile(only))
		require.NoError(t, err)
		for i := range campaign.Targets {
			campaign.Targets[i].corpus = t.TempDir()
		}
		return campaign.Run(t.Context())
	}
	total, err := play("Good")
	require.NoError(t, err)
	require.Len(t, campaign.Targets, 1)
	require.Positive(t, total.Executions)
	require.Zero(t, total.Findings)

	total, err = play("Bad")
	require.ErrorIs(t, err, ErrFinding)
	require.Contains(t, err.Error(), "too long")
	require.Equal(t, 1, total.Findings)

	all, err := ReadResults(results)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Positive(t, all[0].Executions)
	require.FileExists(t, filepath.Join(dir, all[1].Input))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = campaign.Run(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

func TestCounts(t *testing.T) {
	executions, interesting := counts("fuzz: elapsed: 0s, gathering baseline coverage: 0/19 completed\n" +
		"fuzz: elapsed: 3s, execs: 148189 (49397/sec), new interesting: 1 (total: 20)\nfuzz: elapsed: 5s, execs: 280084 (63046/sec), new interesting: 2 (total: 21)\nPASS\n")
	require.EqualValues(t, 280084, executions)
	require.Equal(t, 21, interesting)
	executions, _ = counts("fuzz: elapsed: 3s, execs: 360931 (120294/sec)\n")
	require.EqualValues(t, 360931, executions)
}

func TestOnlyTimeUp(t *testing.T) {
	require.True(t, onlyTimeUp("fuzz: elapsed: 5s, execs: 1 (1/sec)\n--- FAIL: FuzzX (5.00s)\n    context deadline exceeded\nFAIL\n"))
	require.False(t, onlyTimeUp("--- FAIL: FuzzX (5.00s)\n    --- FAIL: FuzzX (0.00s)\n        x_test.go:1: context deadline exceeded\n    \n    Failing input written to testdata/fuzz/FuzzX/1\n"))
	require.False(t, onlyTimeUp("--- FAIL: FuzzX (0.01s)\n    fuzzing process hung or terminated unexpectedly: exit status 2\nFAIL\n"))
}

func TestShares(t *testing.T) {
	got := shares([]float64{1, 1, 2}, 40*time.Second)
	require.Equal(t, []time.Duration{40 * time.Second / 3, 40 * time.Second / 3, 40 * time.Second / 3}, roundish(got), "none above a third")
	rates := make([]float64, 20)
	for i := range rates {
		rates[i] = 1
	}
	rates[0] = 1000
	got = shares(rates, 80*time.Second)
	require.Equal(t, 10*time.Second, got[0])
	sum := time.Duration(0)
	for _, d := range got {
		sum += d
	}
	require.InDelta(t, 80, sum.Seconds(), 0.01)
	require.Equal(t, make([]time.Duration, 3), shares(make([]float64, 3), time.Minute), "nothing ran")
}

// roundish takes rounding away.
func roundish(all []time.Duration) []time.Duration {
	for i := range all {
		if d := all[i] - 40*time.Second/3; d > -time.Microsecond && d < time.Microsecond {
			all[i] = 40 * time.Second / 3
		}
	}
	return all
}

func TestReport(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	entry := func(commit string, cpus int, load float64) ledger.Entry {
		return ledger.Entry{Commit: commit, Date: at, CPUs: cpus, Load: load}
	}
	text := Report([]Result{
		{Entry: entry("old", 0, 0), Target: "a.F", Executions: 5, Seconds: 1},
		{Entry: entry("new", 2, 1), Target: "b.F", Executions: 300, Seconds: 2, Interesting: 4},
		{Entry: entry("new", 2, 3), Target: "b.F", Executions: 100, Seconds: 2, Interesting: 7},
		{Entry: entry("new", 2, 2), Target: "a.F", Executions: 10, Seconds: 1, Findings: 1},
	}, "")
	require.Equal(t, "Commit new, 21 Nov 2026 12:00 to 21 Nov 2026 12:00 UTC, 2 CPUs, load 1 to 3.\n\n"+
		"| target | executions | seconds | a second | corpus | findings |\n|---|---|---|---|---|---|\n"+
		"| a.F | 10 | 1 | 10 | 0 | 1 |\n| b.F | 400 | 4 | 100 | 7 | 0 |\n| **all 2** | 410 | 5 | 82 |  | 1 |\n", text)
	document := filepath.Join(t.TempDir(), "d.md")
	require.NoError(t, os.WriteFile(document, []byte("before\n"+reportBegin+"\nx\n"+reportEnd+"\nafter\n"), 0o600))
	require.NoError(t, ReportInto(document, text))
	got, err := os.ReadFile(document)
	require.NoError(t, err)
	require.Equal(t, "before\n"+reportBegin+"\n"+text+reportEnd+"\nafter\n", string(got))
	require.Error(t, ReportInto(filepath.Join(t.TempDir(), "none"), text))
}
