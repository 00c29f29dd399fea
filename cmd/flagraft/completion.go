package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/flagraft/flagraft/server/settings"
)

// addCompletion adds cobra's own command for completions, which by itself answers the name of a shell that it does not know with its help, as if all were well.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		group(cmd).Example = "  source <(flagraft completion bash)"
		for _, shell := range cmd.Commands() {
			shell.Args, shell.Example = exactly(0, "no arguments"), "  flagraft completion "+shell.Name()+" > flagraft."+shell.Name()
		}
	}
}

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
