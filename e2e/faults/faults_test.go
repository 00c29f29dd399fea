package faults_test

import (
	"context"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/faults"
	"github.com/flagraft/flagraft/e2e/nodes"
)

// Without flags the tests are the short form: every kind of fault once.
var (
	rounds  = flag.Int("rounds", 0, "rounds to play; 0: every kind once")
	count   = flag.Int("nodes", 3, "nodes of a cluster")
	seed    = flag.Int64("seed", 0, "everything is drawn from it; 0: the time")
	disks   = flag.Bool("disks", true, "a disk of its own for each node, and faults of disks")
	results = flag.String("results", os.Getenv("FLAGRAFT_FAULTS_RESULTS"), "file to append results to")
)

// play runs rounds and fails the test with what reproduces each failure.
func play(t *testing.T, cfg faults.Config) {
	t.Helper()
	cfg.Binary, cfg.Dir, cfg.Results, cfg.Log = nodes.Binary(t), t.TempDir(), *results, t.Logf
	cfg.Kinds = faults.Kinds()
	if cfg.Seed = *seed; cfg.Seed == 0 {
		cfg.Seed = time.Now().UnixNano()
	}
	done, err := faults.Run(context.Background(), cfg)
	require.NoError(t, err)
	for _, r := range done {
		for _, f := range r.Failures {
			t.Errorf("round %d, %v: %s: %s\nagain: %s", r.Round, r.Faults, f.Check, f.Detail, r.Again)
		}
	}
	if cfg.Disks && len(done) > 0 && !done[0].Disks {
		t.Log("images cannot be mounted here: no faults of disks were played")
	}
	if len(done) > 0 && done[0].Place == "loopback" {
		t.Log("network namespaces are not permitted here: no faults of networks were played")
	}
}

// TestRounds plays every kind of fault once, alone, on three nodes; with -rounds, as many as that, with faults beside each other.
func TestRounds(t *testing.T) {
	cfg := faults.Config{Nodes: *count, Rounds: *rounds, PerCluster: 10, Disks: *disks}
	if *rounds == 0 {
		cfg.Rounds, cfg.PerCluster, cfg.Single = len(faults.Kinds()), len(faults.Kinds()), true
	}
	play(t, cfg)
}

// TestFiveNodes plays one round on five nodes.
func TestFiveNodes(t *testing.T) {
	if *rounds > 0 {
		t.Skip("the long form plays on -nodes nodes")
	}
	play(t, faults.Config{Nodes: 5, Rounds: 1, PerCluster: 1})
}
