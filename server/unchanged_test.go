package server_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/server/servertest"
)

// TestUnchangedIdentitiesWriteNothingBesideChanges: between the moment in which a change is committed and that in which it is applied, requests
// that change nothing are answered as ever. If they were taken to the log, each change would bring another commit, and all connections would wait for it.
func TestUnchangedIdentitiesWriteNothingBesideChanges(t *testing.T) {
	n := servertest.Start(t)
	admin := n.Admin(t)
	features := strings.Replace(project(t, n), "/tags/", "/features/", 1)
	id := admin.Object("POST", features, map[string]any{"name": "switched"}, 201)["id"]
	body := func(who int) string {
		return fmt.Sprintf(`{"identifier":"who-%d","traits":[{"trait_key":"plan","trait_value":"free"}]}`, who)
	}
	const clients, changes = 4, 100
	sdk := n.Client(t).With("X-Environment-Key", "environment")
	for who := range clients {
		sdk.Object("POST", "/api/v1/identities/", body(who), 200)
	}
	const batches = "flagraft_identity_batch_operations_count"
	before := n.Metric(t, batches)
	done := make(chan struct{})
	var answered atomic.Int64
	var wg sync.WaitGroup
	for who := range clients {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					if sdk.Do("POST", "/api/v1/identities/", body(who)).Status == 200 {
						answered.Add(1)
					}
				}
			}
		})
	}
	for i := range changes {
		admin.Object("PATCH", fmt.Sprintf("%s%v/", features, id), map[string]any{"description": fmt.Sprint(i)}, 200)
	}
	close(done)
	wg.Wait()
	require.Greater(t, answered.Load(), int64(changes/5), "fewer could not have brought as many")
	// A pause of this process in which the node does not hear from itself gives it reason to write.
	require.Less(t, n.Metric(t, batches)-before, float64(changes)/5)
}
