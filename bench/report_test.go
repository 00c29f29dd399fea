package bench

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/bench/load"
	"github.com/flagraft/flagraft/bench/probe"
	"github.com/flagraft/flagraft/bench/seed"
)

func TestSpread(t *testing.T) {
	require.Equal(t, Spread{3, 1, 9}, spread([]float64{9, 1, 3}))
	require.Equal(t, Spread{2.5, 1, 9}, spread([]float64{9, 1, 3, 2}))
	require.Equal(t, Spread{}, spread(nil))
}

// A ratio is taken within a turn: a phase in which everything is slow must not show.
func TestRatiosAreTakenWithinATurn(t *testing.T) {
	s := Scenario{
		Flagraft: []Sample{{PerSecond: 90}, {PerSecond: 9}, {PerSecond: 80}},
		Floor:    []Sample{{PerSecond: 100}, {PerSecond: 10}, {PerSecond: 100}},
	}
	require.Equal(t, Spread{0.9, 0.8, 0.9}, s.ratios(perSecond))
}

func TestSampleOf(t *testing.T) {
	part := func(requests int) outlay {
		r := &load.Result{Requests: requests, Elapsed: 500 * time.Millisecond, Latency: newHistogram(t, 2000), Refused: map[int]int{}}
		return outlay{servers: 500 * time.Millisecond, own: 250 * time.Millisecond, machine: time.Second, wall: time.Second, result: r}
	}
	spent := part(20)
	spent.add(part(30)) // two slices of a run
	before := probe.Counters{Stores: 5, Entries: 5}
	after := probe.Counters{Stores: 15, Entries: 25, StoreTime: 20 * time.Millisecond, Allocs: 100, GC: 250 * time.Millisecond, RSS: 7e6}
	s, err := sampleOf(before, after, spent, 10)
	require.NoError(t, err)
	s.Load = 0
	require.InDelta(t, 2, s.P50, 0.01)
	s.P50, s.P99, s.P999, s.Max = 0, 0, 0, 0
	require.Equal(t, Sample{
		Requests: 50, PerSecond: 500, CPU: 2000, Allocs: 0.2, GCShare: 0.25, StoreMillis: 2, EntriesPerStore: 2, StoresPerSecond: 5,
		ServerCores: 0.5, GeneratorCores: 0.25, OtherCores: 0.25, RSS: 7,
	}, s)
}

func example() *Report {
	floor := []Sample{{PerSecond: 50_000, CPU: 10, P999: 1}}
	r := &Report{Version: "v1", Command: "flagraft-bench -quick", Quick: true, Runs: 1, Seconds: 1, Profile: seed.Default(), Acknowledged: 1234567}
	r.add(&Scenario{Name: nameFlags, Title: "GET /flags/", Conns: 32, Flagraft: []Sample{{PerSecond: 49_000, CPU: 10.5}}, Floor: floor})
	r.add(&Scenario{Name: nameUnchanged, Title: "POST", Conns: 32, Flagraft: []Sample{{PerSecond: 39_000, CPU: 12}}, Floor: floor})
	r.add(&Scenario{Name: nameNotModified, Title: "304", Flagraft: []Sample{{CPU: 10}}, Floor: floor, Beside: floor})
	r.add(&Scenario{Name: nameFlags + "-open", Title: "GET /flags/", Rate: 24_500, Flagraft: []Sample{{P999: 3}}, Floor: floor})
	r.add(&Scenario{Name: nameFlags + "-open-changes", Title: "GET /flags/, while something else is done", Rate: 24_500, Flagraft: []Sample{{P999: 1.5}}, Floor: floor, Beside: floor})
	r.add(&Scenario{Name: nameFollower, Title: "follower", Conns: 512, Writes: true, Flagraft: []Sample{{PerSecond: 16_000, P99: 60}}, Beside: []Sample{{PerSecond: 20_000}}})
	for _, rate := range []float64{20_000, 50_000} {
		r.add(&Scenario{Name: nameCommit, Title: "commit", Rate: rate, Flagraft: []Sample{{PerSecond: rate, P50: 4, P99: 41}}})
	}
	r.add(&Scenario{Name: nameAdmin, Title: "admin", Conns: 1, Flagraft: []Sample{{PerSecond: 501}}})
	r.add(&Scenario{Name: nameAdmin, Title: "admin", Conns: 64, Flagraft: []Sample{{PerSecond: 5000}}})
	r.add(&Scenario{Name: nameNew, Title: "new", Nodes: 3, Conns: 2048, Writes: true, Flagraft: []Sample{{PerSecond: 30_000, P99: 61}}})
	r.add(&Scenario{Name: nameNew, Title: "new", Nodes: 3, Conns: 64, Writes: true, Flagraft: []Sample{{PerSecond: 9_000}}})
	r.add(&Scenario{Name: nameNew, Title: "new", Nodes: 3, Conns: 512, Writes: true, Flagraft: []Sample{{PerSecond: 12_000, StoresPerSecond: 90}}})
	r.finish()
	return r
}

func TestTargets(t *testing.T) {
	r := example()
	so := map[string]bool{}
	for _, target := range r.Targets {
		so[target.Goal] = target.Met
	}
	require.Equal(t, map[string]bool{
		"GET /flags/: CPU time at most 1.03 times the floor's":                                              false,
		"GET /flags/ through sockets: at most 0.05 objects allocated a request":                             true,
		"POST /identities/ unchanged, random of 1,000,000: at least 0.90 times the floor's throughput":      false,
		"POST /identities/ unchanged, random of 1,000,000: CPU time at most 1.25 times the floor's":         true,
		"p99.9 at half the peak, GET /flags/: at most 1.50 times the floor's":                               false,
		"new identities, three nodes, one a request: at least 20,000 a second at p99 of at most 60 ms":      false,
		"new identities through one follower: at least 0.80 of what all nodes take":                         true,
		"new identities through one follower: at least 16,000 a second at p99 of at most 60 ms":             true,
		"GET /flags/ with If-None-Match, 304: CPU time at most 1.00 times the floor's":                      true,
		"commit path alone, open loop of 20,000 a second: p50 at most 4 ms":                                 true,
		"commit path alone, open loop of 50,000 a second: p99 at most 40 ms":                                false,
		"admin writes by 64 writers through one node: at least 5,000 a second":                              true,
		"admin writes by 64 writers: at least 10 times the rate of one":                                     false,
		"p99.9 at half the peak, GET /flags/, while something else is done: at most 1.50 times the floor's": true,
	}, so)
	require.Contains(t, text(t, r), "12000 (12000–12000) with 512 connections", "the best that is in time counts")
}

func text(t *testing.T, r *Report) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, r.Text(&out))
	return out.String()
}

// A goal is looked up by the scenario and the kind of figure, whatever the sizes were.
func TestFigureTargets(t *testing.T) {
	r := &Report{}
	for _, name := range []string{nameStore, nameStore + "-" + markHuge} {
		gc, put := newFigure(name, "ms", whatGC, "7"), newFigure(name, "ms", whatPut, "7")
		gc.Values, put.Values = []float64{12, 9, 8}, []float64{1, 1, 5.5}
		r.Figures = append(r.Figures, gc, put)
	}
	restore := newFigure(nameRestore, "identities/s", whatRestore, "7")
	restore.Values, restore.Note = []float64{1_999_999}, "noted"
	r.Figures = append(r.Figures, restore)
	r.finish()
	require.Equal(t, []Target{
		{"slowest put after Snapshot(), by the clock, 7 identities: at most 5.00 ms", "1.00 (1.00–5.50)", false},
		{"slowest put after Snapshot(), by the clock, 7 identities: at most 5.00 ms", "1.00 (1.00–5.50)", false},
		{"full garbage collection, 7 identities: at most 10.0 ms", "9.00 (8.00–12.0)", true},
		{"restore from a file with checksums and zstd, 7 identities: at least 2,000,000 identities/s", "1,999,999 (1,999,999–1,999,999); noted", false},
	}, r.Targets)
	require.Contains(t, text(t, r), "(noted)")
}

// Ratios beside a peer say how many times better flagraft is, turn by turn.
func TestPeers(t *testing.T) {
	r := &Report{Edge: "19.15.1", Engines: []*EngineScore{{"flagraft", []float64{900, 1000}}, {"Other 1.0", []float64{90, 10}}}}
	r.add(&Scenario{Name: namePeerFlags, Title: "GET", Flagraft: []Sample{{PerSecond: 60, CPU: 10}}, Peer: []Sample{{PerSecond: 12, CPU: 41}}, Bytes: 14_000, PeerBytes: 7000})
	r.add(&Scenario{Name: namePeerTargeting, Title: "POST", Flagraft: []Sample{{PerSecond: 60, CPU: 10}}, Peer: []Sample{{PerSecond: 2, CPU: 199}}})
	r.finish()
	require.Len(t, r.Targets, 2)
	require.Equal(t, Target{"plain flags, on or off: Unleash Edge takes at least 4 times the CPU time", "4.10 (4.10–4.10); flagraft's throughput is 5.00 (5.00–5.00) times as high", true}, r.Targets[0])
	require.False(t, r.Targets[1].Met)
	var text, page bytes.Buffer
	require.NoError(t, r.Text(&text))
	require.NoError(t, r.Markdown(&page))
	for _, want := range []string{"Performance beside others", "19.15.1", "55.00 (10.00–100.00)", "14,000", "stores identities", "each time"} {
		require.Contains(t, text.String(), want)
		require.Contains(t, page.String(), want)
	}
}

func TestForms(t *testing.T) {
	r := example()
	var text, page, data bytes.Buffer
	require.NoError(t, r.Text(&text))
	require.NoError(t, r.Markdown(&page))
	require.NoError(t, r.JSON(&data))
	var back Report
	require.NoError(t, json.Unmarshal(data.Bytes(), &back))
	require.Equal(t, r.Targets, back.Targets)
	for _, want := range []string{"49,000", "0.98 (0.98–0.98)", "1.05 (1.05–1.05)", "not met", "1,234,567", "24,500", "3.00 (3.00–3.00)", "quick form", "400"} {
		require.Contains(t, text.String(), want)
		require.Contains(t, page.String(), want)
	}
	columns := 0
	for line := range strings.Lines(page.String()) {
		if n := strings.Count(line, "|"); n == 0 {
			columns = 0
		} else if columns == 0 {
			columns = n
		} else {
			require.Equal(t, columns, n, line)
		}
	}
}

func TestScale(t *testing.T) {
	r := &Report{Profile: seed.Default()}
	for i, n := range []int{10, 1000} {
		for _, line := range []string{lineFlags, lineUnchanged, lineTransient} {
			r.add(&Scenario{Name: "features", Point: Point{"features", n, ""}.on(line), Flagraft: []Sample{{CPU: float64(10 + 90*i)}}, Floor: []Sample{{CPU: 9}}})
		}
	}
	r.add(&Scenario{Name: "nodes", Point: Point{"nodes", 3, ""}.on(lineNew), Writes: true, Nodes: 3, Flagraft: []Sample{{PerSecond: 12_000, CPU: 77}}})
	r.finish()
	var page bytes.Buffer
	require.NoError(t, r.Markdown(&page))
	for _, want := range []string{"# Performance as sizes grow", "| 1,000 | 100.0 | 9.0 | 100.0 | 9.0 | 100.0 | 9.0 |", "(performance-features.svg)", "| 3 | 12000 | 77.0 |"} {
		require.Contains(t, page.String(), want)
	}
	require.NotContains(t, page.String(), "As segments grow", "nothing was measured of it")
	plots := r.Plots()
	require.Len(t, plots, 1, "one point is no line")
	picture := string(plots["performance-features.svg"])
	require.NoError(t, xml.Unmarshal([]byte(picture), new(struct{ XMLName xml.Name })))
	require.Contains(t, picture, `d="M60.0 310.0L700.0 40.0"`, "from 10 of 100 to 100 of 100")
	require.Equal(t, 5, strings.Count(picture, `fill="none"`))
}

func TestNiceStep(t *testing.T) {
	for v, want := range map[float64]float64{0: 1, 0.3: 0.5, 1: 1, 1.1: 2, 18: 20, 40: 50, 70: 100} {
		require.InDelta(t, want, niceStep(v), 1e-9)
	}
}

// One scenario measures the same nodes twice, through a follower and through all: both profiles stay.
func TestProfilesOfTwoSidesHaveTwoNames(t *testing.T) {
	p := &play{Scenario: &Scenario{Name: nameFollower, Conns: 512}}
	one, all := turn{side: &side{name: "follower"}}, turn{side: &side{name: "flagraft"}}
	require.NotEqual(t, profileName(p, one, 0, "profile"), profileName(p, all, 0, "profile"))
}

// A median of one run is told as that.
func TestFiguresTellHowManyRunsTheyHad(t *testing.T) {
	f := newFigure(nameMemory, "MB", "memory")
	f.Values = []float64{7}
	r := &Report{Figures: []*Figure{f}}
	var page bytes.Buffer
	require.NoError(t, r.Markdown(&page))
	require.Contains(t, page.String(), "| memory | 7.00 | 7.00–7.00 | MB | 1 |")
}
