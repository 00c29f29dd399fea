package server

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/cluster"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// nobodyLeads is a cluster without a leader.
type nobodyLeads struct{}

func (nobodyLeads) ReadIndex(context.Context) (uint64, error) { return 0, cluster.ErrNotLeader }
func (nobodyLeads) Age() time.Duration                        { return 0 }

// TestLeaderlessIsNoTimeOfDay: after a read that found no leader, a wall clock set back by an hour must not have an hour of reads ask for none.
func TestLeaderlessIsNoTimeOfDay(t *testing.T) {
	r := &reader{fsm: fsm.New(slog.New(slog.DiscardHandler), fsm.NewViews(slog.New(slog.DiscardHandler))), reads: nobodyLeads{}}
	got, err := r.await(t.Context(), &route.Request{})
	require.NoError(t, err)
	require.Equal(t, levelLocal, got)
	require.Positive(t, r.without.Load())
	require.LessOrEqual(t, time.Duration(r.without.Load()), time.Since(processStart)+leaderless)
}
