package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newManCommand writes the manual, which is the help of all commands; packages are built with it.
func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages of all commands",
		Long: "Write a page for each command into DIR: their help, and the table of settings. SOURCE_DATE_EPOCH is the date on them; without it, today\n" +
			"is.",
		Example: "  flagraft man /usr/local/share/man/man1",
		Args:    exactly(1, "a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return &codedError{exitUsage, err}
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			return doc.GenManTree(root, &doc.GenManHeader{Title: strings.ToUpper(root.Name()), Section: "1", Source: "flagraft", Manual: "flagraft"}, args[0])
		},
	}
}
