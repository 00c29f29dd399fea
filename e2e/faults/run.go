package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/flagraft/flagraft/e2e/ledger"
)

// Config says what a run does.
type Config struct {
	Binary string // flagraft under test
	Dir    string // where data, logs and records go; what failed is kept there
	Nodes  int
	Seed   int64
	Rounds int
	// PerCluster is how many rounds one cluster lives through.
	PerCluster int
	Kinds      []Fault
	Single     bool   // one fault a round
	Disks      bool   // nodes have disks of their own, where this machine can mount images
	Results    string // file that results are appended to; "" for none
	Keep       bool   // keep the records of rounds that passed too
	Log        func(format string, args ...any)
}

// command is the one that plays a cluster's life again, up to a round.
func (c *Config) command(seed int64, round int) string {
	s := fmt.Sprintf("go run ./e2e/faults/cmd/faults -binary %s -nodes %d -seed %d -rounds %d -per-cluster %d -keep", c.Binary, c.Nodes, seed, round+1, round+1)
	if c.Single {
		s += " -single"
	}
	if c.Disks {
		s += " -disks"
	}
	if len(c.Kinds) < len(Kinds()) {
		var names []string
		for _, k := range c.Kinds {
			names = append(names, k.Name)
		}
		s += fmt.Sprintf(" -only %q", strings.Join(names, ","))
	}
	return s
}

// Run plays the rounds and returns their results; each that is over is in the results file at once.
func Run(ctx context.Context, cfg Config) ([]Result, error) {
	var results []Result
	lives := rand.New(rand.NewPCG(uint64(cfg.Seed), 2))
	for seed := cfg.Seed; len(results) < cfg.Rounds && ctx.Err() == nil; seed = lives.Int64() {
		done, err := cfg.live(ctx, seed, min(cfg.PerCluster, cfg.Rounds-len(results)))
		results = append(results, done...)
		if err != nil {
			return results, fmt.Errorf("seed %d: %w", seed, err)
		}
	}
	return results, ctx.Err()
}

// live plays rounds on one cluster, which ends with the first that failed.
func (c *Config) live(ctx context.Context, seed int64, rounds int) ([]Result, error) {
	dir := filepath.Join(c.Dir, fmt.Sprintf("%dn-%d", c.Nodes, seed))
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	starting, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	draw := source(seed)
	var extra []string
	small := draw.IntN(2) == 0
	if small {
		extra = smallLog()
	}
	c.Log("%d nodes, seed %d, %d rounds, %q", c.Nodes, seed, rounds, extra)
	start := StartCluster
	if c.Disks {
		start = StartOnDisks
	}
	cluster, err := start(starting, c.Binary, dir, c.Nodes, seed, extra...)
	if err != nil {
		return nil, err
	}
	cluster.Keep = true
	defer cluster.Close()
	if c.Disks && cluster.disks == nil {
		c.Log("no disks of their own: images cannot be mounted here")
	}
	var kinds []Fault
	for _, k := range c.Kinds {
		if k.possible(cluster) {
			kinds = append(kinds, k)
		}
	}
	if len(kinds) == 0 {
		return nil, errors.New("none of these faults is possible here")
	}
	order := draw.Perm(len(kinds)) // so that every kind has its turn
	var results []Result
	for i := range rounds {
		steps := Schedule(draw, kinds, &kinds[order[i%len(order)]])
		if c.Single {
			steps = steps[:1]
		}
		res, err := c.playOne(ctx, cluster, filepath.Join(dir, fmt.Sprintf("round-%d.jsonl", i)), seed, i, draw.Uint64(), small, steps)
		if err != nil {
			return results, err
		}
		results = append(results, res)
		if len(res.Failures) > 0 {
			return results, nil // its files stay
		}
	}
	if c.Keep {
		return results, nil
	}
	cluster.Keep = false
	cluster.Close()
	return results, os.RemoveAll(dir)
}

func (c *Config) playOne(ctx context.Context, cluster *Cluster, record string, seed int64, number int, roundSeed uint64, small bool, steps []Step) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	began := time.Now()
	round, err := NewRound(cluster, roundSeed, steps, record, c.Log)
	if err != nil {
		return Result{}, err
	}
	c.Log("round %d", number)
	round.Play(ctx)
	if errors.Is(ctx.Err(), context.Canceled) {
		return Result{}, ctx.Err() // interrupted: says nothing
	}
	res := round.result(c.Binary, seed, number)
	res.SmallLog = small
	res.Seconds = time.Since(began).Seconds()
	for _, f := range res.Failures {
		c.Log("  FAILED %s: %s", f.Check, f.Detail)
	}
	if len(res.Failures) > 0 {
		res.Again = c.command(seed, number)
		c.Log("  again: %s\n  records and logs: %s", res.Again, filepath.Dir(record))
	} else {
		c.Log("  ok: recovered in %.1fs, %d histories, %d acknowledged, %d unknown, %d SDK reads, %.1fs in all",
			res.Recovery, res.Histories, res.Acknowledged, res.Unknown, res.Reads, res.Seconds)
	}
	if c.Results == "" {
		return res, nil
	}
	return res, ledger.Append(c.Results, res)
}

// source is where the schedules of a cluster's life come from.
func source(seed int64) *rand.Rand { return rand.New(rand.NewPCG(uint64(seed), 3)) }

// smallLog makes nodes take a snapshot twice a second and forget the log behind it: who
// lags by more than a few hundred entries gets a snapshot instead of them.
func smallLog() []string {
	return []string{"--snapshot-log-bytes", "16384", "--trailing-log-bytes", "4096"}
}
