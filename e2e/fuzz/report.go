package fuzz

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
)

// Markers of the part of a document that a report replaces.
const (
	reportBegin = "<!-- fuzz: made by go run ./e2e/cmd/fuzz -report -->"
	reportEnd   = "<!-- end of fuzz -->"
)

// Report makes the table of a results file. Only the runs of one commit count: of the given one, or of that of the last line.
func Report(all []Result, commit string) string {
	if commit == "" && len(all) > 0 {
		commit = all[len(all)-1].Commit
	}
	var runs []Result
	for _, r := range all {
		if strings.HasPrefix(r.Commit, commit) {
			runs = append(runs, r)
		}
	}
	if len(runs) == 0 {
		return "No campaign was run yet.\n"
	}
	first, last := runs[0], runs[len(runs)-1]
	low, high := math.Inf(1), 0.0
	sums := map[string]Result{}
	total := Result{}
	for _, r := range runs {
		low, high = min(low, r.Load), max(high, r.Load)
		sums[r.Target] = sums[r.Target].plus(r)
		total = total.plus(r)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Commit %s, %s to %s UTC, %d CPUs, load %.0f to %.0f.\n\n", last.Commit,
		first.Date.Format("2 Jan 2006 15:04"), last.Date.Format("2 Jan 2006 15:04"), last.CPUs, low, high)
	b.WriteString("| target | executions | seconds | a second | corpus | findings |\n|---|---|---|---|---|---|\n")
	row := func(name string, r Result, corpus string) {
		fmt.Fprintf(&b, "| %s | %d | %.0f | %.0f | %s | %d |\n", name, r.Executions, r.Seconds, r.Rate(), corpus, r.Findings)
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		row(name, sums[name], fmt.Sprint(sums[name].Interesting))
	}
	row(fmt.Sprintf("**all %d**", len(sums)), total, "")
	return b.String()
}

// plus adds a later run.
func (r Result) plus(o Result) Result {
	r.Executions += o.Executions
	r.Seconds += o.Seconds
	r.Findings += o.Findings
	r.Interesting = o.Interesting
	return r
}

// ReportInto replaces the report between its markers in a document.
func ReportInto(name, report string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	before, rest, found := bytes.Cut(text, []byte(reportBegin))
	_, after, ended := bytes.Cut(rest, []byte(reportEnd))
	if !found || !ended {
		return fmt.Errorf("%s has no place for results: %s … %s", name, reportBegin, reportEnd)
	}
	return os.WriteFile(name, slices.Concat(before, []byte(reportBegin+"\n"+report), []byte(reportEnd), after), 0o644)
}
