package bench

import "fmt"

// figureGoal is the goal of a figure.
type figureGoal struct {
	name    string  // of the scenario; with markHuge behind it: of that one only
	kind    string  // of the figure
	want    float64 // at most
	atLeast bool    // at least instead
	worst   bool    // the largest of all runs counts, not the median
}

// The goals of single figures.
var figureGoals = []figureGoal{
	{name: nameRequest, kind: whatRequest, want: 5},
	{name: nameRequest, kind: whatRequest + whatAllocs, want: noAllocation},
	{name: nameRequest, kind: whatFlags + whatAllocs, want: noAllocation},
	{name: nameEvaluation, kind: whatEvaluation, want: 0.6},
	{name: nameEvaluation, kind: whatHashes, want: 12},
	{name: nameImport, kind: whatImport, want: 40},
	{name: nameMemory, kind: whatAtRest, want: 180},
	{name: nameMemory, kind: whatSnapshot, want: 400},
	{name: nameMemory + "-" + markHuge, kind: whatAtRest, want: 1600},
	{name: nameMemory + "-" + markHuge, kind: whatSnapshot, want: 3000},
	{name: nameStore, kind: whatFreeze, want: 0.1},
	{name: nameStore, kind: whatPut, want: 5, worst: true},
	{name: nameStore + "-" + markHuge, kind: whatFreeze, want: 0.1},
	{name: nameStore + "-" + markHuge, kind: whatPut, want: 5, worst: true},
	{name: nameStore + "-" + markHuge, kind: whatGC, want: 10},
	{name: nameRestore, kind: whatRestore, want: 2_000_000, atLeast: true},
	{name: nameRestore + "-" + markHuge, kind: whatRestore, want: 2_000_000, atLeast: true},
	{name: nameStartUp, kind: whatStartUp, want: 3},
	{name: nameView, kind: whatView50, want: 8},
	{name: nameView, kind: whatView99, want: 25},
}

// noAllocation is less than one object in a hundred requests: a node in this process has clocks of its own.
const noAllocation = 0.01

func (r *Report) figureTargets() (out []Target) {
	for _, g := range figureGoals {
		for _, f := range r.Figures {
			if f.Name == g.name && f.Kind == g.kind {
				out = append(out, g.target(f))
			}
		}
	}
	return out
}

func (g *figureGoal) target(f *Figure) Target {
	s, bound := f.spread(), "at most"
	have := s.Median
	if g.worst {
		have = s.Max
	}
	met := have <= g.want
	if g.atLeast {
		bound, met = "at least", have >= g.want
	}
	found := fmt.Sprintf("%s (%s–%s)", short(s.Median), short(s.Min), short(s.Max))
	if f.Note != "" {
		found += "; " + f.Note
	}
	return Target{fmt.Sprintf("%s: %s %s %s", f.What, bound, short(g.want), f.Unit), found, met}
}
