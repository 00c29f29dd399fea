package disk

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/mutant"
)

// Small logs, so that cuts hit snapshots and deletes of the log, too.
var smallLogs = []mutant.Edit{
	{File: "cluster/config.go", Old: "orDefault(&c.SnapshotThresholdBytes, 64<<20)", New: "orDefault(&c.SnapshotThresholdBytes, 1<<20)"},
	{File: "cluster/config.go", Old: "orDefault(&c.TrailingBytes, 64<<20)", New: "orDefault(&c.TrailingBytes, 512<<10)"},
}

const (
	powerCuts = 3 // see FLAGRAFT_POWER_CUTS
	rate      = 5000
	people    = 8000
	fewPeople = 1600
)

// cut cuts the power of some nodes at one moment and starts them again.
func (c *cluster) cut(ctx context.Context, hit ...int) error {
	for _, i := range hit {
		if err := c.Nodes[i].Pause(); err != nil {
			return err
		}
	}
	for _, i := range hit {
		if err := c.volumes[i].CutPower(ctx, c.Nodes[i].Kill); err != nil {
			return err
		}
	}
	for _, i := range hit {
		if err := c.Nodes[i].Start(); err != nil {
			return err
		}
	}
	for _, i := range hit {
		if err := c.Nodes[i].WaitReady(ctx); err != nil {
			return fmt.Errorf("after the cut: %w", err)
		}
	}
	return nil
}

// round writes for a while, cuts, and reads everything back.
func (c *cluster) round(ctx context.Context, l *Load, rng *rand.Rand, hit ...int) error {
	writing, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan struct{})
	go func() { l.Run(writing); close(done) }()
	pause(ctx, 500*time.Millisecond+time.Duration(rng.IntN(1500))*time.Millisecond)
	err := c.cut(ctx, hit...)
	if err == nil && len(hit) < len(c.Nodes) {
		pause(ctx, 500*time.Millisecond) // writes go on, through the node that came back, too
	}
	stop()
	<-done
	if err != nil {
		return err
	}
	if _, err := c.OneState(ctx); err != nil {
		return err
	}
	lost, err := l.Lost(ctx, c.Nodes[rng.IntN(len(c.Nodes))])
	if err != nil {
		return err
	}
	if len(lost) > 0 {
		return fmt.Errorf("%w: %d: %q", errLost, len(lost), lost[:min(len(lost), 5)])
	}
	return nil
}

var errLost = errors.New("acknowledged writes are missing")

// TestPowerCuts cuts the power of all nodes at once and of one at a time, in turn,
// under 5,000 writes a second: nothing acknowledged is missing afterwards.
// FLAGRAFT_POWER_CUTS=100 is the long form.
func TestPowerCuts(t *testing.T) {
	needsNodes(t)
	cuts := powerCuts
	if s := os.Getenv("FLAGRAFT_POWER_CUTS"); s != "" {
		var err error
		cuts, err = strconv.Atoi(s)
		require.NoError(t, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(2+cuts)*time.Minute)
	defer cancel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d, %d cuts", seed, cuts)
	rng := rand.New(rand.NewPCG(seed, 0))
	c := startOnVolumes(t, ctx, mutant.Build(t, smallLogs...), 1<<30)
	l, err := NewLoad(ctx, c.Cluster, rate, people)
	require.NoError(t, err)
	for i := range cuts {
		hit := []int{0, 1, 2}
		if i%2 == 1 {
			hit = []int{rng.IntN(3)}
		}
		before, _ := l.Acknowledged()
		began := time.Now()
		require.NoError(t, c.round(ctx, l, rng, hit...), "cut %d of nodes %v", i, hit)
		now, admin := l.Acknowledged()
		t.Logf("cut %d of nodes %v: %d identities acknowledged in this round, %d and %d admin writes in all, round took %v",
			i, hit, now-before, now, admin, time.Since(began).Round(time.Millisecond))
	}
	identities, admin := l.Acknowledged()
	require.Positive(t, identities)
	require.Positive(t, admin)
}

// TestPowerCutsNoticeMissingFsync: the test above fails on a build that does not sync its log.
func TestPowerCutsNoticeMissingFsync(t *testing.T) {
	needsNodes(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	bin := mutant.Build(t, mutant.Edit{File: "cluster/storage_bolt.go",
		Old: "raftboltdb.Options{Path: path,", New: "raftboltdb.Options{NoSync: true, Path: path,"})
	c := startOnVolumes(t, ctx, bin, 1<<30)
	l, err := NewLoad(ctx, c.Cluster, rate, people)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(1, 0))
	bounded, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	err = c.round(bounded, l, rng, 0, 1, 2)
	require.Error(t, err, "the power cut test does not notice that nothing is synced")
	t.Logf("without fsync: %.600v", err)
}
