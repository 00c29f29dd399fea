package cluster

import (
	"context"
	"time"

	"github.com/hashicorp/raft"
	autopilot "github.com/hashicorp/raft-autopilot"
)

// Overview is the cluster as its leader sees it, or, when FromLeader is false,
// as the node that was asked does: then nothing is known about health.
type Overview struct {
	ClusterID  string `cbor:"cluster"`
	Node       string `cbor:"node"` // who tells
	FromLeader bool   `cbor:"from_leader"`
	Leader     string `cbor:"leader"` // node id; "" = none known
	Term       uint64 `cbor:"term"`
	Commit     uint64 `cbor:"commit"`
	// Healthy says that every member is. FailureTolerance is how many voters
	// may fail before there is no majority.
	Healthy          bool             `cbor:"healthy"`
	FailureTolerance int              `cbor:"failure_tolerance"`
	Members          []OverviewMember `cbor:"members"`
}

// OverviewMember is one member.
type OverviewMember struct {
	Member `cbor:"member"`
	// Healthy: it answers, hears the leader, and is at most 250 entries behind.
	Healthy     bool      `cbor:"healthy"`
	StableSince time.Time `cbor:"stable_since"` // of Healthy as it is; zero = not known
	// ReadReplica: it asked for no vote. Others get theirs once they are stable.
	ReadReplica bool `cbor:"read_replica"`
	Draining    bool `cbor:"draining"` // it is about to stop and come back
}

// Overview asks the leader; without one it tells what this node knows.
func (n *Node) Overview(ctx context.Context) Overview {
	o, err := ask[Overview](struct{}{}, func(payload []byte) ([]byte, error) {
		return n.callLeader(ctx, kindOverview, payload)
	})
	if err != nil {
		return n.overview(nil)
	}
	return o
}

func (n *Node) serveOverview(context.Context, string, struct{}) (Overview, error) {
	return n.overview(n.pilot.Load()), nil
}

func (n *Node) overview(p *pilot) Overview {
	s := n.Status()
	o := Overview{ClusterID: s.ClusterID, Node: n.id, FromLeader: p != nil, Leader: s.Leader, Term: s.Term, Commit: s.Commit}
	var state *autopilot.State
	if p != nil {
		state = p.state.Load()
	}
	if state != nil {
		o.Healthy, o.FailureTolerance = state.Healthy, state.FailureTolerance
	}
	for _, m := range s.Members {
		om := OverviewMember{Member: m}
		if state != nil {
			if seen, ok := state.Servers[raft.ServerID(m.ID)]; ok {
				told, _ := seen.Server.Ext.(heardMember)
				om.Healthy, om.StableSince = seen.Health.Healthy, seen.Health.StableSince
				om.ReadReplica, om.Draining = told.NonVoter, told.Draining
			} else {
				o.Healthy = false // it came after the autopilot looked
			}
		}
		o.Members = append(o.Members, om)
	}
	return o
}
