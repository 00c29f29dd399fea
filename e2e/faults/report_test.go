package faults

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/ledger"
)

// TestReport: results go through the file unchanged; the report counts one commit's rounds and replaces the one before.
func TestReport(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "results.jsonl")
	want := []Result{
		{Entry: ledger.Entry{Commit: "old"}, Nodes: 3, Faults: []string{"clock"}},
		{Entry: ledger.Entry{Commit: "new", Date: time.Unix(0, 0).UTC()}, Nodes: 3, Faults: []string{"clock", "clock"}, Histories: 6, Acknowledged: 100, Reads: 1000, Recovery: 1},
		{Entry: ledger.Entry{Commit: "new", Date: time.Unix(60, 0).UTC()}, Nodes: 5, Faults: []string{"loss"}, Histories: 5, Reads: 999, ReadsFailed: 1, Recovery: 3, Failovers: []float64{2},
			Failures: []Failure{{"linearizability", "key"}, {"SDK read", "x"}}},
	}
	for _, r := range want {
		require.NoError(t, ledger.Append(file, r))
	}
	got, err := ReadResults(file)
	require.NoError(t, err)
	require.Equal(t, want[1:], got[1:])
	report := Report(got, "")
	for _, line := range []string{
		"| rounds | 1 | 1 | 2 |", "| rounds with any failure | 0 | 1 | 1 |", "| per-key histories, linearizable | 6 | 5 | 11 |",
		"| histories not linearizable | 0 | 1 | 1 |", "| of them successful | 100.000 % | 99.900 % | 99.950 % |",
		"| recovery after healing, p50 / p99 / max | 1.0 / 1.0 / 1.0 s | 3.0 / 3.0 / 3.0 s | 1.0 / 3.0 / 3.0 s |",
		"| clock | 1 | 0 | 1.0 / 1.0 / 1.0 s |", "| loss | 1 | 1 | 3.0 / 3.0 / 3.0 s |",
	} {
		require.Contains(t, report, line+"\n")
	}
	document := filepath.Join(dir, "doc.md")
	require.NoError(t, os.WriteFile(document, []byte("before\n"+reportBegin+"\nold\n"+reportEnd+"\nafter\n"), 0o600))
	for range 2 {
		require.NoError(t, ReportInto(document, report))
	}
	text, err := os.ReadFile(document)
	require.NoError(t, err)
	require.Equal(t, "before\n"+reportBegin+"\n"+report+reportEnd+"\nafter\n", string(text))
	require.Error(t, ReportInto(file, report), "there is no place for it")
}

// TestSchedulesRepeat: a seed gives one schedule.
func TestSchedulesRepeat(t *testing.T) {
	describe := func(seed int64) (all []string) {
		draw := source(seed)
		for range 50 {
			for _, s := range Schedule(draw, Kinds(), nil) {
				all = append(all, s.String())
			}
		}
		return all
	}
	first, again := describe(5), describe(5)
	require.Equal(t, first, again)
	require.NotEqual(t, describe(5), describe(6))
}
