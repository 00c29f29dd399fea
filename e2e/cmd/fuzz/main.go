// Command fuzz runs every fuzz target of the module and stops at the first finding, and makes the table of docs/reliability.md from what
// campaigns did.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	"github.com/flagraft/flagraft/e2e/fuzz"
)

func main() {
	c := fuzz.Campaign{Log: say}
	flag.DurationVar(&c.Each, "each", 10*time.Second, "time of every target")
	flag.DurationVar(&c.For, "for", 0, "time of the whole campaign, most of it for the fastest targets, instead of -each")
	flag.StringVar(&c.Results, "results", "", "file to append a line for each run to, and to report from")
	only := flag.String("only", "", "targets whose package.Name matches this expression")
	report := flag.Bool("report", false, "print the table of the results file instead")
	into := flag.String("into", "", "with -report: replace the table in this document")
	commit := flag.String("commit", "", "with -report: runs of this commit; the newest by default")
	flag.Parse()
	do := func() error { return run(c, *only) }
	if *report {
		do = func() error { return write(c.Results, *commit, *into) }
	}
	if err := do(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

func say(format string, args ...any) { _, _ = fmt.Fprintf(os.Stdout, format+"\n", args...) }

func run(c fuzz.Campaign, only string) (err error) {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	match, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	dir, err := os.MkdirTemp("", "flagraft-fuzz")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c.Commit = fuzz.Commit()
	if c.Targets, err = fuzz.Targets(ctx, dir, match); err != nil {
		return err
	}
	total, err := c.Run(ctx)
	say("%d targets: %d executions in %.0f s, %.0f/s, %d findings", len(c.Targets), total.Executions, total.Seconds, total.Rate(), total.Findings)
	return err
}

// write makes the report.
func write(results, commit, into string) error {
	all, err := fuzz.ReadResults(results)
	if err != nil {
		return err
	}
	text := fuzz.Report(all, commit)
	if into != "" {
		return fuzz.ReportInto(into, text)
	}
	_, err = fmt.Fprint(os.Stdout, text)
	return err
}
