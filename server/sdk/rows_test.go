package sdk

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/server/route"
)

func TestRowsAreDescribed(t *testing.T) {
	h := newHouse(t)
	doc := h.table.OpenAPI(route.APIInfo{Title: "t", Version: "v"})
	var api struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Parameters  []struct {
				Name     string `json:"name"`
				Required bool   `json:"required"`
			} `json:"parameters"`
			RequestBody any            `json:"requestBody"`
			Responses   map[string]any `json:"responses"`
		} `json:"paths"`
	}
	require.NoError(t, json.Unmarshal(doc, &api))
	get := api.Paths["/api/v1/identities/"]["get"]
	require.Equal(t, "sdk_v1_get_identities", get.OperationID)
	require.Equal(t, "identifier", get.Parameters[0].Name)
	require.NotNil(t, api.Paths["/api/v1/identities/"]["post"].RequestBody)
	require.Contains(t, api.Paths["/api/v2/analytics/flags/"]["post"].Responses, "204")
	require.Contains(t, api.Paths["/api/v1/bulk-identities/"]["post"].Responses["200"], "content", "it answers {}")
	require.NotContains(t, api.Paths, "/api/v1/analytics/telemetry/")
	for _, r := range h.table.Rows() {
		require.Equal(t, "sdk", r.Tag, r.OperationID)
	}
}
