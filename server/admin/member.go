package admin

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// member is a user as a member of an organisation.
type member struct {
	ID         uint64    `json:"id"`
	Email      string    `json:"email"`
	FirstName  string    `json:"first_name"`
	LastName   string    `json:"last_name"`
	LastLogin  fsm.Time  `json:"last_login"`
	UUID       uuid.UUID `json:"uuid"`
	Role       fsm.Role  `json:"role"`
	DateJoined fsm.Time  `json:"date_joined"` // of the account, as in the reference
}

type memberRef struct {
	ID uint64 `path:"id"`
}

func memberRows() []route.Row {
	const users = "/api/v1/organisations/{organisation_pk}/users/"
	return []route.Row{
		{Method: "GET", Path: users, OperationID: "api_v1_organisations_users_list", Tag: "Organisations", Auth: route.Admin,
			Permission: OrganisationMember(Path("organisation_pk")), Handler: read(listMembers)},
		{Method: "POST", Path: users + "{id}/update-role/", OperationID: "api_v1_organisations_users_update_role_create", Tag: "Organisations",
			Auth: route.Admin, Permission: OrganisationAdmin(Path("organisation_pk")), Kind: route.Write, Handler: write(updateRole)},
		{Method: "POST", Path: "/api/v1/organisations/{id}/remove-users/", OperationID: "api_v1_organisations_remove_users_create", Tag: "Organisations",
			Auth: route.Admin, Permission: OrganisationAdmin(Path("id")), Kind: route.Write, Handler: write(removeUsers)},
	}
}

func listMembers(c *Ctx, in struct {
	ExcludeCurrent bool `query:"exclude_current"`
}) ([]member, error) {
	var members []member
	for _, m := range fsm.MembershipsByOrganisation.List(c, c.Organisation.ID) {
		if in.ExcludeCurrent && m.User == c.Principal.UserID() {
			continue
		}
		if u, ok := fsm.Users.Get(c, m.User); ok {
			members = append(members, renderMember(u, m))
		}
	}
	return members, nil
}

func updateRole(c *Ctx, in struct {
	memberRef
	Role fsm.Role `json:"role" v:"required,choice=ADMIN|USER"`
}) (member, error) {
	m, ok := fsm.MembershipsByOrganisation.First(c, c.Organisation.ID, in.ID)
	if !ok {
		return member{}, route.NotFound(fsm.Users.Name())
	}
	if in.Role != fsm.RoleAdmin {
		if err := keepAdmin(c, c.Organisation.ID, in.ID); err != nil {
			return member{}, err
		}
	}
	m.Role = in.Role
	u, _ := fsm.Users.Get(c, in.ID)
	return renderMember(u, fsm.Memberships.Put(c.Tx, m)), nil
}

type removedUser struct {
	ID uint64 `json:"id" v:"required"`
}

func removeUsers(c *Ctx, in struct {
	Users []removedUser `body:""`
}) ([]removedUser, error) {
	errs := &route.Errors{}
	for i, u := range in.Users {
		if _, ok := RoleOf(c, c.Organisation.ID, u.ID); !ok {
			_ = errs.Item(len(in.Users) - 1) // a list as long as the input
			errs.Item(i).Add("id", fmt.Sprintf("User with id %d does not exist", u.ID))
		}
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	leaving := make([]uint64, len(in.Users))
	for i, u := range in.Users {
		leaving[i] = u.ID
	}
	if err := keepAdmin(c, c.Organisation.ID, leaving...); err != nil {
		return nil, err
	}
	for _, u := range in.Users {
		removeMember(c, c.Organisation.ID, u.ID)
	}
	return in.Users, nil
}

// keepAdmin refuses to take the role from an organisation's last ADMINs: nobody could give it back.
func keepAdmin(c *Ctx, organisation uint64, leaving ...uint64) error {
	taken := false
	for _, m := range fsm.MembershipsByOrganisation.List(c, organisation) {
		switch {
		case m.Role != fsm.RoleAdmin:
		case !slices.Contains(leaving, m.User):
			return nil
		default:
			taken = true
		}
	}
	if !taken {
		return nil
	}
	o, _ := fsm.Organisations.Get(c, organisation)
	return route.Detail(400, fmt.Sprintf("%s would have no administrator left. Make somebody else one first, or delete the organisation.", o.Name))
}

// addMember makes a user a member, and puts it into the organisation's default groups.
func addMember(tx *fsm.Tx, organisation, user uint64, role fsm.Role) {
	for _, g := range fsm.GroupsByOrganisation.List(tx, organisation) {
		if g.IsDefault {
			addGroupMember(tx, g.ID, user)
		}
	}
	fsm.Memberships.Put(tx, fsm.Membership{Organisation: organisation, User: user, Role: role, DateJoined: tx.Now()})
}

// removeMember takes away everything that a user has in an organisation: membership, groups, permissions, ownership of features.
func removeMember(c *Ctx, organisation, user uint64) {
	fsm.MembershipsByOrganisation.DeleteAll(c.Tx, organisation, user)
	for _, g := range fsm.GroupsByOrganisation.List(c, organisation) {
		fsm.GroupMembersByGroup.DeleteAll(c.Tx, g.ID, user)
	}
	fsm.PermissionsByUser.DeleteAll(c.Tx, user, fsm.LevelOrganisation, organisation)
	for _, p := range fsm.ProjectsByOrganisation.List(c, organisation) {
		fsm.PermissionsByUser.DeleteAll(c.Tx, user, fsm.LevelProject, p.ID)
		for _, e := range fsm.EnvironmentsByProject.List(c, p.ID) {
			fsm.PermissionsByUser.DeleteAll(c.Tx, user, fsm.LevelEnvironment, e.ID)
		}
		disown(c, p.ID, user)
	}
}

func disown(c *Ctx, project, user uint64) {
	for _, f := range fsm.FeaturesByProject.List(c, project) {
		if i := slices.Index(f.Owners, user); i >= 0 {
			f.Owners = slices.Delete(slices.Clone(f.Owners), i, i+1)
			fsm.Features.Put(c.Tx, f)
		}
	}
}

func renderMember(u fsm.User, m fsm.Membership) member {
	return member{ID: u.ID, Email: u.Email, FirstName: u.FirstName, LastName: u.LastName, LastLogin: u.LastLogin, UUID: u.UUID,
		Role: m.Role, DateJoined: u.DateJoined}
}
