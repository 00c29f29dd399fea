package main

import (
	"fmt"
	"io"
	"net/url"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

const gossipKeysPath = clusterPath + "gossip-keys/"

// gossipKeys is the answer of the API.
type gossipKeys struct {
	Edition string            `json:"edition"`
	Keys    []gossipKey       `json:"keys"`
	Members []gossipKeyMember `json:"members"`
}

type gossipKey struct {
	ID    string `json:"id"`
	InUse bool   `json:"in_use"`
}

type gossipKeyMember struct {
	ID      string  `json:"id"`
	Current bool    `json:"current"`
	Problem *string `json:"problem"`
}

func (c *clusterCommand) gossipKeys() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "gossip-keys",
		Short: "Change the keys that gossip is encrypted with, without a restart",
		Long: `Change the keys that gossip is encrypted with, without a restart: install a new
key on every member, use it, remove the old one. Keys are made by the leader and
never shown; KEY is the name that list shows. A member that is away gets the keys
when it is back.

` + exitCodes,
		Example: `  flagraft cluster gossip-keys install
  flagraft cluster gossip-keys use 5f1c22d09a41
  flagraft cluster gossip-keys remove 0b7f3a66c1de`,
	})
	sub := func(use, short, method string, args cobra.PositionalArgs, path func([]string) string) {
		cmd.AddCommand(&cobra.Command{Use: use, Short: short, Args: args, Example: "  flagraft cluster gossip-keys " + strings.Replace(use, "KEY", "5f1c22d09a41", 1), RunE: func(cmd *cobra.Command, args []string) error {
			var k gossipKeys
			if err := callSoon(cmd.Context(), &c.api, method, path(args), nil, &k); err != nil {
				return err
			}
			if done, err := c.out.json(cmd.OutOrStdout(), k); done {
				return err
			}
			return k.table(cmd.OutOrStdout())
		}})
	}
	all := func([]string) string { return gossipKeysPath }
	sub("list", "Show the keys by name, and which members have them", "GET", exactly(0, "nothing"), all)
	sub("install", "Make a key that every member can decrypt with", "POST", exactly(0, "nothing"), all)
	sub("use KEY", "Encrypt with an installed key", "POST", exactly(1, "one key"), func(a []string) string { return gossipKeysPath + url.PathEscape(a[0]) + "/use/" })
	sub("remove KEY", "Forget a key that does not encrypt", "DELETE", exactly(1, "one key"), func(a []string) string { return gossipKeysPath + url.PathEscape(a[0]) + "/" })
	return cmd
}

func (k gossipKeys) table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "KEY\tUSE") // Flush tells
	for _, key := range k.Keys {
		use := "decrypts"
		if key.InUse {
			use = "encrypts"
		}
		_, _ = fmt.Fprintf(t, "%s\t%s\n", key.ID, use) // as above
	}
	_, _ = fmt.Fprintf(t, "\nMEMBER\tEDITION %s\n", k.Edition) // as above
	for _, m := range k.Members {
		state := "has it"
		if !m.Current {
			state = "not yet"
			if m.Problem != nil {
				state += ": " + *m.Problem
			}
		}
		_, _ = fmt.Fprintf(t, "%s\t%s\n", m.ID, state) // as above
	}
	return t.Flush()
}
