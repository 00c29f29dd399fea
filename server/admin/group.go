package admin

import (
	"time"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// groupItem is a permission group with its members.
type groupItem struct {
	ID         uint64        `json:"id"`
	Name       string        `json:"name"`
	Users      []groupMember `json:"users"`
	IsDefault  bool          `json:"is_default"`
	ExternalID *string       `json:"external_id"`
}

type groupMember struct {
	ID         uint64   `json:"id"`
	Email      string   `json:"email"`
	FirstName  string   `json:"first_name"`
	LastName   string   `json:"last_name"`
	LastLogin  fsm.Time `json:"last_login"`
	GroupAdmin bool     `json:"group_admin"`
}

// groupIDs is a groupItem with its members' ids, in the permission rows of organisations and projects.
type groupIDs struct {
	ID         uint64   `json:"id"`
	Name       string   `json:"name"`
	Users      []uint64 `json:"users"`
	IsDefault  bool     `json:"is_default"`
	ExternalID *string  `json:"external_id"`
}

// groupListItem is a groupItem in lists and in the answers to changes of the group itself: its times are printed in another way.
type groupListItem struct {
	ID         uint64            `json:"id"`
	Name       string            `json:"name"`
	Users      []groupListMember `json:"users"`
	IsDefault  bool              `json:"is_default"`
	ExternalID *string           `json:"external_id"`
}

type groupListMember struct {
	ID         uint64  `json:"id"`
	Email      string  `json:"email"`
	FirstName  string  `json:"first_name"`
	LastName   string  `json:"last_name"`
	LastLogin  *string `json:"last_login"`
	GroupAdmin bool    `json:"group_admin"`
}

type groupRef struct {
	ID uint64 `path:"id"`
}

type groupInput struct {
	Name       route.Optional[string] `json:"name" v:"required,max=200"`
	IsDefault  route.Optional[bool]   `json:"is_default"`
	ExternalID route.Optional[string] `json:"external_id" v:"null,blank,max=255"`
}

type groupUpdate struct {
	groupRef
	groupInput
}

func groupRows() []route.Row {
	const list, detail = "/api/v1/organisations/{organisation_pk}/groups/", "/api/v1/organisations/{organisation_pk}/groups/{id}/"
	member, manage := OrganisationMember(Path("organisation_pk")), OrganisationPermission("MANAGE_USER_GROUPS", Path("organisation_pk"))
	group := Custom("organisation permission MANAGE_USER_GROUPS, or group admin", mayManageGroup)
	return []route.Row{
		{Method: "GET", Path: list, OperationID: "list_organization_groups", Tag: "Groups", Summary: "List the groups that the caller may manage.",
			Auth: route.Admin, Permission: member, Handler: read(listGroups)},
		{Method: "POST", Path: list, OperationID: "api_v1_organisations_groups_create", Tag: "Groups", Auth: route.Admin, Permission: manage,
			Kind: route.Write, Status: 201, Handler: write(createGroup)},
		{Method: "GET", Path: list + "my-groups/", OperationID: "api_v1_organisations_groups_my_groups_retrieve", Tag: "Groups", Auth: route.Admin,
			Permission: member, Handler: read(myGroups)},
		{Method: "GET", Path: list + "summaries/", OperationID: "api_v1_organisations_groups_summaries_retrieve", Tag: "Groups", Auth: route.Admin,
			Permission: member, Handler: read(groupSummaries)},
		{Method: "GET", Path: detail, OperationID: "api_v1_organisations_groups_retrieve", Tag: "Groups", Auth: route.Admin, Permission: group,
			Handler: read(getGroup)},
		{Method: "PUT", Path: detail, OperationID: "api_v1_organisations_groups_update", Tag: "Groups", Auth: route.Admin, Permission: group,
			Kind: route.Write, Handler: write(updateGroup)},
		{Method: "PATCH", Path: detail, OperationID: "api_v1_organisations_groups_partial_update", Tag: "Groups", Auth: route.Admin, Permission: group,
			Kind: route.Write, Handler: write(updateGroup)},
		{Method: "DELETE", Path: detail, OperationID: "api_v1_organisations_groups_destroy", Tag: "Groups", Auth: route.Admin, Permission: group,
			Kind: route.Write, Status: 204, Handler: write(deleteGroup)},
	}
}

// mayManageGroup hides a group from members who neither manage the organisation's groups nor are admin of this one.
func mayManageGroup(c *Ctx) error {
	if err := OrganisationMember(Path("organisation_pk")).Check(c.Call); err != nil {
		return err
	}
	id, ok := parseID(c.Param("id"))
	if !ok {
		return route.NotFoundDetail()
	}
	g, ok := fsm.Groups.Get(c, id)
	if !ok || g.Organisation != c.Organisation.ID || !c.managesGroups() && !c.isGroupAdmin(id) {
		return route.NotFound(fsm.Groups.Name())
	}
	return nil
}

func (c *Ctx) managesGroups() bool { return c.HasOrganisation(c.Organisation.ID, "MANAGE_USER_GROUPS") }

func (c *Ctx) isGroupAdmin(group uint64) bool {
	m, ok := fsm.GroupMembersByGroup.First(c, group, c.Principal.UserID())
	return ok && m.GroupAdmin
}

func listGroups(c *Ctx, _ struct{}) (route.Page[groupListItem], error) {
	all := c.managesGroups()
	var groups []fsm.Group
	for _, g := range fsm.GroupsByOrganisation.List(c, c.Organisation.ID) {
		if all || c.isGroupAdmin(g.ID) {
			groups = append(groups, g)
		}
	}
	return paginate(c, groups, c.renderListedGroup)
}

func createGroup(c *Ctx, in groupInput) (groupListItem, error) {
	g := fsm.Group{Organisation: c.Organisation.ID}
	if err := in.apply(c, &g); err != nil {
		return groupListItem{}, err
	}
	return c.renderListedGroup(fsm.Groups.Put(c.Tx, g)), nil
}

// myGroups lists the groups that the caller is in.
func myGroups(c *Ctx, _ struct{}) (route.Page[groupName], error) {
	var groups []fsm.Group
	for m := range fsm.GroupMembersByUser.Refs(c, c.Principal.UserID()) {
		if g, ok := fsm.Groups.Get(c, m.Group); ok && g.Organisation == c.Organisation.ID {
			groups = append(groups, g)
		}
	}
	return paginate(c, groups, renderGroupName)
}

func groupSummaries(c *Ctx, _ struct{}) ([]groupName, error) {
	return mapped(fsm.GroupsByOrganisation.List(c, c.Organisation.ID), renderGroupName), nil
}

func getGroup(c *Ctx, in groupRef) (groupItem, error) { return *renderGroup(c, in.ID), nil }

func updateGroup(c *Ctx, in groupUpdate) (groupListItem, error) {
	g, _ := fsm.Groups.Get(c, in.ID)
	if err := in.apply(c, &g); err != nil {
		return groupListItem{}, err
	}
	return c.renderListedGroup(fsm.Groups.Put(c.Tx, g)), nil
}

func deleteGroup(c *Ctx, in groupRef) (route.Empty, error) {
	g, _ := fsm.Groups.Get(c, in.ID)
	deleteGroupTree(c, g)
	return c.OK()
}

// apply refuses an external id that another group of the organisation has.
func (in groupInput) apply(c *Ctx, g *fsm.Group) error {
	in.Name.Into(&g.Name)
	in.IsDefault.Into(&g.IsDefault)
	in.ExternalID.IntoPtr(&g.ExternalID)
	if g.ExternalID == nil || *g.ExternalID == "" {
		return nil
	}
	for other := range fsm.GroupsByOrganisation.Refs(c, g.Organisation) {
		if other.ID != g.ID && other.ExternalID != nil && *other.ExternalID == *g.ExternalID {
			return route.Field("external_id", "A group with this external id already exists.")
		}
	}
	return nil
}

func renderGroupName(g fsm.Group) groupName { return groupName{ID: g.ID, Name: g.Name} }

// renderGroup shows a group, or gives nil when it does not exist any more.
func renderGroup(r fsm.Reader, id uint64) *groupItem {
	g, ok := fsm.Groups.Get(r, id)
	if !ok {
		return nil
	}
	out := &groupItem{ID: g.ID, Name: g.Name, IsDefault: g.IsDefault, ExternalID: g.ExternalID}
	for m := range fsm.GroupMembersByGroup.Refs(r, id) {
		if u := fsm.Users.Ref(r, m.User); u != nil {
			out.Users = append(out.Users, groupMember{ID: u.ID, Email: u.Email, FirstName: u.FirstName, LastName: u.LastName,
				LastLogin: u.LastLogin, GroupAdmin: m.GroupAdmin})
		}
	}
	return out
}

func renderGroupIDs(r fsm.Reader, id uint64) *groupIDs {
	g := renderGroup(r, id)
	if g == nil {
		return nil
	}
	return &groupIDs{ID: g.ID, Name: g.Name, Users: mapped(g.Users, func(m groupMember) uint64 { return m.ID }), IsDefault: g.IsDefault, ExternalID: g.ExternalID}
}

func (c *Ctx) renderListedGroup(g fsm.Group) groupListItem {
	out := groupListItem{ID: g.ID, Name: g.Name, IsDefault: g.IsDefault, ExternalID: g.ExternalID}
	for _, m := range renderGroup(c, g.ID).Users {
		out.Users = append(out.Users, groupListMember{ID: m.ID, Email: m.Email, FirstName: m.FirstName, LastName: m.LastName,
			LastLogin: printedTime(m.LastLogin), GroupAdmin: m.GroupAdmin})
	}
	return out
}

// printedTime is a time as Python prints it, which the reference does in these lists.
func printedTime(t fsm.Time) *string {
	if t.IsZero() {
		return nil
	}
	layout := "2006-01-02 15:04:05.000000+00:00"
	if t%fsm.Time(time.Second/time.Microsecond) == 0 {
		layout = "2006-01-02 15:04:05+00:00"
	}
	text := t.Std().Format(layout)
	return &text
}
