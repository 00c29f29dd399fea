package faults_test

import (
	"context"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/faults"
	"github.com/flagraft/flagraft/e2e/mutant"
	"github.com/flagraft/flagraft/e2e/nodes"
)

// unverified answers linearizable reads from a leader that believes in itself.
var unverified = mutant.Edit{
	File: "cluster/readindex.go",
	Old:  "if err := n.confirmTerm(ctx, term); err != nil {",
	New:  "if err := ctx.Err(); err != nil {",
}

// staleReads plays the directed schedule until what clients saw is not linearizable, or that many times.
func staleReads(t *testing.T, bin string, times int) (rejected bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c, err := faults.StartCluster(ctx, bin, t.TempDir(), 3, 1)
	require.NoError(t, err)
	defer c.Close()
	for n := range times {
		seed := uint64(time.Now().UnixNano())
		result, err := faults.StaleLeader(ctx, c, seed, t.Logf)
		require.NoError(t, err)
		t.Logf("attempt %d: %v", n, result)
		if result == porcupine.Illegal {
			return true
		}
		_, err = c.OneState(ctx)
		require.NoError(t, err)
	}
	return false
}

// TestLeadershipIsVerified: what clients read from a leader that was stopped and superseded is linearizable.
func TestLeadershipIsVerified(t *testing.T) {
	require.False(t, staleReads(t, nodes.Binary(t), 4))
}

// TestUnverifiedLeadershipIsNoticed: the same check rejects a build whose leader does not ask a majority first.
func TestUnverifiedLeadershipIsNoticed(t *testing.T) {
	nodes.Binary(t)
	require.True(t, staleReads(t, mutant.Build(t, unverified), 40), "the check does not see stale reads")
}
