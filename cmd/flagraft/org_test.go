package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/server/servertest"
)

func TestOrg(t *testing.T) {
	n := servertest.Start(t)
	t.Setenv("FLAGRAFT_TOKEN", n.Token(t))
	t.Setenv("FLAGRAFT_URL", n.Base)
	for _, name := range []string{"Acme", "Twin", "Twin"} {
		n.Admin(t).Object("POST", "/api/v1/organisations/", map[string]any{"name": name}, 201)
	}
	run := func(want int, args ...string) string {
		out, code := runCommand(t, newOrgCommand(), args...)
		require.Equal(t, want, code, "%v: %s", args, out)
		return out
	}
	run(exitUsage, "set", "Acme")
	run(exitUsage, "list", "-o", "xml")
	require.Contains(t, run(exitFailed, "set", "Nobody", "--max-seats", "3"), "no organisation")
	require.Contains(t, run(exitFailed, "set", "Twin", "--max-seats", "3"), "use the id")
	require.Contains(t, run(0, "set", "Acme", "--max-seats", "3", "--persist-trait-data=false", "--stop-serving-flags"), "1 of 3")
	require.Regexp(t, `Acme +1 of 3 +0 +0 +false +false +false`, run(0, "list"))
	require.NotContains(t, run(0, "set", "Acme", "--max-seats", "0"), "of 3")
	require.Contains(t, run(0, "list", "-o", "json"), `"max_seats": null`)
}
