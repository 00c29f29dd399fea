package server

import (
	"context"
	"errors"
	"fmt"
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
	for pause(ctx, levelTick); ctx.Err() == nil; pause(ctx, levelTick) {
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

// atLevel is nil when the cluster has reached a format level, and else the answer that says who is in the way. The state may lag behind the
// leader's, so a refusal is no proof for long.
func (n *Node) atLevel(level uint8) error {
	state := n.fsm.State()
	if state.Level() >= level || !state.Born() {
		return nil
	}
	var behind []string
	for _, m := range n.cluster.Members() {
		if m.Level < level {
			behind = append(behind, fmt.Sprintf("%s (version %s)", m.ID, m.Version))
		}
	}
	text := fmt.Sprintf("This needs format level %d and the cluster is at level %d. The level rises by itself once every node runs a version that "+
		"knows it.", level, state.Level())
	if len(behind) > 0 {
		text += " Not known to: " + strings.Join(behind, ", ") + "."
	}
	return route.Detail(409, text)
}
