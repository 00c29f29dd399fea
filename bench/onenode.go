package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flagraft/flagraft/bench/floor"
	"github.com/flagraft/flagraft/bench/load"
	"github.com/flagraft/flagraft/bench/seed"
)

// Names of the scenarios.
const (
	nameFlags     = "flags"
	nameUnchanged = "identities-unchanged"
	nameChanging  = "identities-changing"
	nameNew       = "identities-new"
	nameFollower  = "identities-follower"
	nameBulk      = "identities-bulk"

	nameNotModified = "flags-not-modified"
)

// oneNode compares a node with the floor on reads, and measures changes of traits.
func (b *bench) oneNode(ctx context.Context, dir string) error {
	if !b.wants(slices.Concat(variants(nameFlags), variants(nameUnchanged), []string{nameNotModified, nameChanging})...) {
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
	if b.wants(nameNotModified) {
		if err := b.notModified(ctx, dir, &node, floor, requests); err != nil {
			return err
		}
	}
	changes, err := changes(ctx, project)
	if err != nil {
		return err
	}
	also := []*disturbance{changes, snapshots(project, b.Profile.Identities)}
	run := 0
	unchanged := func() load.Source { run++; return requests.Unchanged(uint64(run)) }
	if b.wants(variants(nameFlags)...) {
		if err := b.besideFloor(ctx, nameFlags, "GET /flags/", &node, floor, requests.Flags, also); err != nil {
			return err
		}
	}
	if b.wants(variants(nameUnchanged)...) {
		if err := b.besideFloor(ctx, nameUnchanged, "POST /identities/, traits unchanged, random identities", &node, floor, unchanged, also); err != nil {
			return err
		}
	}
	if !b.wants(nameChanging) {
		return nil
	}
	changing := func() load.Source { run++; return requests.Changing(uint64(run)) }
	return b.writing(ctx, nameChanging, "POST /identities/, one trait changed", &node, 1, b.Changers, changing)
}

// suffixOpen marks the open loop; what the node does meanwhile may follow.
const suffixOpen = "-open"

// variants are the names of a scenario beside the floor.
func variants(name string) []string {
	return []string{name, name + suffixOpen, name + suffixOpen + "-changes", name + suffixOpen + "-snapshots"}
}

// notModified compares the answer to a client that has the flags already with a bare
// handler that writes the bytes of that answer, and with one that writes the flags.
func (b *bench) notModified(ctx context.Context, dir string, node, floor *side, r seed.Requests) error {
	tag, err := tagOf(node.addrs[0], r)
	if err != nil {
		return err
	}
	source := func() load.Source { return r.FlagsUnless(tag) }
	sub := filepath.Join(dir, "not-modified")
	if err := os.Mkdir(sub, 0o755); err != nil {
		return err
	}
	same, stop, err := b.startFloor(sub, node.addrs[0], source()(nil))
	if err != nil {
		return err
	}
	defer stop()
	s := b.report.add(&Scenario{Name: nameNotModified, Title: "GET /flags/ with If-None-Match, 304", Nodes: 1, Conns: b.Conns, Items: 1, Status: 304})
	whole := &Scenario{Name: nameNotModified + "-whole", Conns: b.Conns, Items: 1}
	return b.play(ctx, &play{Scenario: s, turns: []turn{{side: node, source: source, keep: &s.Flagraft}, {side: same, source: source, keep: &s.Floor}}},
		&play{Scenario: whole, turns: []turn{{side: floor, source: r.Flags, keep: &s.Beside}}})
}

// tagOf is the entity tag of the flags.
func tagOf(addr string, r seed.Requests) (string, error) {
	a, err := floor.Capture(addr, r.Flags()(nil))
	if err != nil {
		return "", err
	}
	for _, h := range a.Headers {
		if strings.EqualFold(h[0], "ETag") {
			return h[1], nil
		}
	}
	return "", errors.New("the flags have no entity tag")
}

// besideFloor plays a scenario in the closed loop, and in the open loop at half of
// what the slower side reached, alone and while the node does something else.
func (b *bench) besideFloor(ctx context.Context, name, title string, node, floor *side, source func() load.Source, also []*disturbance) error {
	add := func(suffix, more string, rate float64) *Scenario {
		return b.report.add(&Scenario{Name: name + suffix, Title: title + more, Nodes: 1, Conns: b.Conns, Rate: rate, Items: 1})
	}
	s := add("", "", 0)
	if err := b.play(ctx, &play{Scenario: s, turns: []turn{{side: node, source: source, keep: &s.Flagraft}, {side: floor, source: source, keep: &s.Floor}}}); err != nil {
		return err
	}
	half := float64(int(min(medianOf(s.Flagraft, perSecond), medianOf(s.Floor, perSecond)) / 2))
	if b.wants(name + suffixOpen) {
		s := add(suffixOpen, "", half)
		if err := b.play(ctx, &play{Scenario: s, tails: true, turns: []turn{{side: node, source: source, keep: &s.Flagraft}, {side: floor, source: source, keep: &s.Floor}}}); err != nil {
			return err
		}
	}
	for _, d := range also {
		if !b.wants(name + suffixOpen + d.suffix) {
			continue
		}
		s := add(suffixOpen+d.suffix, ", "+d.title, half)
		if err := b.play(ctx, &play{Scenario: s, tails: true, turns: []turn{
			{side: node, source: source, keep: &s.Flagraft, beside: d}, {side: floor, source: source, keep: &s.Floor}, {side: floor, source: source, keep: &s.Beside, beside: d},
		}}); err != nil {
			return err
		}
	}
	return nil
}

// writing plays a scenario that writes with several numbers of connections, and then
// in the open loop at half of the best.
func (b *bench) writing(ctx context.Context, name, title string, s *side, items int, conns []int, source func() load.Source) error {
	add := func(suffix string, conns int, rate float64) *play {
		sc := b.report.add(&Scenario{Name: name + suffix, Title: title, Nodes: len(s.pids), Conns: conns, Rate: rate, Items: items, Writes: true})
		return &play{Scenario: sc, turns: []turn{{side: s, source: source, keep: &sc.Flagraft}}}
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
