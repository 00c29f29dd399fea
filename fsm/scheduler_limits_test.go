package fsm

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAPICallLimits stops an organisation at its limit and resumes it in the
// next month.
func TestAPICallLimits(t *testing.T) {
	now := time.Date(2026, 11, 30, 22, 0, 0, 0, time.UTC)
	f, w, s := leading(t, &now)
	write := func(run func(*Tx)) {
		_, err := w.Write(context.Background(), Author{}, func(tx *Tx) error { run(tx); return nil })
		require.NoError(t, err)
	}
	write(func(tx *Tx) {
		Organisations.Put(tx, Organisation{ID: 1, MaxAPICalls: 5})
		Organisations.Put(tx, Organisation{ID: 2})
		Projects.Put(tx, Project{ID: 1, Organisation: 1})
		Environments.Put(tx, Environment{ID: 1, Project: 1, APIKey: "a"})
		Usages.Put(tx, Usage{Environment: 1, Kind: UsageFlags, Bucket: TimeOf(now.Truncate(time.Hour)), Count: 4})
		Usages.Put(tx, Usage{Environment: 1, Kind: UsageIdentities, Bucket: TimeOf(now.AddDate(0, -1, 0)), Count: 40})
		Usages.Put(tx, Usage{Environment: 1, Kind: UsageEvaluation, Bucket: TimeOf(now), Count: 40})
	})
	serves := func() bool {
		require.NoError(t, s.due(context.Background()))
		o, ok := Organisations.Get(f.State(), 1)
		require.True(t, ok)
		return o.Serves()
	}
	require.True(t, serves())
	write(func(tx *Tx) {
		Usages.Put(tx, Usage{Environment: 1, Kind: UsageTraits, Bucket: TimeOf(now.Truncate(time.Hour)), Count: 1})
	})
	require.True(t, serves(), "it was looked at just now")
	now = now.Add(limitsEvery)
	updated := func() Time {
		e, _ := Environments.Get(f.State(), 1)
		return e.UpdatedAt
	}
	before := updated()
	require.False(t, serves())
	require.Equal(t, before, updated())
	now = now.Add(2 * time.Hour) // December
	require.True(t, serves())
	require.Greater(t, updated(), before, "clients that were refused hear that they are answered again")

	now = now.AddDate(1, 0, 0)
	require.True(t, serves())
	now = now.AddDate(-1, 0, 0) // the clock is put right
	write(func(tx *Tx) { Usages.Put(tx, Usage{Environment: 1, Kind: UsageTraits, Bucket: TimeOf(now), Count: 5}) })
	require.False(t, serves(), "it would be looked at in a year")
}

// A new month resumes all organisations, also where the environments that clients hear of it by are more than one entry may hold.
func TestManyOrganisationsResume(t *testing.T) {
	now := time.Date(2026, 11, 30, 22, 0, 0, 0, time.UTC)
	f, w, s := leading(t, &now)
	long := strings.Repeat("x", maxWriteBytes/8)
	const organisations = 10
	for id := uint64(1); id <= organisations; id++ {
		_, err := w.Write(context.Background(), Author{}, func(tx *Tx) error {
			Organisations.Put(tx, Organisation{ID: id, MaxAPICalls: 5, APICallsExceeded: true})
			Projects.Put(tx, Project{ID: id, Organisation: id})
			Environments.Put(tx, Environment{ID: id, Project: id, APIKey: strconv.FormatUint(id, 10), Description: &long})
			return nil
		})
		require.NoError(t, err)
	}
	require.NoError(t, s.due(context.Background()))
	for o := range Organisations.All(f.State()) {
		require.True(t, o.Serves(), o.ID)
	}
}
