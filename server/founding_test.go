package server_test

import (
	"bytes"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/server"
	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

func TestWhoIsReadyHasItsFirstAccount(t *testing.T) {
	n := servertest.Launch(t)
	for !n.Ready() {
		require.NoError(t, t.Context().Err())
		time.Sleep(100 * time.Microsecond)
	}
	n.Token(t)
}

func TestTheFirstAccountIsNotWaitedForForEver(t *testing.T) {
	var ahead atomic.Int64
	n := servertest.LaunchLogged(t, slog.New(slog.DiscardHandler), func(n *server.Node) {
		n.Clock = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	}, func(st *settings.Settings) { st.AdminPassword = "" })
	require.Eventually(t, func() bool { return n.IsLeader() && n.State().Born() }, 20*time.Second, time.Millisecond)
	require.False(t, n.Ready())
	ahead.Store(int64(time.Minute))
	require.Eventually(t, n.Ready, 20*time.Second, time.Millisecond)
	require.False(t, n.Founded())
}

// Who takes the password of the first account out of the settings once it is there gets no complaints.
func TestTheFirstAccountNeedsItsPasswordOnce(t *testing.T) {
	dir := t.TempDir()
	n := servertest.Start(t, func(st *settings.Settings) { st.DataDir = dir })
	require.NoError(t, n.Stop(t.Context()))
	var log bytes.Buffer
	n = servertest.LaunchLogged(t, slog.New(slog.NewTextHandler(&log, nil)), nil, func(st *settings.Settings) { st.DataDir, st.AdminPassword = dir, "" })
	n.WaitReady(t)
	n.Admin(t).Object("POST", "/api/v1/organisations/", map[string]any{"name": "one"}, 201) // by when it leads for long
	require.NoError(t, n.Stop(t.Context()))
	require.NotContains(t, log.String(), "admin-password")
}

// What newcomers are shown leads to the API as it listens, and does not hold a password that somebody chose.
func TestTheWelcomeLeadsToTheAPI(t *testing.T) {
	n := startSecure(t, func(st *settings.Settings) { st.Demo, st.AdminPassword = true, "correct Horse 1" })
	text, err := n.Welcome(t.Context())
	require.NoError(t, err)
	require.Contains(t, text, "flagraft is ready on https://"+n.APIAddr()+"\n")
	require.NotContains(t, text, "http://")
	require.NotContains(t, text, "correct Horse 1")
}

// The first account signs in with what the settings say: requests are read without the white space around texts.
func TestTheFirstAccountSignsIn(t *testing.T) {
	n := servertest.Start(t, func(st *settings.Settings) {
		st.AdminEmail, st.AdminPassword = " Ann@Example.com\r", " correct Horse 1 "
	})
	n.Client(t).Object("POST", "/api/v1/auth/login/", map[string]any{"email": "ann@example.com", "password": " correct Horse 1 "}, 200)
}
