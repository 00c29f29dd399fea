package admin

import (
	"slices"
	"strconv"
	"strings"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

type groupUsersInput struct {
	groupRef
	Users []uint64 `json:"user_ids" v:"required"`
}

type groupUserRef struct {
	Group uint64 `path:"group_pk"`
	User  uint64 `path:"user_pk"`
}

func groupUserRows() []route.Row {
	const group = "/api/v1/organisations/{organisation_pk}/groups/{id}/"
	const user = "/api/v1/organisations/{organisation_pk}/groups/{group_pk}/users/{user_pk}/"
	manage := Custom("organisation permission MANAGE_USER_GROUPS, or group admin", mayManageGroup)
	admin := OrganisationAdmin(Path("organisation_pk"))
	return []route.Row{
		{Method: "POST", Path: group + "add-users/", OperationID: "api_v1_organisations_groups_add_users_create", Tag: "Groups", Auth: route.Admin,
			Permission: manage, Kind: route.Write, Handler: write(addGroupUsers)},
		{Method: "POST", Path: group + "remove-users/", OperationID: "api_v1_organisations_groups_remove_users_create", Tag: "Groups", Auth: route.Admin,
			Permission: manage, Kind: route.Write, Handler: write(removeGroupUsers)},
		{Method: "POST", Path: user + "make-admin", OperationID: "api_v1_organisations_groups_users_make_admin_create", Tag: "Groups", Auth: route.Admin,
			Permission: admin, Kind: route.Write, Handler: write(makeGroupAdmin)},
		{Method: "POST", Path: user + "remove-admin", OperationID: "api_v1_organisations_groups_users_remove_admin_create", Tag: "Groups",
			Auth: route.Admin, Permission: admin, Kind: route.Write, Handler: write(removeGroupAdmin)},
	}
}

func addGroupUsers(c *Ctx, in groupUsersInput) (groupItem, error) {
	if err := c.checkGroupUsers(in.Users); err != nil {
		return groupItem{}, err
	}
	for _, user := range in.Users {
		addGroupMember(c.Tx, in.ID, user)
	}
	return *renderGroup(c, in.ID), nil
}

func removeGroupUsers(c *Ctx, in groupUsersInput) (groupItem, error) {
	if err := c.checkGroupUsers(in.Users); err != nil {
		return groupItem{}, err
	}
	for _, user := range in.Users {
		fsm.GroupMembersByGroup.DeleteAll(c.Tx, in.ID, user)
	}
	return *renderGroup(c, in.ID), nil
}

// checkGroupUsers refuses users who are no members of the organisation, and the caller's own id unless the caller is ADMIN.
func (c *Ctx) checkGroupUsers(users []uint64) error {
	if !c.IsOrganisationAdmin(c.Organisation.ID) && slices.Contains(users, c.Principal.UserID()) {
		return route.PermissionDenied()
	}
	var unknown []string
	for _, user := range users {
		if _, member := RoleOf(c, c.Organisation.ID, user); !member {
			unknown = append(unknown, strconv.FormatUint(user, 10))
		}
	}
	if len(unknown) > 0 {
		return route.BadRequest("Users " + strings.Join(unknown, ", ") + " do not exist in this organisation")
	}
	return nil
}

// addGroupMember puts a user into a group, once.
func addGroupMember(tx *fsm.Tx, group, user uint64) {
	if _, in := fsm.GroupMembersByGroup.First(tx, group, user); !in {
		fsm.GroupMembers.Put(tx, fsm.GroupMember{Group: group, User: user})
	}
}

func makeGroupAdmin(c *Ctx, in groupUserRef) (route.Empty, error) { return setGroupAdmin(c, in, true) }

func removeGroupAdmin(c *Ctx, in groupUserRef) (route.Empty, error) {
	return setGroupAdmin(c, in, false)
}

func setGroupAdmin(c *Ctx, in groupUserRef, admin bool) (route.Empty, error) {
	g, _ := fsm.Groups.Get(c, in.Group)
	m, ok := fsm.GroupMembersByGroup.First(c, in.Group, in.User)
	if !ok || g.Organisation != c.Organisation.ID {
		return c.fail(route.NotFound(fsm.Users.Name()))
	}
	m.GroupAdmin = admin
	fsm.GroupMembers.Put(c.Tx, m)
	return c.OK()
}
