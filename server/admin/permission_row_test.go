package admin

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

func TestPermissionRows(t *testing.T) {
	h := newHarness(t)
	for _, level := range []struct{ path, key string }{
		{fmt.Sprintf("/api/v1/projects/%d/user-permissions/", h.project.ID), "VIEW_PROJECT"},
		{environments + "env-key/user-permissions/", "VIEW_ENVIRONMENT"},
	} {
		t.Run(level.path, func(t *testing.T) {
			created := h.post(level.path, fmt.Sprintf(`{"user":%d,"permissions":[%q]}`, h.member.ID, level.key), 201)
			created.is(fmt.Sprintf(`{"id":%d,"permissions":[%q],"admin":false,"user":%d}`, created.id(), level.key, h.member.ID))
			detail := fmt.Sprintf("%s%d/", level.path, created.id())
			item := h.get(level.path, 200).list()[0].(map[string]any)
			require.Equal(t, "member@example.com", item["user"].(map[string]any)["email"])
			h.get(detail, 200)
			h.post(level.path, fmt.Sprintf(`{"user":%d,"permissions":["NOPE"]}`, h.member.ID), 400).
				is(`{"permissions":["Invalid pk \"NOPE\" - object does not exist."]}`)
			h.post(level.path, fmt.Sprintf(`{"user":%d}`, h.member.ID), 400)
			h.post(level.path, `{}`, 400).is(`{"user":["This field is required."]}`)
			h.post(level.path, fmt.Sprintf(`{"user":%d}`, h.stranger.ID), 400)
			h.do("member", "POST", level.path, `{}`).must(403)
			require.Equal(t, true, h.put(detail, fmt.Sprintf(`{"user":%d,"admin":true}`, h.member.ID), 200).object()["admin"])
			require.Equal(t, []any{}, h.get(detail, 200).object()["permissions"])
			h.remove(detail, 204)
			h.get(level.path, 200).is(`[]`)
		})
	}
}

func TestOrganisationPermissionRows(t *testing.T) {
	h := newHarness(t)
	path := fmt.Sprintf("/api/v1/organisations/%d/user-permissions/", h.organisation.ID)
	h.do("member", "GET", path, nil).must(403).is(`{"detail":"User does not have sufficient privileges to perform this action"}`)
	created := h.post(path, fmt.Sprintf(`{"user":%d,"permissions":["CREATE_PROJECT"]}`, h.member.ID), 201)
	created.is(fmt.Sprintf(`{"id":%d,"user":%d,"permissions":["CREATE_PROJECT"]}`, created.id(), h.member.ID))
	require.Len(t, h.get(fmt.Sprintf("%s?user=%d", path, h.member.ID), 200).list(), 1)
	require.Empty(t, h.get(path+"?user=999", 200).list())
	h.do("admin", "GET", fmt.Sprintf("%s%d/", path, created.id()), nil).must(405)
}

func TestGroupPermissionRows(t *testing.T) {
	h := newHarness(t)
	var g fsm.Group
	h.node.Write(t, func(tx *fsm.Tx) error {
		g = fsm.Groups.Put(tx, fsm.Group{Organisation: h.organisation.ID, Name: "Team"})
		fsm.GroupMembers.Put(tx, fsm.GroupMember{Group: g.ID, User: h.member.ID})
		return nil
	})
	path := fmt.Sprintf("/api/v1/projects/%d/user-group-permissions/", h.project.ID)
	h.post(path, `{"group":999}`, 400).is(`{"group":["Invalid pk \"999\" - object does not exist."]}`)
	h.post(path, fmt.Sprintf(`{"group":%d,"permissions":["VIEW_PROJECT"]}`, g.ID), 201)
	item := h.get(path, 200).list()[0].(map[string]any)
	require.Equal(t, "Team", item["group"].(map[string]any)["name"])
	require.Equal(t, []any{float64(h.member.ID)}, item["group"].(map[string]any)["users"])
	environment := fmt.Sprintf("/api/v1/environments/%s/user-group-permissions/", h.environment.APIKey)
	h.post(environment, fmt.Sprintf(`{"group":%d,"permissions":["VIEW_ENVIRONMENT"]}`, g.ID), 201)
	item = h.get(environment, 200).list()[0].(map[string]any)
	require.Equal(t, "member@example.com", item["group"].(map[string]any)["users"].([]any)[0].(map[string]any)["email"])
	h.get(fmt.Sprintf("/api/v1/projects/%d/user-permissions/", h.project.ID), 200).is(`[]`)
	h.do("member", "GET", fmt.Sprintf("/api/v1/projects/%d/", h.project.ID), nil).must(200)
}

func TestDetailedPermissions(t *testing.T) {
	h := newHarness(t)
	h.grant(fsm.LevelProject, h.project.ID, "VIEW_PROJECT", "CREATE_FEATURE")
	var g fsm.Group
	h.node.Write(t, func(tx *fsm.Tx) error {
		g = fsm.Groups.Put(tx, fsm.Group{Organisation: h.organisation.ID, Name: "Team"})
		fsm.GroupMembers.Put(tx, fsm.GroupMember{Group: g.ID, User: h.member.ID})
		fsm.Permissions.Put(tx, fsm.Permission{Level: fsm.LevelProject, Object: h.project.ID, Group: g.ID, Permissions: []string{"VIEW_PROJECT"}})
		return nil
	})
	path := fmt.Sprintf("/api/v1/projects/%d/user-detailed-permissions/", h.project.ID)
	want := fmt.Sprintf(`{"admin":false,"permissions":[
		{"permission_key":"VIEW_PROJECT","is_directly_granted":true,"derived_from":{"groups":[{"id":%d,"name":"Team"}],"roles":[]}},
		{"permission_key":"CREATE_FEATURE","is_directly_granted":true,"derived_from":{"groups":[],"roles":[]}}],
		"is_directly_granted":false,"derived_from":{"groups":[],"roles":[]}}`, g.ID)
	mine := fmt.Sprintf("%s%d/", path, h.member.ID)
	h.get(mine, 200).is(want)
	h.do("member", "GET", mine, nil).must(200).is(want)
	h.do("member", "GET", fmt.Sprintf("%s%d/", path, h.admin.ID), nil).must(403)
	require.Equal(t, true, h.get(fmt.Sprintf("%s%d/", path, h.admin.ID), 200).object()["admin"])
	h.get(fmt.Sprintf("%s%d/", path, h.stranger.ID), 404)
	h.do("member", "GET", fmt.Sprintf("%senv-key/user-detailed-permissions/%d/", environments, h.member.ID), nil).must(200)
}

func TestPermissionKeysAreASet(t *testing.T) {
	h := newHarness(t)
	r := h.post("/api/v1/projects/1/user-permissions/", fmt.Sprintf(`{"user":%d,"permissions":["VIEW_PROJECT","CREATE_FEATURE","VIEW_PROJECT"]}`, h.member.ID), 201)
	require.Len(t, r.object()["permissions"], 2)
}

// TestDescribedPermissionRows wants the description to say who holds the rows of each resource, as clients are generated from it.
func TestDescribedPermissionRows(t *testing.T) {
	type schema struct {
		Ref        string                     `json:"$ref"`
		Required   []string                   `json:"required"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	type content struct {
		Content map[string]struct {
			Schema schema `json:"schema"`
		} `json:"content"`
	}
	var doc struct {
		Paths map[string]map[string]struct {
			RequestBody content            `json:"requestBody"`
			Responses   map[string]content `json:"responses"`
		} `json:"paths"`
		Components struct {
			Schemas map[string]schema `json:"schemas"`
		} `json:"components"`
	}
	require.NoError(t, json.Unmarshal(newHarness(t).table.OpenAPI(route.APIInfo{Title: "t", Version: "v"}), &doc))
	of := func(c content) schema {
		return doc.Components.Schemas[strings.TrimPrefix(c.Content["application/json"].Schema.Ref, "#/components/schemas/")]
	}
	for _, prefix := range []string{"organisations/{organisation_pk}/", "projects/{project_pk}/", "environments/{environment_api_key}/"} {
		for path, holders := range map[string][2]string{"user-permissions/": {"user", "group"}, "user-group-permissions/": {"group", "user"}} {
			list := doc.Paths["/api/v1/"+prefix+path]
			detail := doc.Paths["/api/v1/"+prefix+path+"{id}/"]
			sent := of(list["post"].RequestBody)
			require.Equal(t, []string{holders[0]}, sent.Required, prefix+path)
			for name, s := range map[string]schema{"create": of(list["post"].Responses["201"]), "update": of(detail["put"].Responses["200"])} {
				require.Contains(t, s.Required, holders[0], prefix+path+name)
			}
			for name, s := range map[string]schema{"sent": sent, "changed": of(detail["patch"].RequestBody), "answer": of(list["post"].Responses["201"])} {
				require.NotEmpty(t, s.Properties, prefix+path+name)
				require.Contains(t, s.Properties, holders[0], prefix+path+name)
				require.NotContains(t, s.Properties, holders[1], prefix+path+name)
			}
		}
	}
}
