package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flagraft/flagraft/cluster"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// levelTick is how often a leader below its binary's format level asks whether all members know that level by now.
const levelTick = 250 * time.Millisecond

// raiseLevels is the loop that raises the cluster's format level, on the leader, once every member runs a version that knows it.
func (n *Node) raiseLevels(ctx context.Context) {
	said := ""
	for pause(ctx, levelTick) {
		state := n.fsm.State()
		if !n.cluster.IsLeader() || !state.Born() || state.Level() >= fsm.FormatLevel {
			continue
		}
		err := n.raiseLevel(ctx)
		switch {
		case err == nil:
			n.log.Info("format level raised", "from", state.Level(), "to", fsm.FormatLevel)
		case errors.Is(err, cluster.ErrUnavailable) && err.Error() != said:
			said = err.Error()
			n.log.Info("the format level stays", "at", state.Level(), "known", fsm.FormatLevel, "because", err)
		}
	}
}

func (n *Node) raiseLevel(ctx context.Context) error {
	return n.cluster.RaiseLevel(ctx, fsm.FormatLevel, func(ctx context.Context) error {
		_, err := n.cluster.Propose(ctx, fsm.NewLevelEntry(fsm.FormatLevel, time.Now()))
		return err
	})
}

// requiredLevel is what a node must know to be a member: the state's level.
func (n *Node) requiredLevel() uint8 { return n.fsm.State().Level() }

// levelPatience is how long a request waits for a level that may be about to rise: a new cluster is born at the base level.
const levelPatience = 2 * time.Second

// atLevel returns nil once the cluster has reached a format level, and the answer that says who is in the way when a member is known not to know
// it, or when the level has not risen within levelPatience. The state may lag behind the leader's, so a refusal is no proof for long.
func (n *Node) atLevel(ctx context.Context, level uint8) error {
	if n.fsm.State().Level() >= level {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, levelPatience)
	defer cancel()
	for {
		state, members := n.fsm.State(), n.cluster.Members()
		if state.Level() >= level || !state.Born() {
			return nil // nothing can be asked of what is not born
		}
		if slices.ContainsFunc(members, func(m cluster.Member) bool { return m.Level > 0 && m.Level < level }) ||
			n.fsm.Applied().Wait(ctx, state.Index+1) != nil {
			return refuseLevel(level, state.Level(), members)
		}
	}
}

func refuseLevel(level, reached uint8, members []cluster.Member) error {
	var behind []string
	for _, m := range members {
		if m.Level < level {
			behind = append(behind, fmt.Sprintf("%s (version %s)", m.ID, m.Version))
		}
	}
	text := fmt.Sprintf("This needs format level %d and the cluster is at level %d. The level rises by itself once every node runs a version that "+
		"knows it.", level, reached)
	if len(behind) > 0 {
		text += " Not known to: " + strings.Join(behind, ", ") + "."
	}
	return route.Detail(409, text)
}
