package fuzz

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flagraft/flagraft/e2e/ledger"
)

// Markers of the part of a document that a report replaces.
const (
	reportBegin = "<!-- fuzz: made by go run ./e2e/cmd/fuzz -report -->"
	reportEnd   = "<!-- end of fuzz -->"
)

// Report makes the table of a results file. Only the runs of one commit count: of the given one, or of that of the last line.
func Report(all []Result, commit string) string {
	runs, heading := ledger.Of(all, commit)
	if len(runs) == 0 {
		return "No campaign was run yet.\n"
	}
	sums, total := map[string]Result{}, Result{}
	for _, r := range runs {
		sums[r.Target] = sums[r.Target].plus(r)
		total = total.plus(r)
	}
	var b strings.Builder
	b.WriteString(heading)
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
	return ledger.Into(name, reportBegin, reportEnd, report)
}
