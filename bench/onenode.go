package bench

import (
	"context"
	"slices"

	"github.com/flagraft/flagraft/bench/load"
)

// Names of the scenarios.
const (
	nameFlags     = "flags"
	nameUnchanged = "identities-unchanged"
	nameChanging  = "identities-changing"
	nameNew       = "identities-new"
	nameBulk      = "identities-bulk"
)

// oneNode compares a node with the floor on reads, and measures changes of traits.
func (b *bench) oneNode(ctx context.Context, dir string) error {
	if !b.wants(nameFlags, nameUnchanged, nameChanging) {
		return nil
	}
	cluster, project, err := b.start(ctx, dir, 1)
	if err != nil {
		return err
	}
	defer cluster.Stop()
	node := sideOf(cluster)
	requests := b.Profile.Requests(project.EnvironmentKey)
	if err := b.fill(ctx, node, requests); err != nil {
		return err
	}
	floor, stop, err := b.startFloor(dir, node.addrs[0], requests.Flags()(nil), requests.Unchanged(0)(nil))
	if err != nil {
		return err
	}
	defer stop()
	run := 0
	unchanged := func() load.Source { run++; return requests.Unchanged(uint64(run)) }
	if b.wants(nameFlags) {
		if err := b.besideFloor(ctx, nameFlags, "GET /flags/", &node, floor, requests.Flags); err != nil {
			return err
		}
	}
	if b.wants(nameUnchanged) {
		if err := b.besideFloor(ctx, nameUnchanged, "POST /identities/, traits unchanged, random identities", &node, floor, unchanged); err != nil {
			return err
		}
	}
	if !b.wants(nameChanging) {
		return nil
	}
	changing := func() load.Source { run++; return requests.Changing(uint64(run)) }
	return b.writing(ctx, nameChanging, "POST /identities/, one trait changed", &node, 1, b.Changers, changing)
}

// besideFloor plays a scenario in the closed loop, and in the open loop at half of
// what the slower side reached.
func (b *bench) besideFloor(ctx context.Context, name, title string, node, floor *side, source func() load.Source) error {
	add := func(suffix string, rate float64) (*play, *Scenario) {
		s := b.report.add(&Scenario{Name: name + suffix, Title: title, Nodes: 1, Conns: b.Conns, Rate: rate, Items: 1})
		return &play{s, []turn{{node, source, &s.Flagraft}, {floor, source, &s.Floor}}}, s
	}
	p, s := add("", 0)
	if err := b.play(ctx, p); err != nil {
		return err
	}
	peak := min(medianOf(s.Flagraft, perSecond), medianOf(s.Floor, perSecond))
	p, _ = add("-open", float64(int(peak/2)))
	return b.play(ctx, p)
}

// writing plays a scenario that writes with several numbers of connections, and then
// in the open loop at half of the best.
func (b *bench) writing(ctx context.Context, name, title string, s *side, items int, conns []int, source func() load.Source) error {
	add := func(suffix string, conns int, rate float64) *play {
		sc := b.report.add(&Scenario{Name: name + suffix, Title: title, Nodes: len(s.pids), Conns: conns, Rate: rate, Items: items, Writes: true})
		return &play{sc, []turn{{s, source, &sc.Flagraft}}}
	}
	var plays []*play
	for _, n := range conns {
		plays = append(plays, add("", n, 0))
	}
	if err := b.play(ctx, plays...); err != nil {
		return err
	}
	best := 0.0
	for _, p := range plays {
		best = max(best, medianOf(p.Flagraft, perSecond))
	}
	return b.play(ctx, add("-open", slices.Max(conns), float64(int(best/2/float64(items)))))
}
