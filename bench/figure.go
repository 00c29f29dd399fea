package bench

import (
	"context"
	"fmt"
	"strconv"

	"github.com/flagraft/flagraft/bench/load"
	"github.com/flagraft/flagraft/bench/probe"
)

// Figure is something measured a few times that is no load: a size, a time, a rate.
type Figure struct {
	Name   string    `json:"name"` // of the scenario
	Kind   string    `json:"kind"` // the same for all sizes: goals go by it
	What   string    `json:"what"` // a sentence: the kind with its sizes
	Unit   string    `json:"unit"`
	Values []float64 `json:"values"`
	Note   string    `json:"note,omitempty"`
	Conditions
}

// Conditions are what a figure has to be read beside.
type Conditions struct {
	Cores       float64 `json:"cores"`    // used by the servers, or by this process when they run in it
	GCShare     float64 `json:"gc_share"` // of their CPU time
	StoreMillis float64 `json:"store_ms"` // mean StoreLogs
	Load        float64 `json:"load"`
}

// newFigure makes a figure without values; sizes are those that its kind has places for.
func newFigure(name, unit, kind string, sizes ...any) *Figure {
	return &Figure{Name: name, Kind: kind, What: fmt.Sprintf(kind, sizes...), Unit: unit}
}

func (f *Figure) spread() Spread { return spread(f.Values) }

// figure adds a figure to the report.
func (b *bench) figure(f *Figure) {
	b.report.Figures = append(b.report.Figures, f)
	s := f.spread()
	b.say("%-24s %s: %s %s (%s–%s)  %s", f.Name, f.What, short(s.Median), f.Unit, short(s.Min), short(s.Max), f.Note)
}

// during runs something and says what it took of the machine.
func (s *side) during(ctx context.Context, run func() error) (c Conditions, err error) {
	before, err := s.counters(ctx)
	if err != nil {
		return c, err
	}
	o, err := s.spend(func() (*load.Result, error) { return nil, run() })
	if err != nil {
		return c, err
	}
	after, err := s.counters(ctx)
	if err != nil {
		return c, err
	}
	n := after.Since(before)
	c = Conditions{Cores: o.servers.Seconds() / o.wall.Seconds(), StoreMillis: storeMillis(n)}
	if o.servers > 0 {
		c.GCShare = float64(n.GC) / float64(o.servers)
	}
	c.Load, err = probe.Load()
	return c, err
}

// load is the load average of the last minute; 0 where it is unknown.
func (b *bench) load() float64 {
	v, _ := probe.Load()
	return v
}

// figureTable shows all figures.
func (r *Report) figureTable() *table {
	t := &table{
		title: "Single figures",
		note: "Medians of the runs with the smallest and largest. Cores, the share of garbage collection and `fsync`, the mean time of storing log entries, are those " +
			"of the servers in the last run; where nodes or stores run in the process that measures, the generator is in them.",
		head: []string{"", "median", "min–max", "", "runs", "cores", "GC share", "fsync ms", "load"},
	}
	for _, f := range r.Figures {
		s, what := f.spread(), f.What
		if f.Note != "" {
			what += " (" + f.Note + ")"
		}
		gc := ""
		if f.Cores > 0 {
			gc = percent(f.GCShare)
		}
		t.add(what, short(s.Median), short(s.Min)+"–"+short(s.Max), f.Unit, strconv.Itoa(len(f.Values)), known(f.Cores, 2), gc, known(f.StoreMillis, 2), known(f.Load, 1))
	}
	return t
}

// short writes large figures whole and small ones with the digits that matter.
func short(v float64) string {
	switch {
	case v >= 1000 || v == 0:
		return count(v)
	case v >= 10:
		return fix(v, 1)
	case v >= 0.1:
		return fix(v, 2)
	}
	return fix(v, 4)
}

// known is empty for what was not measured.
func known(v float64, digits int) string {
	if v == 0 {
		return ""
	}
	return fix(v, digits)
}
