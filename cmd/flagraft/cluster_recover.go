package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/flagraft/flagraft/server"
)

// recovery is one run of `flagraft cluster recover`.
type recovery struct {
	dir, file   string
	list        []string
	yes, dryRun bool
	form        *outputFormat
	in          io.Reader
	out         io.Writer
}

func (c *clusterCommand) recover() *cobra.Command {
	r := recovery{form: &c.out}
	cmd := &cobra.Command{
		Use:   "recover",
		Short: "Make a new configuration on a stopped node after a majority was lost for good",
		Long: `Make a new configuration of the cluster in the data directory of a stopped node,
for when a majority of the voters is lost for good. Try everything to bring them
back first: what only they had is gone after this.

Without --member and --peers the node becomes a cluster of one. That is the safe
way: recover the survivor whose last index is the highest (--dry-run shows it),
start it, empty the data directories of the others and let them join again.
With a list, the same one has to be written on every survivor before any starts.

The lost nodes must never run again with their old data directories: enough of
them could elect a leader of their own, and there would be two clusters.

Exit codes: 0 done, 1 refused or failed (the node runs, the directory is damaged,
no confirmation), 2 wrong arguments.`,
		Example: `  flagraft cluster recover --data-dir /var/lib/flagraft --dry-run
  flagraft cluster recover --data-dir /var/lib/flagraft
  flagraft cluster recover --data-dir data --member ID1=10.0.0.1:8001 --member ID2=10.0.0.2:8001 --yes
  flagraft cluster recover --data-dir data --peers peers.json   # [{"id": "…", "address": "…", "non_voter": false}]`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r.in, r.out = cmd.InOrStdin(), cmd.OutOrStdout()
			return r.run()
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&r.dir, "data-dir", cmp.Or(os.Getenv("FLAGRAFT_DATA_DIR"), "data"), "data directory of the stopped node (FLAGRAFT_DATA_DIR)")
	flags.StringArrayVar(&r.list, "member", nil, "a surviving member, ID=ADDRESS or ID=ADDRESS,non-voter; once for each")
	flags.StringVar(&r.file, "peers", "", "JSON file with the surviving members")
	flags.BoolVar(&r.yes, "yes", false, "do not ask")
	flags.BoolVar(&r.dryRun, "dry-run", false, "show what is there and what would be written, change nothing")
	return cmd
}

// recoveryReport is what recover prints as JSON.
type recoveryReport struct {
	server.RecoverySurvey
	Configuration []server.RecoveryMember `json:"configuration"` // the new one
	Written       bool                    `json:"written"`
}

func (r *recovery) run() error {
	members, err := r.members()
	if err != nil {
		return err
	}
	node, err := server.OpenRecovery(r.dir, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		return err
	}
	defer func() { _ = node.Close() }() // what was written is synced
	report := recoveryReport{}
	if report.RecoverySurvey, err = node.Survey(); err != nil {
		return err
	}
	if report.Configuration, err = node.Plan(members); err != nil {
		return err
	}
	if *r.form != "json" || !r.yes && !r.dryRun {
		if err := report.print(r.out); err != nil {
			return err
		}
	}
	if !r.dryRun {
		if err := r.confirm(report.NodeID); err != nil {
			return err
		}
		if _, err := node.Recover(report.Configuration); err != nil {
			return err
		}
		report.Written = true
	}
	if done, err := r.form.json(r.out, report); done || r.dryRun {
		return err
	}
	_, err = fmt.Fprintln(r.out, "\nwritten; start the node now")
	return err
}

// members reads the list from the flags or the file.
func (r *recovery) members() ([]server.RecoveryMember, error) {
	var members []server.RecoveryMember
	if r.file != "" {
		if len(r.list) > 0 {
			return nil, usageError("give --member or --peers, not both")
		}
		raw, err := os.ReadFile(r.file)
		if err != nil {
			return nil, usageError("--peers: %w", err)
		}
		if err := json.Unmarshal(raw, &members); err != nil || len(members) == 0 {
			return nil, usageError("--peers: %s must hold a list of members: %w", r.file, cmp.Or(err, errors.New("it is empty")))
		}
	}
	for _, text := range r.list {
		id, addr, ok := strings.Cut(text, "=")
		addr, role, _ := strings.Cut(addr, ",")
		if !ok || id == "" || addr == "" || role != "" && role != "non-voter" {
			return nil, usageError("--member %q: it must be ID=ADDRESS or ID=ADDRESS,non-voter", text)
		}
		members = append(members, server.RecoveryMember{ID: id, Address: addr, NonVoter: role != ""})
	}
	for _, m := range members {
		// Raft would take any text for an address, and the survivors would not find each other.
		host, port, err := net.SplitHostPort(m.Address)
		if number, wrong := strconv.ParseUint(port, 10, 16); err != nil || wrong != nil || number == 0 || host == "" {
			return nil, usageError("member %q: its address must be host:port, not %q", m.ID, m.Address)
		}
	}
	return members, nil
}

func (p recoveryReport) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(t, format, args...) } // Flush tells
	line("node\t%s\ncluster\t%s\nlast index\t%d (term %d)\n", p.NodeID, orDash(p.ClusterID), p.LastIndex, p.LastTerm)
	show := func(title string, members []server.RecoveryMember) {
		line("\n%s\n", title)
		for _, m := range members {
			role := "voter"
			if m.NonVoter {
				role = "non-voter"
			}
			line("  %s\t%s\t%s\n", m.ID, m.Address, role)
		}
	}
	show("members as this node knows them", p.Members)
	show("members after recovery", p.Configuration)
	return t.Flush()
}

// confirm asks for the node's id, so that nobody recovers the wrong directory by habit.
func (r *recovery) confirm(nodeID string) error {
	if r.yes {
		return nil
	}
	_, err := fmt.Fprintf(r.out, "\nWrites that only the lost nodes had are gone after this, and those nodes must never run again\n"+
		"with their old data. Type the first 8 characters of this node's id to go on: ")
	if err != nil {
		return err
	}
	answer, err := bufio.NewReader(r.in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if strings.TrimSpace(answer) != nodeID[:min(8, len(nodeID))] {
		return errors.New("not confirmed: nothing was changed")
	}
	return nil
}
