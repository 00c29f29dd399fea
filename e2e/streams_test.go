package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/nodes"
)

// TestStreamsOverRestarts keeps streams open to all nodes while a flag changes
// every second and a node restarts again and again: every client ends on the
// newest version. FLAGRAFT_STREAM_SOAK ("10m") makes it the long form: 1,000
// clients, a restart each minute.
func TestStreamsOverRestarts(t *testing.T) {
	length, clients, restart := 15*time.Second, 60, 5*time.Second
	if s := os.Getenv("FLAGRAFT_STREAM_SOAK"); s != "" {
		var err error
		length, err = time.ParseDuration(s)
		require.NoError(t, err)
		clients, restart = 1000, time.Minute
	}
	bin := nodes.Binary(t)
	ctx, cancel := context.WithTimeout(context.Background(), length+3*time.Minute)
	defer cancel()
	c, err := nodes.Start(ctx, bin, t.TempDir(), 3)
	require.NoError(t, err)
	defer c.Stop()
	p := everywhere(t, ctx, c)
	_, err = p.Admin.Must(ctx, "POST", fmt.Sprintf("/api/v1/projects/%d/features/", p.ID), map[string]any{"name": "flag"}, 201)
	require.NoError(t, err)
	list, err := p.Admin.Must(ctx, "GET", "/api/v1/environments/"+p.EnvironmentKey+"/featurestates/", nil, 200)
	require.NoError(t, err)
	state := list.Get("results").([]any)[0].(map[string]any)["id"].(json.Number).String()

	listening, stop := context.WithCancel(ctx)
	all := make([]*streamClient, clients)
	var wait sync.WaitGroup
	for i := range all {
		all[i] = &streamClient{cluster: c, key: p.EnvironmentKey, node: i}
		wait.Go(func() { all[i].listen(listening) })
	}
	defer func() { stop(); wait.Wait() }()

	end, next, restarts, changes := time.Now().Add(length), time.Now().Add(restart), 0, 0
	var restarting sync.WaitGroup
	for i := 0; time.Now().Before(end); i++ {
		if time.Now().After(next) && time.Until(end) > restart/2 {
			n := c.Nodes[restarts%3]
			restarts++
			next = time.Now().Add(restart)
			restarting.Go(func() {
				n.Terminate()
				if n.Start() == nil { // whether all are back is asked at the end
					_ = n.WaitReady(ctx)
				}
			})
		}
		for try := range 3 { // a node that goes down may refuse
			a, err := at(c.Nodes[(i+try)%3], p.Admin).Do(ctx, "PATCH", "/api/v1/environments/"+p.EnvironmentKey+"/featurestates/"+state+"/",
				map[string]any{"enabled": i%2 == 0, "feature_state_value": i})
			if err == nil && a.Status == http.StatusOK {
				changes++
				break
			}
		}
		time.Sleep(time.Second)
	}
	restarting.Wait()
	for _, n := range c.Nodes {
		require.NoError(t, n.WaitReady(ctx))
	}
	flags, err := at(c.Nodes[0], p.Admin).With("X-Environment-Key", p.EnvironmentKey).With("Flagraft-Consistency", "linearizable").
		Must(ctx, "GET", "/api/v1/flags/", nil, 200)
	require.NoError(t, err)
	newest := flags.Header.Get("X-Flagsmith-Document-Updated-At")
	behind := func() (n int) {
		for _, s := range all {
			if s.last.Load() == nil || *s.last.Load() != newest {
				n++
			}
		}
		return n
	}
	require.Eventually(t, func() bool { return behind() == 0 }, 20*time.Second, 50*time.Millisecond,
		"every client ends on %s", newest)
	events, connects := int64(0), int64(0)
	for _, s := range all {
		events, connects = events+s.events.Load(), connects+s.connects.Load()
	}
	t.Logf("%d clients, %v, %d changes, %d restarts: %d events, %d connections, all on %s", clients, length, changes, restarts, events, connects, newest)
	require.Positive(t, restarts)
}

// streamClient is a client as the SDKs are: it reconnects to another node after a
// pause and says what it saw last.
type streamClient struct {
	cluster *nodes.Cluster
	key     string
	node    int

	last             atomic.Pointer[string] // updated_at as it was written
	id               string
	events, connects atomic.Int64
}

func (s *streamClient) listen(ctx context.Context) {
	for ctx.Err() == nil {
		s.stream(ctx, s.cluster.Nodes[s.node%len(s.cluster.Nodes)])
		s.node++
		select {
		case <-time.After(time.Duration(rand.IntN(1000)) * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (s *streamClient) stream(ctx context.Context, n *nodes.Node) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.API+"/sse/environments/"+s.key+"/stream", nil)
	if err != nil {
		return
	}
	if s.id != "" {
		req.Header.Set("Last-Event-ID", s.id)
	}
	resp, err := streamHTTP.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return
	}
	s.connects.Add(1)
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			s.id = id
		}
		if data, ok := strings.CutPrefix(lines.Text(), `data: {"updated_at": `); ok {
			at := strings.TrimSuffix(data, "}")
			s.last.Store(&at)
			s.events.Add(1)
		}
	}
}

// streamHTTP has no limit of connections and no time-out: streams are long.
var streamHTTP = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}
