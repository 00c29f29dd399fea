package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

const organisationsPath = "/api/flagraft/v1/organisations/"

// organisation is what the API tells superusers of one; a limit is null when there is none.
type organisation struct {
	ID                 uint64  `json:"id"`
	UUID               string  `json:"uuid"`
	Name               string  `json:"name"`
	StopServingFlags   bool    `json:"stop_serving_flags"`
	PersistTraitData   bool    `json:"persist_trait_data"`
	BlockAccessToAdmin bool    `json:"block_access_to_admin"`
	MaxSeats           *uint64 `json:"max_seats"`
	MaxProjects        *uint64 `json:"max_projects"`
	MaxAPICalls        *uint64 `json:"max_api_calls"`
	Seats              int     `json:"seats"`
	Projects           int     `json:"projects"`
	APICalls           uint64  `json:"api_calls"`
	APICallsExceeded   bool    `json:"api_calls_exceeded"`
}

func newOrgCommand() *cobra.Command {
	var form outputFormat
	cmd := group(&cobra.Command{
		Use:     "org",
		Short:   "See and set what an organisation may",
		Long:    "Switches and limits of organisations, for superusers. There are no limits unless they are set.\n\n" + exitCodes,
		Example: "  flagraft org list\n  flagraft org set Acme --max-seats 10",
	})
	form.register(cmd)
	cmd.AddCommand(newOrgListCommand(&form), newOrgSetCommand(&form))
	return cmd
}

func newOrgListCommand(form *outputFormat) *cobra.Command {
	var node remote
	cmd := &cobra.Command{Use: "list", Short: "Show all organisations", Example: "  flagraft org list\n  flagraft org list -o json | jq '.[].name'", Args: exactly(0, "no arguments")}
	node.register(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		list, err := organisations(cmd.Context(), &node)
		if err != nil {
			return err
		}
		return printOrganisations(cmd.OutOrStdout(), list, form)
	}
	return cmd
}

func newOrgSetCommand(form *outputFormat) *cobra.Command {
	var node remote
	cmd := &cobra.Command{
		Use:     "set ORGANISATION",
		Short:   "Change the switches and limits of an organisation, named by its id, uuid or name",
		Args:    exactly(1, "the id, uuid or name of an organisation"),
		Example: "  flagraft org set Acme --max-seats 10 --max-api-calls 1000000\n  flagraft org set 3 --stop-serving-flags=true",
	}
	node.register(cmd.Flags())
	cmd.Flags().Bool("stop-serving-flags", false, "answer SDKs with 403")
	cmd.Flags().Bool("persist-trait-data", true, "store identities' traits")
	cmd.Flags().Bool("block-access-to-admin", false, "have the front end show that the organisation is blocked")
	cmd.Flags().Uint64("max-seats", 0, "members; 0: no limit")
	cmd.Flags().Uint64("max-projects", 0, "projects; 0: no limit")
	cmd.Flags().Uint64("max-api-calls", 0, "requests of SDKs in a month (UTC), then they get 403; 0: no limit")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		body, err := organisationChange(cmd)
		if err != nil {
			return err
		}
		if len(body) == 0 {
			return usageError("nothing to set: see --help")
		}
		o, err := organisationNamed(cmd.Context(), &node, args[0])
		if err != nil {
			return err
		}
		var changed organisation
		if err := callSoon(cmd.Context(), &node, "PATCH", fmt.Sprintf("%s%d/", organisationsPath, o.ID), body, &changed); err != nil {
			return err
		}
		return printOrganisations(cmd.OutOrStdout(), []organisation{changed}, form)
	}
	return cmd
}

// organisationChange is the body that changes what flags name; a limit of 0 is none.
func organisationChange(cmd *cobra.Command) (map[string]any, error) {
	body := map[string]any{}
	for flag, member := range map[string]string{"stop-serving-flags": "stop_serving_flags", "persist-trait-data": "persist_trait_data",
		"block-access-to-admin": "block_access_to_admin"} {
		if cmd.Flags().Changed(flag) {
			on, err := cmd.Flags().GetBool(flag)
			if err != nil {
				return nil, err
			}
			body[member] = on
		}
	}
	for flag, member := range map[string]string{"max-seats": "max_seats", "max-projects": "max_projects", "max-api-calls": "max_api_calls"} {
		if !cmd.Flags().Changed(flag) {
			continue
		}
		n, err := cmd.Flags().GetUint64(flag)
		if err != nil {
			return nil, err
		}
		if body[member] = n; n == 0 {
			body[member] = nil
		}
	}
	return body, nil
}

func organisations(ctx context.Context, node *remote) (list []organisation, err error) {
	return list, callSoon(ctx, node, "GET", organisationsPath, nil, &list)
}

// organisationNamed finds the only organisation of an id, uuid or name.
func organisationNamed(ctx context.Context, node *remote, name string) (found organisation, err error) {
	list, err := organisations(ctx, node)
	if err != nil {
		return found, err
	}
	matches := 0
	for _, o := range list {
		if strconv.FormatUint(o.ID, 10) == name || o.UUID == name {
			return o, nil
		}
		if o.Name == name {
			found, matches = o, matches+1
		}
	}
	switch matches {
	case 0:
		return found, fmt.Errorf("there is no organisation %q", name)
	case 1:
		return found, nil
	}
	return found, fmt.Errorf("%d organisations are called %q: use the id", matches, name)
}

func printOrganisations(w io.Writer, list []organisation, form *outputFormat) error {
	if done, err := form.json(w, list); done {
		return err
	}
	of := func(n uint64, limit *uint64) string {
		if limit == nil {
			return strconv.FormatUint(n, 10)
		}
		return fmt.Sprintf("%d of %d", n, *limit)
	}
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	lines := "ID\tNAME\tSEATS\tPROJECTS\tAPI CALLS\tSERVES\tTRAITS\tBLOCKED\n"
	for _, o := range list {
		lines += fmt.Sprintf("%d\t%s\t%s\t%s\t%s\t%t\t%t\t%t\n", o.ID, cmp.Or(o.Name, "-"), of(uint64(o.Seats), o.MaxSeats), of(uint64(o.Projects), o.MaxProjects),
			of(o.APICalls, o.MaxAPICalls), !o.StopServingFlags && !o.APICallsExceeded, o.PersistTraitData, o.BlockAccessToAdmin)
	}
	if _, err := io.WriteString(t, lines); err != nil {
		return err
	}
	return t.Flush()
}
