package admin

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

func TestOrganisationSettings(t *testing.T) {
	h := newHarness(t)
	path := fmt.Sprintf("/api/flagraft/v1/organisations/%d/", h.organisation.ID)
	h.get(path, 403)
	h.do("", "PATCH", path, `{}`).must(401)
	h.node.Write(t, func(tx *fsm.Tx) error {
		h.admin.IsSuperuser = true
		fsm.Users.Put(tx, h.admin)
		return nil
	})
	first := h.get(path, 200).object()
	require.Equal(t, true, first["persist_trait_data"])
	for _, name := range []string{"max_seats", "max_projects", "max_api_calls"} {
		require.Contains(t, first, name)
		require.Nil(t, first[name])
	}
	require.EqualValues(t, 2, first["seats"])
	require.Len(t, h.get("/api/flagraft/v1/organisations/", 200).list(), 1)
	h.get("/api/flagraft/v1/organisations/99/", 404).is(`{"detail":"No Organisation matches the given query."}`)
	h.patch("/api/flagraft/v1/organisations/99/", `{}`, 404)
	h.patch(path, `{"max_seats":0}`, 400)

	h.patch(path, `{"stop_serving_flags":true,"persist_trait_data":false,"block_access_to_admin":true}`, 200)
	o, _ := fsm.Organisations.Get(h.node.FSM.State(), h.organisation.ID)
	require.False(t, o.Serves())
	shown := h.get(h.organisationPath(), 200).object()
	require.Equal(t, true, shown["block_access_to_admin"])
	require.Equal(t, false, shown["persist_trait_data"])
	require.Equal(t, true, h.get(path, 200).object()["stop_serving_flags"], "what is not sent stays")
}

// The environment document shows the organisation's name, and whether traits are stored.
func TestWhatClientsSeeOfAnOrganisationMovesUpdatedAt(t *testing.T) {
	h := newHarness(t)
	h.node.Write(t, func(tx *fsm.Tx) error {
		h.admin.IsSuperuser = true
		fsm.Users.Put(tx, h.admin)
		return nil
	})
	settings := fmt.Sprintf("/api/flagraft/v1/organisations/%d/", h.organisation.ID)
	for _, change := range [][2]string{{h.organisationPath(), `{"name":"Renamed"}`}, {settings, `{"persist_trait_data":false}`}} {
		before := h.updatedAt()
		h.patch(change[0], change[1], 200)
		require.Greater(t, h.updatedAt(), before, change)
	}
	h.patch(settings, `{"stop_serving_flags":true}`, 200)
	before := h.updatedAt()
	h.patch(settings, `{"stop_serving_flags":false}`, 200)
	require.Greater(t, h.updatedAt(), before, "who was refused hears that there are answers again")
	before = h.updatedAt()
	h.patch(h.organisationPath(), `{"name":"Renamed","force_2fa":false}`, 200)
	h.patch(settings, `{"persist_trait_data":false,"max_seats":7}`, 200)
	require.Equal(t, before, h.updatedAt())
}

func TestOrganisationLimits(t *testing.T) {
	h := newHarness(t)
	link := h.post(h.organisationPath()+"invite-links/", `{}`, 201).object()["hash"].(string)
	path := fmt.Sprintf("/api/flagraft/v1/organisations/%d/", h.organisation.ID)
	h.node.Write(t, func(tx *fsm.Tx) error {
		h.admin.IsSuperuser = true
		fsm.Users.Put(tx, h.admin)
		return nil
	})
	h.patch(path, `{"max_seats":2,"max_projects":1,"max_api_calls":10}`, 200)
	metadata := h.get(h.organisationPath()+"get-subscription-metadata/", 200).object()
	require.EqualValues(t, 2, metadata["max_seats"])
	require.EqualValues(t, 1, metadata["max_projects"])
	require.EqualValues(t, 10, metadata["max_api_calls"])
	full := `{"detail":"Please upgrade your plan to add additional seats/users"}`
	h.post(h.organisationPath()+"invites/", `{"email":"a@example.com"}`, 400).is(full)
	h.do("stranger", "POST", "/api/v1/users/join/link/"+link+"/", nil).must(400).is(full)
	h.do("member", "POST", "/api/v1/users/join/link/"+link+"/", nil).must(200) // sits already
	project := map[string]any{"name": "Second", "organisation": h.organisation.ID}
	require.Contains(t, h.post("/api/v1/projects/", project, 403).Raw, "maximum allowed")

	h.node.Usage.Add(h.environment.ID, fsm.UsageFlags, 0, "", 4)
	h.node.Usage.Add(h.environment.ID, fsm.UsageIdentities, 0, "", 6)
	h.node.Usage.Add(h.environment.ID, fsm.UsageEvaluation, 1, "", 50) // no requests
	require.NoError(t, h.node.Usage.Flush(t.Context()))
	require.EqualValues(t, 10, h.get(path, 200).object()["api_calls"])
	require.Equal(t, true, h.patch(path, `{}`, 200).object()["api_calls_exceeded"])
	require.Equal(t, false, h.patch(path, `{"max_api_calls":11}`, 200).object()["api_calls_exceeded"])

	h.patch(path, `{"max_seats":null,"max_projects":null,"max_api_calls":null}`, 200)
	h.do("stranger", "POST", "/api/v1/users/join/link/"+link+"/", nil).must(200)
	h.post("/api/v1/projects/", project, 201)
}

func TestLimitsOfAnOrganisationNeedALevel(t *testing.T) {
	for _, r := range organisationSettingRows() {
		if r.Kind == route.Write {
			require.EqualValues(t, 3, r.Level, "a leader of level 1 drops members of the row that it does not know: %s %s", r.Method, r.Path)
		}
	}
}
