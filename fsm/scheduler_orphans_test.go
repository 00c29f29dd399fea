package fsm

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm/identity"
)

// TestIdentitiesOfNoEnvironmentGo: an SDK's write that comes after the deletion of its
// environment makes identities that nobody could remove.
func TestIdentitiesOfNoEnvironmentGo(t *testing.T) {
	f := newTestFSM(t)
	p := &logProposer{fsm: f}
	now := time.Date(2026, 11, 30, 22, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	w := NewWriter(f, p, clock, slog.New(slog.DiscardHandler))
	defer w.Stop()
	w.Gained()
	write := func(run func(*Tx)) {
		_, err := w.Write(t.Context(), Author{}, func(tx *Tx) error { run(tx); return nil })
		require.NoError(t, err)
	}
	b := NewIdentityBatcher(p, clock)
	defer b.Stop()
	sequence := uint64(0)
	stored := func(environment uint64) {
		sequence++
		op := identity.Op{Kind: identity.KindUpsert, Environment: environment, Identifier: []byte("ann")}
		_, err := b.Submit(t.Context(), identity.AppendSubBatch(nil, identity.SubBatch{Node: []byte("n1"), Sequence: sequence, Ops: 1}, identity.AppendOp(nil, &op)), nil)
		require.NoError(t, err)
	}
	write(func(tx *Tx) {
		Environments.Put(tx, Environment{ID: 1, Project: 1, APIKey: "a"})
		Environments.Put(tx, Environment{ID: 2, Project: 1, APIKey: "b"})
	})
	stored(1)
	stored(2)
	write(func(tx *Tx) {
		tx.Identity(identity.Op{Kind: identity.KindDropEnvironment, Environment: 2}, nil)
		Environments.Delete(tx, 2)
	})
	stored(2) // was under way
	stored(3) // of an import
	s := &Scheduler{fsm: f, writer: w, clock: clock, retention: DefaultRetention(), log: slog.New(slog.DiscardHandler)}
	left := func() []uint64 {
		require.NoError(t, s.due(t.Context()))
		return f.State().Identities().Environments()
	}
	require.Equal(t, []uint64{1, 2, 3}, left())
	now = now.Add(24 * time.Hour) // the clock was set
	require.Equal(t, []uint64{1, 2, 3}, left(), "an import may be under way")
	write(func(tx *Tx) { Environments.Put(tx, Environment{ID: 3, Project: 1, APIKey: "c"}) })
	for range orphansSeen - 1 {
		require.Contains(t, f.State().Identities().Environments(), uint64(2))
		now = now.Add(orphansEvery)
		left()
	}
	require.Equal(t, []uint64{1, 3}, left())
	index := f.State().Index
	for range orphansSeen {
		now = now.Add(orphansEvery)
		require.Equal(t, []uint64{1, 3}, left())
	}
	require.Equal(t, index, f.State().Index, "nothing more is written")
}
