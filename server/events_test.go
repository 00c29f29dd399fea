package server_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/servertest"
)

// follow opens a stream of events and gives its lines.
func follow(t *testing.T, n *servertest.Node, token string) <-chan string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", n.Base+"/api/flagraft/v1/events/", nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", token)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	require.Equal(t, 200, resp.StatusCode)
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(resp.Body); s.Scan(); {
			if s.Text() != "" {
				lines <- s.Text()
			}
		}
	}()
	first := <-lines
	require.Equal(t, ": "+n.State().Genesis.Epoch, first)
	return lines
}

// TestEventsAfterAQuietTime: the change log may have lost its last entry since the stream began, or before.
func TestEventsAfterAQuietTime(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t)
	admin := n.Admin(t)
	early := follow(t, n, "Token "+n.Token(t))
	require.NoError(t, n.Update(t.Context(), func(tx *fsm.Tx) error { // as retention does
		for entry := range fsm.ChangeLog.All(tx) {
			fsm.ChangeLog.Delete(tx, entry.ID)
		}
		return nil
	}))
	late := follow(t, n, "Token "+n.Token(t))
	admin.Object("POST", "/api/v1/organisations/", map[string]any{"name": "O"}, 201)
	models(t, late, "Organisation")
	models(t, early, "Organisation")
}

// models waits for an event that names the model.
func models(t *testing.T, lines <-chan string, model string) map[string]any {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		select {
		case line, open := <-lines:
			require.True(t, open, "the stream ended")
			var e map[string]any
			data, ok := strings.CutPrefix(line, "data: ")
			if !ok {
				continue
			}
			require.NoError(t, json.Unmarshal([]byte(data), &e), line)
			for _, m := range e["models"].([]any) {
				if m == model {
					return e
				}
			}
		case <-deadline:
			require.Fail(t, "no event", model)
		}
	}
}

func TestEvents(t *testing.T) {
	n := servertest.Start(t)
	admin := n.Admin(t)
	register := func(name string) (id float64, token string) {
		u := n.Client(t).Object("POST", "/api/v1/auth/users/", map[string]any{"email": name + "@example.com", "password": "Sesame-open-2!", "first_name": name, "last_name": "x"}, 201)
		return u["id"].(float64), "Token " + u["key"].(string)
	}
	annID, annToken := register("ann")
	_, bobToken := register("bob")
	ann := n.Client(t).With("Authorization", annToken)
	organisation := ann.Object("POST", "/api/v1/organisations/", map[string]any{"name": "Ann's"}, 201)["id"]
	super, hers, his := follow(t, n, "Token "+n.Token(t)), follow(t, n, annToken), follow(t, n, bobToken)

	project := ann.Object("POST", "/api/v1/projects/", map[string]any{"name": "P", "organisation": organisation}, 201)["id"]
	event := models(t, hers, "Project")
	require.Equal(t, []any{annID}, event["users"])
	require.NotContains(t, fmt.Sprint(event), "P ", "nothing of what is in the rows")
	models(t, super, "Project")
	ann.Object("POST", fmt.Sprintf("/api/v1/projects/%v/tags/", project), map[string]any{"label": "a"}, 201)
	models(t, hers, "Tag")

	admin.Object("POST", "/api/v1/organisations/", map[string]any{"name": "For all"}, 201)
	first := models(t, his, "Organisation") // a superuser's change is everybody's; of Ann's, Bob heard nothing
	require.NotContains(t, first["models"], "Project")
	require.NotContains(t, first["models"], "Tag")
	require.Equal(t, 204, ann.Do("POST", "/api/v1/auth/logout/", nil).Status)
	admin.Object("POST", "/api/v1/organisations/", map[string]any{"name": "More"}, 201)
	for range hers { // ends with the token
	}
	require.Equal(t, 401, n.Client(t).Do("GET", "/api/flagraft/v1/events/", nil).Status)
}

// TestEventsOfOneAccount: who opens streams without end keeps nobody else from them.
func TestEventsOfOneAccount(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t)
	super := "Token " + n.Token(t)
	for range 100 {
		follow(t, n, super)
	}
	refused := n.Admin(t).Do("GET", "/api/flagraft/v1/events/", nil)
	require.Equal(t, 503, refused.Status)
	require.Equal(t, "5", refused.Header.Get("Retry-After"))
	other := n.Client(t).Object("POST", "/api/v1/auth/users/", map[string]any{"email": "bob@example.com", "password": "Sesame-open-2!", "first_name": "b", "last_name": "x"}, 201)
	follow(t, n, "Token "+other["key"].(string))
}
