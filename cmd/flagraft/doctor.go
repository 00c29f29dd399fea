package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/flagraft/flagraft/server/doctor"
	"github.com/flagraft/flagraft/server/settings"
)

// doctorTimeout bounds the examination: peers that do not answer take the most.
const doctorTimeout = time.Minute

func newDoctorCommand() *cobra.Command {
	var form outputFormat
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what a node needs here, and say what to do",
		Long: `Check settings, memory limit, file descriptors, disk space and speed, ports,
certificates, other members and the clock, and say for each what to do. It takes
the settings of serve from the same flags, variables and file, and works before
the first start as well as beside a node that runs. It writes one file into the
data directory and removes it again.

Exit codes: 0 nothing is wrong (there may be warnings), 2 wrong arguments,
4 there is a problem.`,
		Example: `  flagraft doctor
  flagraft doctor --config /etc/flagraft/flagraft.yaml
  flagraft doctor -o json | jq '.[] | select(.status == "problem")'`,
		Args: exactly(0, "no arguments"),
	}
	form.register(cmd)
	loader := settings.Register(cmd.Flags())
	completeSettings(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx, cancel := context.WithTimeout(cmd.Context(), doctorTimeout)
		defer cancel()
		var findings []doctor.Finding
		st, err := loader.Load()
		if err != nil {
			findings = []doctor.Finding{{Check: "settings", Status: doctor.Problem, Found: err.Error(), Advice: "Correct them first: docs/settings.md."}}
		} else {
			findings = doctor.Examine(ctx, st)
		}
		shown, err := form.json(cmd.OutOrStdout(), findings)
		if !shown {
			err = printFindings(cmd.OutOrStdout(), findings)
		}
		if err != nil {
			return err
		}
		return verdict(findings)
	}
	return cmd
}

func verdict(findings []doctor.Finding) error {
	problems := 0
	for _, f := range findings {
		if f.Status == doctor.Problem {
			problems++
		}
	}
	if problems == 0 {
		return nil
	}
	return &codedError{exitUnhealthy, fmt.Errorf("%d of %d checks found a problem", problems, len(findings))}
}

func printFindings(w io.Writer, findings []doctor.Finding) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "STATUS\tCHECK\tFOUND") // Flush tells
	for _, f := range findings {
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\n", f.Status, f.Check, f.Found) // as above
		if f.Advice != "" {
			_, _ = fmt.Fprintf(t, "\t\t→ %s\n", f.Advice) // as above
		}
	}
	return t.Flush()
}
