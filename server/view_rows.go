package server

import (
	"context"
	"time"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/admin"
	"github.com/flagraft/flagraft/server/route"
)

// How far a write has got: which index the ready nodes serve of an environment.

type viewsInput struct {
	Environment string `path:"environment_api_key"`
	Index       string `query:"index"` // a Flagraft-Index
}

// reachedViews says which log index the compiled environments reflect.
type reachedViews struct {
	Index      uint64 `json:"index"`       // asked for; 0: none, or one of another epoch
	Here       uint64 `json:"here"`        // on this node
	Everywhere uint64 `json:"everywhere"`  // on all ready nodes, as this node was last told
	ReadyNodes uint64 `json:"ready_nodes"` // how many those are
	Reached    bool   `json:"reached"`     // all of them serve the index asked for
}

const (
	// viewsPatience is how long a question for an index waits for all ready nodes.
	viewsPatience = 2 * time.Second
	viewsPause    = 2 * time.Millisecond
)

func (n *Node) viewRows() []route.Row {
	return []route.Row{{Method: "GET", Path: "/api/flagraft/v1/environments/{environment_api_key}/views/", OperationID: "flagraft_v1_environments_views_retrieve",
		Tag: "Environments", Kind: route.Read, Auth: route.Admin, Permission: admin.EnvironmentPermission("VIEW_ENVIRONMENT", admin.Path("environment_api_key")).Missing404(),
		Summary:     "Which writes the flags on all ready nodes reflect.",
		Description: "With index, the Flagraft-Index of a write, the answer waits until all ready nodes serve it, 2 s at most.",
		Handler:     route.Func(n.reachedViews)}}
}

func (n *Node) reachedViews(c *route.Call, in viewsInput) (reachedViews, error) {
	environment := admin.From(c).Environment.ID
	ctx, cancel := context.WithTimeout(c.Context, viewsPatience)
	defer cancel()
	index := fsm.ReadIndexToken(in.Index, n.fsm.State().Genesis.Epoch)
	for {
		r := n.lookAtViews(environment, index)
		if r.Reached || ctx.Err() != nil || n.stopping.Load() {
			return r, nil
		}
		pause(ctx, viewsPause)
	}
}

// lookAtViews tells what is known now.
func (n *Node) lookAtViews(environment, index uint64) reachedViews {
	r := reachedViews{Index: index, Here: n.progress.Here(environment), Everywhere: n.progress.Everywhere(environment), ReadyNodes: n.progress.Nodes()}
	if n.progress.Alone() {
		r.Everywhere = r.Here
	}
	r.Reached = r.Everywhere >= index && r.Here >= index
	return r
}
