package admin

import (
	"slices"

	"github.com/flagraft/flagraft/fsm"
)

// Permission keys of the three levels; PERMISSIONS in docs/compatibility.md.
const (
	createProject          = "CREATE_PROJECT"
	manageUserGroups       = "MANAGE_USER_GROUPS"
	viewProject            = "VIEW_PROJECT"
	createEnvironment      = "CREATE_ENVIRONMENT"
	createFeature          = "CREATE_FEATURE"
	deleteFeature          = "DELETE_FEATURE"
	manageSegments         = "MANAGE_SEGMENTS"
	manageTags             = "MANAGE_TAGS"
	viewAuditLog           = "VIEW_AUDIT_LOG"
	viewEnvironment        = "VIEW_ENVIRONMENT"
	updateFeatureState     = "UPDATE_FEATURE_STATE"
	manageSegmentOverrides = "MANAGE_SEGMENT_OVERRIDES"
	viewIdentities         = "VIEW_IDENTITIES"
	manageIdentities       = "MANAGE_IDENTITIES"
)

// isMember reports whether the principal belongs to the organisation. A master
// API key belongs to its own.
func (c *Ctx) isMember(organisation uint64) bool {
	if c.Principal.Key != nil {
		return c.Principal.Key.Organisation == organisation
	}
	_, ok := c.membership(organisation)
	return ok
}

// isOrganisationAdmin reports whether the principal holds every permission in
// the organisation: an ADMIN member, or a master API key.
func (c *Ctx) isOrganisationAdmin(organisation uint64) bool {
	if c.Principal.Key != nil {
		return c.Principal.Key.Organisation == organisation
	}
	m, ok := c.membership(organisation)
	return ok && m.Role == fsm.RoleAdmin
}

func (c *Ctx) membership(organisation uint64) (fsm.Membership, bool) {
	if c.Principal.User == nil {
		return fsm.Membership{}, false
	}
	return fsm.MembershipsByOrganisation.First(c.Reader, organisation, c.Principal.User.ID)
}

// hasOrganisation reports whether the principal has a permission on the organisation.
func (c *Ctx) hasOrganisation(organisation uint64, key string) bool {
	return c.isOrganisationAdmin(organisation) ||
		c.isMember(organisation) && c.granted(fsm.LevelOrganisation, organisation, key)
}

// hasProject reports whether the principal has a permission on the project; an
// empty key asks for project admin.
func (c *Ctx) hasProject(p *fsm.Project, key string) bool {
	return c.isOrganisationAdmin(p.Organisation) ||
		c.isMember(p.Organisation) && c.granted(fsm.LevelProject, p.ID, key)
}

// hasEnvironment reports whether the principal has a permission on the
// environment; an empty key asks for environment admin. Project admins have all.
func (c *Ctx) hasEnvironment(e *fsm.Environment, key string) bool {
	p, ok := fsm.Projects.Get(c.Reader, e.Project)
	if !ok {
		return false
	}
	return c.hasProject(&p, "") || c.isMember(p.Organisation) && c.granted(fsm.LevelEnvironment, e.ID, key)
}

// granted looks for the permission in the rows of the user and of their groups.
// An admin row grants every key, and is what an empty key asks for.
func (c *Ctx) granted(level fsm.Level, object uint64, key string) bool {
	u := c.Principal.User
	if u == nil {
		return false
	}
	grants := func(p *fsm.Permission) bool {
		return p.Admin || key != "" && slices.Contains(p.Permissions, key)
	}
	for p := range fsm.PermissionsByUser.Refs(c.Reader, u.ID, level, object) {
		if grants(p) {
			return true
		}
	}
	for g := range fsm.GroupMembersByUser.Refs(c.Reader, u.ID) {
		for p := range fsm.PermissionsByGroup.Refs(c.Reader, g.Group, level, object) {
			if grants(p) {
				return true
			}
		}
	}
	return false
}
