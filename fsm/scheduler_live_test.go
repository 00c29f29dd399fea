package fsm

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWhatCannotBecomeLiveKeepsNobodyWaiting schedules a version that no log
// entry can hold among others, and makes it fit later.
func TestWhatCannotBecomeLiveKeepsNobodyWaiting(t *testing.T) {
	w, p := newTestWriter(t)
	write := func(run func(tx *Tx)) {
		t.Helper()
		_, err := w.Write(t.Context(), Author{User: 1}, func(tx *Tx) error { run(tx); return nil })
		require.NoError(t, err)
	}
	now := time.Now()
	w.clock = func() time.Time { return now }
	write(func(tx *Tx) { Projects.Put(tx, Project{ID: 1, Name: "p"}) })
	_, _, err := p.Propose(t.Context(), NewLevelEntry(FormatLevel, now))
	require.NoError(t, err)
	var log strings.Builder
	s := NewScheduler(p.fsm, w, func() time.Time { return now }, DefaultRetention(), slog.New(slog.NewTextHandler(&log, nil)))
	defer s.Stop()

	const features, big = 9, 5
	versions := map[uint64]FeatureVersion{}
	write(func(tx *Tx) {
		Environments.Put(tx, Environment{ID: 1, Name: "e", APIKey: "k", Project: 1, UseV2FeatureVersioning: true})
		for f := uint64(1); f <= features; f++ {
			Features.Put(tx, Feature{ID: f, Name: fmt.Sprint("f", f), Project: 1})
			FeatureStates.Put(tx, FeatureState{Feature: f, Environment: 1, UpdatedAt: tx.Now(), LiveFrom: tx.Now()})
			tx.StartVersions(1, f)
			versions[f] = tx.DraftVersion(FeatureVersion{Environment: 1, Feature: f})
		}
	})
	text := strings.Repeat("x", 20_000)
	for range 2 {
		write(func(tx *Tx) {
			for i := range 450 {
				tx.AddVersionState(versions[big], FeatureState{Environment: 1, Feature: big, Value: FeatureValue{Type: Unicode, String: &text}},
					FeatureSegment{Environment: 1, Feature: big, Segment: uint64(i + 1)})
			}
		})
	}
	write(func(tx *Tx) {
		for f, v := range versions {
			v.LiveFrom = tx.Now().Add(time.Duration(f) * time.Minute)
			tx.PublishVersion(v)
		}
	})
	live := func() (ids []uint64) {
		for f := uint64(1); f <= features; f++ {
			if v, _ := ServingVersion(p.fsm.State(), 1, f); v.ID == versions[f].ID {
				ids = append(ids, f)
			}
		}
		return ids
	}
	now = now.Add(30 * time.Minute)
	require.NoError(t, s.due(t.Context()))
	require.Equal(t, []uint64{1, 2, 3, 4, 6, 7, 8, 9}, live())
	require.Equal(t, 1, strings.Count(log.String(), "cannot become live"))
	require.Contains(t, log.String(), fmt.Sprintf("id=%d", versions[big].ID))
	seq := p.fsm.State().Seq
	require.NoError(t, s.due(t.Context()))
	require.Equal(t, seq, p.fsm.State().Seq)
	require.Equal(t, 1, strings.Count(log.String(), "cannot become live"), "it is left alone for a while")

	write(func(tx *Tx) {
		for i, held := range FeatureVersionStatesByVersion.List(tx, versions[big].ID) {
			if i%2 == 0 {
				FeatureVersionStates.Delete(tx, held.ID)
			}
		}
	})
	now = now.Add(putOffFor)
	require.NoError(t, s.due(t.Context()))
	require.Contains(t, live(), uint64(big))
}

// TestPanickingRowIsPutOff: a row whose turn panics stops no other, wherever it stands.
func TestPanickingRowIsPutOff(t *testing.T) {
	w, p := newTestWriter(t)
	w.log = slog.New(slog.DiscardHandler)
	now := time.Now()
	s := NewScheduler(p.fsm, w, func() time.Time { return now }, DefaultRetention(), slog.New(slog.DiscardHandler))
	defer s.Stop()
	_, err := w.Write(t.Context(), Author{}, func(tx *Tx) error {
		for id := uint64(1); id <= 40; id++ {
			FeatureStates.Put(tx, FeatureState{ID: id, UpdatedAt: 1, LiveFrom: Time(id + 1)})
		}
		return nil
	})
	require.NoError(t, err)
	var left []uint64
	job := goLive(s, featureStatesScheduled, scheduledState, func(tx *Tx, fs FeatureState) {
		if fs.ID == 1 || fs.ID == 23 {
			panic("bad row")
		}
		stateLive(tx, fs)
	})
	require.NoError(t, s.turns(t.Context(), job, TimeOf(now)))
	require.NoError(t, s.turns(t.Context(), job, TimeOf(now)))
	for fs := range featureStatesScheduled.All(p.fsm.State()) {
		left = append(left, fs.ID)
	}
	require.Equal(t, []uint64{1, 23}, left)
}
