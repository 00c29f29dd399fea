package admin

import (
	"slices"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// detailedPermissions tells what a user may do with one object, and from where each right comes.
type detailedPermissions struct {
	Admin             bool                 `json:"admin"`
	Permissions       []detailedPermission `json:"permissions"`
	IsDirectlyGranted bool                 `json:"is_directly_granted"`
	DerivedFrom       derivation           `json:"derived_from"` // of the admin right
}

type detailedPermission struct {
	PermissionKey     string     `json:"permission_key"`
	IsDirectlyGranted bool       `json:"is_directly_granted"`
	DerivedFrom       derivation `json:"derived_from"`
}

type derivation struct {
	Groups []groupName `json:"groups"`
	Roles  []roleName  `json:"roles"` // there are none
}

type roleName struct {
	ID   uint64   `json:"id"`
	Name string   `json:"name"`
	Tags []uint64 `json:"tags"`
}

type groupName struct {
	ID   uint64 `json:"id"`
	Name string `json:"name"`
}

type holder struct {
	User uint64 `path:"user_id"`
}

func permissionDetailRows() []route.Row {
	return []route.Row{
		{Method: "GET", Path: "/api/v1/organisations/{id}/user-detailed-permissions/{user_id}/",
			OperationID: "api_v1_organisations_user_detailed_permissions_retrieve", Tag: "Organisations", Auth: route.Admin,
			Permission: selfOr(OrganisationMember(Path("id")), OrganisationAdmin(Path("id"))), Handler: read(organisationDetail)},
		{Method: "GET", Path: "/api/v1/projects/{id}/user-detailed-permissions/{user_id}/",
			OperationID: "api_v1_projects_user_detailed_permissions_retrieve", Tag: "Projects", Auth: route.Admin,
			Permission: selfOr(ProjectPermission("VIEW_PROJECT", Path("id")).Hidden(), ProjectAdmin(Path("id")).Hidden()), Handler: read(projectDetailed)},
		{Method: "GET", Path: "/api/v1/environments/{api_key}/user-detailed-permissions/{user_id}/",
			OperationID: "api_v1_environments_user_detailed_permissions_retrieve", Tag: "Environments", Auth: route.Admin,
			Permission: selfOr(environmentMember("api_key"), EnvironmentAdmin(Path("api_key")).Missing404()), Handler: read(environmentDetailed)},
	}
}

// selfOr asks for less of those who ask about themselves.
func selfOr(self, others Scoped) route.Permission {
	return Custom(self.Name()+", for other users "+others.Name(), func(c *Ctx) error {
		if id, ok := parseID(c.Param("user_id")); ok && id == c.Principal.UserID() {
			return self.Check(c.Call)
		}
		return others.Check(c.Call)
	})
}

func organisationDetail(c *Ctx, in holder) (detailedPermissions, error) {
	return c.detailed(in, c.Organisation.ID, grants{fsm.LevelOrganisation, c.Organisation.ID})
}

func projectDetailed(c *Ctx, in holder) (detailedPermissions, error) {
	return c.detailed(in, c.Project.Organisation, grants{fsm.LevelProject, c.Project.ID})
}

// environmentDetailed also counts the admin right on the project.
func environmentDetailed(c *Ctx, in holder) (detailedPermissions, error) {
	out, err := c.detailed(in, c.Project.Organisation, grants{fsm.LevelEnvironment, c.Environment.ID})
	out.Admin = out.Admin || GrantOf(c, fsm.LevelProject, c.Project.ID, in.User).Admin
	return out, err
}

// grants names one object.
type grants struct {
	level  fsm.Level
	object uint64
}

func (c *Ctx) detailed(in holder, organisation uint64, on grants) (detailedPermissions, error) {
	role, ok := RoleOf(c, organisation, in.User)
	if !ok {
		return detailedPermissions{}, route.NotFound(fsm.Users.Name())
	}
	out := detailedPermissions{Admin: role == fsm.RoleAdmin}
	for p := range fsm.PermissionsByUser.Refs(c, in.User, on.level, on.object) {
		out.add(p, nil)
	}
	for m := range fsm.GroupMembersByUser.Refs(c, in.User) {
		g, _ := fsm.Groups.Get(c, m.Group)
		for p := range fsm.PermissionsByGroup.Refs(c, m.Group, on.level, on.object) {
			out.add(p, &groupName{g.ID, g.Name})
		}
	}
	return out, nil
}

// add counts a row, given to the user (group nil) or to a group.
func (d *detailedPermissions) add(p *fsm.Permission, group *groupName) {
	if p.Admin {
		d.Admin = true
		note(&d.IsDirectlyGranted, &d.DerivedFrom, group)
	}
	for _, key := range p.Permissions {
		i := slices.IndexFunc(d.Permissions, func(e detailedPermission) bool { return e.PermissionKey == key })
		if i < 0 {
			i = len(d.Permissions)
			d.Permissions = append(d.Permissions, detailedPermission{PermissionKey: key})
		}
		note(&d.Permissions[i].IsDirectlyGranted, &d.Permissions[i].DerivedFrom, group)
	}
}

func note(direct *bool, from *derivation, group *groupName) {
	if group == nil {
		*direct = true
		return
	}
	from.Groups = append(from.Groups, *group)
}
