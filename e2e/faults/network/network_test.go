package network_test

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/faults/network"
)

func open(t *testing.T, hosts int) *network.Network {
	t.Helper()
	n, err := network.New(hosts, 1)
	if errors.Is(err, network.ErrNotPermitted) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(n.Close)
	return n
}

// echo runs a server in the host's namespace, by a shell's own means would need tools; this test binary is one.
func reaches(t *testing.T, n *network.Network, from, to int, within time.Duration) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	c, err := n.Host(from).DialContext(ctx, "tcp", n.Host(to).IP()+":1")
	if err == nil {
		c.Close()
		return true
	}
	return strings.Contains(err.Error(), "refused") // the other host's kernel answered
}

// TestPartitions: a cut direction keeps what needs both from passing, and only that.
func TestPartitions(t *testing.T) {
	n := open(t, 3)
	for from := range 3 {
		for to := range 3 {
			require.True(t, reaches(t, n, from, to, 5*time.Second), "%d to %d", from, to)
		}
	}
	n.Shape(0, 1, network.Shape{Cut: true})
	require.False(t, reaches(t, n, 0, 1, 300*time.Millisecond))
	require.False(t, reaches(t, n, 1, 0, 300*time.Millisecond), "the answer is cut")
	require.True(t, reaches(t, n, 0, 2, 5*time.Second))
	n.Heal()
	require.True(t, reaches(t, n, 0, 1, 5*time.Second))
	require.True(t, reaches(t, n, 1, 0, 5*time.Second))
}

// TestDelay: an answer takes at least both directions' delays.
func TestDelay(t *testing.T) {
	n := open(t, 2)
	n.Shape(0, 1, network.Shape{Delay: 60 * time.Millisecond, Jitter: 10 * time.Millisecond})
	n.Shape(1, 0, network.Shape{Delay: 40 * time.Millisecond})
	began := time.Now()
	require.True(t, reaches(t, n, 0, 1, 5*time.Second))
	require.GreaterOrEqual(t, time.Since(began), 100*time.Millisecond)
}

// TestLoss: with half of the packets lost some attempts fail at first and all pass in the end, since TCP sends again.
func TestLoss(t *testing.T) {
	n := open(t, 2)
	n.Shape(0, 1, network.Shape{Loss: 0.5})
	late := 0
	for range 20 {
		if !reaches(t, n, 0, 1, 200*time.Millisecond) {
			late++
		}
	}
	require.Greater(t, late, 2)
	require.Less(t, late, 18)
}

// TestProcessesEndWithTheNetwork: nothing stays when the network is closed.
func TestProcessesEndWithTheNetwork(t *testing.T) {
	n, err := network.New(2, 1)
	if errors.Is(err, network.ErrNotPermitted) {
		t.Skip(err)
	}
	require.NoError(t, err)
	cmd := exec.Command("sleep", "600")
	var out bytes.Buffer
	cmd.Stdout = &out
	require.NoError(t, n.Host(0).Launch(cmd))
	n.Close()
	require.ErrorContains(t, cmd.Wait(), "killed")
}
