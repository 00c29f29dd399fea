package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/nodes"
)

// follower keeps up with an environment in its own way; value is what it has.
type follower interface {
	// value waits a little, or polls, and returns the flag's value as known now.
	value(t *testing.T, ctx context.Context) any
}

// tagFollower polls with the tag of the document it has.
type tagFollower struct {
	client   *nodes.Client
	tag      string
	document object
}

func (f *tagFollower) value(t *testing.T, ctx context.Context) any {
	t.Helper()
	c := f.client
	if f.tag != "" {
		c = c.With("If-None-Match", f.tag)
	}
	a, err := c.Must(ctx, "GET", "/api/v1/environment-document/", nil, 200, 304)
	require.NoError(t, err)
	if a.Status == http.StatusOK {
		f.document, f.tag = a.JSON().(object), a.Header.Get("ETag")
	}
	return (&edgeProxy{document: f.document}).value("banner")
}

func (e *edgeProxy) follow(t *testing.T, ctx context.Context) any {
	t.Helper()
	e.poll(t, ctx)
	return e.value("banner")
}

type dateFollower struct{ *edgeProxy }

func (f dateFollower) value(t *testing.T, ctx context.Context) any { return f.follow(t, ctx) }

// streamFollower reads the flags after every event that is newer than what it has, as
// the official clients do.
type streamFollower struct {
	client *nodes.Client
	events chan float64
	have   float64
	last   any
}

func stream(t *testing.T, ctx context.Context, n *nodes.Node, p *nodes.Project) *streamFollower {
	t.Helper()
	f := &streamFollower{client: n.Client().With("X-Environment-Key", p.EnvironmentKey), events: make(chan float64, 64)}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.API+"/sse/environments/"+p.EnvironmentKey+"/stream", nil)
	require.NoError(t, err)
	resp, err := (&http.Client{}).Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { resp.Body.Close() })
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, "text/event-stream", strings.Split(resp.Header.Get("Content-Type"), ";")[0])
	go func() {
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			data, found := strings.CutPrefix(lines.Text(), "data: ")
			var event struct {
				UpdatedAt float64 `json:"updated_at"`
			}
			if found && json.Unmarshal([]byte(data), &event) == nil {
				f.events <- event.UpdatedAt
			}
		}
	}()
	return f
}

func (f *streamFollower) value(t *testing.T, ctx context.Context) any {
	t.Helper()
	for {
		select {
		case updated := <-f.events:
			if updated <= f.have {
				continue
			}
			a, err := f.client.Must(ctx, "GET", "/api/v1/flags/", nil, 200)
			require.NoError(t, err)
			_, err = fmt.Sscan(a.Header.Get("X-Flagsmith-Document-Updated-At"), &f.have)
			require.NoError(t, err)
			require.GreaterOrEqual(t, f.have, updated, "the state of an event is readable when it is sent")
			f.last = flag(t, a, "banner")["feature_state_value"]
		default:
			return f.last
		}
	}
}

// TestTwoChangesInOneSecond: whole seconds cannot tell two changes apart; clients
// that follow by date, by tag and by events each end on the second, on any node.
func TestTwoChangesInOneSecond(t *testing.T) {
	c, ctx := start(t, 3)
	p := everywhere(t, ctx, c)
	_, err := p.Admin.Must(ctx, "POST", fmt.Sprintf("/api/v1/projects/%d/features/", p.ID), object{"name": "banner", "initial_value": "v"}, 201)
	require.NoError(t, err)
	list, err := p.Admin.Must(ctx, "GET", "/api/v1/environments/"+p.EnvironmentKey+"/featurestates/?feature_name=banner", nil, 200)
	require.NoError(t, err)
	state := fmt.Sprintf("/api/v1/environments/%s/featurestates/%v/", p.EnvironmentKey, list.Get("results").([]any)[0].(object)["id"])
	_, err = c.OneState(ctx)
	require.NoError(t, err)

	followers := map[string]follower{}
	for i, n := range c.Nodes {
		followers[fmt.Sprintf("date, node %d", i)] = dateFollower{newEdgeProxy(n, p.ServerKey)}
		followers[fmt.Sprintf("tag, node %d", i)] = &tagFollower{client: n.Client().With("X-Environment-Key", p.ServerKey)}
		followers[fmt.Sprintf("events, node %d", i)] = stream(t, ctx, n, p)
	}
	for round := range 8 {
		want := ""
		settled(t, func() {
			for _, which := range []string{"first", "second"} {
				want = fmt.Sprintf("%s of %d", which, round)
				_, err := at(c.Nodes[round%3], p.Admin).Must(ctx, "PATCH", state, object{"feature_state_value": want}, 200)
				require.NoError(t, err)
				for _, f := range followers { // what they see between the two may be either
					f.value(t, ctx)
				}
			}
		})
		for name, f := range followers {
			end := time.Now().Add(5 * time.Second)
			for got := f.value(t, ctx); got != want; got = f.value(t, ctx) {
				require.True(t, time.Now().Before(end), "%s stays on %v, not %s", name, got, want)
				time.Sleep(10 * time.Millisecond)
			}
		}
	}
}
