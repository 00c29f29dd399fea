package bench

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/nodes"
)

// A run is only one "while a snapshot is taken" when the node took one: a node that refuses every one is not disturbed at all.
func TestARunThatWasNotDisturbedFails(t *testing.T) {
	for want, status := range map[string]int{errIdle.Error(): http.StatusServiceUnavailable, "": http.StatusOK} {
		var asked atomic.Int64
		twice := make(chan struct{})
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			if asked.Add(1) == 2 {
				close(twice)
			}
		}))
		defer server.Close()
		admin := &nodes.Client{Base: server.URL, Header: http.Header{}, HTTP: server.Client()}
		d := snapshots(&nodes.Project{Admin: admin}, 10)
		d.wait = 0
		end := d.begin(t.Context())
		<-twice
		if err := end(); want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}

// A run waits for the node to begin, but not for one that cannot.
func TestADisturbanceThatFailsIsNotWaitedFor(t *testing.T) {
	failure := errors.New("no backup")
	d := &disturbance{title: "beside backups", wait: time.Hour, step: func(context.Context, func()) error { return failure }}
	require.ErrorIs(t, d.begin(t.Context())(), failure)
}
