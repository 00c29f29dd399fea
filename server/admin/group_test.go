package admin

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

// groups is the path of the organisation's groups.
func (h *harness) groups() string {
	return fmt.Sprintf("/api/v1/organisations/%d/groups/", h.organisation.ID)
}

// userIDs is a body that names users.
func userIDs(ids ...uint64) map[string]any { return map[string]any{"user_ids": ids} }

func TestGroups(t *testing.T) {
	h := newHarness(t)
	list := h.groups()
	h.get(list, 200).is(`{"count":0,"next":null,"previous":null,"results":[]}`)
	h.post(list, `{}`, 400).is(`{"name":["This field is required."]}`)
	group := h.post(list, `{"name":"Team","users":[{"id":1}],"external_id":""}`, 201)
	group.is(fmt.Sprintf(`{"id":%d,"name":"Team","users":[],"is_default":false,"external_id":""}`, group.id()))
	path := fmt.Sprintf("%s%d/", list, group.id())
	h.post(list, `{"name":"Other","external_id":""}`, 201)

	h.put(path, `{"name":"Developers","external_id":"x","is_default":true}`, 200).
		is(fmt.Sprintf(`{"id":%d,"name":"Developers","users":[],"is_default":true,"external_id":"x"}`, group.id()))
	h.post(list, `{"name":"Third","external_id":"x"}`, 400).is(`{"external_id":["A group with this external id already exists."]}`)
	h.patch(path, `{"external_id":"x"}`, 200)
	h.patch(path, `{"external_id":null,"is_default":false}`, 200)
	require.Len(t, h.get(list+"summaries/", 200).list(), 2)

	h.remove(path, 204)
	h.get(path, 404).is(`{"detail":"No UserPermissionGroup matches the given query."}`)
	h.get(list+"x/", 404).is(`{"detail":"Not found."}`)
}

func TestGroupUsers(t *testing.T) {
	h := newHarness(t)
	group := h.post(h.groups(), `{"name":"Team"}`, 201).id()
	path := fmt.Sprintf("%s%d/", h.groups(), group)
	login := fsm.Time(1_795_263_866_137_267)
	h.node.Write(t, func(tx *fsm.Tx) error {
		h.member.LastLogin = login
		fsm.Users.Put(tx, h.member)
		return nil
	})
	shown := func(login string, admin bool) string {
		return fmt.Sprintf(`{"id":%d,"name":"Team","is_default":false,"external_id":null,"users":[{"id":%d,"email":"member@example.com",
			"first_name":"","last_name":"","last_login":%q,"group_admin":%t}]}`, group, h.member.ID, login, admin)
	}
	h.post(path+"add-users/", `{}`, 400).is(`{"user_ids":["This field is required."]}`)
	h.post(path+"add-users/", userIDs(h.member.ID, h.stranger.ID, 99), 400).
		is(fmt.Sprintf(`{"detail":"Users %d, 99 do not exist in this organisation"}`, h.stranger.ID))
	for range 2 { // once in, a member stays one
		h.post(path+"add-users/", userIDs(h.member.ID), 200).is(shown("2026-11-21T12:24:26.137267Z", false))
	}
	h.get(h.groups(), 200).is(`{"count":1,"next":null,"previous":null,"results":[` + shown("2026-11-21 12:24:26.137267+00:00", false) + `]}`)
	h.do("member", "GET", h.groups()+"my-groups/", nil).must(200).
		is(fmt.Sprintf(`{"count":1,"next":null,"previous":null,"results":[{"id":%d,"name":"Team"}]}`, group))

	user := fmt.Sprintf("%susers/%d/", path, h.member.ID)
	h.do("member", "POST", user+"make-admin", nil).must(403)
	require.Empty(t, h.post(user+"make-admin", nil, 200).Raw)
	h.get(path, 200).is(shown("2026-11-21T12:24:26.137267Z", true))
	h.post(user+"remove-admin", nil, 200)
	h.get(path, 200).is(shown("2026-11-21T12:24:26.137267Z", false))
	h.post(fmt.Sprintf("%susers/%d/make-admin", path, h.admin.ID), nil, 404).is(`{"detail":"No FFAdminUser matches the given query."}`)

	h.post(path+"remove-users/", userIDs(h.member.ID), 200).is(fmt.Sprintf(`{"id":%d,"name":"Team","is_default":false,"external_id":null,"users":[]}`, group))
	require.Equal(t, "2026-11-21 12:24:26+00:00", *printedTime(login - 137_267))
}

func TestGroupPermissions(t *testing.T) {
	h := newHarness(t)
	group := h.post(h.groups(), `{"name":"Team"}`, 201).id()
	path := fmt.Sprintf("%s%d/", h.groups(), group)
	const denied = `{"detail":"You do not have permission to perform this action."}`
	for _, target := range []string{h.groups(), path, h.groups() + "my-groups/", h.groups() + "summaries/"} {
		h.do("stranger", "GET", target, nil).must(403).is(denied)
	}
	empty := `{"count":0,"next":null,"previous":null,"results":[]}`
	h.do("member", "GET", h.groups(), nil).must(200).is(empty)
	h.do("member", "GET", h.groups()+"summaries/", nil).must(200)
	h.do("member", "POST", h.groups(), `{"name":"Mine"}`).must(403).is(denied)
	for _, method := range []string{"GET", "PUT", "PATCH", "DELETE"} {
		h.do("member", method, path, `{"name":"x"}`).must(404)
	}
	h.do("member", "POST", path+"add-users/", userIDs(h.member.ID)).must(404)

	h.post(path+"add-users/", userIDs(h.member.ID), 200)
	h.do("member", "GET", path, nil).must(404) // being in it is not enough
	h.post(fmt.Sprintf("%susers/%d/make-admin", path, h.member.ID), nil, 200)
	require.EqualValues(t, 1, h.do("member", "GET", h.groups(), nil).must(200).object()["count"])
	h.do("member", "PATCH", path, `{"name":"Renamed"}`).must(200)
	h.do("member", "POST", path+"add-users/", userIDs(h.admin.ID)).must(200)
	h.do("member", "POST", path+"add-users/", userIDs(h.member.ID)).must(403).is(denied)
	h.do("member", "POST", path+"remove-users/", userIDs(h.member.ID)).must(403)

	h.post(fmt.Sprintf("%susers/%d/remove-admin", path, h.member.ID), nil, 200)
	h.grant(fsm.LevelOrganisation, h.organisation.ID, "MANAGE_USER_GROUPS")
	h.do("member", "POST", h.groups(), `{"name":"Mine"}`).must(201)
	require.EqualValues(t, 2, h.do("member", "GET", h.groups(), nil).must(200).object()["count"])
	h.send("POST", path+"remove-users/", userIDs(h.member.ID), h.key()).must(200)

	// A group of another organisation is not there.
	other := h.post("/api/v1/organisations/", `{"name":"Second"}`, 201).id()
	elsewhere := fmt.Sprintf("/api/v1/organisations/%d/groups/%d/", other, group)
	h.get(elsewhere, 404)
	h.post(fmt.Sprintf("%susers/%d/make-admin", elsewhere, h.admin.ID), nil, 404)
}

// TestDeletedGroup leaves nothing of a group behind.
func TestDeletedGroup(t *testing.T) {
	h := newHarness(t)
	group := h.post(h.groups(), `{"name":"Team","is_default":true}`, 201).id()
	feature := h.post(fmt.Sprintf("/api/v1/projects/%d/features/", h.project.ID), `{"name":"f"}`, 201).id()
	path := fmt.Sprintf("/api/v1/projects/%d/features/%d/", h.project.ID, feature)
	h.post(path+"add-group-owners/", map[string]any{"group_ids": []uint64{group}}, 200)
	h.post(fmt.Sprintf("%s%d/add-users/", h.groups(), group), userIDs(h.member.ID), 200)
	h.post(fmt.Sprintf("/api/v1/projects/%d/user-group-permissions/", h.project.ID), map[string]any{"group": group, "permissions": []string{"VIEW_PROJECT"}}, 201)
	h.do("member", "GET", path, nil).must(200)

	h.remove(fmt.Sprintf("%s%d/", h.groups(), group), 204)
	h.do("member", "GET", path, nil).must(404)
	state := h.node.FSM.State()
	require.Zero(t, fsm.GroupMembersByGroup.Count(state, group))
	require.Zero(t, fsm.PermissionsByGroup.Count(state, group))
	f, _ := fsm.Features.Get(state, feature)
	require.Empty(t, f.GroupOwners)
}
