package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/flagraft/flagraft/bench/seed"
	"github.com/flagraft/flagraft/e2e/nodes"
)

// nameLarge is the part that measures a large project.
const nameLarge = "large-project"

// Timing is how long one kind of request took, one after the other.
type Timing struct {
	What   string    `json:"what"`
	Millis []float64 `json:"ms"`
	Bytes  int       `json:"bytes"` // of the last answer
	Bound  float64   `json:"bound"` // the goal for the 99th percentile, in ms; 0: none
}

// percentile is the value that a share of the requests stayed below.
func (t *Timing) percentile(p float64) float64 {
	v := slices.Sorted(slices.Values(t.Millis))
	return v[min(len(v)-1, int(p*float64(len(v))))]
}

// large measures the lists of a project at the default limits, on the leader and on a
// follower, and how soon a toggle shows.
func (b *bench) large(ctx context.Context, dir string) error {
	if !b.wants(nameLarge) {
		return nil
	}
	ready, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c, err := nodes.Start(ready, b.Binary, dir, 3)
	if err != nil {
		return err
	}
	defer c.Stop()
	begin := time.Now()
	project, err := b.Large.Project(ctx, c.Nodes[0].Client(), "large")
	if err != nil {
		return err
	}
	b.say("three nodes filled with the large project in %s", time.Since(begin).Round(time.Millisecond))
	if err := b.lists(ctx, c, project); err != nil {
		return err
	}
	if err := b.toggles(ctx, c, project); err != nil {
		return err
	}
	defer func(before int) { b.Profile.Identities = before }(b.Profile.Identities)
	b.Profile.Identities = b.Large.Identities
	if err := b.fill(ctx, sideOf(c), b.Profile.Requests(project.EnvironmentKey)); err != nil {
		return err
	}
	return b.identityLists(ctx, c, project)
}

// listTurns is how often each list is asked for.
const listTurns = 200

func (b *bench) lists(ctx context.Context, c *nodes.Cluster, p *nodes.Project) error {
	project, environment := fmt.Sprintf("/api/v1/projects/%d/", p.ID), "/api/v1/environments/"+p.EnvironmentKey+"/"
	for _, path := range []string{
		project + "features/", fmt.Sprintf("%sfeatures/?environment=%d", project, p.EnvironmentID), project + "features/?page_size=100&search=feature_9",
		environment + "featurestates/", project + "segments/", fmt.Sprintf("/api/v1/environments/?project=%d", p.ID), "/api/v1/audit/?page_size=100",
	} {
		if err := b.list(ctx, c, p, path, 50); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) identityLists(ctx context.Context, c *nodes.Cluster, p *nodes.Project) error {
	list := "/api/v1/environments/" + p.EnvironmentKey + "/identities/"
	for _, l := range []struct {
		query string
		bound float64
	}{
		{"", 50}, {fmt.Sprintf("?page_size=100&page=%d", b.Large.Identities/200), 50}, {`?q="` + seed.Loaded(7777) + `"`, 5}, {"?q=0777", 300}, {"?q=nobody", 300},
	} {
		if err := b.list(ctx, c, p, list+l.query, l.bound); err != nil {
			return err
		}
	}
	return nil
}

// list asks every node in turn.
func (b *bench) list(ctx context.Context, c *nodes.Cluster, p *nodes.Project, path string, bound float64) error {
	t := &Timing{What: "GET " + shortened(p, path), Bound: bound}
	for i := range listTurns + len(c.Nodes) {
		admin := *p.Admin
		admin.Base = c.Nodes[i%len(c.Nodes)].Client().Base
		begin := time.Now()
		a, err := admin.Must(ctx, http.MethodGet, path, nil, 200)
		if err != nil {
			return err
		}
		if i >= len(c.Nodes) { // what each did once is warm
			t.Millis = append(t.Millis, time.Since(begin).Seconds()*1000)
		}
		t.Bytes = len(a.Body)
	}
	b.report.Timings = append(b.report.Timings, t)
	b.say("%-70s p50 %6.1f ms  p99 %6.1f ms  %d bytes", t.What, t.percentile(0.5), t.percentile(0.99), t.Bytes)
	return nil
}

// toggles switches a flag again and again: how long until the leader serves it, and
// until every node does, counted from the moment the write is sent.
func (b *bench) toggles(ctx context.Context, c *nodes.Cluster, p *nodes.Project) error {
	leader, err := c.Leader(ctx)
	if err != nil {
		return err
	}
	admin := *p.Admin
	admin.Base = leader.Client().Base
	feature, err := first(ctx, &admin, fmt.Sprintf("/api/v1/projects/%d/features/?search=feature_5", p.ID))
	if err != nil {
		return err
	}
	state, err := first(ctx, &admin, fmt.Sprintf("/api/v1/environments/%s/featurestates/?feature=%v", p.EnvironmentKey, feature["id"]))
	if err != nil {
		return err
	}
	enabled, _ := state["enabled"].(bool)
	path := fmt.Sprintf("/api/v1/environments/%s/featurestates/%v/", p.EnvironmentKey, state["id"])
	atLeader, everywhere := &Timing{What: "toggle to the leader's flags", Bound: 20}, &Timing{What: "toggle to every node's flags", Bound: 60}
	for range listTurns {
		enabled = !enabled
		type seen struct {
			node *nodes.Node
			at   time.Time
			err  error
		}
		show := make(chan seen, len(c.Nodes))
		begin := time.Now()
		for _, n := range c.Nodes {
			go func() {
				err := shows(ctx, n, p, fmt.Sprint(feature["name"]), enabled)
				show <- seen{n, time.Now(), err}
			}()
		}
		if _, err := admin.Must(ctx, "PATCH", path, map[string]any{"enabled": enabled}, 200); err != nil {
			return err
		}
		var last time.Time
		for range c.Nodes {
			s := <-show
			if s.err != nil {
				return s.err
			}
			if s.node == leader {
				atLeader.Millis = append(atLeader.Millis, s.at.Sub(begin).Seconds()*1000)
			}
			if s.at.After(last) {
				last = s.at
			}
		}
		everywhere.Millis = append(everywhere.Millis, last.Sub(begin).Seconds()*1000)
	}
	for _, t := range []*Timing{atLeader, everywhere} {
		b.report.Timings = append(b.report.Timings, t)
		b.say("%-70s p50 %6.1f ms  p99 %6.1f ms", t.What, t.percentile(0.5), t.percentile(0.99))
	}
	return nil
}

// first is the first element of a list.
func first(ctx context.Context, c *nodes.Client, path string) (map[string]any, error) {
	a, err := c.Must(ctx, "GET", path, nil, 200)
	if err != nil {
		return nil, err
	}
	results, _ := a.Get("results").([]any)
	if len(results) == 0 {
		return nil, fmt.Errorf("%s is empty", path)
	}
	found, _ := results[0].(map[string]any)
	return found, nil
}

// shortened is a path with names in place of keys and numbers.
func shortened(p *nodes.Project, path string) string {
	return strings.NewReplacer(p.EnvironmentKey, "{key}", fmt.Sprintf("projects/%d/", p.ID), "projects/{id}/",
		fmt.Sprintf("environment=%d", p.EnvironmentID), "environment={id}", fmt.Sprintf("project=%d", p.ID), "project={id}").Replace(path)
}

// shows asks a node for one flag until it is as wanted.
func shows(ctx context.Context, n *nodes.Node, p *nodes.Project, feature string, enabled bool) error {
	c := n.Client().With("X-Environment-Key", p.EnvironmentKey)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		a, err := c.Must(ctx, "GET", "/api/v1/flags/?feature="+feature, nil, 200)
		if err != nil {
			return err
		}
		var flag struct{ Enabled bool }
		if err := json.Unmarshal(a.Body, &flag); err != nil {
			return err
		}
		if flag.Enabled == enabled {
			return nil
		}
	}
	return fmt.Errorf("%s does not show the toggle", n.API)
}
