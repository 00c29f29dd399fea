package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"
)

// Exit codes of all commands, beside 0; docs/commandline.md has them for people.
const (
	exitFailed      = 1 // refused, or something went wrong
	exitUsage       = 2 // wrong arguments, or a file that cannot be opened or made
	exitUnreachable = 3 // no answer, or the node says that it cannot answer now (503)
	exitUnhealthy   = 4 // the command looked, and something is not well
)

const exitCodes = `Exit codes: 0 done, 1 refused or failed, 2 wrong arguments, 3 the node does not
answer or cannot answer now.`

// codedError is an error with the exit code it asks for.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// exitCode is what the process ends with.
func exitCode(err error) int {
	var coded *codedError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &coded):
		return coded.code
	}
	return exitFailed
}

// fileIsUsage gives an error about a file that cannot be opened or made its exit code.
func fileIsUsage(err error) error {
	var file *fs.PathError
	if errors.As(err, &file) && (file.Op == "open" || file.Op == "mkdir") {
		return &codedError{exitUsage, err}
	}
	return err
}

func usageError(format string, args ...any) error {
	return &codedError{exitUsage, fmt.Errorf(format, args...)}
}

// exactly is an argument check with the exit code of wrong usage.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usageError("%s takes %s, not %d arguments; see --help", cmd.CommandPath(), what, len(args))
		}
		return nil
	}
}

// atLeastOne is exactly for a list.
func atLeastOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usageError("%s takes %s; see --help", cmd.CommandPath(), what)
		}
		return nil
	}
}

// group makes a command that only has subcommands show its help, and refuse names that none has.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		hint := ""
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			hint = "; did you mean " + near[0] + "?"
		}
		return usageError("%s has no command %q%s", cmd.CommandPath(), args[0], hint)
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &codedError{exitUsage, err} })
	return cmd
}
