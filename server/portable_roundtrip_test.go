package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

// TestWhatTheAPIMakesIsImported: an export holds what the API takes, so an import takes it, too.
func TestWhatTheAPIMakesIsImported(t *testing.T) {
	for name, change := range map[string]func(c, sdk *servertest.Client, e fsm.Environment){
		"a clone of the same name": func(c, _ *servertest.Client, e fsm.Environment) {
			c.Object("POST", fmt.Sprintf("/api/v1/environments/%s/clone/", e.APIKey), map[string]any{"name": e.Name}, 200)
		},
		"a long identifier": func(_, sdk *servertest.Client, _ fsm.Environment) {
			sdk.Object("POST", "/api/v1/identities/", map[string]any{"identifier": strings.Repeat("✓", 2000), "traits": []map[string]any{{"trait_key": "a", "trait_value": 1}}}, 200)
		},
		"a long trait key": func(_, sdk *servertest.Client, _ fsm.Environment) {
			sdk.Object("POST", "/api/v1/identities/", map[string]any{"identifier": "x", "traits": []map[string]any{{"trait_key": strings.Repeat("✓", 200), "trait_value": 1}}}, 200)
		},
	} {
		t.Run(name, func(t *testing.T) {
			source, c := furnished(t)
			for e := range fsm.Environments.All(source.State()) {
				change(c, source.Client(t).With("X-Environment-Key", e.APIKey), e)
				break
			}
			raw := c.Do("GET", exportPath+"?identities=true&secrets=true", nil).Raw
			target := servertest.Start(t, func(st *settings.Settings) { st.OrganisationName = "Other" })
			atLevel(t, target)
			to := target.Admin(t)
			made := to.Object("POST", importPath, raw, 200)["projects"].([]any)[0].(map[string]any)
			require.Equal(t, sameButWhen(raw), sameButWhen(to.Do("GET", fmt.Sprintf("%s?identities=true&secrets=true&organisation=%v", exportPath, made["organisation"]), nil).Raw))
		})
	}
}
