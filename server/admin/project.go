package admin

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/eval/pattern"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// projectJSON is a project as lists show it. What belongs to DynamoDB in the reference has the values of an installation without it.
type projectJSON struct {
	ID                                 uint64    `json:"id"`
	UUID                               uuid.UUID `json:"uuid"`
	Name                               string    `json:"name"`
	Organisation                       uint64    `json:"organisation"`
	HideDisabledFlags                  bool      `json:"hide_disabled_flags"`
	EnableDynamoDB                     bool      `json:"enable_dynamo_db"`
	MigrationStatus                    string    `json:"migration_status"`
	UseEdgeIdentities                  bool      `json:"use_edge_identities"`
	PreventFlagDefaults                bool      `json:"prevent_flag_defaults"`
	EnableRealtimeUpdates              bool      `json:"enable_realtime_updates"`
	OnlyAllowLowerCaseFeatureNames     bool      `json:"only_allow_lower_case_feature_names"`
	FeatureNameRegex                   *string   `json:"feature_name_regex"`
	ShowEdgeIdentityOverridesOfFeature bool      `json:"show_edge_identity_overrides_for_feature"`
	StaleFlagsLimitDays                int64     `json:"stale_flags_limit_days"`
	EdgeV2MigrationStatus              string    `json:"edge_v2_migration_status"`
	MinimumChangeRequestApprovals      *int64    `json:"minimum_change_request_approvals"`
	EnforceFeatureOwners               bool      `json:"enforce_feature_owners"`
}

// projectDetail is the project alone.
type projectDetail struct {
	projectJSON
	MaxSegmentsAllowed         int `json:"max_segments_allowed"`
	MaxFeaturesAllowed         int `json:"max_features_allowed"`
	MaxSegmentOverridesAllowed int `json:"max_segment_overrides_allowed"`
	TotalFeatures              int `json:"total_features"`
	TotalSegments              int `json:"total_segments"`
}

type projectRef struct {
	ID uint64 `path:"id"`
}

// projectInput leaves out minimum_change_request_approvals: there are no change requests, and a client that sees it set asks for one.
type projectInput struct {
	Name                           route.Optional[string] `json:"name" v:"required,max=2000"`
	HideDisabledFlags              route.Optional[bool]   `json:"hide_disabled_flags"`
	PreventFlagDefaults            route.Optional[bool]   `json:"prevent_flag_defaults"`
	EnableRealtimeUpdates          route.Optional[bool]   `json:"enable_realtime_updates"`
	OnlyAllowLowerCaseFeatureNames route.Optional[bool]   `json:"only_allow_lower_case_feature_names"`
	FeatureNameRegex               route.Optional[string] `json:"feature_name_regex" v:"null,blank,max=255"`
	StaleFlagsLimitDays            route.Optional[int64]  `json:"stale_flags_limit_days" v:"min=0,max=2147483647"`
	EnforceFeatureOwners           route.Optional[bool]   `json:"enforce_feature_owners"`
}

// Validate refuses a pattern that no name could be matched with.
func (in *projectInput) Validate(e *route.Errors) {
	if r := in.FeatureNameRegex; r.Value != "" && pattern.Python(r.Value) == nil {
		e.Add("feature_name_regex", "Enter a valid regular expression.")
	}
}

type projectCreate struct {
	projectInput
	Organisation uint64 `json:"organisation" v:"required,pk"`
}

func projectRows() []route.Row {
	const list, detail = "/api/v1/projects/", "/api/v1/projects/{id}/"
	admin := ProjectAdmin(Path("id")).Hidden()
	return []route.Row{
		{Method: "GET", Path: list, OperationID: "api_v1_projects_list", Tag: "Projects", Auth: route.Admin, Handler: read(listProjects)},
		{Method: "POST", Path: list, OperationID: "api_v1_projects_create", Tag: "Projects", Auth: route.Admin,
			Permission: Custom("organisation permission CREATE_PROJECT", mayCreateProject), Kind: route.Write, Status: 201, Handler: write(createProject)},
		{Method: "GET", Path: list + "get-by-uuid/{uuid}/", OperationID: "api_v1_projects_get_by_uuid_retrieve", Tag: "Projects", Auth: route.Admin,
			Handler: read(projectByUUID)},
		{Method: "GET", Path: detail, OperationID: "get_project", Tag: "Projects", Auth: route.Admin,
			Permission: ProjectPermission("VIEW_PROJECT", Path("id")).Hidden(), Handler: read(getProject)},
		{Method: "PUT", Path: detail, OperationID: "update_project", Tag: "Projects", Auth: route.Admin, Permission: admin,
			Kind: route.Write, Handler: write(updateProject)},
		{Method: "PATCH", Path: detail, OperationID: "api_v1_projects_partial_update", Tag: "Projects", Auth: route.Admin, Permission: admin,
			Kind: route.Write, Handler: write(updateProject)},
		{Method: "DELETE", Path: detail, OperationID: "api_v1_projects_destroy", Tag: "Projects", Auth: route.Admin, Permission: admin,
			Kind: route.Write, Status: 204, Handler: write(deleteProject)},
		{Method: "GET", Path: detail + "environments/", OperationID: "list_project_environments", Tag: "Projects", Auth: route.Admin, Permission: admin,
			Handler: read(projectEnvironments)},
		{Method: "POST", Path: detail + "migrate-to-edge/", OperationID: "api_v1_projects_migrate_to_edge_create", Tag: "Projects", Auth: route.Admin,
			Permission: admin, Handler: read(migrateToEdge), Deprecated: true},
	}
}

// mayCreateProject leaves a missing organisation to validation: the reference fails there.
func mayCreateProject(c *Ctx) error {
	ref := Body("organisation")
	if c.BodyMember(ref.name).Kind == route.Missing {
		return nil
	}
	id, _ := ref.id(c)
	o, ok := fsm.Organisations.Get(c, id)
	allowed := ok && c.HasOrganisation(o.ID, "CREATE_PROJECT")
	if ok && o.RestrictProjectCreateToAdmin {
		allowed = c.IsOrganisationAdmin(o.ID)
	}
	if !allowed {
		return route.PermissionDenied()
	}
	c.Organisation = o
	return projectFree(c, o)
}

// ownProjects lists the projects that the caller may see, by id.
func (c *Ctx) ownProjects(organisation uint64) []fsm.Project {
	var own []fsm.Project
	for _, o := range c.ownOrganisations() {
		if organisation != 0 && o.ID != organisation {
			continue
		}
		for p := range fsm.ProjectsByOrganisation.All(c, o.ID) {
			if c.HasProject(p, "VIEW_PROJECT") {
				own = append(own, p)
			}
		}
	}
	return own
}

func listProjects(c *Ctx, in struct {
	Organisation string `query:"organisation"`
	UUID         string `query:"uuid" v:"uuid"`
}) ([]projectJSON, error) {
	var organisation uint64
	if in.Organisation != "" {
		id, err := strconv.ParseUint(in.Organisation, 10, 63)
		if err != nil {
			return nil, route.FieldText("organisation", "Must be a valid integer.")
		}
		organisation = id
	}
	out := []projectJSON{}
	for _, p := range c.ownProjects(organisation) {
		if (in.UUID == "" || p.UUID.String() == in.UUID) && (in.Organisation == "" || p.Organisation == organisation) {
			out = append(out, renderProject(p))
		}
	}
	slices.SortFunc(out, func(a, b projectJSON) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

func createProject(c *Ctx, in projectCreate) (projectJSON, error) {
	p := fsm.Project{UUID: c.Tx.NewUUID(), Organisation: c.Organisation.ID, CreatedDate: c.Now(), OnlyAllowLowerCaseNames: true, StaleFlagsLimitDays: 30}
	in.apply(&p)
	if err := projectNameFree(c, p); err != nil {
		return projectJSON{}, err
	}
	p = fsm.Projects.Put(c.Tx, p)
	makeAdmin(c, fsm.LevelProject, p.ID)
	return renderProject(p), nil
}

// makeAdmin gives the calling user an admin row; a key needs none.
func makeAdmin(c *Ctx, level fsm.Level, object uint64) {
	if user := c.Principal.UserID(); user != 0 {
		fsm.Permissions.Put(c.Tx, fsm.Permission{Level: level, Object: object, User: user, Admin: true})
	}
}

func projectNameFree(c *Ctx, p fsm.Project) error {
	for other := range fsm.ProjectsByOrganisation.Refs(c, p.Organisation) {
		if other.Name == p.Name && other.ID != p.ID {
			return route.NonField("A project with this name already exists.")
		}
	}
	return nil
}

func projectByUUID(c *Ctx, in struct {
	UUID uuid.UUID `path:"uuid"`
}) (projectDetail, error) {
	p, ok := fsm.ProjectsByUUID.First(c, in.UUID)
	if !ok || !c.HasProject(p, "VIEW_PROJECT") {
		return projectDetail{}, route.NotFound(fsm.Projects.Name())
	}
	return c.renderProjectDetail(p), nil
}

func getProject(c *Ctx, _ projectRef) (projectDetail, error) {
	return c.renderProjectDetail(c.Project), nil
}

func updateProject(c *Ctx, in projectInput) (projectJSON, error) {
	p := c.Project
	in.apply(&p)
	if err := projectNameFree(c, p); err != nil {
		return projectJSON{}, err
	}
	before := c.Project
	if p.Name != before.Name || p.HideDisabledFlags != before.HideDisabledFlags || p.EnableRealtimeUpdates != before.EnableRealtimeUpdates {
		c.Tx.TouchProject(p.ID) // answers to clients show these
	}
	return renderProject(fsm.Projects.Put(c.Tx, p)), nil
}

func deleteProject(c *Ctx, _ projectRef) (route.Empty, error) {
	deleteProjectTree(c, c.Project)
	return c.OK()
}

func projectEnvironments(c *Ctx, _ projectRef) ([]environmentJSON, error) {
	return mapped(fsm.EnvironmentsByProject.List(c, c.Project.ID), renderEnvironment), nil
}

func migrateToEdge(*Ctx, projectRef) (route.Empty, error) {
	return route.Empty{}, route.BadRequest("Dynamo DB is not enabled for this project")
}

func (in projectInput) apply(p *fsm.Project) {
	in.Name.Into(&p.Name)
	in.HideDisabledFlags.Into(&p.HideDisabledFlags)
	in.PreventFlagDefaults.Into(&p.PreventFlagDefaults)
	in.EnableRealtimeUpdates.Into(&p.EnableRealtimeUpdates)
	in.OnlyAllowLowerCaseFeatureNames.Into(&p.OnlyAllowLowerCaseNames)
	in.FeatureNameRegex.IntoPtr(&p.FeatureNameRegex)
	in.StaleFlagsLimitDays.Into(&p.StaleFlagsLimitDays)
	in.EnforceFeatureOwners.Into(&p.EnforceFeatureOwners)
}

func renderProject(p fsm.Project) projectJSON {
	return projectJSON{
		ID: p.ID, UUID: p.UUID, Name: p.Name, Organisation: p.Organisation, HideDisabledFlags: p.HideDisabledFlags,
		MigrationStatus: "NOT_APPLICABLE", PreventFlagDefaults: p.PreventFlagDefaults, EnableRealtimeUpdates: p.EnableRealtimeUpdates,
		OnlyAllowLowerCaseFeatureNames: p.OnlyAllowLowerCaseNames, FeatureNameRegex: p.FeatureNameRegex,
		StaleFlagsLimitDays: p.StaleFlagsLimitDays, EdgeV2MigrationStatus: "NOT_STARTED",
		MinimumChangeRequestApprovals: p.MinimumChangeRequestApprovals, EnforceFeatureOwners: p.EnforceFeatureOwners,
	}
}

func (c *Ctx) renderProjectDetail(p fsm.Project) projectDetail {
	o := c.Env.Options
	return projectDetail{projectJSON: renderProject(p), MaxSegmentsAllowed: cmp.Or(o.MaxSegments, shownSegments),
		MaxFeaturesAllowed: cmp.Or(o.MaxFeatures, shownFeatures), MaxSegmentOverridesAllowed: cmp.Or(o.MaxSegmentOverrides, shownSegmentOverrides), TotalFeatures: fsm.FeaturesByProject.Count(c, p.ID),
		TotalSegments: fsm.SegmentsByProject.Count(c, p.ID)}
}
