// Command flagraft is a feature-flag service with Flagsmith's API that needs no database: a cluster of nodes that hold everything in memory.
package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/flagraft/flagraft/server"
	"github.com/flagraft/flagraft/server/settings"
)

// version and commit are set by the linker; without it the build information counts.
var version, commit string

func main() {
	hideSecrets(append(settings.SecretFlags(), "token"))
	err := newRootCommand().Execute()
	if err != nil {
		fmt.Fprintln(os.Stderr, "flagraft:", err)
	}
	os.Exit(exitCode(err))
}

// newRootCommand is the whole command line.
func newRootCommand() *cobra.Command {
	root := group(&cobra.Command{
		Use:   "flagraft",
		Short: "Feature flags with Flagsmith's API, without a database",
		Example: `  flagraft serve --demo
  flagraft doctor
  flagraft cluster status`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       build().Version,
	})
	root.AddCommand(newServeCommand(), newDoctorCommand(), newHealthCommand(), newClusterCommand(), newBackupCommand(), newExportCommand(), newImportCommand(),
		newOrgCommand(), newCACommand(), newEvalCommand(), newSettingsCommand(), newManCommand())
	addCompletion(root)
	return root
}

// build says which binary this is.
func build() server.Build {
	b := server.Build{Version: version, Commit: commit}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && b.Commit == "" {
			b.Commit = s.Value
		}
	}
	if b.Version == "" {
		b.Version = info.Main.Version
	}
	return b
}
