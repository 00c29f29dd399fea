package bench

import "fmt"

// Target is a goal of the project, and whether this run reached it.
type Target struct {
	Goal  string `json:"goal"`
	Found string `json:"found"`
	Met   bool   `json:"met"`
}

// The goals.
const (
	maxFlagsCPU     = 1.1  // of the floor's CPU time per request
	maxFlagsAllocs  = 0.05 // objects per request, the process's own housekeeping included
	minIdentities   = 0.8  // of the floor's throughput
	minNew, minBulk = 10_000, 20_000
	minPlain        = 4  // times Unleash Edge, in CPU time per request
	minTargeting    = 20 // the same where conditions are many
)

func targets(r *Report) (out []Target) {
	for _, s := range r.find(nameFlags) {
		c := s.ratios(cpu)
		out = append(out, Target{fmt.Sprintf("GET /flags/: at most %.2f times the floor's CPU time", maxFlagsCPU), ratioText(c), c.Median <= maxFlagsCPU})
		a := medianOf(s.Flagraft, func(s *Sample) float64 { return s.Allocs })
		out = append(out, Target{"GET /flags/: no allocation", fmt.Sprintf("%.3f objects a request in the whole process", a), a <= maxFlagsAllocs})
	}
	for _, s := range r.find(nameUnchanged) {
		t := s.ratios(perSecond)
		out = append(out, Target{fmt.Sprintf("POST /identities/ unchanged: at least %.2f times the floor's throughput", minIdentities), ratioText(t), t.Median >= minIdentities})
	}
	best := func(name, what string, want float64) {
		var found *Scenario
		for _, s := range r.find(name) {
			if found == nil || medianOf(s.Flagraft, perSecond) > medianOf(found.Flagraft, perSecond) {
				found = s
			}
		}
		if found != nil {
			v := spreadOf(found.Flagraft, perSecond)
			out = append(out, Target{fmt.Sprintf("%s: at least %.0f identities a second", what, want),
				fmt.Sprintf("%.0f (%.0f–%.0f) with %d connections", v.Median, v.Min, v.Max, found.Conns), v.Median >= want})
		}
	}
	best(nameNew, "new identities, three nodes, one a request", minNew)
	best(nameBulk, "new identities, three nodes, 100 a request", minBulk)
	edge := func(name, what string, want float64) {
		for _, s := range r.find(name) {
			c, t := ratios(s.Peer, s.Flagraft, cpu), ratios(s.Flagraft, s.Peer, perSecond)
			out = append(out, Target{fmt.Sprintf("%s: Unleash Edge takes at least %.0f times the CPU time", what, want),
				fmt.Sprintf("%s; flagraft's throughput is %s times as high", ratioText(c), ratioText(t)), c.Median >= want})
		}
	}
	edge(namePeerFlags, "plain flags, on or off", minPlain)
	edge(namePeerValues, "plain flags with values", minPlain)
	edge(namePeerTargeting, "targeting", minTargeting)
	for _, t := range r.Timings {
		p := t.percentile(0.99)
		out = append(out, Target{fmt.Sprintf("large project, %s: p99 at most %.0f ms", t.What, t.Bound), fix(p, 1) + " ms", p <= t.Bound})
	}
	return out
}

func ratioText(s Spread) string { return fmt.Sprintf("%.2f (%.2f–%.2f)", s.Median, s.Min, s.Max) }
