package admin

import (
	"slices"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// Permission rows exist at three levels, for users and for groups: six resources of one shape (ADMIN §12).

// permissionJSON is a row as it was written, less its holder. Rows of organisations have no admin member.
type permissionJSON struct {
	ID          uint64               `json:"id"`
	Permissions []string             `json:"permissions"`
	Admin       route.Optional[bool] `json:"admin,omitempty"`
}

type userPermission struct {
	permissionJSON
	User uint64 `json:"user"`
}

type groupPermission struct {
	permissionJSON
	Group uint64 `json:"group"`
}

// permissionItem is a row in lists; environments show a group's members whole, the other levels their ids.
type permissionItem[Group any] struct {
	ID          uint64               `json:"id"`
	Permissions []string             `json:"permissions"`
	Admin       route.Optional[bool] `json:"admin,omitempty"`
	User        *userSummary         `json:"user,omitempty"`
	Group       *Group               `json:"group,omitempty"`
}

type permissionFilter struct {
	User  uint64 `query:"user"`
	Group uint64 `query:"group"`
}

type permissionRef struct {
	ID uint64 `path:"id"`
}

// permissionInput is what may be sent of a row; the holder is read beside it.
type permissionInput struct {
	Permissions route.Optional[[]string] `json:"permissions"`
	Admin       route.Optional[bool]     `json:"admin"`
}

type userPermissionCreate struct {
	User uint64 `json:"user" v:"required,pk"`
	permissionInput
}

type groupPermissionCreate struct {
	Group uint64 `json:"group" v:"required,pk"`
	permissionInput
}

type userPermissionUpdate struct {
	permissionRef
	User route.Optional[uint64] `json:"user" v:"pk"`
	permissionInput
}

type groupPermissionUpdate struct {
	permissionRef
	Group route.Optional[uint64] `json:"group" v:"pk"`
	permissionInput
}

// permissionResource is one of the six resources.
type permissionResource struct {
	level  fsm.Level
	groups bool
	prefix string // of its paths
	name   string // of its operations
	view   route.Permission
	manage route.Permission
}

func permissionResources() []permissionResource {
	var all []permissionResource
	for _, groups := range []bool{false, true} {
		path, name := "user-permissions/", "user_permissions"
		if groups {
			path, name = "user-group-permissions/", "user_group_permissions"
		}
		organisation := OrganisationAdmin(Path("organisation_pk")).Saying(MsgInsufficient)
		project := ProjectAdmin(Path("project_pk"))
		all = append(all,
			permissionResource{fsm.LevelOrganisation, groups, "/api/v1/organisations/{organisation_pk}/" + path, "api_v1_organisations_" + name, organisation, organisation},
			permissionResource{fsm.LevelProject, groups, "/api/v1/projects/{project_pk}/" + path, "api_v1_projects_" + name, project, project},
			permissionResource{fsm.LevelEnvironment, groups, "/api/v1/environments/{environment_api_key}/" + path, "api_v1_environments_" + name,
				EnvironmentPermission("VIEW_ENVIRONMENT", Path("environment_api_key")), EnvironmentAdmin(Path("environment_api_key"))})
	}
	return all
}

func permissionRows() []route.Row {
	var rows []route.Row
	for _, r := range permissionResources() {
		rows = append(rows, r.rows()...)
	}
	return rows
}

func (p permissionResource) rows() []route.Row {
	detail := p.prefix + "{id}/"
	row := func(method, path, action string, permission route.Permission, status int, h route.Handler) route.Row {
		kind := route.Write
		if method == "GET" {
			kind = route.Read
		}
		return route.Row{Method: method, Path: path, OperationID: p.name + "_" + action, Tag: "Permissions", Auth: route.Admin, Permission: permission,
			Kind: kind, Status: status, Handler: h}
	}
	list, create, update, get := p.ofUsers()
	if p.groups {
		list, create, update, get = p.ofGroups()
	}
	rows := []route.Row{
		row("GET", p.prefix, "list", p.view, 200, list),
		row("POST", p.prefix, "create", p.manage, 201, create),
		row("PUT", detail, "update", p.manage, 200, update),
		row("PATCH", detail, "partial_update", p.manage, 200, update),
		row("DELETE", detail, "destroy", p.manage, 204, write(p.remove)),
	}
	if p.level != fsm.LevelOrganisation {
		rows = append(rows, row("GET", detail, "retrieve", p.manage, 200, get))
	}
	return rows
}

// object is what the rows are about, and the organisation that their holders must belong to.
func (p permissionResource) object(c *Ctx) (object, organisation uint64) {
	switch p.level {
	case fsm.LevelOrganisation:
		return c.Organisation.ID, c.Organisation.ID
	case fsm.LevelProject:
		return c.Project.ID, c.Project.Organisation
	}
	return c.Environment.ID, c.Project.Organisation
}

// ofUsers are the handlers of rows that users hold.
func (p permissionResource) ofUsers() (list, create, update, get route.Handler) {
	show := func(r fsm.Permission, err error) (userPermission, error) {
		return userPermission{p.render(r), r.User}, err
	}
	return p.list(),
		write(func(c *Ctx, in userPermissionCreate) (userPermission, error) {
			return show(p.create(c, in.User, in.permissionInput))
		}),
		write(func(c *Ctx, in userPermissionUpdate) (userPermission, error) {
			return show(p.update(c, in.permissionRef, in.User, in.permissionInput))
		}),
		read(func(c *Ctx, in permissionRef) (userPermission, error) { return show(p.find(c, in)) })
}

// ofGroups are the handlers of rows that groups hold.
func (p permissionResource) ofGroups() (list, create, update, get route.Handler) {
	show := func(r fsm.Permission, err error) (groupPermission, error) {
		return groupPermission{p.render(r), r.Group}, err
	}
	return p.list(),
		write(func(c *Ctx, in groupPermissionCreate) (groupPermission, error) {
			return show(p.create(c, in.Group, in.permissionInput))
		}),
		write(func(c *Ctx, in groupPermissionUpdate) (groupPermission, error) {
			return show(p.update(c, in.permissionRef, in.Group, in.permissionInput))
		}),
		read(func(c *Ctx, in permissionRef) (groupPermission, error) { return show(p.find(c, in)) })
}

func (p permissionResource) list() route.Handler {
	if p.level == fsm.LevelEnvironment {
		return read(listPermissions(p, renderGroup))
	}
	return read(listPermissions(p, renderGroupIDs))
}

func listPermissions[Group any](p permissionResource, group func(fsm.Reader, uint64) *Group) func(*Ctx, permissionFilter) ([]permissionItem[Group], error) {
	return func(c *Ctx, in permissionFilter) ([]permissionItem[Group], error) {
		object, _ := p.object(c)
		var items []permissionItem[Group]
		for _, r := range fsm.PermissionsByObject.List(c, p.level, object) {
			if (r.Group != 0) != p.groups || in.User != 0 && in.User != r.User || in.Group != 0 && in.Group != r.Group {
				continue
			}
			item := permissionItem[Group]{ID: r.ID, Permissions: r.Permissions, Admin: p.admin(r)}
			if p.groups {
				item.Group = group(c, r.Group)
			} else {
				item.User = renderUser(c, r.User)
			}
			items = append(items, item)
		}
		return items, nil
	}
}

func (p permissionResource) create(c *Ctx, holder uint64, in permissionInput) (fsm.Permission, error) {
	object, _ := p.object(c)
	r := fsm.Permission{Level: p.level, Object: object}
	if err := p.apply(c, route.Some(holder), in, &r); err != nil {
		return fsm.Permission{}, err
	}
	return fsm.Permissions.Put(c.Tx, r), nil
}

// update: PUT and PATCH alike clear the keys that are not sent, as the reference does at project and environment level.
func (p permissionResource) update(c *Ctx, ref permissionRef, holder route.Optional[uint64], in permissionInput) (fsm.Permission, error) {
	r, err := p.find(c, ref)
	if err != nil {
		return fsm.Permission{}, err
	}
	if !in.Permissions.Set && p.level != fsm.LevelOrganisation {
		r.Permissions = nil
	}
	if err := p.apply(c, holder, in, &r); err != nil {
		return fsm.Permission{}, err
	}
	return fsm.Permissions.Put(c.Tx, r), nil
}

func (p permissionResource) remove(c *Ctx, in permissionRef) (route.Empty, error) {
	r, err := p.find(c, in)
	if err != nil {
		return c.fail(err)
	}
	fsm.Permissions.Delete(c.Tx, r.ID)
	return c.OK()
}

func (p permissionResource) find(c *Ctx, in permissionRef) (fsm.Permission, error) {
	object, _ := p.object(c)
	r, ok := fsm.Permissions.Get(c, in.ID)
	if !ok || r.Level != p.level || r.Object != object || (r.Group != 0) != p.groups {
		return fsm.Permission{}, route.NotFound(p.model())
	}
	return r, nil
}

// model is the reference's name of the resource.
func (p permissionResource) model() string {
	level := [...]string{fsm.LevelOrganisation: "Organisation", fsm.LevelProject: "Project", fsm.LevelEnvironment: "Environment"}[p.level]
	if p.groups {
		return "UserPermissionGroup" + level + "Permission"
	}
	return "User" + level + "Permission"
}

func (p permissionResource) apply(c *Ctx, holder route.Optional[uint64], in permissionInput, r *fsm.Permission) error {
	errs := &route.Errors{}
	switch {
	case !holder.Set: // it stays
	case p.groups:
		p.applyGroup(c, holder.Value, r, errs)
	default:
		p.applyUser(c, holder.Value, r, errs)
	}
	for _, key := range in.Permissions.Value {
		if !inCatalogue(p.level, key) {
			errs.Add("permissions", route.InvalidPKText(key))
		}
	}
	if err := errs.Err(); err != nil {
		return err
	}
	if in.Permissions.Set {
		r.Permissions = nil
		for _, key := range in.Permissions.Value {
			if !slices.Contains(r.Permissions, key) {
				r.Permissions = append(r.Permissions, key)
			}
		}
	}
	if p.level != fsm.LevelOrganisation {
		in.Admin.Into(&r.Admin)
	}
	return p.single(c, *r)
}

func (p permissionResource) applyUser(c *Ctx, user uint64, r *fsm.Permission, errs *route.Errors) {
	_, organisation := p.object(c)
	if _, member := RoleOf(c, organisation, user); !member {
		errs.Add("user", route.InvalidPKText(user))
	}
	r.User = user
}

func (p permissionResource) applyGroup(c *Ctx, group uint64, r *fsm.Permission, errs *route.Errors) {
	_, organisation := p.object(c)
	if g, ok := fsm.Groups.Get(c, group); !ok || g.Organisation != organisation {
		errs.Add("group", route.InvalidPKText(group))
	}
	r.Group = group
}

// single refuses a second row for one holder, on which the reference fails later.
func (p permissionResource) single(c *Ctx, r fsm.Permission) error {
	for other := range fsm.PermissionsByObject.Refs(c, r.Level, r.Object) {
		if other.ID != r.ID && other.User == r.User && other.Group == r.Group {
			if p.groups {
				return route.NonField("Permissions for this group already exist.")
			}
			return route.NonField("Permissions for this user already exist.")
		}
	}
	return nil
}

func (p permissionResource) admin(r fsm.Permission) route.Optional[bool] {
	if p.level == fsm.LevelOrganisation {
		return route.Optional[bool]{}
	}
	return route.Some(r.Admin)
}

func (p permissionResource) render(r fsm.Permission) permissionJSON {
	return permissionJSON{ID: r.ID, Permissions: r.Permissions, Admin: p.admin(r)}
}
