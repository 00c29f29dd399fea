package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/flagraft/flagraft/bench/load"
	"github.com/flagraft/flagraft/bench/seed"
)

// axis is one size that grows while everything else stays as in the profile.
type axis struct {
	name   string
	values []int
	set    func(p *seed.Profile, n int)
}

// axes are what requests are measured along, on one node beside the floor.
var axes = []axis{
	{"features", []int{10, 50, 200, 1000}, func(p *seed.Profile, n int) { p.Features, p.Overrides = n, min(n, p.Overrides) }},
	{"segments", []int{0, 15, 100, 500}, func(p *seed.Profile, n int) { p.Segments = n }},
	{"conditions", []int{1, 15, 50}, func(p *seed.Profile, n int) { p.Conditions, p.Traits = n, max(n, p.Traits) }},
	{"overrides", []int{0, 10, 50}, func(p *seed.Profile, n int) { p.Overrides = n }},
	{"identities", []int{1000, 10_000, 100_000, 1_000_000}, func(p *seed.Profile, n int) { p.Identities = n }},
}

// axisNodes is the one that new identities are measured along.
var axisNodes = axis{name: "nodes", values: []int{1, 3, 5, 7}}

// Point says where a scenario stands on an axis.
type Point struct {
	Axis  string `json:"axis"`
	Value int    `json:"value"`
	Line  string `json:"line"` // what the values of an axis are joined by
}

// Lines of the plots.
const (
	lineFlags     = "GET /flags/"
	lineUnchanged = "POST /identities/, unchanged"
	lineTransient = "POST /identities/, evaluated"
	lineNew       = "POST /identities/, new, all nodes"
)

// scale measures what a request costs as sizes grow.
func (b *bench) scale(ctx context.Context, dir string) error {
	defer func(before seed.Profile) { b.Profile = before }(b.Profile)
	base := b.Profile
	for _, a := range axes {
		for i, n := range a.values {
			if !b.wants(a.name) || b.Quick && i > 1 { // the short form only shows faults
				continue
			}
			b.Profile = base
			a.set(&b.Profile, n)
			if err := b.at(ctx, dir, a.name, n, 1, b.reads); err != nil {
				return err
			}
		}
	}
	b.Profile = base
	for i, n := range axisNodes.values {
		if !b.wants(axisNodes.name) || b.Quick && i > 1 {
			continue
		}
		if err := b.at(ctx, dir, axisNodes.name, n, n, b.creations); err != nil {
			return err
		}
	}
	return nil
}

// at measures one point with nodes and a directory of its own.
func (b *bench) at(ctx context.Context, dir, axis string, n, count int, measure func(context.Context, string, Point, *side, seed.Requests) error) error {
	b.say("%s: %s", axis, strconv.Itoa(n))
	sub := filepath.Join(dir, fmt.Sprintf("%s-%d", axis, n))
	if err := os.Mkdir(sub, 0o755); err != nil {
		return err
	}
	cluster, project, err := b.start(ctx, sub, count)
	if err != nil {
		return err
	}
	defer func() {
		cluster.Stop()
		_ = os.RemoveAll(sub) // the next point may need the room
	}()
	s := sideOf(cluster)
	if err := measure(ctx, sub, Point{Axis: axis, Value: n}, &s, b.Profile.Requests(project.EnvironmentKey)); err != nil {
		return fmt.Errorf("%s %d: %w", axis, n, err)
	}
	return nil
}

func (b *bench) reads(ctx context.Context, dir string, at Point, node *side, r seed.Requests) error {
	if err := b.fill(ctx, *node, r); err != nil {
		return err
	}
	floor, stop, err := b.startFloor(dir, node.addrs[0], r.Flags()(nil), r.Identity(0))
	if err != nil {
		return err
	}
	defer stop()
	run := uint64(0)
	var plays []*play
	for _, l := range []struct {
		line   string
		source func() load.Source
	}{
		{lineFlags, r.Flags},
		{lineUnchanged, func() load.Source { run++; return r.Unchanged(run) }},
		{lineTransient, func() load.Source { run++; return r.Transient(run) }},
	} {
		s := b.report.add(&Scenario{Name: at.Axis + "-" + strconv.Itoa(at.Value), Title: l.line, Nodes: 1, Conns: b.Conns, Items: 1, Point: at.on(l.line)})
		plays = append(plays, &play{Scenario: s, turns: []turn{{side: node, source: l.source, keep: &s.Flagraft}, {side: floor, source: l.source, keep: &s.Floor}}})
	}
	return b.play(ctx, plays...)
}

func (b *bench) creations(ctx context.Context, _ string, at Point, nodes *side, r seed.Requests) error {
	s := b.report.add(&Scenario{Name: at.Axis + "-" + strconv.Itoa(at.Value), Title: lineNew, Nodes: at.Value, Conns: 256, Items: 1, Writes: true, Point: at.on(lineNew)})
	return b.play(ctx, &play{Scenario: s, turns: []turn{{side: nodes, source: func() load.Source { return r.New(b.prefix()) }, keep: &s.Flagraft}}})
}

func (p Point) on(line string) *Point {
	p.Line = line
	return &p
}
