package server_test

import (
	"bytes"
	"log/slog"
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/server"
	"github.com/flagraft/flagraft/server/settings"
)

// TestWhatCannotServeFormsNothing: what a node lacks is found before it forms or joins a cluster, or leads one.
func TestWhatCannotServeFormsNothing(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	missing := filepath.Join(t.TempDir(), "missing")
	for want, lack := range map[string]func(*settings.Settings){
		"api: listen":  func(st *settings.Settings) { st.APIAddr = taken.Addr().String() },
		"gossip":       func(st *settings.Settings) { st.GossipAddr = taken.Addr().String() },
		"api: TLS":     func(st *settings.Settings) { st.TLSCert, st.TLSKey = missing, missing },
		"restore-from": func(st *settings.Settings) { st.RestoreFrom = missing },
	} {
		st := settings.Defaults()
		st.DataDir = t.TempDir()
		st.APIAddr, st.ClusterAddr, st.ManagementAddr, st.GossipAddr = "127.0.0.1:0", "127.0.0.1:0", "", ""
		lack(st)
		var log bytes.Buffer
		require.ErrorContains(t, server.New(st, server.Build{}, slog.New(slog.NewTextHandler(&log, nil))).Start(t.Context()), want)
		require.NotContains(t, log.String(), "cluster formed", want)
	}
}
