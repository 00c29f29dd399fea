package admin

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

// TestAddressesOfWebhooksAreShownUpToTheHost: what follows it is often what allows to post there.
func TestAddressesOfWebhooksAreShownUpToTheHost(t *testing.T) {
	for address, want := range map[string]any{
		"https://hooks.example.com/services/T0/B0/x": "https://hooks.example.com/(secret)", "https://example.com:8443/?token=x": "https://example.com:8443/(secret)",
		"https://u:p@example.com": "https://example.com/(secret)", "https://example.com/": "https://example.com/", "": nil, "%": "(secret)",
	} {
		require.Contains(t, rowFields(nil, fsm.Webhook{URL: address, Enabled: true}), fieldChange{Field: "url", New: want}, address)
	}
	require.Equal(t, []fieldChange{{Field: "url", Old: "https://a.example/(secret)", New: "https://a.example/(secret)"}},
		rowFields(fsm.Webhook{URL: "https://a.example/1"}, fsm.Webhook{URL: "https://a.example/2"}), "that it changed shows")
}

// TestLargeChangesEndAPage: writes that deleted very much are shown one by one, and none is left out.
func TestLargeChangesEndAPage(t *testing.T) {
	h := newHarness(t)
	h.node.Write(t, func(tx *fsm.Tx) error {
		h.admin.IsSuperuser = true
		fsm.Users.Put(tx, h.admin)
		return nil
	})
	value := strings.Repeat("v", 20_000)
	for range 4 { // of 3 MB each
		h.node.Write(t, func(tx *fsm.Tx) error {
			for i := range 150 {
				fsm.Tags.Put(tx, fsm.Tag{ID: uint64(i + 1), Project: h.project.ID, Label: value})
			}
			return nil
		})
		h.node.Write(t, func(tx *fsm.Tx) error { fsm.TagsByProject.DeleteAll(tx, h.project.ID); return nil })
	}
	var sizes []int
	seen := map[float64]bool{}
	for path := "/api/flagraft/v1/changes/?model=Tag"; path != ""; {
		var page struct {
			Next    *string
			Results []map[string]any
		}
		require.NoError(t, json.Unmarshal([]byte(h.get(path, 200).Raw), &page))
		sizes = append(sizes, len(page.Results))
		for _, e := range page.Results {
			seen[e["id"].(float64)] = true
		}
		if path = ""; page.Next != nil {
			path = (*page.Next)[strings.Index(*page.Next, "/api/"):]
		}
	}
	require.Equal(t, []int{1, 1, 1, 1, 1, 1, 1, 1}, sizes)
	require.Len(t, seen, 8)
}
