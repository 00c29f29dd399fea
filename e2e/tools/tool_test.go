// Package tools plays programs that no registry serves: the Terraform provider, the
// command line written in Go and the MCP server. Each test sends the calls of one of them, in
// its order, to a follower of three real nodes, and checks what the tool itself checks.
package tools

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/nodes"
)

type object = map[string]any

// installation is a cluster, the follower that the tool is pointed at, and an
// organisation that only has an account and a master key.
type installation struct {
	follower     *nodes.Node
	organisation int64
	uuid         string // of the organisation
	user         int64
	token        string // of the account
	master       string
}

// install starts three nodes, with further arguments of each; without FLAGRAFT_BINARY the
// test is skipped. At the end the follower must still be one.
func install(t *testing.T, extra ...string) (*installation, context.Context) {
	t.Helper()
	binary := nodes.Binary(t)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	c, err := nodes.Start(ctx, binary, t.TempDir(), 3, extra...)
	require.NoError(t, err)
	t.Cleanup(func() {
		c.Stop()
		if t.Failed() {
			for _, n := range c.Nodes {
				tail, _ := os.ReadFile(n.Log) // what there is of it
				t.Logf("%s:\n%s", n.Log, tail[max(0, len(tail)-4000):])
			}
		}
	})
	in := &installation{}
	leader, err := c.Leader(ctx)
	require.NoError(t, err)
	for _, n := range c.Nodes {
		if n != leader {
			in.follower = n
		}
	}
	t.Cleanup(func() {
		leads, err := c.Leader(ctx)
		require.NoError(t, err)
		require.NotSame(t, in.follower, leads, "the tool's node was no follower all the time")
	})

	login, err := in.follower.Client().Must(ctx, "POST", "/api/v1/auth/login/", object{"email": nodes.Email, "password": nodes.Password}, 200)
	require.NoError(t, err)
	in.token = login.Text("key")
	account := in.tool(t, ctx, "Token "+in.token)
	view := account.get("/api/flagraft/v1/cluster/")
	require.NotEmpty(t, view.Text("leader"))
	require.NotEqual(t, view.Text("leader"), view.Header.Get("Flagraft-Node"))
	made := account.send("POST", "/api/v1/organisations/", object{"name": "Acme"}, 201)
	in.organisation, in.uuid = made.ID("id"), made.Text("uuid")
	in.user = account.get("/api/v1/auth/users/me/").ID("id")
	in.master = account.send("POST", path("/api/v1/organisations/%d/master-api-keys/", in.organisation), object{"name": "tool", "is_admin": true}, 201).Text("key")
	return in, ctx
}

// tool is a program with one kind of credentials.
type tool struct {
	*testing.T
	ctx    context.Context
	client *nodes.Client
}

// tool points a program at the follower; without authorization it sends none.
func (in *installation) tool(t *testing.T, ctx context.Context, authorization string) *tool {
	c := in.follower.Client()
	if authorization != "" {
		c = c.With("Authorization", authorization)
	}
	return &tool{t, ctx, c}
}

// in returns the same program in a subtest.
func (x *tool) in(t *testing.T) *tool { return &tool{t, x.ctx, x.client} }

// send fails unless the status is the wanted one. A body must say that it is JSON:
// two of the tools read none otherwise.
func (x *tool) send(method, path string, body any, want int) *nodes.Answer {
	x.Helper()
	a, err := x.client.Must(x.ctx, method, path, body, want)
	require.NoError(x, err)
	if len(a.Body) > 0 {
		require.True(x, strings.HasPrefix(a.Header.Get("Content-Type"), "application/json"), "%s %s: %s", method, path, a.Header.Get("Content-Type"))
	}
	return a
}

func (x *tool) get(path string) *nodes.Answer {
	x.Helper()
	return x.send(http.MethodGet, path, nil, 200)
}

// refused expects an error whose text stands in `detail`, and returns that.
func (x *tool) refused(method, path string, body any, want int) string {
	x.Helper()
	detail := x.send(method, path, body, want).Text("detail")
	require.NotEmpty(x, detail, "%s %s", method, path)
	return detail
}

// decode reads a body into what the tool keeps of it.
func decode[T any](x *tool, a *nodes.Answer) (v T) {
	x.Helper()
	require.NoError(x, json.Unmarshal(a.Body, &v), "%.300s", a.Body)
	return v
}

// all walks a list as the command line does: a bare array is the list; of `next` only path and query count.
func all[T any](x *tool, path string) []T {
	x.Helper()
	out := []T{}
	for pages := 0; path != ""; pages++ {
		require.Less(x, pages, 100, "the pages end")
		a := x.get(path)
		if strings.HasPrefix(string(a.Body), "[") {
			return decode[[]T](x, a)
		}
		page := decode[struct {
			Next    *string
			Results []T
		}](x, a)
		out, path = append(out, page.Results...), pathAndQuery(x, page.Next)
	}
	return out
}
