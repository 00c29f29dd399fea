package probe

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProcess(t *testing.T) {
	before, err := CPU(os.Getpid())
	require.NoError(t, err)
	for spun := before; spun < before+5*tick; { // until the kernel has seen us work
		spun, err = CPU(os.Getpid())
		require.NoError(t, err)
	}
	twice, err := CPU(os.Getpid(), os.Getpid())
	require.NoError(t, err)
	require.GreaterOrEqual(t, twice, 2*(before+5*tick))
	busy, err := MachineBusy()
	require.NoError(t, err)
	require.Positive(t, busy)
	_, err = Load()
	require.NoError(t, err)
	_, err = CPU(-1)
	require.Error(t, err)
	total, file, err := RSS(os.Getpid())
	require.NoError(t, err)
	require.Greater(t, total, file)
	require.Positive(t, ThreadCPU())
}
