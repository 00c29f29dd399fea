package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/flagraft/flagraft/bench/compare"
	"github.com/flagraft/flagraft/bench/floor"
	"github.com/flagraft/flagraft/bench/load"
	"github.com/flagraft/flagraft/e2e/nodes"
)

// Names of the scenarios beside peers.
const (
	namePeerFlags     = "peer-flags"
	namePeerValues    = "peer-flags-values"
	namePeerTargeting = "peer-targeting"
	namePeerTransient = "peer-transient"
	namePeerEngines   = "peer-engines"
)

// edgeToken is any token of the form that Unleash Edge asks for.
const edgeToken = "*:production.flagraft-bench"

// peers measures a node beside Unleash Edge, and the engine beside other engines.
func (b *bench) peers(ctx context.Context, dir string) error {
	cluster, project, err := b.start(ctx, dir, 1)
	if err != nil {
		return err
	}
	defer cluster.Stop()
	document, err := environment(ctx, cluster, project)
	if err != nil {
		return err
	}
	if b.wants(namePeerFlags, namePeerValues, namePeerTargeting, namePeerTransient) {
		if err := b.besideEdge(ctx, dir, cluster, project, document); err != nil {
			return err
		}
	}
	cluster.Stop() // engines are measured in peace
	if b.wants(namePeerEngines) {
		return b.engines(dir, document)
	}
	return nil
}

func environment(ctx context.Context, c *nodes.Cluster, p *nodes.Project) (*compare.Document, error) {
	a, err := c.Nodes[0].Client().With("X-Environment-Key", p.ServerKey).Must(ctx, "GET", "/api/v1/environment-document/", nil, 200)
	if err != nil {
		return nil, err
	}
	return compare.Read(a.Body)
}

// edgeLoad is one kind of load on both servers, and the form of the environment that
// the other one gets.
type edgeLoad struct {
	name, title  string
	document     *compare.Document
	values       bool
	ours, theirs func() load.Source
	same         func(n int) (ours, theirs []byte) // requests whose answers must be the same
	kinds        int                               // of them
}

func (b *bench) besideEdge(ctx context.Context, dir string, c *nodes.Cluster, p *nodes.Project, d *compare.Document) error {
	version, err := compare.EdgeVersion(b.Peers)
	if err != nil {
		return err
	}
	b.report.Edge = version
	node, ours, theirs := sideOf(c), b.Profile.Requests(p.EnvironmentKey), b.Profile.Unleash(edgeToken)
	if err := b.fill(ctx, node, ours); err != nil {
		return err
	}
	floor, stop, err := b.startFloor(dir, node.addrs[0], ours.Flags()(nil), ours.Identity(0))
	if err != nil {
		return err
	}
	defer stop()
	run := uint64(0)
	unchanged := func() load.Source { run++; return ours.Unchanged(run) }
	transient := func() load.Source { run++; return ours.Transient(run) }
	identities := func() load.Source { return theirs.Identities(run) } // whom flagraft was asked for just before
	one := func(n int) (x, y []byte) { return ours.Identity(n), theirs.Identity(n) }
	all := func(int) (x, y []byte) { return ours.Flags()(nil), theirs.Flags()(nil) }
	for _, l := range []edgeLoad{
		{namePeerFlags, "GET /flags/ beside GET /api/frontend/all, whose flags are only on or off", d.Plain(), false, ours.Flags, theirs.Flags, all, 1},
		{namePeerValues, "GET /flags/ beside GET /api/frontend/all, a value each", d.Plain(), true, ours.Flags, theirs.Flags, all, 1},
		{namePeerTargeting, "POST /identities/, traits unchanged, beside POST /api/frontend", d, true, unchanged, identities, one, b.Profile.Kinds()},
		{namePeerTransient, "POST /identities/, transient, beside POST /api/frontend", d, true, transient, identities, one, b.Profile.Kinds()},
	} {
		if b.wants(l.name) {
			if err := b.besideEdgeWith(ctx, dir, &l, &node, floor); err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
		}
	}
	return nil
}

func (b *bench) besideEdgeWith(ctx context.Context, dir string, l *edgeLoad, node, floor *side) error {
	bootstrap, err := l.document.Unleash(l.values)
	if err != nil {
		return err
	}
	e, err := compare.StartEdge(ctx, b.Peers, dir, l.name, bootstrap, edgeToken)
	if err != nil {
		return err
	}
	defer e.Stop()
	peer := &side{name: "edge", addrs: []string{e.Addr}, pids: []int{e.PID()}}
	s := b.report.add(&Scenario{Name: l.name, Title: l.title, Nodes: 1, Conns: b.Conns, Items: 1})
	for n := range l.kinds {
		x, y, err := l.check(n, node, peer)
		if err != nil {
			return err
		}
		s.Bytes, s.PeerBytes = max(s.Bytes, x), max(s.PeerBytes, y)
	}
	b.say("%s: Unleash Edge answers the same to %d request(s), up to %d bytes where flagraft takes %d", l.name, l.kinds, s.PeerBytes, s.Bytes)
	return b.play(ctx, &play{Scenario: s, whole: true, turns: []turn{{side: node, source: l.ours, keep: &s.Flagraft}, {side: peer, source: l.theirs, keep: &s.Peer}, {side: floor, source: l.ours, keep: &s.Floor}}})
}

// check asks both sides once.
func (l *edgeLoad) check(n int, node, peer *side) (bytes, peerBytes int, err error) {
	ours, theirs := l.same(n)
	a, err := floor.Capture(node.addrs[0], ours)
	if err != nil {
		return 0, 0, err
	}
	e, err := floor.Capture(peer.addrs[0], theirs)
	if err != nil {
		return 0, 0, err
	}
	flags, err := compare.Flags(a.Body)
	if err != nil {
		return 0, 0, err
	}
	edges, err := compare.EdgeFlags(e.Body)
	if err != nil {
		return 0, 0, err
	}
	if len(flags) == 0 {
		return 0, 0, errors.New("flagraft has no flags")
	}
	return len(a.Body), len(e.Body), compare.Same(flags, edges, l.values)
}

// EngineScore is what an engine did in each turn.
type EngineScore struct {
	Name      string    `json:"name"`
	PerSecond []float64 `json:"per_second"` // evaluations, in a second of processor time
}

// engines measures evaluation alone, turn by turn.
func (b *bench) engines(dir string, d *compare.Document) (err error) {
	contexts, err := d.Contexts(b.Profile)
	if err != nil {
		return err
	}
	var engines []compare.Engine
	defer func() {
		for _, e := range engines {
			err = errors.Join(err, e.Close())
		}
	}()
	for _, start := range []func() (compare.Engine, error){
		func() (compare.Engine, error) { return compare.Own(contexts, true) },
		func() (compare.Engine, error) { return compare.Own(contexts, false) },
		func() (compare.Engine, error) { return compare.Node(b.Peers, dir, contexts) },
		func() (compare.Engine, error) { return compare.Python(b.Peers, dir, contexts) },
	} {
		e, err := start()
		if err != nil {
			return err
		}
		engines = append(engines, e)
		b.report.Engines = append(b.report.Engines, &EngineScore{Name: e.Name()})
	}
	if err := compare.Agree(engines...); err != nil {
		return err
	}
	b.say("%d engines agree on %d contexts", len(engines), len(contexts.Identities))
	for i := range b.Runs + 1 {
		for j, e := range engines {
			speed, err := e.Run(b.Duration)
			if err != nil {
				return err
			}
			if i == 0 {
				continue // warm now
			}
			score := b.report.Engines[j]
			score.PerSecond = append(score.PerSecond, speed.PerSecond())
			b.say("%-34s %d/%d %12.0f evaluations/s of processor time", score.Name, i, b.Runs, speed.PerSecond())
		}
	}
	return nil
}
