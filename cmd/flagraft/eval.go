package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/flagraft/flagraft/eval"
)

// newEvalCommand is `flagraft eval`: the engine on one context, or on a stream
// of them, without a server.
func newEvalCommand() *cobra.Command {
	var lines, explain bool
	command := &cobra.Command{
		Use:   "eval [FILE]",
		Short: "Evaluate the flags of an evaluation context",
		Long: `Evaluate reads an evaluation context, a JSON object, from FILE or from standard
input and prints the flags and the matching segments as JSON.

With --ndjson every line is a context and gives one line of result; the first
line that cannot be read ends the stream. With --explain the result has a third
member "trace" that tells, rule by rule, why.

Exit codes: 0 done, 1 a context cannot be read, 2 wrong arguments or no such file.`,
		Example: `  flagraft eval context.json
  flagraft eval --ndjson < contexts > results
  flagraft eval --explain context.json | jq .trace`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return &codedError{exitUsage, fmt.Errorf("eval takes one file, not %d", len(args))}
			}
			return nil
		},
		SilenceUsage: true,
		RunE: func(command *cobra.Command, args []string) error {
			in := command.InOrStdin()
			if len(args) == 1 && args[0] != "-" {
				file, err := os.Open(args[0])
				if err != nil {
					return &codedError{exitUsage, err}
				}
				defer func() { _ = file.Close() }() // only read
				in = file
			}
			run := evalRun{in: bufio.NewReaderSize(in, 64<<10), out: bufio.NewWriter(command.OutOrStdout()), explain: explain}
			if lines {
				return run.lines()
			}
			return run.document()
		},
	}
	command.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &codedError{exitUsage, err} })
	command.Flags().BoolVar(&lines, "ndjson", false, "one context per line in, one result per line out")
	command.Flags().BoolVar(&explain, "explain", false, `add a "trace" that tells why`)
	return command
}

type evalRun struct {
	in      *bufio.Reader
	out     *bufio.Writer
	explain bool
}

// document evaluates the whole input and prints an indented result.
func (r *evalRun) document() error {
	data, err := io.ReadAll(r.in)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return &codedError{exitFailed, errors.New("no input: an evaluation context is expected")}
	}
	result, err := r.evaluate(data)
	if err != nil {
		return &codedError{exitFailed, err}
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, result, "", "  "); err != nil {
		return fmt.Errorf("indent: %w", err)
	}
	indented.WriteByte('\n')
	if _, err := r.out.Write(indented.Bytes()); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return r.flush()
}

// lines evaluates line by line. Results are flushed when the input has nothing
// more at hand, so that a partner on a pipe gets its answer.
func (r *evalRun) lines() error {
	for number := 1; ; number++ {
		line, err := r.in.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return errors.Join(fmt.Errorf("read line %d: %w", number, err), r.flush())
		}
		last := err == io.EOF
		if line = bytes.TrimSpace(line); len(line) > 0 {
			result, err := r.evaluate(line)
			if err != nil {
				return errors.Join(&codedError{exitFailed, fmt.Errorf("line %d: %w", number, err)}, r.flush())
			}
			if _, err := r.out.Write(append(result, '\n')); err != nil {
				return fmt.Errorf("write: %w", err)
			}
		}
		if last {
			return r.flush()
		}
		if r.in.Buffered() == 0 {
			if err := r.flush(); err != nil {
				return err
			}
		}
	}
}

func (r *evalRun) flush() error {
	if err := r.out.Flush(); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// evaluate gives the result of one context as JSON.
func (r *evalRun) evaluate(data []byte) ([]byte, error) {
	context, err := eval.DecodeContext(data)
	if err != nil {
		return nil, err
	}
	if !r.explain {
		return eval.Evaluate(context).AppendJSON(nil), nil
	}
	var trace eval.Trace
	result := eval.EvaluateTraced(context, &trace).AppendJSON(nil)
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(&trace); err != nil {
		return nil, fmt.Errorf("encode trace: %w", err)
	}
	result = append(result[:len(result)-1], `,"trace":`...)
	result = append(result, bytes.TrimSpace(text.Bytes())...)
	return append(result, '}'), nil
}
