// Command flagraft-bench measures flagraft beside a bare handler; see package bench.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/flagraft/flagraft/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "flagraft-bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	if len(args) == 2 && args[0] == "floor" {
		return bench.ServeFloor(args[1], os.Stdin, out)
	}
	c := bench.Defaults()
	set := flag.NewFlagSet("flagraft-bench", flag.ContinueOnError)
	set.SetOutput(progress)
	set.StringVar(&c.Binary, "binary", "bin/flagraft", "the flagraft to measure")
	set.StringVar(&c.Dir, "dir", "data", "where the nodes keep their logs: a real disk, or an fsync costs nothing")
	set.StringVar(&c.Only, "only", "", "measure only scenarios with this in their name: "+strings.Join(bench.Names(), ", "))
	set.StringVar(&c.Peers, "peers", "", "measure beside the other servers and engines in this directory (bench/compare/install.sh), and nothing else: peer-flags, peer-flags-values, peer-targeting, peer-transient, peer-engines")
	set.BoolVar(&c.Scale, "scale", false, "measure what requests cost as sizes grow, and nothing else: features, segments, conditions, overrides, identities, nodes; with plots beside -report")
	set.StringVar(&c.Profiles, "profiles", "", "directory for CPU profiles of every scenario, taken after it was measured")
	set.BoolVar(&c.AtLeader, "at-leader", false, "new identities are posted to the leader only, instead of all nodes in turn")
	quick := set.Bool("quick", false, "the form of a few minutes, which settles nothing")
	set.IntVar(&c.Runs, "runs", c.Runs, "runs of each side, in turn")
	set.DurationVar(&c.Duration, "duration", c.Duration, "of each run")
	set.IntVar(&c.Profile.Identities, "identities", c.Profile.Identities, "identities loaded before measuring")
	set.IntVar(&c.Profile.Segments, "segments", c.Profile.Segments, "segments, each with an override of every feature")
	form := set.String("o", "text", "form of the output: text or json")
	page := set.String("report", "", "also write the page of the documentation to this file")
	check := set.Bool("check", false, "fail when a target is missed")
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 || *form != "text" && *form != "json" {
		return fmt.Errorf("unknown arguments: %s", strings.Join(args, " "))
	}
	if *quick {
		short := bench.Defaults()
		short.Shorten()
		keep(set, &short, &c)
	}
	if (c.Scale || c.Peers != "") && !*quick && !given(set)["identities"] {
		c.Profile.Identities = bench.FewIdentities
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c.Floor, c.Progress = []string{self, "floor"}, progress
	c.Command = strings.TrimSpace("flagraft-bench " + strings.Join(args, " "))
	if c.Binary, err = filepath.Abs(c.Binary); err != nil {
		return err
	}
	if c.Peers != "" {
		if c.Peers, err = filepath.Abs(c.Peers); err != nil {
			return err
		}
	}
	report, err := bench.Run(ctx, c)
	if err != nil {
		if report != nil { // what was measured before
			err = errors.Join(report.Text(progress), err)
		}
		return err
	}
	return write(report, *form, *page, *check, out)
}

// given are the flags on the command line.
func given(set *flag.FlagSet) map[string]bool {
	names := map[string]bool{}
	set.Visit(func(f *flag.Flag) { names[f.Name] = true })
	return names
}

// keep makes c the short form, except for what was given on the command line.
func keep(set *flag.FlagSet, short, c *bench.Config) {
	given := given(set)
	short.Binary, short.Dir, short.Only, short.Peers, short.Scale, short.Profiles, short.AtLeader = c.Binary, c.Dir, c.Only, c.Peers, c.Scale, c.Profiles, c.AtLeader
	if given["runs"] {
		short.Runs = c.Runs
	}
	if given["duration"] {
		short.Duration = c.Duration
	}
	if given["identities"] {
		short.Profile.Identities = c.Profile.Identities
	}
	if given["segments"] {
		short.Profile.Segments = c.Profile.Segments
	}
	*c = *short
}

func write(r *bench.Report, form, page string, check bool, out io.Writer) error {
	show := r.Text
	if form == "json" {
		show = r.JSON
	}
	if err := show(out); err != nil {
		return err
	}
	if page != "" {
		f, err := os.Create(page)
		if err != nil {
			return err
		}
		if err := errors.Join(r.Markdown(f), f.Close()); err != nil {
			return err
		}
		for name, plot := range r.Plots() {
			if err := os.WriteFile(filepath.Join(filepath.Dir(page), name), plot, 0o644); err != nil {
				return err
			}
		}
	}
	if missed := r.Missed(); check && len(missed) > 0 {
		return fmt.Errorf("%d targets missed", len(missed))
	}
	return nil
}
