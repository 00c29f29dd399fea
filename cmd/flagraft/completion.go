package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/flagraft/flagraft/server/settings"
)

// completeSettings tells the shell what values settings have: their choices, files and directories.
func completeSettings(cmd *cobra.Command) {
	for _, s := range settings.Described() {
		var complete cobra.CompletionFunc
		switch {
		case len(s.Choices) > 0:
			complete = cobra.FixedCompletions(s.Choices, cobra.ShellCompDirectiveNoFileComp)
		case strings.HasSuffix(s.Name, "-dir"):
			complete = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
		case strings.Contains(s.Usage, " file "):
			complete = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return nil, cobra.ShellCompDirectiveDefault
			}
		default:
			complete = cobra.NoFileCompletions
		}
		_ = cmd.RegisterFlagCompletionFunc(s.Name, complete) // the flag is there, and has none yet
	}
}
