package admin

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
)

func TestProject(t *testing.T) {
	h := newHarness(t)
	body := func(name string) string {
		return fmt.Sprintf(`{"name":%q,"organisation":%d,"enable_realtime_updates":true}`, name, h.organisation.ID)
	}
	created := h.post("/api/v1/projects/", body("Golden"), 201).object()
	require.Equal(t, true, created["enable_realtime_updates"])
	require.Equal(t, true, created["only_allow_lower_case_feature_names"])
	require.EqualValues(t, 30, created["stale_flags_limit_days"])
	require.Equal(t, "NOT_APPLICABLE", created["migration_status"])
	h.post("/api/v1/projects/", body("Golden"), 400).is(`{"non_field_errors":["A project with this name already exists."]}`)
	path := fmt.Sprintf("/api/v1/projects/%v/", created["id"])

	detail := h.get(path, 200).object()
	require.EqualValues(t, 1000, detail["max_features_allowed"])
	require.EqualValues(t, 0, detail["total_features"])
	require.Equal(t, detail, h.get("/api/v1/projects/get-by-uuid/"+created["uuid"].(string)+"/", 200).object())
	require.NotContains(t, created, "total_features")
	h.patch(path, `{"hide_disabled_flags":"maybe"}`, 400).is(`{"hide_disabled_flags":["Must be a valid boolean."]}`)
	h.patch(path, `{"feature_name_regex":"["}`, 400)
	changed := h.patch(path, `{"feature_name_regex":"^[a-z]+$","stale_flags_limit_days":60,"organisation":99,"minimum_change_request_approvals":2}`, 200).object()
	require.Equal(t, "^[a-z]+$", changed["feature_name_regex"])
	require.EqualValues(t, 60, changed["stale_flags_limit_days"])
	require.EqualValues(t, h.organisation.ID, changed["organisation"])
	require.Nil(t, changed["minimum_change_request_approvals"])
	h.put(path, `{"hide_disabled_flags":false}`, 400).is(`{"name":["This field is required."]}`)
	h.patch(path, `{"name":"Project"}`, 400).is(`{"non_field_errors":["A project with this name already exists."]}`)
	h.do("admin", "POST", path+"migrate-to-edge/", nil).must(400).is(`{"detail":"Dynamo DB is not enabled for this project"}`)
	require.Empty(t, h.get(path+"environments/", 200).list())

	require.Len(t, h.get("/api/v1/projects/", 200).list(), 2)
	require.Len(t, h.get(fmt.Sprintf("/api/v1/projects/?organisation=%d", h.organisation.ID), 200).list(), 2)
	require.Empty(t, h.get("/api/v1/projects/?organisation=999", 200).list())
	require.Len(t, h.get("/api/v1/projects/?uuid="+created["uuid"].(string), 200).list(), 1)
	h.get("/api/v1/projects/?organisation=abc", 400).is(`{"organisation":"Must be a valid integer."}`)
	require.Len(t, h.send("GET", "/api/v1/projects/", nil, h.key()).must(200).list(), 2)
	require.Empty(t, h.do("member", "GET", "/api/v1/projects/", nil).must(200).list())
	h.remove(path, 204)
	h.get(path, 404).is(`{"detail":"No Project matches the given query."}`)
}

func TestWhatClientsSeeOfAProjectMovesUpdatedAt(t *testing.T) {
	h := newHarness(t)
	path := fmt.Sprintf("/api/v1/projects/%d/", h.project.ID)
	for _, change := range []string{`{"hide_disabled_flags":true}`, `{"enable_realtime_updates":true}`, `{"name":"Renamed"}`} {
		before := h.updatedAt()
		h.patch(path, change, 200)
		require.Greater(t, h.updatedAt(), before, change)
	}
	before := h.updatedAt()
	h.patch(path, `{"name":"Renamed","stale_flags_limit_days":7}`, 200)
	require.Equal(t, before, h.updatedAt())
}

func TestProjectRefusals(t *testing.T) {
	h := newHarness(t)
	path := fmt.Sprintf("/api/v1/projects/%d/", h.project.ID)
	h.post("/api/v1/projects/", `{"name":"x"}`, 400).is(`{"organisation":["This field is required."]}`)
	h.post("/api/v1/projects/", `{"name":"x","organisation":999}`, 403)
	h.post("/api/v1/projects/", fmt.Sprintf(`{"organisation":%d}`, h.organisation.ID), 400).is(`{"name":["This field is required."]}`)
	create := fmt.Sprintf(`{"name":"mine","organisation":%d}`, h.organisation.ID)
	h.do("member", "POST", "/api/v1/projects/", create).must(403)
	h.grant(fsm.LevelOrganisation, h.organisation.ID, "CREATE_PROJECT")
	mine := h.do("member", "POST", "/api/v1/projects/", create).must(201).id()
	h.do("member", "PATCH", fmt.Sprintf("/api/v1/projects/%d/", mine), `{"name":"still mine"}`).must(200)
	h.patch(fmt.Sprintf("/api/v1/organisations/%d/", h.organisation.ID), `{"restrict_project_create_to_admin":true}`, 200)
	h.do("member", "POST", "/api/v1/projects/", create).must(403)

	h.do("member", "GET", path, nil).must(404)
	h.do("member", "PATCH", path, `{}`).must(404)
	h.grant(fsm.LevelProject, h.project.ID, "VIEW_PROJECT")
	h.do("member", "GET", path, nil).must(200)
	h.do("member", "PATCH", path, `{}`).must(403)
	h.do("member", "DELETE", path, nil).must(403)
	h.do("member", "GET", path+"environments/", nil).must(403)
	h.do("stranger", "GET", path, nil).must(404)
}

// TestDeleteLeavesNothing deletes an organisation with one row of everything below it.
func TestDeleteLeavesNothing(t *testing.T) {
	h := newHarness(t)
	h.node.Write(t, func(tx *fsm.Tx) error {
		CreateDemo(tx, h.organisation.ID)
		fsm.Tags.Put(tx, fsm.Tag{UUID: tx.NewUUID(), Project: h.project.ID, Label: "x"})
		g := fsm.Groups.Put(tx, fsm.Group{Organisation: h.organisation.ID, Name: "g"})
		fsm.GroupMembers.Put(tx, fsm.GroupMember{Group: g.ID, User: h.member.ID})
		tx.Identity(identity.Op{Kind: identity.KindCreate, Environment: h.environment.ID, Identifier: []byte("a")}, nil)
		return nil
	})
	h.key()
	h.grant(fsm.LevelEnvironment, h.environment.ID)
	h.grant(fsm.LevelProject, h.project.ID)
	h.grant(fsm.LevelOrganisation, h.organisation.ID, "CREATE_PROJECT")
	h.patch("/api/v1/environments/env-key/", `{"description":"x"}`, 200)
	h.remove(fmt.Sprintf("/api/v1/organisations/%d/", h.organisation.ID), 204)

	s := h.node.FSM.State()
	require.Zero(t, count(s, fsm.Organisations)+count(s, fsm.Memberships)+count(s, fsm.MasterAPIKeys)+count(s, fsm.Groups)+count(s, fsm.GroupMembers)+
		count(s, fsm.Permissions))
	require.Zero(t, count(s, fsm.Projects)+count(s, fsm.Environments)+count(s, fsm.EnvironmentAPIKeys)+count(s, fsm.Tags)+count(s, fsm.Segments))
	require.Zero(t, count(s, fsm.Features)+count(s, fsm.MultivariateOptions)+count(s, fsm.FeatureStates)+count(s, fsm.FeatureSegments))
	require.Zero(t, count(s, fsm.AuditLogs)+count(s, fsm.DeletedProjects)+count(s, fsm.DeletedEnvironments))
	require.Nil(t, s.Identities().Environment(h.environment.ID))
	require.Equal(t, 3, count(s, fsm.Users))
}

func count[R any](r fsm.Reader, table fsm.Table[R]) (n int) {
	for range table.Refs(r) {
		n++
	}
	return n
}
