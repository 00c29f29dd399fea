package disk

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/mutant"
)

// Small logs, so that cuts hit snapshots and deletes of the log, too.
var smallLogs = []string{"--snapshot-log-bytes", strconv.Itoa(256 << 10), "--trailing-log-bytes", strconv.Itoa(64 << 10)}

const (
	powerCuts = 3 // see FLAGRAFT_POWER_CUTS
	// rate is asked for so that 5,000 a second are acknowledged: what is under way when a round ends is not.
	rate      = 5400
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

// written is how much was acknowledged up to the cuts, and in which time.
type written struct {
	identities, admin int64
	took              time.Duration
}

func (w *written) add(o written) {
	w.identities, w.admin, w.took = w.identities+o.identities, w.admin+o.admin, w.took+o.took
}

// rate is how many writes were acknowledged in a second.
func (w *written) rate() float64 { return float64(w.identities+w.admin) / w.took.Seconds() }

// round writes for a while, cuts, and reads everything back.
func (c *cluster) round(ctx context.Context, l *Load, rng *rand.Rand, hit ...int) (before written, err error) {
	writing, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan struct{})
	began := time.Now()
	identities, admin := l.Acknowledged()
	go func() { l.Run(writing); close(done) }()
	pause(ctx, time.Second+time.Duration(rng.IntN(2000))*time.Millisecond)
	before.identities, before.admin = l.Acknowledged()
	before.identities, before.admin, before.took = before.identities-identities, before.admin-admin, time.Since(began)
	err = c.cut(ctx, hit...)
	if err == nil && len(hit) < len(c.Nodes) {
		pause(ctx, 500*time.Millisecond) // writes go on, through the node that came back, too
	}
	stop()
	<-done
	if err != nil {
		return before, err
	}
	if _, err := c.OneState(ctx); err != nil {
		return before, err
	}
	lost, err := l.Lost(ctx, c.Nodes[rng.IntN(len(c.Nodes))])
	if err == nil && len(lost) > 0 {
		err = fmt.Errorf("%w: %d: %q", errLost, len(lost), lost[:min(len(lost), 5)])
	}
	return before, err
}

var errLost = errors.New("acknowledged writes are missing")

// TestPowerCuts cuts the power of all nodes at once and of one at a time, in turn,
// under 5,000 writes a second: nothing acknowledged is missing afterwards. The
// acknowledged rate up to the cuts is reported; a slow machine may not reach it.
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
	c := startOnVolumes(t, ctx, mutant.Build(t), 1<<30, smallLogs...)
	l, err := NewLoad(ctx, c.Cluster, rate, people)
	require.NoError(t, err)
	var all written
	var rates []float64
	for i := range cuts {
		hit := []int{0, 1, 2}
		if i%2 == 1 {
			hit = []int{rng.IntN(3)}
		}
		began := time.Now()
		before, err := c.round(ctx, l, rng, hit...)
		require.NoError(t, err, "cut %d of nodes %v", i, hit)
		all.add(before)
		rates = append(rates, before.rate())
		t.Logf("cut %d of nodes %v: %d identities and %d admin writes acknowledged in %.1f s before it, %.0f a second; round took %v",
			i, hit, before.identities, before.admin, before.took.Seconds(), before.rate(), time.Since(began).Round(time.Millisecond))
	}
	slices.Sort(rates)
	t.Logf("%d cuts under %.0f acknowledged writes a second (mean; median of rounds %.0f, least %.0f)", cuts, all.rate(), rates[len(rates)/2], rates[0])
	identities, admin := l.Acknowledged()
	require.Positive(t, identities)
	require.Positive(t, admin)
	for _, n := range c.Nodes {
		s, err := n.Status(ctx)
		require.NoError(t, err)
		require.Positive(t, s.SnapshotIndex)
	}
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
	for n := 0; n < 4 && err == nil; n++ { // the kernel may have written everything back just before a cut
		_, err = c.round(bounded, l, rng, 0, 1, 2)
	}
	require.Error(t, err, "the power cut test does not notice that nothing is synced")
	t.Logf("without fsync: %.600v", err)
}
