package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

// TestBackupAfterALargeProjectWasDeleted: what one request deletes may be larger than any entry.
func TestBackupAfterALargeProjectWasDeleted(t *testing.T) {
	if testing.Short() {
		t.Skip("tens of megabytes")
	}
	n := servertest.Start(t, func(st *settings.Settings) { st.DataDir = t.TempDir() })
	atLevel(t, n)
	c := n.Admin(t)
	o := c.Object("POST", "/api/v1/organisations/", map[string]any{"name": "o"}, 201)["id"]
	value := strings.Repeat("x", 20_000)
	features, states := []any{}, []any{}
	for i := range 200 {
		features = append(features, map[string]any{"name": fmt.Sprint("f", i), "type": "STANDARD"})
		states = append(states, map[string]any{"feature": fmt.Sprint("f", i), "value": map[string]any{"type": "unicode", "string": value}})
	}
	raw, err := json.Marshal(map[string]any{"format": "flagraft-export", "version": 1, "organisations": []any{map[string]any{"name": "o", "projects": []any{
		map[string]any{"name": "p", "features": features, "environments": []any{map[string]any{"name": "e", "api_key": "key-of-e", "states": states}}}}}}})
	require.NoError(t, err)
	made := c.Object("POST", importPath+"?into="+fmt.Sprint(o), string(raw), 200)["projects"].([]any)[0].(map[string]any)
	for i := range 4 {
		c.Object("POST", "/api/v1/environments/key-of-e/clone/", map[string]any{"name": fmt.Sprint("clone", i)}, 200)
	}
	require.Equal(t, 204, c.Do("DELETE", fmt.Sprintf("/api/v1/projects/%v/", made["project"]), nil).Status)
	_, err = fsm.VerifyBackup(bytes.NewReader([]byte(c.Do("GET", backupPath, nil).Raw)))
	require.NoError(t, err)
}
