// Command flagraft is a feature-flag service with Flagsmith's API that needs no database: a cluster of nodes that hold everything in memory.
package main

import (
	"errors"
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
	root := &cobra.Command{
		Use:           "flagraft",
		Short:         "Feature flags with Flagsmith's API, without a database",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       build().Version,
	}
	root.AddCommand(newServeCommand(), newEvalCommand(), newClusterCommand(), newSettingsCommand(), newBackupCommand(), newExportCommand(), newImportCommand(), newCACommand(), newOrgCommand(), newHealthCommand())
	if err := root.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "flagraft:", err)
		code := 1
		var coded interface{ ExitCode() int }
		if errors.As(err, &coded) {
			code = coded.ExitCode()
		}
		os.Exit(code)
	}
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
