package admin

import (
	"slices"

	"github.com/flagraft/flagraft/fsm"
)

// The rights of the caller, as PERMISSIONS says: an organisation ADMIN (or its key) holds everything in the organisation; a project admin
// everything in the project; keys and admin flags come from rows of the user and of the user's groups; membership of the organisation is
// asked again for every grant, so that rows left behind by a removed member count for nothing.

// Role is the caller's role in an organisation; ok is false when it is no member. A key is ADMIN of its organisation.
func (c *Ctx) Role(organisation uint64) (role fsm.Role, ok bool) {
	switch p := c.Principal; {
	case p.Key != nil:
		return fsm.RoleAdmin, p.Key.Organisation == organisation && organisation != 0
	case p.User != nil:
		return RoleOf(c, organisation, p.User.ID)
	}
	return "", false
}

// RoleOf is a user's role in an organisation.
func RoleOf(r fsm.Reader, organisation, user uint64) (fsm.Role, bool) {
	m, ok := fsm.MembershipsByOrganisation.First(r, organisation, user)
	return m.Role, ok
}

// IsMember reports membership of an organisation.
func (c *Ctx) IsMember(organisation uint64) bool {
	_, ok := c.Role(organisation)
	return ok
}

// IsOrganisationAdmin reports the role ADMIN.
func (c *Ctx) IsOrganisationAdmin(organisation uint64) bool {
	role, ok := c.Role(organisation)
	return ok && role == fsm.RoleAdmin
}

// Grant is what rows give a user at one level: the keys, or everything.
type Grant struct {
	Admin bool
	Keys  []string
}

// Has reports whether the grant holds a key.
func (g Grant) Has(key string) bool { return g.Admin || key != "" && slices.Contains(g.Keys, key) }

// GrantOf gathers what rows of the user and of its groups give on one object. It does not look at roles and membership.
func GrantOf(r fsm.Reader, level fsm.Level, object, user uint64) Grant {
	var g Grant
	for p := range fsm.PermissionsByUser.Refs(r, user, level, object) {
		g.add(p)
	}
	for m := range fsm.GroupMembersByUser.Refs(r, user) {
		for p := range fsm.PermissionsByGroup.Refs(r, m.Group, level, object) {
			g.add(p)
		}
	}
	return g
}

func (g *Grant) add(p *fsm.Permission) {
	g.Admin = g.Admin || p.Admin
	for _, k := range p.Permissions {
		if !slices.Contains(g.Keys, k) {
			g.Keys = append(g.Keys, k)
		}
	}
}

// grant is GrantOf for the caller, within an organisation.
func (c *Ctx) grant(organisation uint64, level fsm.Level, object uint64) Grant {
	role, ok := c.Role(organisation)
	switch {
	case !ok:
		return Grant{}
	case role == fsm.RoleAdmin:
		return Grant{Admin: true}
	}
	return GrantOf(c, level, object, c.Principal.UserID())
}

// HasOrganisation reports an organisation-level permission key.
func (c *Ctx) HasOrganisation(organisation uint64, key string) bool {
	return c.grant(organisation, fsm.LevelOrganisation, organisation).Has(key)
}

// HasProject reports a project-level permission key; a project admin has all.
func (c *Ctx) HasProject(p fsm.Project, key string) bool {
	return c.grant(p.Organisation, fsm.LevelProject, p.ID).Has(key)
}

// IsProjectAdmin reports admin rights on a project.
func (c *Ctx) IsProjectAdmin(p fsm.Project) bool { return c.HasProject(p, "") }

// HasEnvironment reports an environment-level permission key; admins of the environment and of its project have all.
func (c *Ctx) HasEnvironment(e fsm.Environment, key string) bool {
	p, ok := fsm.Projects.Get(c, e.Project)
	if !ok {
		return false
	}
	return c.grant(p.Organisation, fsm.LevelEnvironment, e.ID).Has(key) || c.IsProjectAdmin(p)
}

// IsEnvironmentAdmin reports admin rights on an environment.
func (c *Ctx) IsEnvironmentAdmin(e fsm.Environment) bool { return c.HasEnvironment(e, "") }
