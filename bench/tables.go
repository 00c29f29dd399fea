package bench

import (
	"fmt"
	"strconv"
)

// tables are all tables of a report; those without rows are left out.
func (r *Report) tables() (out []*table) {
	all := []*table{r.targetTable(), r.edgeTable(), r.engineTable(), r.floorTable(), r.latencyTable(), r.writeTable(), r.figureTable(), r.largeTable(), r.conditionTable()}
	if r.scales() {
		all = append(r.scaleTables(), r.conditionTable())
	}
	for _, t := range all {
		if len(t.rows) > 0 {
			out = append(out, t)
		}
	}
	return out
}

func (r *Report) targetTable() *table {
	t := &table{title: "Targets", head: []string{"goal", "found", "so"}}
	for _, g := range r.Targets {
		mark := "**not met**"
		if g.Met {
			mark = "met"
		}
		t.add(g.Goal, g.Found, mark)
	}
	return t
}

func (r *Report) floorTable() *table {
	t := &table{
		title: "Beside the floor, closed loop",
		note: "The floor is a bare fasthttp handler in a process of its own, with the same server settings, that writes the bytes of a recorded " +
			"answer. Its time limits and its sockets are left to fasthttp and Go; a node's connections see to both themselves, and do not read the head of a " +
			"request anew that is equal to an earlier one (ADR 15): all heads of the generator are. CPU is the server's user and system time per request in microseconds: the gate. Throughput shares two cores with the generator, so small costs hide in it. Ratios are flagraft over floor: median of the turns, with the smallest and largest. Objects are " +
			"those the whole process allocated.",
		head: []string{"", "req/s", "floor", "ratio", "CPU µs", "floor", "ratio", "objects/req", "GC share"},
	}
	for _, s := range r.Scenarios {
		if len(s.Floor) > 0 && s.Rate == 0 {
			t.add(s.Title, count(medianOf(s.Flagraft, perSecond)), count(medianOf(s.Floor, perSecond)), ratioText(s.ratios(perSecond)),
				fix(medianOf(s.Flagraft, cpu), 1), fix(medianOf(s.Floor, cpu), 1), ratioText(s.ratios(cpu)),
				fix(medianOf(s.Flagraft, func(s *Sample) float64 { return s.Allocs }), 3), share(s))
		}
	}
	return t
}

func (r *Report) latencyTable() *table {
	tails := Config{Runs: r.Runs}.tails()
	t := &table{
		title: "Latency, open loop",
		note: "Requests fall due at a fixed rate, half of the peak above, and a latency counts from the moment a request was due. Milliseconds, medians " +
			"of the runs; the ratio is that of the 99.9th percentile. The few requests that it is made of met a stall of the machine, more often than not: there are " +
			strconv.Itoa(tails) + " runs.",
		head: []string{"", "req/s", "p50", "p99", "p99.9", "floor p50", "p99", "p99.9", "ratio"},
	}
	for _, s := range r.Scenarios {
		if len(s.Floor) > 0 && s.Rate > 0 {
			f, g := latencies(s.Flagraft), latencies(s.Floor)
			t.add(s.Title, count(s.Rate), f[0], f[1], f[2], g[0], g[1], g[2], ratioText(s.ratios(p999)))
		}
	}
	return t
}

func latencies(s []Sample) [3]string {
	return [3]string{fix(medianOf(s, func(s *Sample) float64 { return s.P50 }), 2), fix(medianOf(s, p99), 2), fix(medianOf(s, p999), 2)}
}

func (r *Report) writeTable() *table {
	t := &table{
		title: "Writes, answered after commit",
		note: "Every answer means: a majority of the nodes has the entry on disk, and the node that answers has applied it. Connections are spread over the " +
			"nodes; all nodes, their logs, and the generator share the machine. `fsync` is the mean time of storing log entries in that run: compare rates " +
			"only beside it. Unstored are requests that got their flags, but not within the time that is waited for a commit: they do not count. CPU is that of all nodes per identity. Latencies are of requests.",
		head: []string{"", "nodes", "conns", "loop", "identities/s", "min–max", "unstored", "p50 ms", "p99 ms", "CPU µs", "fsync ms", "identities/fsync", "GC share"},
	}
	for _, s := range r.Scenarios {
		if !s.Writes || len(s.Flagraft) == 0 {
			continue
		}
		loop := "closed"
		if s.Rate > 0 {
			loop = "open"
		}
		v, l := spreadOf(s.Flagraft, perSecond), latencies(s.Flagraft)
		t.add(s.Title, strconv.Itoa(s.Nodes), strconv.Itoa(s.Conns), loop, count(v.Median), count(v.Min)+"–"+count(v.Max), unstored(s.Flagraft), l[0], l[1], fix(medianOf(s.Flagraft, cpu), 1),
			fix(medianOf(s.Flagraft, func(s *Sample) float64 { return s.StoreMillis }), 2), count(medianOf(s.Flagraft, s.perStore)), share(s))
	}
	return t
}

func (r *Report) largeTable() *table {
	t := &table{
		title: "A large project",
		note: fmt.Sprintf("Three nodes with %s features, %s environments, %s segments, %s overrides in each environment and %s identities in one. %d requests of a kind, one after the other, "+
			"the nodes in turn, milliseconds as the client sees them; a toggle counts from the moment its write is sent, with the nodes asked again every millisecond.",
			count(float64(r.Large.Features)), count(float64(r.Large.Environments)), count(float64(r.Large.Segments)), count(float64(r.Large.Overrides)), count(float64(r.Large.Identities)), listTurns),
		head: []string{"", "p50", "p99", "max", "goal", "bytes"},
	}
	for _, x := range r.Timings {
		t.add(x.What, fix(x.percentile(0.5), 1), fix(x.percentile(0.99), 1), fix(x.percentile(1), 1), fix(x.Bound, 0), count(float64(x.Bytes)))
	}
	return t
}

func (r *Report) conditionTable() *table {
	t := &table{
		title: "Conditions",
		note:  "Medians of the runs: cores used by the servers, by the generator and by everybody else, the load average, and resident memory of the nodes.",
		head:  []string{"", "conns", "side", "server cores", "generator", "others", "load", "RSS MB"},
	}
	for _, s := range r.Scenarios {
		for _, side := range []struct {
			name    string
			samples []Sample
		}{{"flagraft", s.Flagraft}, {"floor", s.Floor}, {"edge", s.Peer}} {
			if len(side.samples) == 0 {
				continue
			}
			m := func(f figure, digits int) string { return fix(medianOf(side.samples, f), digits) }
			t.add(s.Name, strconv.Itoa(s.Conns), side.name, m(func(s *Sample) float64 { return s.ServerCores }, 2), m(func(s *Sample) float64 { return s.GeneratorCores }, 2),
				m(func(s *Sample) float64 { return s.OtherCores }, 2), m(func(s *Sample) float64 { return s.Load }, 1), m(func(s *Sample) float64 { return s.RSS }, 0))
		}
	}
	return t
}

// unstored is the share of requests that were answered without a commit.
func unstored(samples []Sample) string {
	var all, not int
	for i := range samples {
		all += samples[i].Requests
		not += samples[i].Unstored
	}
	return fmt.Sprintf("%.2f %%", 100*float64(not)/float64(max(1, all)))
}

// perStore is how many items one fsync of a node covers.
func (s *Scenario) perStore(m *Sample) float64 {
	if m.StoresPerSecond == 0 {
		return 0
	}
	return m.PerSecond * float64(s.Nodes) / m.StoresPerSecond
}

func share(s *Scenario) string {
	return percent(medianOf(s.Flagraft, func(s *Sample) float64 { return s.GCShare }))
}

func percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

func fix(v float64, digits int) string { return strconv.FormatFloat(v, 'f', digits, 64) }

// count writes a whole number with commas.
func count(v float64) string {
	s := strconv.FormatInt(int64(v+0.5), 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
