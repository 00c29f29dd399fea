package server

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/fsmtest"
	"github.com/flagraft/flagraft/server/settings"
)

// TestABackupIsRecordedWhereItBelongs changes a schedule while a backup is taken for it.
func TestABackupIsRecordedWhereItBelongs(t *testing.T) {
	f := fsmtest.New(t)
	clock := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	n := &Node{fsm: f.FSM, writer: f.Writer, settings: settings.Defaults(), log: slog.New(slog.DiscardHandler), Clock: func() time.Time { return clock }}
	write := func(s fsm.BackupSchedule) (out fsm.BackupSchedule) {
		f.Write(t, func(tx *fsm.Tx) error { out = fsm.BackupSchedules.Put(tx, s); return nil })
		return out
	}
	record := func(of fsm.BackupSchedule, r archived) fsm.BackupSchedule {
		require.NoError(t, n.recordArchive(t.Context(), of, r))
		now, ok := fsm.BackupSchedules.Get(f.FSM.State(), of.ID)
		require.True(t, ok)
		return now
	}
	took := archived{file: "nightly-1.backup", bytes: 5, index: 7, taken: true}
	of := write(fsm.BackupSchedule{Name: "nightly", When: "6h", Target: "a", Enabled: true, Created: 1, Due: fsm.TimeOf(clock)})

	now := record(of, took)
	require.Equal(t, took.file, now.LastFile)
	require.Equal(t, fsm.TimeOf(clock.Add(6*time.Hour)), now.Due)

	asked := of // "run now" while it was taken: that asks for one of after
	asked.Due = fsm.TimeOf(clock.Add(-time.Second))
	write(asked)
	require.Equal(t, asked.Due, record(of, took).Due)

	for name, change := range map[string]func(s *fsm.BackupSchedule){
		"of a restored backup, by chance with this number": func(s *fsm.BackupSchedule) { s.Name, s.Created = "weekly", 2 },
		"removed and made again in a restored backup":      func(s *fsm.BackupSchedule) { s.Created = 3 },
		"with another target":                              func(s *fsm.BackupSchedule) { s.Target = "b" },
	} {
		other := of
		change(&other)
		write(other)
		require.Equal(t, other, record(of, took), name)
	}

	// Retention that fails is told, but brings no further backups: where nothing can be removed each would fill the storage more.
	write(of)
	took.err = errors.New("older ones are not removed")
	now = record(of, took)
	require.Equal(t, took.file, now.LastFile)
	require.Equal(t, fsm.TimeOf(clock), now.LastSuccess)
	require.EqualValues(t, 1, now.Failures)
	require.Equal(t, took.err.Error(), now.LastError)
	require.Equal(t, fsm.TimeOf(clock.Add(6*time.Hour)), now.Due)
}
