package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/servertest"
)

// TestImportedEnvironmentsKeepTheirIDs: what is made after an import, and an import that is repeated, leave it alone.
func TestImportedEnvironmentsKeepTheirIDs(t *testing.T) {
	_, c := furnished(t)
	raw := c.Do("GET", exportPath+"?identities=true", nil).Raw
	n := servertest.Start(t)
	atLevel(t, n)
	to := n.Admin(t)
	made := to.Object("POST", importPath, raw, 200)["projects"].([]any)[0].(map[string]any)
	identities := func() (count int) {
		for _, e := range n.State().Identities().Environments() {
			count += n.State().Identities().Environment(e).Count()
		}
		return count
	}
	environments := func() (keys []string) {
		for e := range fsm.Environments.All(n.State()) {
			keys = append(keys, fmt.Sprint(e.ID, e.APIKey))
		}
		return keys
	}
	before := environments()
	require.Len(t, before, 3)
	require.Equal(t, 3, identities())

	require.Equal(t, 400, to.Do("POST", importPath, raw).Status, "the project is there")
	require.Equal(t, 3, identities(), "a repeated import takes no identities away")

	to.Object("POST", "/api/v1/environments/", map[string]any{"name": "new", "project": made["project"]}, 201)
	require.Subset(t, environments(), before)
	to.Object("POST", importPath, strings.ReplaceAll(raw, `"name": "Demo"`, `"name": "Second"`), 200)
	require.Subset(t, environments(), before)
	require.Len(t, environments(), 7)
}

// Organisations of one name stay apart in an import, also when it is repeated: the members of one are not shown the projects of the other.
func TestOrganisationsOfOneNameAreImportedApart(t *testing.T) {
	from := servertest.Start(t).Admin(t)
	for range 2 {
		org := from.Object("POST", "/api/v1/organisations/", map[string]any{"name": "Acme"}, 201)["id"]
		from.Object("POST", "/api/v1/projects/", map[string]any{"name": "web", "organisation": org}, 201)
	}
	raw := from.Do("GET", exportPath, nil).Raw
	n := servertest.Start(t)
	to := n.Admin(t)
	made := to.Object("POST", importPath, raw, 200)["projects"].([]any)
	require.Len(t, made, 2)
	require.NotEqual(t, made[0].(map[string]any)["organisation"], made[1].(map[string]any)["organisation"])
	to.Object("POST", importPath, strings.ReplaceAll(raw, `"name": "web"`, `"name": "app"`), 200)
	projects := map[string]int{}
	for o := range fsm.Organisations.All(n.State()) {
		for range fsm.ProjectsByOrganisation.All(n.State(), o.ID) {
			projects[fmt.Sprint(o.Name, o.ID)]++
		}
	}
	require.Len(t, projects, 2, "%v", projects)
}
