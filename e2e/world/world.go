// Package world fills a cluster with the environment that the clients' programs
// run against: flags of every type, segments with every operator, overrides.
package world

import (
	"context"
	"fmt"

	"github.com/flagraft/flagraft/e2e/nodes"
)

type object = map[string]any

// World is what the programs need to know of the environment.
type World struct {
	*nodes.Project
	Live int64 // feature state that programs may change
}

// builder makes things through one node; the first error stops it.
type builder struct {
	ctx context.Context
	p   *nodes.Project
	err error

	features, segments map[string]int64
}

// Build makes a project through the node of c and fills it.
func Build(ctx context.Context, c *nodes.Client) (*World, error) {
	p, err := c.NewProject(ctx, "World")
	if err != nil {
		return nil, err
	}
	b := &builder{ctx: ctx, p: p, features: map[string]int64{}, segments: map[string]int64{}}
	b.must("PATCH", fmt.Sprintf("/api/v1/projects/%d/", p.ID), object{"enable_realtime_updates": true}, 200)
	b.plain()
	b.multivariate()
	b.operators()
	b.ranked()
	b.personal()
	w := &World{Project: p, Live: b.state("live")}
	return w, b.err
}

func (b *builder) must(method, path string, body any, want ...int) *nodes.Answer {
	if b.err != nil {
		return &nodes.Answer{}
	}
	a, err := b.p.Admin.Must(b.ctx, method, path, body, want...)
	if err != nil {
		b.err = err
		return &nodes.Answer{}
	}
	return a
}

func (b *builder) environment(path string) string {
	return "/api/v1/environments/" + b.p.EnvironmentKey + "/" + path
}

// feature makes a flag; more holds further members of the request.
func (b *builder) feature(name string, enabled bool, initial any, more object) int64 {
	body := object{"name": name, "default_enabled": enabled, "initial_value": initial}
	for k, v := range more {
		body[k] = v
	}
	id := b.must("POST", fmt.Sprintf("/api/v1/projects/%d/features/", b.p.ID), body, 201).ID("id")
	b.features[name] = id
	return id
}

// state finds the environment's state of a flag.
func (b *builder) state(name string) int64 {
	list := b.must("GET", b.environment("featurestates/?feature_name="+name), nil, 200)
	if b.err != nil {
		return 0
	}
	results, _ := list.Get("results").([]any)
	if len(results) != 1 {
		b.err = fmt.Errorf("%d states of %s", len(results), name)
		return 0
	}
	var id int64
	_, b.err = fmt.Sscan(fmt.Sprint(results[0].(object)["id"]), &id)
	return id
}

func (b *builder) set(name string, value any) {
	b.must("PATCH", b.environment(fmt.Sprintf("featurestates/%d/", b.state(name))), object{"feature_state_value": value}, 200)
}

// plain makes flags of every type of value.
func (b *builder) plain() {
	b.feature("on", true, nil, nil)
	b.feature("off", false, nil, nil)
	b.feature("greeting", true, "hello", nil)
	b.feature("limit", true, nil, nil)
	b.set("limit", 42)
	b.feature("switch", true, nil, nil)
	b.set("switch", true)
	b.feature("layout", true, `{"columns":[1,2],"title":"Shop"}`, nil)
	b.feature("blank", true, "", nil)
	b.feature("CamelCase", true, "camel", nil)
	b.feature("greeting_unicode", true, "žluťoučký kůň ✓ 🐎", nil)
	b.feature("secret", true, "for servers only", object{"is_server_key_only": true})
	b.feature("live", false, "start", nil)
}
