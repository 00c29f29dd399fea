package faults

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/flagraft/flagraft/e2e/ledger"
)

// Markers of the part of a document that a report replaces.
const (
	reportBegin = "<!-- results: made by go run ./e2e/faults/cmd/faults -report -->"
	reportEnd   = "<!-- end of results -->"
)

// Report makes the tables of a results file: for each number of nodes, and for each
// kind of fault. Only the rounds of one commit count: of the given one, or of that of the last line.
func Report(all []Result, commit string) string {
	rounds, heading := ledger.Of(all, commit)
	if len(rounds) == 0 {
		return "No rounds were played yet.\n"
	}
	var b strings.Builder
	b.WriteString(heading)
	totals(&b, rounds)
	kinds(&b, rounds)
	failures(&b, rounds)
	return b.String()
}

// column sums up some rounds.
type column struct {
	name   string
	rounds []Result
}

func (c column) sum(f func(Result) int) (n int) {
	for _, r := range c.rounds {
		n += f(r)
	}
	return n
}

// failed counts the failures of the checks with these names.
func (c column) failed(checks ...string) int {
	return c.sum(func(r Result) (n int) {
		for _, f := range r.Failures {
			if slices.Contains(checks, f.Check) {
				n++
			}
		}
		return n
	})
}

func (c column) times(f func(Result) []float64) (all []float64) {
	for _, r := range c.rounds {
		all = append(all, f(r)...)
	}
	slices.Sort(all)
	return all
}

// percentile of sorted values, the nearest rank.
func percentile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	return sorted[max(0, int(math.Ceil(p*float64(len(sorted))))-1)]
}

func seconds(sorted []float64) string {
	if len(sorted) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f / %.1f / %.1f s", percentile(sorted, .5), percentile(sorted, .99), sorted[len(sorted)-1])
}

func totals(b *strings.Builder, rounds []Result) {
	by := map[int][]Result{}
	for _, r := range rounds {
		by[r.Nodes] = append(by[r.Nodes], r)
	}
	var columns []column
	for _, n := range slices.Sorted(maps.Keys(by)) {
		columns = append(columns, column{fmt.Sprintf("%d nodes", n), by[n]})
	}
	columns = append(columns, column{"all", rounds})
	row := func(name string, f func(column) string) {
		fmt.Fprintf(b, "| %s |", name)
		for _, c := range columns {
			fmt.Fprintf(b, " %s |", f(c))
		}
		b.WriteString("\n")
	}
	number := func(name string, f func(Result) int) {
		row(name, func(c column) string { return fmt.Sprint(c.sum(f)) })
	}
	found := func(name string, checks ...string) {
		row(name, func(c column) string { return fmt.Sprint(c.failed(checks...)) })
	}
	row("", func(c column) string { return c.name })
	row("---", func(column) string { return "---" })
	row("rounds", func(c column) string { return fmt.Sprint(len(c.rounds)) })
	number("of them with snapshots all the time", func(r Result) int {
		if r.SmallLog {
			return 1
		}
		return 0
	})
	number("rounds with any failure", func(r Result) int { return min(1, len(r.Failures)) })
	number("writes acknowledged", func(r Result) int { return r.Acknowledged })
	number("writes of unknown outcome", func(r Result) int { return r.Unknown })
	found("acknowledged writes lost", "acknowledged write lost")
	found("effects more or less than once", "increments", "exactly once")
	found("state hashes that differ", "state hash")
	number("per-key histories, linearizable", func(r Result) int { return r.Histories })
	number("histories undecided in 30 s", func(r Result) int { return r.Undecided })
	found("histories not linearizable", "linearizability")
	number("writes read back in a session", func(r Result) int { return r.Pairs })
	found("session guarantees broken", "session")
	row("SDK reads on living nodes", func(c column) string {
		return fmt.Sprint(c.sum(func(r Result) int { return r.Reads }))
	})
	row("of them successful", func(c column) string {
		reads, failed := c.sum(func(r Result) int { return r.Reads }), c.sum(func(r Result) int { return r.ReadsFailed })
		return fmt.Sprintf("%.3f %%", 100*float64(reads-failed)/float64(max(1, reads)))
	})
	row("recovery after healing, p50 / p99 / max", func(c column) string {
		return seconds(c.times(func(r Result) []float64 { return []float64{r.Recovery} }))
	})
	row("failover (leader killed), p50 / p99 / max", func(c column) string {
		times := c.times(func(r Result) []float64 { return r.Failovers })
		return fmt.Sprintf("%s (%d)", seconds(times), len(times))
	})
}

func kinds(b *strings.Builder, rounds []Result) {
	by := map[string][]Result{}
	for _, r := range rounds {
		names := slices.Clone(r.Faults)
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			by[name] = append(by[name], r)
		}
	}
	b.WriteString("\n| fault | rounds with it | failed | recovery p50 / p99 / max |\n|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(by)) {
		c := column{name, by[name]}
		fmt.Fprintf(b, "| %s | %d | %d | %s |\n", name, len(c.rounds), c.sum(func(r Result) int { return min(1, len(r.Failures)) }),
			seconds(c.times(func(r Result) []float64 { return []float64{r.Recovery} })))
	}
}

func failures(b *strings.Builder, rounds []Result) {
	for _, r := range rounds {
		times := map[string]int{}
		for _, f := range r.Failures {
			times[f.Check]++
		}
		for _, check := range slices.Sorted(maps.Keys(times)) {
			fmt.Fprintf(b, "\n- %d nodes, seed %d, round %d (%s): %s, %d times", r.Nodes, r.Seed, r.Round, strings.Join(r.Faults, ", "), check, times[check])
		}
	}
	if strings.HasSuffix(b.String(), "|\n") {
		return
	}
	b.WriteString("\n")
}

// ReportInto replaces the report between its markers in a document.
func ReportInto(name, report string) error {
	return ledger.Into(name, reportBegin, reportEnd, report)
}
