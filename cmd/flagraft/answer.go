package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"
)

// answerTimeout bounds one request of a cluster command; the node itself gives up earlier.
const answerTimeout = 45 * time.Second

// callSoon is remote.call for what is answered soon or not at all.
func callSoon(ctx context.Context, r *remote, method, path string, body, out any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	return r.call(ctx, method, path, body, out)
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
