package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/servertest"
)

// TestWhatNeedsALevelWaitsForIt asks a new cluster for something of a later level before the level has risen: who may not is told so, and nobody
// hears of levels.
func TestWhatNeedsALevelWaitsForIt(t *testing.T) {
	t.Parallel()
	n := servertest.Launch(t)
	for !n.State().Born() {
		time.Sleep(time.Millisecond)
	}
	before := n.State().Level()
	require.Equal(t, 401, n.Client(t).Do("POST", "/api/v1/environments/some/enable-v2-versioning/", nil).Status)
	t.Logf("level %d before, %d after", before, n.State().Level())
	require.Equal(t, fsm.FormatLevel, n.State().Level())
}

// TestTheFormatLevelRisesByItself wants a new cluster, born at the first level, at the newest soon, on every node, and shown.
func TestTheFormatLevelRisesByItself(t *testing.T) {
	t.Parallel()
	nodes := servertest.Cluster(t, 3)
	for _, n := range nodes {
		require.Eventually(t, func() bool { return n.State().Level() == fsm.FormatLevel }, 20*time.Second, 5*time.Millisecond)
	}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+nodes[1].ManagementAddr()+"/status", nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	var status struct {
		FormatLevel      uint8 `json:"format_level"`
		KnownFormatLevel uint8 `json:"known_format_level"`
		Peers            []struct {
			FormatLevel uint8 `json:"format_level"`
		} `json:"peers"`
	}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&status))
	require.Equal(t, fsm.FormatLevel, status.FormatLevel)
	require.Equal(t, fsm.FormatLevel, status.KnownFormatLevel)
	require.Len(t, status.Peers, 3)
	require.Equal(t, fsm.FormatLevel, status.Peers[0].FormatLevel)
}
