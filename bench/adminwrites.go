package bench

import (
	"context"
	"fmt"

	"github.com/flagraft/flagraft/bench/load"
	"github.com/flagraft/flagraft/bench/seed"
	"github.com/flagraft/flagraft/e2e/nodes"
)

const (
	nameAdmin         = "admin-writes"
	nameAdminFollower = nameAdmin + suffixFollower

	suffixFollower = "-follower"
)

// Writers of the admin API, each with one request under way.
const (
	oneWriter   = 1
	manyWriters = 64
)

// adminWrites measures how many flags are switched a second by one writer and by many,
// through the leader and through a follower, in turn.
func (b *bench) adminWrites(ctx context.Context, dir string) error {
	if !b.wants(nameAdmin, nameAdminFollower) {
		return nil
	}
	cluster, project, err := b.start(ctx, dir, 3)
	if err != nil {
		return err
	}
	defer cluster.Stop()
	paths, err := states(ctx, project)
	if err != nil {
		return err
	}
	leader, err := cluster.Leader(ctx)
	if err != nil {
		return err
	}
	on := false
	source := func() load.Source {
		on = !on
		return seed.Toggles(project.Admin.Header.Get("Authorization"), paths, on)
	}
	through := func(n *nodes.Node, suffix, where string, writers int) *play {
		s := b.report.add(&Scenario{Name: nameAdmin + suffix, Title: "PATCH a feature state through " + where, Nodes: 3, Conns: writers, Items: 1, Writes: true})
		at := sideOf(cluster)
		at.addrs = []string{n.API}
		return &play{Scenario: s, turns: []turn{{side: &at, source: source, keep: &s.Flagraft}}}
	}
	follower := cluster.Nodes[0]
	if follower == leader {
		follower = cluster.Nodes[1]
	}
	return b.play(ctx, through(leader, "", "the leader", oneWriter), through(leader, "", "the leader", manyWriters),
		through(follower, suffixFollower, "a follower", manyWriters))
}

// states are the paths of the environment's own feature states.
func states(ctx context.Context, p *nodes.Project) (paths []string, err error) {
	list := "/api/v1/environments/" + p.EnvironmentKey + "/featurestates/"
	a, err := p.Admin.Must(ctx, "GET", list+"?page_size=100", nil, 200)
	if err != nil {
		return nil, err
	}
	results, _ := a.Get("results").([]any)
	for _, r := range results {
		state, _ := r.(map[string]any)
		paths = append(paths, fmt.Sprintf("%s%v/", list, state["id"]))
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s is empty", list)
	}
	return paths, nil
}
