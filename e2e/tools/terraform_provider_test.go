package tools

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// provider plays the Terraform provider and the admin client below it. Its state is what it would read again at the next plan.
type provider struct {
	*tool
	state map[string]func() // name of a resource → reads it and compares with what was applied
}

func newProvider(t *testing.T, x *tool) *provider {
	x = x.in(t)
	x.client = x.client.With("Content-Type", "application/json") // also on what has no body
	return &provider{x, map[string]func(){}}
}

// apply writes a resource. What comes back must be what was planned, and only
// computed attributes, which adopt copies into the plan, may be added.
func apply[T any](p *provider, method, path string, plan T, adopt func(plan *T, got T)) T {
	p.Helper()
	want := http.StatusOK
	if method == http.MethodPost {
		want = http.StatusCreated
	}
	got := decode[T](p.tool, p.send(method, path, plan, want))
	if adopt != nil {
		adopt(&plan, got)
	}
	require.Equal(p, plan, got, "inconsistent result after apply: %s %s", method, path)
	return got
}

// keep adds a resource to the state, with how it is read.
func keep[T any](p *provider, name string, want T, read func() T) {
	p.Helper()
	check := func() {
		p.Helper()
		require.Equal(p, want, read(), "%s differs from what was applied", name)
	}
	check()
	p.state[name] = check
}

// keepAt is keep of a resource that is read with one request.
func keepAt[T any](p *provider, name string, want T, path string) {
	p.Helper()
	keep(p, name, want, func() T { return decode[T](p.tool, p.get(path)) })
}

// plan reads everything again: nothing may differ.
func (p *provider) plan() {
	p.Helper()
	for _, check := range p.state {
		check()
	}
}

// destroy deletes a resource. Afterwards each of the paths says that it is gone.
func (p *provider) destroy(name, path string, gone ...string) {
	p.Helper()
	p.send(http.MethodDelete, path, nil, 204)
	for _, path := range gone {
		p.refused(http.MethodGet, path, nil, 404)
	}
	require.Contains(p, p.state, name)
	delete(p.state, name)
}
