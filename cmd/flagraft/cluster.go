package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const clusterPath = "/api/flagraft/v1/cluster/"

// clusterCommand is what the subcommands of `flagraft cluster` share.
type clusterCommand struct {
	api remote
	out outputFormat
}

// newClusterCommand is `flagraft cluster`.
func newClusterCommand() *cobra.Command {
	c := &clusterCommand{}
	cmd := group(&cobra.Command{
		Use:   "cluster",
		Short: "Look at a cluster and change its members",
		Long: `Look at a cluster and change its members. The commands ask a node's API with the
account token of a superuser; any node will do. Only recover works without one.

` + exitCodes,
		Example: `  export FLAGRAFT_URL=http://10.0.0.1:8000 FLAGRAFT_TOKEN=…
  flagraft cluster status
  flagraft cluster transfer 10.0.0.2:8001
  flagraft cluster remove 3f0c`,
	})
	c.api.register(cmd.PersistentFlags())
	c.out.register(cmd)
	cmd.AddCommand(c.status(), c.join(), c.remove(), c.transfer(), c.recover(), c.gossipKeys())
	return cmd
}

// clusterStatus is the answer of the API.
type clusterStatus struct {
	ClusterID        string          `json:"cluster_id"`
	Node             string          `json:"node"`
	FromLeader       bool            `json:"from_leader"`
	Leader           *string         `json:"leader"`
	Term             uint64          `json:"term"`
	CommitIndex      uint64          `json:"commit_index"`
	Healthy          *bool           `json:"healthy"`
	FailureTolerance *int            `json:"failure_tolerance"`
	Members          []clusterMember `json:"members"`
}

type clusterMember struct {
	ID           string     `json:"id"`
	Address      string     `json:"address"`
	API          string     `json:"api"`
	Version      string     `json:"version"`
	Role         string     `json:"role"`
	Ready        bool       `json:"ready"`
	Healthy      *bool      `json:"healthy"`
	StableSince  *time.Time `json:"stable_since"`
	Draining     bool       `json:"draining"`
	AppliedIndex uint64     `json:"applied_index"`
	LastContact  *time.Time `json:"last_contact"`
}

func (c *clusterCommand) load(ctx context.Context) (clusterStatus, error) {
	var s clusterStatus
	return s, callSoon(ctx, &c.api, "GET", clusterPath, nil, &s)
}

// find returns the member that name means: its id, the only one that begins
// so, or one of its addresses.
func (s clusterStatus) find(name string) (clusterMember, error) {
	var found []clusterMember
	for _, m := range s.Members {
		if m.ID == name {
			return m, nil
		}
		if name == m.Address || name == m.API || len(name) >= 2 && strings.HasPrefix(m.ID, name) {
			found = append(found, m)
		}
	}
	switch len(found) {
	case 0:
		return clusterMember{}, &codedError{exitFailed, fmt.Errorf("no member is called %q; see flagraft cluster status", name)}
	case 1:
		return found[0], nil
	}
	return clusterMember{}, &codedError{exitFailed, fmt.Errorf("%d members are called %q: give more of the id", len(found), name)}
}
