// Command faults plays rounds of faults against clusters of real processes, and
// makes the table of docs/reliability.md from what they found.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/flagraft/flagraft/e2e/faults"
)

func main() {
	cfg := faults.Config{Kinds: faults.Kinds(), Log: say}
	flag.StringVar(&cfg.Binary, "binary", "bin/flagraft", "flagraft under test")
	flag.StringVar(&cfg.Dir, "dir", filepath.Join(os.TempDir(), "flagraft-faults"), "folder for data, logs and records")
	flag.IntVar(&cfg.Nodes, "nodes", 3, "nodes of a cluster: 3 or 5")
	flag.Int64Var(&cfg.Seed, "seed", 0, "everything is drawn from it; 0: a random one")
	flag.IntVar(&cfg.Rounds, "rounds", 20, "rounds to play")
	flag.IntVar(&cfg.PerCluster, "per-cluster", 10, "rounds that one cluster lives through")
	flag.StringVar(&cfg.Results, "results", "", "file to append a line for each round to, and to report from")
	flag.BoolVar(&cfg.Keep, "keep", false, "keep the data of clusters without failures")
	flag.BoolVar(&cfg.Single, "single", false, "one fault a round")
	flag.BoolVar(&cfg.Disks, "disks", false, "a disk of its own for each node, and faults of disks")
	only := flag.String("only", "", "kinds of faults to draw from, separated by commas")
	list := flag.Bool("list", false, "list the kinds")
	report := flag.Bool("report", false, "print the tables of the results file instead")
	into := flag.String("into", "", "with -report: replace the tables in this document")
	commit := flag.String("commit", "", "with -report: rounds of this commit; the newest by default")
	soak := faults.Soak{}
	flag.DurationVar(&soak.Length, "soak", 0, "run a soak of this length instead")
	flag.DurationVar(&soak.Every, "soak-every", time.Minute, "with -soak: time from one fault to the next")
	flag.IntVar(&soak.Identities, "soak-identities", 500_000, "with -soak: identities stored before it begins")
	flag.Parse()
	do := func() error { return run(cfg, *only, *list) }
	if soak.Length > 0 {
		soak.Config = cfg
		do = func() error { return runSoak(soak) }
	}
	if *report {
		do = func() error { return write(cfg.Results, *commit, *into) }
	}
	if err := do(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

func say(format string, args ...any) {
	_, _ = fmt.Fprintf(os.Stdout, time.Now().UTC().Format("15:04:05 ")+format+"\n", args...)
}

// write makes the report.
func write(results, commit, into string) error {
	all, err := faults.ReadResults(results)
	if err != nil {
		return err
	}
	text := faults.Report(all, commit)
	if into != "" {
		return faults.ReportInto(into, text)
	}
	_, err = fmt.Fprint(os.Stdout, text)
	return err
}

func run(cfg faults.Config, only string, list bool) error {
	if list {
		for _, k := range cfg.Kinds {
			_, _ = fmt.Fprintln(os.Stdout, k.Name)
		}
		return nil
	}
	if only != "" {
		kinds, err := choose(cfg.Kinds, strings.Split(only, ","))
		if err != nil {
			return err
		}
		cfg.Kinds = kinds
	}
	if cfg.Seed == 0 {
		cfg.Seed = rand.Int64()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	results, err := faults.Run(ctx, cfg)
	failed := 0
	for _, r := range results {
		if len(r.Failures) > 0 {
			failed++
		}
	}
	say("%d rounds, %d failed", len(results), failed)
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d of %d rounds failed", failed, len(results))
	}
	return err
}

// runSoak prints what the soak measured.
func runSoak(s faults.Soak) error {
	if s.Seed == 0 {
		s.Seed = rand.Int64()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	say("soak of %v, seed %d", s.Length, s.Seed)
	res, err := faults.RunSoak(ctx, s)
	switch {
	case err != nil:
		return err
	case len(res.Failures) > 0:
		return fmt.Errorf("round %d of the soak failed", res.Rounds)
	}
	say("%d faults, %d requests; a node that lived through it holds at most %+.1f %% more than one just started", res.Rounds, res.Requests, 100*res.Grown())
	return nil
}

func choose(all []faults.Fault, names []string) (chosen []faults.Fault, err error) {
	for _, name := range names {
		found := false
		for _, k := range all {
			if k.Name == name {
				chosen, found = append(chosen, k), true
			}
		}
		if !found {
			return nil, fmt.Errorf("no fault is called %q; -list names them", name)
		}
	}
	return chosen, nil
}
