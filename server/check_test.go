package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/server"
	"github.com/flagraft/flagraft/server/settings"
)

// TestAddressesThatLeadNowhere are refused before the start, and by the doctor.
func TestAddressesThatLeadNowhere(t *testing.T) {
	for want, lack := range map[string]func(*settings.Settings){
		`--advertise-api is "https://flags.example.com"`:  func(st *settings.Settings) { st.AdvertiseAPI = "https://flags.example.com" },
		`--advertise-api is "http://flags.example.com:80`: func(st *settings.Settings) { st.AdvertiseAPI = "http://flags.example.com:8000" },
		`--advertise-api is "flags.example.com"`:          func(st *settings.Settings) { st.AdvertiseAPI = "flags.example.com" },
		`cannot reach "http://node-a:8001"`:               func(st *settings.Settings) { st.AdvertiseCluster = "http://node-a:8001" },
		`cannot reach "node-a:gossip"`:                    func(st *settings.Settings) { st.AdvertiseGossip = "node-a:gossip" },
		"--api-addr and --management-addr":                func(st *settings.Settings) { st.ManagementAddr = "127.0.0.1:8000" },
		"--cluster-addr and --gossip-addr":                func(st *settings.Settings) { st.GossipAddr = st.ClusterAddr },
	} {
		st := settings.Defaults()
		lack(st)
		require.ErrorContains(t, server.CheckSettings(st), want)
	}
	st := settings.Defaults()
	st.AdvertiseAPI, st.AdvertiseCluster, st.AdvertiseGossip = "flags-1.example.com:8000", "node-a", "[::1]"
	st.APIAddr, st.ManagementAddr = "0.0.0.0:8000", "[::1]:8000"
	require.NoError(t, server.CheckSettings(st))
	st.APIAddr, st.ClusterAddr, st.GossipAddr, st.ManagementAddr = ":0", "127.0.0.1:0", "", ""
	st.AdvertiseAPI = ":8000"
	require.NoError(t, server.CheckSettings(st))
}
