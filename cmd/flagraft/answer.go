package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"
)

// Exit codes of commands that look at a cluster and change it, beside 0.
const (
	exitFailed      = 1 // the node refused, or something else went wrong
	exitUsage       = 2 // wrong arguments
	exitUnreachable = 3 // no answer, or the node says that it cannot answer now (503)
	exitUnhealthy   = 4 // cluster status: not every member is healthy, or there is no leader
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

// ExitCode is what the process should exit with.
func (e *codedError) ExitCode() int { return e.code }

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

// answerTimeout bounds one request of a cluster command; the node itself gives up earlier.
const answerTimeout = 45 * time.Second

// callCoded is remote.call whose errors carry an exit code.
func callCoded(ctx context.Context, r *remote, method, path string, body, out any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	err := r.call(ctx, method, path, body, out)
	var no *refused
	var lost *url.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &no) && no.status == http.StatusServiceUnavailable, errors.As(err, &lost):
		return &codedError{exitUnreachable, err}
	case errors.As(err, &no):
		return &codedError{exitFailed, err}
	}
	return &codedError{exitUsage, err} // no token, a file that cannot be read, an answer that is none
}

// outputFormat is -o.
type outputFormat string

func (o *outputFormat) register(cmd *cobra.Command) {
	*o = "table"
	cmd.PersistentFlags().VarP(o, "output", "o", "form of the answer: table or json")
}

// String, Set and Type implement pflag.Value.
func (o *outputFormat) String() string { return string(*o) }

// Set takes one of the known forms.
func (o *outputFormat) Set(s string) error {
	if s != "table" && s != "json" {
		return errors.New("must be table or json")
	}
	*o = outputFormat(s)
	return nil
}

// Type names the flag's type in help texts.
func (o *outputFormat) Type() string { return "form" }

// json prints v if that is the form asked for, and tells whether it did.
func (o *outputFormat) json(w io.Writer, v any) (done bool, err error) {
	if *o != "json" {
		return false, nil
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return true, enc.Encode(v)
}
