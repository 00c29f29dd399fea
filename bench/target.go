package bench

import (
	"fmt"
	"slices"
)

// Target is a goal of the project, and whether this run reached it.
type Target struct {
	Goal  string `json:"goal"`
	Found string `json:"found"`
	Met   bool   `json:"met"`
}

// The goals of loads. Those of single figures are in figuregoal.go.
const (
	maxFlagsCPU       = 1.03 // of the floor's CPU time per request
	maxFlagsAllocs    = 0.05 // objects per request, the process's own housekeeping included
	maxNotModifiedCPU = 1    // of the floor's
	minIdentities     = 0.9  // of the floor's throughput
	maxIdentitiesCPU  = 1.25 // of the floor's
	maxTail           = 1.5  // of the floor's 99.9th percentile

	minNew      = 20_000 // identities a second
	maxNewP99   = 60     // ms
	minFollower = 0.8    // of what all nodes take
	minBulk     = 40_000

	maxCommitP50 = 4  // ms, at 20,000 a second
	maxCommitP99 = 40 // ms, at 50,000 a second
	minOfRate    = 0.98

	minAdmin       = 5000 // writes a second by 64 writers
	minAdminFactor = 10   // times the rate of one writer

	minPlain     = 4  // times Unleash Edge, in CPU time per request
	minTargeting = 20 // the same where conditions are many
)

func targets(r *Report) (out []Target) {
	return slices.Concat(r.floorTargets(), r.tailTargets(), r.newTargets(), r.commitTargets(), r.adminTargets(), r.edgeTargets(), r.figureTargets(), r.timingTargets())
}

func atMost(what string, have Spread, want float64) Target {
	return Target{fmt.Sprintf("%s at most %.2f times the floor's", what, want), ratioText(have), have.Median <= want}
}

func (r *Report) floorTargets() (out []Target) {
	for _, s := range r.find(nameFlags) {
		out = append(out, atMost("GET /flags/: CPU time", s.ratios(cpu), maxFlagsCPU))
		a := medianOf(s.Flagraft, func(s *Sample) float64 { return s.Allocs })
		out = append(out, Target{fmt.Sprintf("GET /flags/ through sockets: at most %.2f objects allocated a request", maxFlagsAllocs), fmt.Sprintf("%.3f objects a request in the whole process", a), a <= maxFlagsAllocs})
	}
	for _, s := range r.find(nameNotModified) {
		t := atMost("GET /flags/ with If-None-Match, 304: CPU time", s.ratios(cpu), maxNotModifiedCPU)
		t.Found += fmt.Sprintf(" of a handler that writes the same 304; %s of one that writes the flags", ratioText(ratios(s.Flagraft, s.Beside, cpu)))
		out = append(out, t)
	}
	for _, s := range r.find(nameUnchanged) {
		t := s.ratios(perSecond)
		what := fmt.Sprintf("POST /identities/ unchanged, random of %s: ", count(float64(r.Profile.Identities)))
		out = append(out, Target{fmt.Sprintf("%sat least %.2f times the floor's throughput", what, minIdentities), ratioText(t), t.Median >= minIdentities},
			atMost(what+"CPU time", s.ratios(cpu), maxIdentitiesCPU))
	}
	return out
}

// tailTargets are about half the peak rate, alone and while the node does something else.
func (r *Report) tailTargets() (out []Target) {
	for _, name := range append(variants(nameFlags)[1:], variants(nameUnchanged)[1:]...) {
		for _, s := range r.find(name) {
			t := atMost("p99.9 at half the peak, "+s.Title+":", s.ratios(p999), maxTail)
			if len(s.Beside) > 0 {
				t.Found += fmt.Sprintf("; %s of the floor's beside a node that does the same", ratioText(ratios(s.Flagraft, s.Beside, p999)))
			}
			out = append(out, t)
		}
	}
	return out
}

func (r *Report) newTargets() (out []Target) {
	if s := fastest(r.find(nameNew)); s != nil {
		out = append(out, newTarget("new identities, three nodes, one a request", s, minNew))
	}
	for _, s := range r.find(nameFollower) {
		v := ratios(s.Flagraft, s.Beside, perSecond)
		out = append(out, Target{fmt.Sprintf("new identities through one follower: at least %.2f of what all nodes take", minFollower), ratioText(v), v.Median >= minFollower},
			newTarget("new identities through one follower", s, minFollower*minNew))
	}
	if s := fastest(r.find(nameBulk)); s != nil {
		v := spreadOf(s.Flagraft, perSecond)
		out = append(out, Target{fmt.Sprintf("new identities, three nodes, 100 a request: at least %s a second", count(minBulk)), rateText(s), v.Median >= minBulk})
	}
	return out
}

func newTarget(what string, s *Scenario, want float64) Target {
	rate, late := medianOf(s.Flagraft, perSecond), medianOf(s.Flagraft, p99)
	return Target{fmt.Sprintf("%s: at least %s a second at p99 of at most %d ms", what, count(want), maxNewP99),
		fmt.Sprintf("%s, p99 %.1f ms", rateText(s), late), rate >= want && late <= maxNewP99}
}

// fastest is the scenario with the highest throughput, of those that keep the goal of the 99th percentile if any does.
func fastest(list []*Scenario) (best *Scenario) {
	late := func(s *Scenario) bool { return s.Items <= 1 && medianOf(s.Flagraft, p99) > maxNewP99 }
	for _, s := range list {
		if s.Rate == 0 && (best == nil || late(best) && !late(s) || late(best) == late(s) && medianOf(s.Flagraft, perSecond) > medianOf(best.Flagraft, perSecond)) {
			best = s
		}
	}
	return best
}

func rateText(s *Scenario) string {
	v := spreadOf(s.Flagraft, perSecond)
	return fmt.Sprintf("%.0f (%.0f–%.0f) with %d connections", v.Median, v.Min, v.Max, s.Conns)
}

func (r *Report) commitTargets() (out []Target) {
	list := r.find(nameCommit)
	for _, s := range list {
		name, figure, want := "p50", figure(p50), float64(maxCommitP50)
		if len(list) > 1 && s == list[len(list)-1] { // the higher rate
			name, figure, want = "p99", p99, maxCommitP99
		}
		v, rate := spreadOf(s.Flagraft, figure), medianOf(s.Flagraft, perSecond)
		out = append(out, Target{fmt.Sprintf("commit path alone, open loop of %s a second: %s at most %.0f ms", count(s.Rate), name, want),
			fmt.Sprintf("%.1f (%.1f–%.1f) ms at %s a second, %s unstored", v.Median, v.Min, v.Max, count(rate), unstored(s.Flagraft)),
			v.Median <= want && rate >= minOfRate*s.Rate})
	}
	return out
}

func (r *Report) adminTargets() (out []Target) {
	var one, many *Scenario
	for _, s := range r.find(nameAdmin) {
		if s.Conns == oneWriter {
			one = s
		} else {
			many = s
		}
	}
	if one == nil || many == nil {
		return nil
	}
	v, factor := spreadOf(many.Flagraft, perSecond), ratios(many.Flagraft, one.Flagraft, perSecond)
	return []Target{
		{fmt.Sprintf("admin writes by %d writers through one node: at least %s a second", many.Conns, count(minAdmin)), rateText(many), v.Median >= minAdmin},
		{fmt.Sprintf("admin writes by %d writers: at least %d times the rate of one", many.Conns, minAdminFactor), ratioText(factor), factor.Median >= minAdminFactor},
	}
}

func (r *Report) edgeTargets() (out []Target) {
	for _, e := range []struct {
		name, what string
		want       float64
	}{
		{namePeerFlags, "plain flags, on or off", minPlain}, {namePeerValues, "plain flags with values", minPlain}, {namePeerTargeting, "targeting", minTargeting},
	} {
		for _, s := range r.find(e.name) {
			c, t := ratios(s.Peer, s.Flagraft, cpu), ratios(s.Flagraft, s.Peer, perSecond)
			out = append(out, Target{fmt.Sprintf("%s: Unleash Edge takes at least %.0f times the CPU time", e.what, e.want),
				fmt.Sprintf("%s; flagraft's throughput is %s times as high", ratioText(c), ratioText(t)), c.Median >= e.want})
		}
	}
	return out
}

func (r *Report) timingTargets() (out []Target) {
	for _, t := range r.Timings {
		p := t.percentile(0.99)
		out = append(out, Target{fmt.Sprintf("large project, %s: p99 at most %.0f ms", t.What, t.Bound), fix(p, 1) + " ms", p <= t.Bound})
	}
	return out
}

func ratioText(s Spread) string { return fmt.Sprintf("%.2f (%.2f–%.2f)", s.Median, s.Min, s.Max) }
