package bench

import (
	"slices"
)

// along are the scenarios of an axis, by value and line.
func (r *Report) along(axis string) (values []int, at map[Point]*Scenario) {
	at = map[Point]*Scenario{}
	for _, s := range r.Scenarios {
		if s.Point == nil || s.Point.Axis != axis || len(s.Flagraft) == 0 {
			continue
		}
		if !slices.Contains(values, s.Point.Value) {
			values = append(values, s.Point.Value)
		}
		at[*s.Point] = s
	}
	return values, at
}

func (r *Report) scales() bool {
	return slices.ContainsFunc(r.Scenarios, func(s *Scenario) bool { return s.Point != nil })
}

// scaleTables are a table for each axis.
func (r *Report) scaleTables() (out []*table) {
	for _, a := range axes {
		t := &table{
			title: "As " + a.name + " grow",
			note: "CPU µs of the server per request, median of the turns; the floor repeats an answer of the same bytes in the same turn, so what it takes is the price of the " +
				"bytes. Everything but the number of " + a.name + " is as in the data above.\n\n![" + a.name + "](" + plotFile(a.name) + ")",
			head: []string{a.name, lineFlags, "floor", lineUnchanged, "floor", lineTransient, "floor"},
		}
		values, at := r.along(a.name)
		for _, n := range values {
			row := []string{count(float64(n))}
			for _, line := range []string{lineFlags, lineUnchanged, lineTransient} {
				if s := at[Point{a.name, n, line}]; s != nil {
					row = append(row, fix(medianOf(s.Flagraft, cpu), 1), fix(medianOf(s.Floor, cpu), 1))
				} else {
					row = append(row, "", "")
				}
			}
			t.add(row...)
		}
		out = append(out, t)
	}
	t := &table{
		title: "As nodes grow",
		note: "New identities posted to all nodes in turn by 256 connections, answered after a majority has them on disk. All nodes share the cores and the disk of this machine, " +
			"so the rate can only fall; CPU is that of all nodes per identity.\n\n![nodes](" + plotFile(axisNodes.name) + ")",
		head: []string{"nodes", "identities/s", "CPU µs", "p99 ms", "fsync ms"},
	}
	values, at := r.along(axisNodes.name)
	for _, n := range values {
		m := func(f figure, digits int) string {
			return fix(medianOf(at[Point{axisNodes.name, n, lineNew}].Flagraft, f), digits)
		}
		t.add(count(float64(n)), m(perSecond, 0), m(cpu, 1), m(p99, 1), m(func(s *Sample) float64 { return s.StoreMillis }, 2))
	}
	return append(out, t)
}

func plotFile(axis string) string { return "performance-" + axis + ".svg" }

// Plots are pictures of the CPU time per request along each axis, by file name.
func (r *Report) Plots() map[string][]byte {
	out := map[string][]byte{}
	for _, a := range append(slices.Clone(axes), axisNodes) {
		values, at := r.along(a.name)
		if len(values) < 2 {
			continue
		}
		p := plot{title: "CPU per request, microseconds", unit: a.name}
		for _, n := range values {
			p.at = append(p.at, count(float64(n)))
		}
		for _, line := range []string{lineFlags, lineUnchanged, lineTransient, lineNew} {
			var ours, floor []float64
			for _, n := range values {
				if s := at[Point{a.name, n, line}]; s != nil {
					ours = append(ours, medianOf(s.Flagraft, cpu))
					floor = append(floor, medianOf(s.Floor, cpu))
				}
			}
			if len(ours) < len(values) {
				continue
			}
			p.lines = append(p.lines, plotLine{line, ours, false})
			if line == lineFlags || line == lineUnchanged {
				p.lines = append(p.lines, plotLine{line + ": floor", floor, true})
			}
		}
		out[plotFile(a.name)] = p.svg()
	}
	return out
}
