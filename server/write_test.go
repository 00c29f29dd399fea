package server_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

// project gives the founded installation an organisation with the superuser as its ADMIN, a project and an environment.
func project(t *testing.T, n *servertest.Node) (tags string) {
	t.Helper()
	var id uint64
	require.NoError(t, n.Update(t.Context(), func(tx *fsm.Tx) error {
		org := fsm.Organisations.Put(tx, fsm.Organisation{UUID: uuid.New(), Name: "O"})
		for u := range fsm.Users.All(tx) {
			fsm.Memberships.Put(tx, fsm.Membership{Organisation: org.ID, User: u.ID, Role: fsm.RoleAdmin})
		}
		p := fsm.Projects.Put(tx, fsm.Project{UUID: uuid.New(), Name: "P", Organisation: org.ID})
		fsm.Environments.Put(tx, fsm.Environment{UUID: uuid.New(), Name: "E", APIKey: "environment", Project: p.ID})
		id = p.ID
		return nil
	}))
	return fmt.Sprintf("/api/v1/projects/%d/tags/", id)
}

func TestWriteAndRead(t *testing.T) {
	n := servertest.Start(t)
	tags, c := project(t, n), n.Admin(t)
	made := c.Object("POST", tags, map[string]any{"label": " é ", "description": nil}, 201)
	require.Equal(t, "é", made["label"])
	require.Equal(t, "#6837FC", made["color"])
	one := fmt.Sprintf("%s%v", tags, made["id"]) // without the slash
	require.Equal(t, made, c.Object("GET", one, nil, 200))
	require.Equal(t, "x", c.Object("PATCH", one, map[string]any{"description": "x"}, 200)["description"])
	require.Equal(t, `{"label":["This field is required."]}`, c.Do("PUT", one, map[string]any{}).Raw)
	list := c.Do("GET", tags, nil)
	require.Contains(t, list.Raw, `"label":"\u00e9"`)
	require.Contains(t, list.Raw, `{"count":1,"next":null,"previous":null,"results":[{"id":`)
	require.Equal(t, "linearizable", list.Header.Get("Flagraft-Consistency"))
	require.NotEmpty(t, list.Header.Get("Flagraft-Index"))
	require.Equal(t, 204, c.Do("DELETE", one, nil).Status)
	require.Equal(t, `{"detail":"No Tag matches the given query."}`, c.Do("GET", one, nil).Raw)
	require.Equal(t, 403, c.Do("GET", "/api/v1/projects/99/tags/", nil).Status)
	require.Equal(t, "environment", c.Object("GET", "/api/v1/environments/environment/document", nil, 200)["api_key"])
}

func TestIdempotencyKey(t *testing.T) {
	n := servertest.Start(t)
	tags := project(t, n)
	c := n.Admin(t).With("Idempotency-Key", "k1")
	first := c.Do("POST", tags, map[string]any{"label": "a"})
	again := c.Do("POST", tags, map[string]any{"label": "a"})
	require.Equal(t, 201, first.Status)
	require.Equal(t, 201, again.Status)
	require.Equal(t, first.Raw, again.Raw)
	require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
	require.Len(t, n.Admin(t).Object("GET", tags, nil, 200)["results"], 1)
	require.Equal(t, 422, c.Do("POST", tags, map[string]any{"label": "b"}).Status)
	require.Equal(t, 400, n.Admin(t).With("Idempotency-Key", fmt.Sprintf("%0300d", 1)).
		Do("POST", tags, map[string]any{"label": "b"}).Status)

	// What the first request did must not refuse the second.
	one := tags + "1/"
	d := n.Admin(t).With("Idempotency-Key", "k2")
	require.Equal(t, 204, d.Do("DELETE", one, nil).Status)
	require.Equal(t, 204, d.Do("DELETE", one, nil).Status)
	require.Equal(t, 404, n.Admin(t).Do("DELETE", one, nil).Status)
}

func TestMasterKey(t *testing.T) {
	n := servertest.Start(t)
	tags := project(t, n)
	key, expired := masterKeys(t, n)
	require.Equal(t, 200, n.Client(t).With("Authorization", "Api-Key "+key).Do("GET", tags, nil).Status)
	for _, bad := range []string{"Api-Key " + expired, "Api-Key x.y", "Api-Key "} {
		a := n.Client(t).With("Authorization", bad).Do("GET", tags, nil)
		require.Equal(t, 401, a.Status)
		require.Equal(t, `{"detail":"Valid Master API Key not found."}`, a.Raw)
	}
	require.Equal(t, `{"detail":"Authentication credentials were not provided."}`, n.Client(t).With("Authorization", "api-key "+key).Do("GET", tags, nil).Raw)
	require.Equal(t, `{"detail":"Invalid token header. No credentials provided."}`, n.Client(t).With("Authorization", "Token").Do("GET", tags, nil).Raw)
}

func TestThreeNodes(t *testing.T) {
	t.Parallel()
	nodes := servertest.Cluster(t, 3)
	leader, follower, other := nodes[0], nodes[1], nodes[2]
	tags := project(t, leader)
	token := leader.Token(t)
	at := func(n *servertest.Node) *servertest.Client { return n.Client(t).With("Authorization", "Token "+token) }

	// A write through a follower is there for a linearizable read anywhere, and for a local read on the node that took it.
	made := at(follower).Do("POST", tags, map[string]any{"label": "a"})
	require.Equal(t, 201, made.Status, made.Raw)
	require.Equal(t, 1.0, at(follower).With("Flagraft-Consistency", "local").Object("GET", tags, nil, 200)["count"])
	require.Equal(t, 1.0, at(other).Object("GET", tags, nil, 200)["count"])

	// A token from one node makes another wait.
	token2 := at(follower).Do("POST", tags, map[string]any{"label": "b"}).Header.Get("Flagraft-Index")
	seen := at(other).With("Flagraft-Min-Index", token2).Do("GET", tags, nil)
	require.Equal(t, "min-index", seen.Header.Get("Flagraft-Consistency"))
	require.Contains(t, seen.Raw, `"count":2`)
	require.Equal(t, 400, at(other).With("Flagraft-Consistency", "eventual").Do("GET", tags, nil).Status)

	// The leader goes: writes come back by themselves.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(t, leader.Stop(ctx))
	after := at(follower).With("Idempotency-Key", "c").Do("POST", tags, map[string]any{"label": "c"})
	require.Equal(t, 201, after.Status, after.Raw)
	require.Equal(t, 3.0, at(other).Object("GET", tags, nil, 200)["count"])
}

func TestWithoutQuorum(t *testing.T) {
	t.Parallel()
	nodes := servertest.Cluster(t, 2, func(st *settings.Settings) { st.LeaderTimeout = 300 * time.Millisecond })
	leader, follower := nodes[0], nodes[1]
	tags := project(t, leader)
	c := follower.Client(t).With("Authorization", "Token "+leader.Token(t))
	require.Equal(t, 200, c.Do("GET", tags, nil).Status)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(t, leader.Stop(ctx))

	w := c.Do("POST", tags, map[string]any{"label": "a"})
	require.Equal(t, http.StatusServiceUnavailable, w.Status, w.Raw)
	require.Equal(t, "1", w.Header.Get("Retry-After"))
	r := c.Do("GET", tags, nil)
	require.Equal(t, 200, r.Status)
	require.Equal(t, "local", r.Header.Get("Flagraft-Consistency"), "an admin read falls to local and says so")
	require.Equal(t, http.StatusServiceUnavailable, c.With("Flagraft-Consistency", "linearizable").Do("GET", tags, nil).Status)
}
