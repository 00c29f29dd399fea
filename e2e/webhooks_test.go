package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/nodes"
)

// hooked takes what a webhook is told: the id of each delivery and the flag's new value.
type hooked struct {
	mu         sync.Mutex
	deliveries []uint64
	values     []float64
	url        string
}

func receive(t *testing.T) *hooked {
	t.Helper()
	h := &hooked{}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	h.url = s.URL
	return h
}

func (h *hooked) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var event struct {
		Data struct {
			New struct {
				Value float64 `json:"feature_state_value"`
			} `json:"new_state"`
		} `json:"data"`
	}
	if json.NewDecoder(r.Body).Decode(&event) != nil {
		return
	}
	id, _ := strconv.ParseUint(r.Header.Get("Flagraft-Delivery"), 10, 64)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deliveries = append(h.deliveries, id)
	h.values = append(h.values, event.Data.New.Value)
}

func (h *hooked) seen() (deliveries []uint64, values []float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.deliveries), slices.Clone(h.values)
}

// TestWebhooksOverKilledLeaders changes a flag while the leader is killed again and
// again: every acknowledged change arrives, in order. A call may be repeated, as the leader
// that made it may die before it could say so.
func TestWebhooksOverKilledLeaders(t *testing.T) {
	c, ctx := start(t, 3, "--allow-private-webhooks")
	p := everywhere(t, ctx, c)
	_, err := p.Admin.Must(ctx, "POST", fmt.Sprintf("/api/v1/projects/%d/features/", p.ID), object{"name": "counter", "initial_value": "0", "default_enabled": true}, 201)
	require.NoError(t, err)
	list, err := p.Admin.Must(ctx, "GET", "/api/v1/environments/"+p.EnvironmentKey+"/featurestates/?feature_name=counter", nil, 200)
	require.NoError(t, err)
	first := list.Get("results").([]any)[0].(object)
	state := fmt.Sprintf("/api/v1/environments/%s/featurestates/%v/", p.EnvironmentKey, first["id"])
	h := receive(t)
	_, err = p.Admin.Must(ctx, "POST", "/api/v1/environments/"+p.EnvironmentKey+"/webhooks/", object{"url": h.url, "enabled": true}, 201)
	require.NoError(t, err)
	_, err = c.OneState(ctx)
	require.NoError(t, err)

	until, stop := context.WithCancel(ctx)
	defer stop()
	var sent []float64
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 1; until.Err() == nil; i++ {
			body := object{"feature": first["feature"], "enabled": true, "feature_state_value": i}
			if !written(ctx, c, p.Admin, state, body, i) {
				return
			}
			sent = append(sent, float64(i))
		}
	})
	for range 4 {
		time.Sleep(1500 * time.Millisecond)
		leader, err := c.Leader(ctx)
		require.NoError(t, err)
		leader.Kill()
		time.Sleep(1500 * time.Millisecond)
		require.NoError(t, leader.Start())
		require.NoError(t, leader.WaitReady(ctx))
	}
	stop()
	writer.Wait()
	require.NoError(t, ctx.Err())
	require.NotEmpty(t, sent)

	require.Eventually(t, func() bool {
		_, values := h.seen()
		return len(values) > 0 && values[len(values)-1] == sent[len(sent)-1]
	}, time.Minute, 20*time.Millisecond, "the last change is not told")
	deliveries, values := h.seen()
	require.True(t, slices.IsSorted(deliveries), "deliveries out of order")
	require.Equal(t, sent, slices.Compact(values))
	t.Logf("%d changes, %d calls", len(sent), len(values))
}

// written makes the i-th change through one node after the other until it is acknowledged, once whatever happens.
func written(ctx context.Context, c *nodes.Cluster, admin *nodes.Client, path string, body object, i int) bool {
	client := admin.With("Idempotency-Key", uuid.NewString())
	for ; ctx.Err() == nil; i++ {
		a, err := at(c.Nodes[i%len(c.Nodes)], client).Do(ctx, "PUT", path, body)
		if err == nil && a.Status == http.StatusOK {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}
