package server

import (
	"context"
	"errors"
	"time"

	"github.com/flagraft/flagraft/cluster"
	"github.com/flagraft/flagraft/server/admin"
	"github.com/flagraft/flagraft/server/route"
)

// The cluster as the API shows it, for superusers.

// clusterStatus is the cluster as its leader sees it; with from_leader false, as the node does that was asked, and nothing is known of health.
type clusterStatus struct {
	ClusterID        string          `json:"cluster_id"`
	Node             string          `json:"node"` // who tells
	FromLeader       bool            `json:"from_leader"`
	Leader           *string         `json:"leader"` // node id; null: none is known
	Term             uint64          `json:"term"`
	CommitIndex      uint64          `json:"commit_index"`
	Healthy          *bool           `json:"healthy"`           // every member is; null: not known
	FailureTolerance *int            `json:"failure_tolerance"` // voters that may fail before there is no majority
	Members          []clusterMember `json:"members"`
}

type clusterMember struct {
	ID           string     `json:"id"`
	Address      string     `json:"address"` // of the cluster port
	API          string     `json:"api"`
	Version      string     `json:"version"`
	Role         string     `json:"role"` // leader, voter, non-voter (gets its vote when it is stable) or read-replica
	Ready        bool       `json:"ready"`
	Healthy      *bool      `json:"healthy"`
	StableSince  *time.Time `json:"stable_since"` // since when healthy is as it is
	Draining     bool       `json:"draining"`     // it is about to stop and come back
	AppliedIndex uint64     `json:"applied_index"`
	LastContact  *time.Time `json:"last_contact"` // when the leader last heard from it
}

type memberRef struct {
	NodeID string `path:"node_id"`
}

type transferInput struct {
	Node route.Optional[string] `json:"node" v:"null,max=255"` // to whom; without: the voter that is best up to date
}

type transferred struct {
	Leader *string `json:"leader"` // node id; null: not known yet
}

const operationTimeout = 20 * time.Second

func (n *Node) clusterRows() []route.Row {
	const root, members, member = "/api/flagraft/v1/cluster/", "/api/flagraft/v1/cluster/members/", "/api/flagraft/v1/cluster/members/{node_id}/"
	row := func(method, path, id, summary string, h route.Handler) route.Row {
		return route.Row{Method: method, Path: path, OperationID: "flagraft_v1_cluster_" + id, Tag: "Cluster", Summary: summary, Auth: route.Superuser, Handler: h}
	}
	remove := row("DELETE", member, "members_destroy", "Take a member out of the cluster. It stops serving and stays out until its data directory was emptied.", route.Func(n.removeMember))
	transfer := row("POST", root+"transfer/", "transfer", "Hand leadership to another voter.", route.Func(n.transferLeadership))
	remove.Kind, remove.Status, transfer.Kind = route.Operation, 204, route.Operation
	return []route.Row{
		row("GET", root, "retrieve", "The cluster and the health of its members, as the leader sees them.", route.Func(n.clusterStatus)),
		row("GET", members, "members_list", "The members.", route.Func(n.clusterMembers)),
		row("GET", member, "members_retrieve", "One member.", route.Func(n.clusterMember)),
		remove, transfer,
	}
}

func (n *Node) clusterStatus(c *route.Call, _ struct{}) (clusterStatus, error) {
	ctx, cancel := context.WithTimeout(c.Context, readTimeout)
	defer cancel()
	return renderCluster(n.cluster.Overview(ctx)), nil
}

func (n *Node) clusterMembers(c *route.Call, in struct{}) ([]clusterMember, error) {
	s, err := n.clusterStatus(c, in)
	return s.Members, err
}

func (n *Node) clusterMember(c *route.Call, in memberRef) (clusterMember, error) {
	s, err := n.clusterStatus(c, struct{}{})
	for _, m := range s.Members {
		if m.ID == in.NodeID {
			return m, err
		}
	}
	return clusterMember{}, route.NotFoundDetail()
}

func (n *Node) removeMember(c *route.Call, in memberRef) (route.Empty, error) {
	ctx, cancel := context.WithTimeout(c.Context, operationTimeout)
	defer cancel()
	n.log.WarnContext(c.Context, "member removal asked for", "member", in.NodeID, "by", admin.From(c).Principal.Author().Name)
	return route.Empty{}, operationError(n.cluster.Remove(ctx, in.NodeID))
}

func (n *Node) transferLeadership(c *route.Call, in transferInput) (transferred, error) {
	ctx, cancel := context.WithTimeout(c.Context, operationTimeout)
	defer cancel()
	term := n.cluster.Term()
	n.log.WarnContext(c.Context, "leadership transfer asked for", "to", in.Node.Value, "by", admin.From(c).Principal.Author().Name)
	if err := n.cluster.TransferTo(ctx, in.Node.Value); err != nil {
		return transferred{}, operationError(err)
	}
	if leader, ok := n.handedOver(ctx, term, in.Node.Value); ok {
		return transferred{&leader}, nil
	}
	return transferred{}, nil
}

// handedOver waits for the leader that a handover of that term led to: one of a later term, or the node that was asked for. It may be the leader
// of before, as somebody else may have handed leadership back meanwhile.
func (n *Node) handedOver(ctx context.Context, term uint64, to string) (leader string, ok bool) {
	for ctx.Err() == nil {
		later := n.cluster.Term() > term // asked first: the leader may change between the two
		if now, known := n.cluster.Leader(); known && (later || now.ID == to) {
			return now.ID, true
		}
		pause(ctx, 5*time.Millisecond)
	}
	return "", false
}

// operationError is a refusal of the cluster as an answer.
func operationError(err error) error {
	var refused *cluster.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused) && refused.Code == cluster.CodeUnknownMember:
		return route.Detail(404, refused.Text)
	case errors.As(err, &refused):
		return route.Conflict(refused.Text)
	case errors.Is(err, cluster.ErrUnknownOutcome):
		return route.Unavailable("The outcome is unknown: the leader was lost meanwhile. Look at the cluster's status, then try again.", 1)
	}
	return route.Unavailable("No leader could be reached in time; nothing was done.", 1)
}

func renderCluster(o cluster.Overview) clusterStatus {
	s := clusterStatus{ClusterID: o.ClusterID, Node: o.Node, FromLeader: o.FromLeader, Term: o.Term, CommitIndex: o.Commit}
	if o.Leader != "" {
		s.Leader = &o.Leader
	}
	if o.FromLeader {
		s.Healthy, s.FailureTolerance = &o.Healthy, &o.FailureTolerance
	}
	for _, m := range o.Members {
		s.Members = append(s.Members, renderMember(o.FromLeader, m))
	}
	return s
}

func renderMember(fromLeader bool, m cluster.OverviewMember) clusterMember {
	out := clusterMember{ID: m.ID, Address: m.Address, API: m.API, Version: m.Version, Role: "non-voter", Ready: m.Ready,
		Draining: m.Draining, AppliedIndex: m.Applied}
	switch {
	case m.Leader:
		out.Role = "leader"
	case m.Voter:
		out.Role = "voter"
	case m.ReadReplica:
		out.Role = "read-replica"
	}
	if fromLeader {
		out.Healthy = &m.Healthy
	}
	if !m.StableSince.IsZero() {
		out.StableSince = &m.StableSince
	}
	if !m.LastContact.IsZero() {
		out.LastContact = &m.LastContact
	}
	return out
}
