package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

func (c *clusterCommand) status() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the members and their health",
		Long: `Show the cluster as its leader sees it; without a leader, what the node knows.

Roles: leader, voter, non-voter (gets its vote once it was healthy for 10 s) and
read-replica (was started with --non-voter). A healthy member answers, hears the
leader and is at most 250 log entries behind.

Exit codes: 0 every member is healthy, 1 refused or failed, 2 wrong arguments,
3 the node does not answer or cannot answer now, 4 a member is not healthy or
there is no leader.`,
		Example: `  flagraft cluster status --url http://10.0.0.1:8000
  flagraft cluster status -o json | jq '.members[] | select(.healthy != true)'`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.load(cmd.Context())
			if err != nil {
				return err
			}
			done, err := c.out.json(cmd.OutOrStdout(), s)
			if !done && err == nil {
				err = s.print(cmd.OutOrStdout(), time.Now())
			}
			if err != nil {
				return err
			}
			return s.verdict()
		},
	}
}

// verdict is an error with exit code 4 unless all is well.
func (s clusterStatus) verdict() error {
	switch {
	case s.Leader == nil:
		return &codedError{exitUnhealthy, errors.New("there is no leader: reads go on, writes wait")}
	case s.Healthy == nil || !*s.Healthy:
		return &codedError{exitUnhealthy, errors.New("not every member is healthy")}
	}
	return nil
}

func (s clusterStatus) print(w io.Writer, now time.Time) error {
	leader, health := "none", "unknown: "+s.Node+" knows no leader that answers"
	if s.Leader != nil {
		leader = *s.Leader
	}
	if s.Healthy != nil && s.FailureTolerance != nil {
		health = "healthy"
		if !*s.Healthy {
			health = "not healthy"
		}
		health += fmt.Sprintf(", %d more voters may fail", *s.FailureTolerance)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(t, format, args...) } // Flush tells
	line("cluster\t%s\nleader\t%s\nterm\t%d\nindex\t%d\nhealth\t%s\n\n", s.ClusterID, leader, s.Term, s.CommitIndex, health)
	if err := t.Flush(); err != nil {
		return err
	}
	line("ID\tADDRESS\tAPI\tROLE\tHEALTH\tREADY\tBEHIND\tCONTACT\tVERSION\n")
	slices.SortFunc(s.Members, func(a, b clusterMember) int { return cmp.Compare(a.ID, b.ID) })
	for _, m := range s.Members {
		line("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", m.ID, m.Address, orDash(m.API), m.Role, m.health(), yesNo(m.Ready),
			m.behind(s.CommitIndex), m.contact(now), orDash(m.Version))
	}
	return t.Flush()
}

func (m clusterMember) health() string {
	switch {
	case m.Draining:
		return "draining"
	case m.Healthy == nil:
		return "-"
	case *m.Healthy:
		return "healthy"
	}
	return "FAILING"
}

// behind is how many entries the member had not applied when it last reported.
func (m clusterMember) behind(commit uint64) string {
	if m.AppliedIndex == 0 {
		return "-"
	}
	return fmt.Sprint(commit - min(m.AppliedIndex, commit))
}

func (m clusterMember) contact(now time.Time) string {
	switch {
	case m.Role == "leader":
		return "itself"
	case m.LastContact == nil:
		return "never"
	}
	return max(now.Sub(*m.LastContact), 0).Round(100*time.Millisecond).String() + " ago"
}

func orDash(s string) string { return cmp.Or(s, "-") }

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
