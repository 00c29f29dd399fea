package admin

import (
	"slices"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// catalogueEntry describes a permission key.
type catalogueEntry struct {
	Key         string `json:"key"`
	Description string `json:"description"`
	SupportsTag bool   `json:"supports_tag"`
}

// catalogue lists the keys of a level, in the reference's order and words (PERMISSIONS).
func catalogue(level fsm.Level) []catalogueEntry {
	switch level {
	case fsm.LevelOrganisation:
		return []catalogueEntry{
			{"CREATE_PROJECT", "Allows the user to create projects in this organisation.", false},
			{"MANAGE_USER_GROUPS", "Allows the user to manage the groups in the organisation and their members.", false},
		}
	case fsm.LevelProject:
		return []catalogueEntry{
			{"VIEW_PROJECT", "View permission for the given project.", false},
			{"CREATE_ENVIRONMENT", "Ability to create an environment in the given project.", false},
			{"DELETE_FEATURE", "Ability to delete features in the given project.", true},
			{"CREATE_FEATURE", "Ability to create features in the given project.", false},
			{"MANAGE_SEGMENTS", "Ability to manage segments in the given project.", false},
			{"MANAGE_PROJECT_LEVEL_CHANGE_REQUESTS", "Ability to create, delete, and publish change requests associated with a project.", false},
			{"APPROVE_PROJECT_LEVEL_CHANGE_REQUESTS", "Ability to approve project level change requests.", false},
			{"CREATE_PROJECT_LEVEL_CHANGE_REQUESTS", "Ability to create project level change requests.", false},
			{"MANAGE_TAGS", "Allows the user to manage tags in the given project.", false},
			{"VIEW_AUDIT_LOG", "Allows the user to view the audit logs for this project.", false},
		}
	}
	return []catalogueEntry{
		{"VIEW_ENVIRONMENT", "View permission for the given environment.", false},
		{"UPDATE_FEATURE_STATE", "Update the state or value for a given feature state.", true},
		{"MANAGE_IDENTITIES", "Manage identities in the given environment.", false},
		{"CREATE_CHANGE_REQUEST", "Permission to create change requests in the given environment.", true},
		{"APPROVE_CHANGE_REQUEST", "Permission to approve change requests in the given environment.", true},
		{"VIEW_IDENTITIES", "View identities in the given environment.", false},
		{"MANAGE_SEGMENT_OVERRIDES", "Permission to manage segment overrides in the given environment", true},
	}
}

// inCatalogue reports whether a level has the key.
func inCatalogue(level fsm.Level, key string) bool {
	return slices.ContainsFunc(catalogue(level), func(e catalogueEntry) bool { return e.Key == key })
}

// myPermissions is what the caller may do with one object.
type myPermissions struct {
	Permissions         []string        `json:"permissions"`
	Admin               bool            `json:"admin"`
	TagBasedPermissions []tagPermission `json:"tag_based_permissions"` // of roles, which there are none of
}

type tagPermission struct {
	Permissions []string `json:"permissions"`
	Tags        []uint64 `json:"tags"`
}

const msgUserOnly = "This endpoint can only be used with a user and not Master API Key"

func myPermissionsRows() []route.Row {
	return []route.Row{
		{Method: "GET", Path: "/api/v1/organisations/permissions/", OperationID: "api_v1_organisations_permissions_retrieve", Tag: "Organisations",
			Auth: route.Admin, Handler: read(organisationCatalogue)},
		{Method: "GET", Path: "/api/v1/projects/permissions/", OperationID: "api_v1_projects_permissions_list", Tag: "Projects", Auth: route.Admin,
			Handler: read(projectCatalogue)},
		{Method: "GET", Path: "/api/v1/environments/permissions/", OperationID: "api_v1_environments_permissions_list", Tag: "Environments",
			Auth: route.Admin, Handler: read(environmentCatalogue)},
		{Method: "GET", Path: "/api/v1/organisations/{id}/my-permissions/", OperationID: "api_v1_organisations_my_permissions_retrieve",
			Tag: "Organisations", Auth: route.Admin, Permission: OrganisationMember(Path("id")), Handler: read(myOrganisationPermissions)},
		{Method: "GET", Path: "/api/v1/projects/{id}/my-permissions/", OperationID: "api_v1_projects_my_permissions_retrieve", Tag: "Projects",
			Auth: route.Admin, Permission: ProjectPermission("VIEW_PROJECT", Path("id")).Hidden(), Handler: read(myProjectPermissions)},
		{Method: "GET", Path: "/api/v1/environments/{api_key}/my-permissions/", OperationID: "api_v1_environments_my_permissions_retrieve",
			Tag: "Environments", Auth: route.Admin, Permission: environmentMember("api_key"), Handler: read(myEnvironmentPermissions)},
		{Method: "GET", Path: "/api/v1/projects/{project_pk}/all-user-permissions/{user_pk}/", OperationID: "api_v1_projects_all_user_permissions_retrieve",
			Tag: "Projects", Summary: "What a member may do with the project.", Auth: route.Admin, Permission: ProjectAdmin(Path("project_pk")),
			Handler: read(memberProjectPermissions)},
	}
}

// environmentMember lets every member of the environment's organisation in. The reference lets in everybody who is signed in.
func environmentMember(param string) Scoped {
	return environment("organisation member", Path(param), func(c *Ctx) bool { return c.IsMember(c.Project.Organisation) }).Missing404()
}

func organisationCatalogue(*Ctx, struct{}) ([]catalogueEntry, error) {
	return catalogue(fsm.LevelOrganisation), nil
}

func projectCatalogue(*Ctx, struct{}) ([]catalogueEntry, error) {
	return catalogue(fsm.LevelProject), nil
}

func environmentCatalogue(*Ctx, struct{}) ([]catalogueEntry, error) {
	return catalogue(fsm.LevelEnvironment), nil
}

func myOrganisationPermissions(c *Ctx, _ struct{}) (myPermissions, error) {
	if c.Principal.Key != nil {
		return myPermissions{}, route.PermissionDenied()
	}
	return c.myPermissions(fsm.LevelOrganisation, c.Organisation.ID, c.IsOrganisationAdmin(c.Organisation.ID)), nil
}

func myProjectPermissions(c *Ctx, _ struct{}) (myPermissions, error) {
	if c.Principal.Key != nil {
		return myPermissions{}, route.BadRequest(msgUserOnly)
	}
	return c.myPermissions(fsm.LevelProject, c.Project.ID, c.IsProjectAdmin(c.Project)), nil
}

func myEnvironmentPermissions(c *Ctx, _ struct{}) (myPermissions, error) {
	if c.Principal.Key != nil {
		return myPermissions{}, route.BadRequest(msgUserOnly)
	}
	return c.myPermissions(fsm.LevelEnvironment, c.Environment.ID, c.IsEnvironmentAdmin(c.Environment)), nil
}

func (c *Ctx) myPermissions(level fsm.Level, object uint64, admin bool) myPermissions {
	return myPermissions{Permissions: GrantOf(c, level, object, c.Principal.UserID()).Keys, Admin: admin}
}

// memberProjectPermissions is my-permissions of somebody else.
func memberProjectPermissions(c *Ctx, in struct {
	User uint64 `path:"user_pk"`
}) (myPermissions, error) {
	role, ok := RoleOf(c, c.Project.Organisation, in.User)
	if !ok {
		return myPermissions{}, route.NotFound(fsm.Users.Name())
	}
	g := GrantOf(c, fsm.LevelProject, c.Project.ID, in.User)
	return myPermissions{Permissions: g.Keys, Admin: g.Admin || role == fsm.RoleAdmin}, nil
}
