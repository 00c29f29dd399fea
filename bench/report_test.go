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
	r := &load.Result{Requests: 50, Elapsed: time.Second}
	full := newHistogram(t, 2000)
	r.Latency = full
	before := reading{servers: time.Second, own: time.Second, machine: 10 * time.Second, counters: probe.Counters{Stores: 5, Entries: 5}}
	after := reading{
		servers: 2 * time.Second, own: 1500 * time.Millisecond, machine: 12 * time.Second,
		counters: probe.Counters{Stores: 15, Entries: 25, StoreTime: 20 * time.Millisecond, Allocs: 100, GC: 250 * time.Millisecond, RSS: 7e6},
	}
	s, err := sampleOf(before, after, r, 2*time.Second, 10)
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
	r.add(&Scenario{Name: nameUnchanged, Title: "POST", Conns: 32, Flagraft: []Sample{{PerSecond: 39_000, CPU: 14}}, Floor: floor})
	r.add(&Scenario{Name: nameFlags + "-open", Title: "GET /flags/", Rate: 24_500, Flagraft: []Sample{{P999: 3}}, Floor: floor})
	r.add(&Scenario{Name: nameNew, Title: "new", Nodes: 3, Conns: 64, Writes: true, Flagraft: []Sample{{PerSecond: 9_000}}})
	r.add(&Scenario{Name: nameNew, Title: "new", Nodes: 3, Conns: 512, Writes: true, Flagraft: []Sample{{PerSecond: 12_000, StoresPerSecond: 90}}})
	r.finish()
	return r
}

func TestTargets(t *testing.T) {
	r := example()
	require.Len(t, r.Targets, 4)
	missed := r.Missed()
	require.Len(t, missed, 1)
	require.Contains(t, missed[0].Goal, "unchanged")
	require.Equal(t, "0.78 (0.78–0.78)", missed[0].Found)
	require.Contains(t, r.Targets[3].Found, "12000 (12000–12000) with 512 connections", "the best of the scenario counts")
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
	for _, want := range []string{"49,000", "0.98 (0.98–0.98)", "1.05 (1.05–1.05)", "missed", "1,234,567", "24,500", "3.00 (3.00–3.00)", "quick form", "400"} {
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
