package fsm

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// leading is what a leader's Scheduler needs, by a clock of the test's.
func leading(t *testing.T, now *time.Time) (*FSM, *Writer, *Scheduler) {
	f, clock, log := newTestFSM(t), func() time.Time { return *now }, slog.New(slog.DiscardHandler)
	w := NewWriter(f, &logProposer{fsm: f}, clock, log)
	t.Cleanup(w.Stop)
	w.Gained()
	return f, w, &Scheduler{fsm: f, writer: w, clock: clock, retention: DefaultRetention(), log: log}
}

// TestDeletedNamesGoWithTheirAuditRows: what is kept of deleted projects and environments for the audit log does not outlive its rows.
func TestDeletedNamesGoWithTheirAuditRows(t *testing.T) {
	now := time.Date(2026, 11, 30, 22, 0, 0, 0, time.UTC)
	f, w, s := leading(t, &now)
	deleteOne := func(id uint64) {
		_, err := w.Write(context.Background(), Author{}, func(tx *Tx) error {
			DeletedProjects.Put(tx, Project{ID: id, Organisation: 1})
			DeletedEnvironments.Put(tx, Environment{ID: id, Project: id, UpdatedAt: tx.Now()})
			tx.AuditOnly(AuditLog{Project: id, Environment: id, Organisation: 1})
			return nil
		})
		require.NoError(t, err)
	}
	kept := func() (projects, environments []uint64) {
		require.NoError(t, s.due(context.Background()))
		for p := range DeletedProjects.Refs(f.State()) {
			projects = append(projects, p.ID)
		}
		for e := range DeletedEnvironments.Refs(f.State()) {
			environments = append(environments, e.ID)
		}
		return projects, environments
	}
	deleteOne(1)
	now = now.Add(s.retention.Audit / 2)
	deleteOne(2)
	projects, environments := kept()
	require.Equal(t, []uint64{1, 2}, projects)
	require.Equal(t, []uint64{1, 2}, environments)

	now = now.Add(s.retention.Audit/2 + time.Second)
	projects, environments = kept()
	require.Equal(t, []uint64{2}, projects)
	require.Equal(t, []uint64{2}, environments)

	now = now.Add(s.retention.Audit)
	projects, environments = kept()
	require.Empty(t, projects)
	require.Empty(t, environments)
}

// TestDeletedNamesOfEarlierVersions: these kept an environment with the time of its last change, and rows of after it show its name.
func TestDeletedNamesOfEarlierVersions(t *testing.T) {
	now := time.Date(2026, 11, 30, 22, 0, 0, 0, time.UTC)
	f, w, s := leading(t, &now)
	_, err := w.Write(context.Background(), Author{}, func(tx *Tx) error {
		for id := uint64(1); id <= sweepBatch+1; id++ {
			DeletedEnvironments.Put(tx, Environment{ID: id, Project: 1, UpdatedAt: tx.Now().Add(-time.Hour)})
			if id <= sweepBatch {
				tx.AuditOnly(AuditLog{Project: 1, Environment: id, Organisation: 1})
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, s.due(context.Background()))
	kept := 0
	for range DeletedEnvironments.Refs(f.State()) {
		kept++
	}
	require.Equal(t, sweepBatch, kept, "all but the one that no row shows")
}
