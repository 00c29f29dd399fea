package cluster

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAdvertisedAddresses: peers are told an address that leads somewhere, or the start says why not.
func TestAdvertisedAddresses(t *testing.T) {
	listening := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8001}
	for configured, want := range map[string]string{
		"":                  "127.0.0.1:8001",
		"node-a":            "node-a:8001",
		"node-a:0":          "node-a:8001",
		"node-a:9001":       "node-a:9001",
		"::1":               "[::1]:8001",
		"[::1]":             "[::1]:8001",
		"[fe80::1%eth0]:91": "[fe80::1%eth0]:91",
	} {
		got, err := advertise(configured, listening)
		require.NoError(t, err, configured)
		require.Equal(t, want, got, configured)
	}
	for _, configured := range []string{":9001", "0.0.0.0:9001"} { // a peer would ask itself
		got, err := advertise(configured, listening)
		if err != nil { // a machine without another address
			continue
		}
		host, port, err := net.SplitHostPort(got)
		require.NoError(t, err)
		require.False(t, host == "" || net.ParseIP(host).IsUnspecified(), got)
		require.Equal(t, "9001", port)
	}
	for _, wrong := range []string{"https://node-a:8001", "https://node-a", "node-a:cluster", "a:b:c", "node-a:70000", "[node-a"} {
		_, err := advertise(wrong, listening)
		require.ErrorContains(t, err, wrong)
		require.ErrorContains(t, Config{AdvertiseGossip: wrong}.Check(), wrong)
	}
}

// TestAdvertisedGossipAddress: as that of the cluster port; and who cannot advertise one has not formed a cluster when it finds out.
func TestAdvertisedGossipAddress(t *testing.T) {
	n := &Node{cfg: Config{GossipAddr: "127.0.0.1:8002"}, mux: &mux{}}
	for configured, want := range map[string]int{"127.0.0.1": 8002, "127.0.0.1:9002": 9002, "[::1]": 8002} {
		n.cfg.AdvertiseGossip = configured
		conf, err := n.gossipConfig()
		require.NoError(t, err, configured)
		require.Equal(t, want, conf.AdvertisePort, configured)
		require.NotEmpty(t, conf.AdvertiseAddr, configured)
	}
}
