package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/flagraft/flagraft/server/settings"
)

// newSettingsCommand prints the page of all settings; docs/settings.md is its output.
func newSettingsCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "settings",
		Short:   "Print every setting as a Markdown page",
		Example: "  flagraft settings > docs/settings.md",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(cmd.OutOrStdout(), settings.Markdown())
			return err
		},
	}
}
