package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

const schedulesPath = "/api/flagraft/v1/backups/schedules/"

// backupSchedule is a schedule as the API shows it.
type backupSchedule struct {
	ID          uint64  `json:"id"`
	Name        string  `json:"name"`
	When        string  `json:"when"`
	Target      string  `json:"target"`
	Keep        uint32  `json:"keep"`
	Enabled     bool    `json:"enabled"`
	Due         *string `json:"due"`
	LastSuccess *string `json:"last_success"`
	LastError   string  `json:"last_error"`
	LastFile    string  `json:"last_file"`
	LastBytes   uint64  `json:"last_bytes"`
	LastIndex   uint64  `json:"last_index"`
	Failures    uint32  `json:"failures"`
}

func newScheduleCommand() *cobra.Command {
	var form outputFormat
	cmd := group(&cobra.Command{
		Use:   "schedule",
		Short: "Have the cluster take backups by itself",
		Long: "The leader takes scheduled backups and keeps the newest ones. Targets are directories below the nodes' --backup-dir (a mount that all nodes\n" +
			"share, or the files are on whichever node led) and S3-compatible storage; its keys are settings of the nodes (--backup-s3-access-key).\n\n" + exitCodes,
		Example: "  flagraft backup schedule set nightly --when '0 3 * * *' --target nightly\n  flagraft backup schedule list",
	})
	form.register(cmd)
	cmd.AddCommand(newScheduleListCommand(&form), newScheduleSetCommand(&form), newScheduleRunCommand(&form), newScheduleRemoveCommand(&form))
	return cmd
}

func newScheduleListCommand(form *outputFormat) *cobra.Command {
	var node remote
	cmd := &cobra.Command{Use: "list", Short: "Show the schedules and what became of the last backups", Example: "  flagraft backup schedule list\n  flagraft backup schedule list -o json", Args: exactly(0, "no arguments")}
	node.register(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		list, err := schedules(cmd.Context(), &node)
		if err != nil {
			return err
		}
		return printSchedules(cmd.OutOrStdout(), list, form)
	}
	return cmd
}

func newScheduleSetCommand(form *outputFormat) *cobra.Command {
	var node remote
	var when, target string
	var keep int
	var disabled bool
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Make a schedule, or change it",
		Args:  exactly(1, "the name of a schedule"),
		Example: "  flagraft backup schedule set nightly --when '0 3 * * *' --target nightly --keep 14\n" +
			"  flagraft backup schedule set offsite --when 6h --target 's3://backups/flagraft?endpoint=https://s3.example.com&region=eu'",
	}
	node.register(cmd.Flags())
	cmd.Flags().StringVar(&when, "when", "", `a duration ("6h") or five cron fields in UTC ("0 3 * * *")`)
	cmd.Flags().StringVar(&target, "target", "", "directory below the nodes' backup directory, or s3://bucket/prefix?endpoint=…&region=…")
	cmd.Flags().IntVar(&keep, "keep", 7, "how many of the newest stay; 0: all")
	cmd.Flags().BoolVar(&disabled, "disabled", false, "keep the schedule, but take no backups")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		body := map[string]any{"name": args[0]}
		for flag, value := range map[string]any{"when": when, "target": target, "keep": keep} {
			if cmd.Flags().Changed(flag) {
				body[flag] = value
			}
		}
		if cmd.Flags().Changed("disabled") {
			body["enabled"] = !disabled
		}
		method, path := "POST", schedulesPath
		have, err := scheduleNamed(cmd.Context(), &node, args[0])
		switch {
		case err != nil:
			return err
		case have != nil:
			method, path = "PATCH", fmt.Sprintf("%s%d/", schedulesPath, have.ID)
		case when == "" || target == "":
			return usageError("a new schedule needs --when and --target")
		}
		var made backupSchedule
		if err := callSoon(cmd.Context(), &node, method, path, body, &made); err != nil {
			return err
		}
		return printSchedules(cmd.OutOrStdout(), []backupSchedule{made}, form)
	}
	return cmd
}

func newScheduleRunCommand(form *outputFormat) *cobra.Command {
	return newScheduleChange(form, "run NAME", "Take the next backup of a schedule now", "POST", "run/", "the leader takes it now; see list for the result")
}

func newScheduleRemoveCommand(form *outputFormat) *cobra.Command {
	return newScheduleChange(form, "remove NAME", "Remove a schedule; the files that it made stay", "DELETE", "", "removed")
}

// newScheduleChange makes a command that sends one request about a schedule.
func newScheduleChange(form *outputFormat, use, short, method, action, done string) *cobra.Command {
	var node remote
	cmd := &cobra.Command{Use: use, Short: short, Args: exactly(1, "the name of a schedule"),
		Example: "  flagraft backup schedule " + strings.Replace(use, "NAME", "nightly", 1)}
	node.register(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := scheduleNamed(cmd.Context(), &node, args[0])
		if err != nil {
			return err
		}
		if s == nil {
			return fmt.Errorf("there is no backup schedule %q", args[0])
		}
		if err := callSoon(cmd.Context(), &node, method, fmt.Sprintf("%s%d/%s", schedulesPath, s.ID, action), nil, nil); err != nil {
			return err
		}
		if shown, err := form.json(cmd.OutOrStdout(), s); shown {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", s.Name, done)
		return err
	}
	return cmd
}

func schedules(ctx context.Context, node *remote) (list []backupSchedule, err error) {
	return list, callSoon(ctx, node, "GET", schedulesPath, nil, &list)
}

// scheduleNamed finds a schedule; nil when there is none of the name.
func scheduleNamed(ctx context.Context, node *remote, name string) (*backupSchedule, error) {
	list, err := schedules(ctx, node)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].Name == name {
			return &list[i], nil
		}
	}
	return nil, nil
}

func printSchedules(w io.Writer, list []backupSchedule, form *outputFormat) error {
	if done, err := form.json(w, list); done {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "NAME\tWHEN\tTARGET\tKEEP\tENABLED\tDUE\tLAST SUCCESS\tFAILURES\tLAST ERROR") // Flush tells
	for _, s := range list {
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%v\t%s\t%s\t%d\t%s\n", s.Name, s.When, s.Target, s.Keep, s.Enabled, timeOrDash(s.Due), timeOrDash(s.LastSuccess), s.Failures,
			cmp.Or(s.LastError, "-"))
	}
	return t.Flush()
}

func timeOrDash(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}
