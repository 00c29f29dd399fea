package main

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
)

// memberResult is what remove and transfer print as JSON.
type memberResult struct {
	Removed string  `json:"removed,omitempty"`
	Leader  *string `json:"leader,omitempty"`
}

func (c *clusterCommand) remove() *cobra.Command {
	return &cobra.Command{
		Use:   "remove MEMBER",
		Short: "Take a member out of the cluster",
		Long: `Take a member out of the cluster. MEMBER is an id, the begin of one, or an
address of the member.

A member that runs stops serving at once (503) and says why; a dead one is told
when it comes back. It stays out until its data directory was emptied; then it
may join under a new id. A leader hands over first. Refused when no majority of
the remaining voters is alive.

` + exitCodes,
		Example: `  flagraft cluster remove 3f0c
  flagraft cluster remove 10.0.0.3:8001`,
		Args: exactly(1, "one member"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.load(cmd.Context())
			if err != nil {
				return err
			}
			m, err := s.find(args[0])
			if err != nil {
				return err
			}
			if err := callSoon(cmd.Context(), &c.api, "DELETE", clusterPath+"members/"+m.ID+"/", nil, nil); err != nil {
				return err
			}
			if done, err := c.out.json(cmd.OutOrStdout(), memberResult{Removed: m.ID}); done {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "removed %s (%s)\n", m.ID, m.Address)
			return err
		},
	}
}

func (c *clusterCommand) transfer() *cobra.Command {
	return &cobra.Command{
		Use:   "transfer [MEMBER]",
		Short: "Hand leadership to another voter",
		Long: `Hand leadership to MEMBER (an id, the begin of one, or an address), or to the
voter that is best up to date. Writes wait for some milliseconds.

` + exitCodes,
		Example: `  flagraft cluster transfer
  flagraft cluster transfer 10.0.0.2:8001`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exactly(1, "at most one member")(cmd, args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			in := map[string]string{}
			if len(args) == 1 {
				s, err := c.load(cmd.Context())
				if err != nil {
					return err
				}
				m, err := s.find(args[0])
				if err != nil {
					return err
				}
				in["node"] = m.ID
			}
			var result memberResult
			if err := callSoon(cmd.Context(), &c.api, "POST", clusterPath+"transfer/", in, &result); err != nil {
				return err
			}
			if done, err := c.out.json(cmd.OutOrStdout(), result); done {
				return err
			}
			leader := "not known yet"
			if result.Leader != nil {
				leader = *result.Leader
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "the leader is %s\n", leader)
			return err
		},
	}
}

// join tells a node; it has no users yet, so its management port is asked.
func (c *clusterCommand) join() *cobra.Command {
	management := "127.0.0.1:8003"
	cmd := &cobra.Command{
		Use:   "join ADDRESS...",
		Short: "Tell a fresh node which cluster addresses to ask",
		Long: `Tell a node that is in no cluster yet which cluster addresses (host:port) to ask,
as --join at its start would. Start such a node with --bootstrap-expect 0, or it
makes a cluster of its own. This is a hint that a restart forgets; whether the
node is let in depends on the cluster secret, as ever.

The node is asked on its management port, which needs no token.

` + exitCodes,
		Example: `  flagraft serve --bootstrap-expect 0 …
  flagraft cluster join 10.0.0.1:8001 10.0.0.2:8001 --management 127.0.0.1:8003`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("join takes one address or more; see --help")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			node := remote{url: management, token: "-"} // it asks for none
			if !strings.Contains(node.url, "://") {
				node.url = "http://" + node.url
			}
			if err := callSoon(cmd.Context(), &node, http.MethodPost, "/join", map[string][]string{"addresses": args}, nil); err != nil {
				return err
			}
			if done, err := c.out.json(cmd.OutOrStdout(), map[string][]string{"addresses": args}); done {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "the node asks %s now; see its log and flagraft cluster status\n", strings.Join(args, ", "))
			return err
		},
	}
	cmd.Flags().StringVar(&management, "management", management, "management address of the node that should join")
	return cmd
}
