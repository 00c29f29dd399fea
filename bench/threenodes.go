package bench

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/flagraft/flagraft/bench/load"
	"github.com/flagraft/flagraft/bench/seed"
	"github.com/flagraft/flagraft/e2e/nodes"
)

// threeNodes measures new identities in a cluster: an answer means that a majority
// has the identity on disk and the node that answers has applied it. Connections are
// spread over all nodes, unless the leader alone is asked for.
func (b *bench) threeNodes(ctx context.Context, dir string) error {
	if !b.wants(nameNew, nameFollower, nameBulk) {
		return nil
	}
	cluster, project, err := b.start(ctx, dir, 3, manyIdentities...)
	if err != nil {
		return err
	}
	defer cluster.Stop()
	trio := sideOf(cluster)
	if b.AtLeader {
		leader, err := cluster.Leader(ctx)
		if err != nil {
			return err
		}
		trio.addrs = []string{leader.API}
	}
	requests := b.Profile.Requests(project.EnvironmentKey)
	b.stored, b.unknown = 0, 0
	if b.wants(nameNew) {
		single := func() load.Source { return requests.New(b.prefix()) }
		if err := b.writing(ctx, nameNew, "POST /identities/, new identities", &trio, 1, b.Writers, single); err != nil {
			return err
		}
	}
	if b.wants(nameFollower) {
		if err := b.follower(ctx, cluster, &trio, requests); err != nil {
			return err
		}
	}
	if b.wants(nameBulk) {
		bulk := func() load.Source { return requests.Bulk(b.prefix()) }
		if err := b.writing(ctx, nameBulk, "POST /bulk-identities/, new identities, 100 a request", &trio, seed.BulkSize, b.Bulk, bulk); err != nil {
			return err
		}
	}
	return b.verify(ctx, cluster, project)
}

// manyIdentities lets an environment hold what all runs together make.
var manyIdentities = []string{"--max-identities", "50000000"}

// follower has all connections end at one follower, in turn with the same load spread over all nodes.
func (b *bench) follower(ctx context.Context, c *nodes.Cluster, trio *side, r seed.Requests) error {
	leader, err := c.Leader(ctx)
	if err != nil {
		return err
	}
	one := *trio
	one.name = "follower"
	for _, n := range c.Nodes {
		if n != leader {
			one.addrs = []string{n.API}
		}
	}
	source := func() load.Source { return r.New(b.prefix()) }
	s := b.report.add(&Scenario{Name: nameFollower, Title: "POST /identities/, new identities, all through one follower", Nodes: len(c.Nodes), Conns: b.Follower, Items: 1, Writes: true})
	return b.play(ctx, &play{Scenario: s, turns: []turn{{side: &one, source: source, keep: &s.Flagraft}, {side: trio, source: source, keep: &s.Beside}}})
}

// verify asks every node whether what was acknowledged is there, and nothing that was
// never posted.
func (b *bench) verify(ctx context.Context, c *nodes.Cluster, p *nodes.Project) error {
	for i, n := range c.Nodes {
		admin := *p.Admin
		admin.Base = n.Client().Base
		a, err := admin.Must(ctx, "GET", "/api/v1/environments/"+p.EnvironmentKey+"/identities/?page_size=1", nil, 200)
		if err != nil {
			return fmt.Errorf("count identities: %w", err)
		}
		count, _ := a.Get("count").(json.Number)
		if have, err := count.Int64(); err != nil || have < b.stored || have > b.stored+b.unknown {
			return fmt.Errorf("node %d has %s identities; %d were acknowledged, %d more posted", i, count, b.stored, b.unknown)
		}
	}
	b.say("all three nodes have the %d identities that were acknowledged", b.stored)
	b.report.Acknowledged = b.stored
	return nil
}
