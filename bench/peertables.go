package bench

import (
	"bytes"
	"fmt"
)

func (r *Report) besidePeers() bool { return r.Edge != "" || len(r.Engines) > 0 }

func (r *Report) heading() string {
	switch {
	case r.besidePeers():
		return "Performance beside others"
	case r.scales():
		return "Performance as sizes grow"
	}
	return "Performance"
}

func (r *Report) edgeTable() *table {
	t := &table{
		title: "Beside Unleash Edge " + r.Edge + ", closed loop",
		note: "CPU is the server's user and system time per request in microseconds: the gate. Ratios say how many times better flagraft is: median of the " +
			"turns, with the smallest and largest. An answer that is not 2xx ends the run. Both servers and the generator share the cores.",
		head: []string{"", "req/s", "Edge", "ratio", "CPU µs", "Edge", "ratio", "p99 ms", "Edge", "bytes", "Edge"},
	}
	for _, s := range r.Scenarios {
		if len(s.Peer) > 0 {
			f, e := latencies(s.Flagraft), latencies(s.Peer)
			t.add(s.Title, count(medianOf(s.Flagraft, perSecond)), count(medianOf(s.Peer, perSecond)), ratioText(ratios(s.Flagraft, s.Peer, perSecond)),
				fix(medianOf(s.Flagraft, cpu), 1), fix(medianOf(s.Peer, cpu), 1), ratioText(ratios(s.Peer, s.Flagraft, cpu)),
				f[1], e[1], count(float64(s.Bytes)), count(float64(s.PeerBytes)))
		}
	}
	return t
}

func (r *Report) engineTable() *table {
	t := &table{
		title: "Evaluation alone, one core",
		note: fmt.Sprintf("One environment and an identity of each of %d kinds, in turn. Evaluations in a second of the process's CPU time, its garbage collector included; "+
			"the ratio says how many times as many the first row has in the same turn.", r.Profile.Kinds()),
		head: []string{"", "evaluations/s", "min–max", "µs", "ratio"},
	}
	for _, e := range r.Engines {
		if len(e.PerSecond) == 0 {
			continue
		}
		v := spread(e.PerSecond)
		t.add(e.Name, count(v.Median), count(v.Min)+"–"+count(v.Max), fix(1e6/v.Median, 2), ratioText(turnRatios(r.Engines[0].PerSecond, e.PerSecond)))
	}
	return t
}

func turnRatios(some, others []float64) Spread {
	var values []float64
	for i := range min(len(some), len(others)) {
		values = append(values, some[i]/others[i])
	}
	return spread(values)
}

// fairness says what is equal and what is not.
func (r *Report) fairness(w *bytes.Buffer, heading string) {
	list := func(title string, items []string) {
		fmt.Fprintf(w, "\n%s%s\n\n", heading, title)
		for _, item := range items {
			fmt.Fprintf(w, "- %s\n", item)
		}
	}
	if r.Edge != "" {
		list("What is equal beside Unleash Edge", edgeEqual)
		list("What is not equal beside Unleash Edge", edgeUnequal)
	}
	if len(r.Engines) > 0 {
		list("What is equal beside other engines", engineEqual)
		list("What is not equal beside other engines", engineUnequal)
	}
}

var (
	edgeEqual = []string{
		"The flags: Edge's bootstrap file is made of the environment document of the node that is measured. A condition is a constraint with one value, an override a " +
			"strategy with its segment and a variant with its value. Before anything is measured both are asked for an identity of each kind, and every flag must be the same.",
		"The work of GET: every flag of the environment, on or off. That is `/api/frontend/all`; `/api/client/features` hands out definitions, as Flagsmith's environment document does.",
		"The work of POST: one identity with 15 traits as sent, and its flags. Both are asked for the same random identities, evenly of each kind: in one segment, or in none.",
		"The load: one process each, a worker for each core, the same generator and connections, HTTP/1.1 over loopback, nothing compressed.",
	}
	edgeUnequal = []string{
		"flagraft stores identities: it finds the one that is asked for, compares its traits with those that are stored, would replicate a change, and answers with the traits. Edge evaluates what it is sent and keeps nothing.",
		"flagraft answers from what it prepared when the flags last changed: GET is one body, and an identity that repeats its stored traits gets the flags it got before, without evaluation. Edge evaluates and writes JSON on every request, also where nothing changed. " +
			"A transient identity is evaluated on every request, as Edge does it, and nothing is compared or stored: that row is nearest to equal work.",
		"flagraft's answers are longer: they carry Flagsmith's fields, values of flags that are off, and traits. Edge's POST leaves out flags that are off (half of them, for one identity in 16). In the first row Edge's flags have no values, flagraft's always do.",
		"Edge counts every evaluation of every flag, for its metrics; flagraft counts requests.",
		"Edge runs offline with its settings as they come, but for the number of workers; flagraft is a cluster of one node with its log on disk, which these requests do not touch.",
	}
	engineEqual = []string{
		"The context: the same JSON for all, made of the node's environment document. Results (each flag's state, value and reason, and the matching segments) are compared before anything is measured.",
		"Reading the JSON is not counted. One thread evaluates.",
	}
	engineUnequal = []string{
		"\"Compiled once\" is how the server works: the environment is compiled when it changes, and an evaluation sets the traits and leaves places in tables, not a result with texts. \"From context to result\" is the same call as the other engines have: it compiles each time.",
		"The other engines are libraries that read the context as it is, each time.",
	}
)
