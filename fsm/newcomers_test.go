package fsm

import (
	"log/slog"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm/identity"
)

func TestNewcomersAreCountedByEnvironmentAndSecond(t *testing.T) {
	f := New(slog.New(slog.DiscardHandler), NewViews(slog.New(slog.DiscardHandler)))
	f.Apply(&raft.Log{Index: 1, Data: newGenesis(time.Unix(1, 0))})
	s := f.State()
	require.True(t, s.Born())
	create := func(environment uint64, names ...string) (ops []identity.Op) {
		for _, name := range names {
			ops = append(ops, identity.Op{Kind: identity.KindUpsert, Environment: environment, Identifier: []byte(name)})
		}
		return ops
	}
	now := time.Unix(1_800_000_000, 0)
	share := 2
	n := newcomers{share: func() int { return share }}
	require.NoError(t, n.admit(s, create(1, "a"), now))
	require.NoError(t, n.admit(s, create(1, "b", "c", "d"), now), "there was room for one")
	require.ErrorIs(t, n.admit(s, create(1, "e"), now), ErrNewcomers)
	require.ErrorIs(t, n.admit(s, create(1, "e"), now.Add(999*time.Millisecond)), ErrOverloaded, "it is a kind of overload")
	require.NoError(t, n.admit(s, create(2, "a"), now), "environments do not share")
	require.NoError(t, n.admit(s, []identity.Op{{Kind: identity.KindDelete, Environment: 1, Identifier: []byte("a")}}, now))
	require.NoError(t, n.admit(s, create(1, "e"), now.Add(time.Second)))
	require.EqualValues(t, 2, n.refused.Load())

	share = 0
	for range 10 {
		require.NoError(t, n.admit(s, create(1, "x"), now.Add(2*time.Second)), "0 is no limit")
	}
	require.NoError(t, (&newcomers{}).admit(s, create(1, "x"), now))
}
