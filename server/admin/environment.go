package admin

import (
	"strconv"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/credential"
	"github.com/flagraft/flagraft/server/route"
)

// environmentJSON is an environment as the project's list and the audit log show it.
type environmentJSON struct {
	ID                                uint64    `json:"id"`
	UUID                              uuid.UUID `json:"uuid"`
	Name                              string    `json:"name"`
	APIKey                            string    `json:"api_key"`
	Description                       *string   `json:"description"`
	Project                           uint64    `json:"project"`
	MinimumChangeRequestApprovals     *int64    `json:"minimum_change_request_approvals"`
	AllowClientTraits                 bool      `json:"allow_client_traits"`
	BannerText                        *string   `json:"banner_text"`
	BannerColour                      *string   `json:"banner_colour"`
	HideDisabledFlags                 *bool     `json:"hide_disabled_flags"`
	UseMVV2Evaluation                 bool      `json:"use_mv_v2_evaluation"`
	UseIdentityCompositeKeyForHashing bool      `json:"use_identity_composite_key_for_hashing"`
	HideSensitiveData                 bool      `json:"hide_sensitive_data"`
	UseV2FeatureVersioning            bool      `json:"use_v2_feature_versioning"`
	UseIdentityOverridesInLocalEval   bool      `json:"use_identity_overrides_in_local_eval"`
	IsCreating                        bool      `json:"is_creating"`
}

// environmentWithMetadata is an environment as its own endpoints show it.
type environmentWithMetadata struct {
	environmentJSON
	Metadata []metadata `json:"metadata"`
}

// environmentDetail is the environment alone.
type environmentDetail struct {
	environmentWithMetadata
	TotalSegmentOverrides int `json:"total_segment_overrides"`
}

type environmentRef struct {
	APIKey string `path:"api_key"`
}

// environmentInput leaves out minimum_change_request_approvals, as projectInput does.
type environmentInput struct {
	Name                              route.Optional[string] `json:"name" v:"required,max=2000"`
	APIKey                            route.Optional[string] `json:"api_key" v:"max=100"`
	Description                       route.Optional[string] `json:"description" v:"null,blank,max=20000"`
	AllowClientTraits                 route.Optional[bool]   `json:"allow_client_traits"`
	BannerText                        route.Optional[string] `json:"banner_text" v:"null,blank,max=255"`
	BannerColour                      route.Optional[string] `json:"banner_colour" v:"null,blank,max=7"`
	HideDisabledFlags                 route.Optional[bool]   `json:"hide_disabled_flags" v:"null"`
	UseIdentityCompositeKeyForHashing route.Optional[bool]   `json:"use_identity_composite_key_for_hashing"`
	HideSensitiveData                 route.Optional[bool]   `json:"hide_sensitive_data"`
	UseIdentityOverridesInLocalEval   route.Optional[bool]   `json:"use_identity_overrides_in_local_eval"`
	Metadata                          metadataList           `json:"metadata"`
}

type environmentCreate struct {
	environmentInput
	Project uint64 `json:"project" v:"required,pk"` // c.Project by now
}

// Validate keeps chosen keys usable.
func (in *environmentInput) Validate(e *route.Errors) {
	if msg := credential.EnvironmentKeyFault(in.APIKey.Value); msg != "" {
		e.Add("api_key", msg)
	}
}

func environmentRows() []route.Row {
	const list, detail = "/api/v1/environments/", "/api/v1/environments/{api_key}/"
	view, admin := EnvironmentPermission("VIEW_ENVIRONMENT", Path("api_key")).Missing404(), EnvironmentAdmin(Path("api_key")).Missing404()
	return []route.Row{
		{Method: "GET", Path: list, OperationID: "list_environments", Tag: "Environments", Summary: "List the environments of a project.",
			Auth: route.Admin, Permission: Custom("project named by ?project=", environmentsProject), Handler: read(listEnvironments)},
		{Method: "POST", Path: list, OperationID: "api_v1_environments_create", Tag: "Environments", Auth: route.Admin,
			Permission: ProjectPermission("CREATE_ENVIRONMENT", Body("project")), Kind: route.Write, Status: 201, Handler: write(createEnvironment)},
		{Method: "GET", Path: list + "get-by-uuid/{uuid}/", OperationID: "api_v1_environments_get_by_uuid_retrieve", Tag: "Environments",
			Auth: route.Admin, Handler: read(environmentByUUID)},
		{Method: "GET", Path: detail, OperationID: "api_v1_environments_retrieve", Tag: "Environments", Auth: route.Admin, Permission: view,
			Handler: read(getEnvironment)},
		{Method: "PUT", Path: detail, OperationID: "api_v1_environments_update", Tag: "Environments", Auth: route.Admin, Permission: admin,
			Kind: route.Write, Handler: write(updateEnvironment)},
		{Method: "PATCH", Path: detail, OperationID: "api_v1_environments_partial_update", Tag: "Environments", Auth: route.Admin, Permission: admin,
			Kind: route.Write, Handler: write(updateEnvironment)},
		{Method: "DELETE", Path: detail, OperationID: "api_v1_environments_destroy", Tag: "Environments", Auth: route.Admin, Permission: admin,
			Kind: route.Write, Status: 204, Handler: write(deleteEnvironment)},
		{Method: "GET", Path: detail + "document/", OperationID: "api_v1_environments_document_retrieve", Tag: "Environments", Auth: route.Admin,
			Permission: view, Media: "application/json", Handler: read(environmentDocument)},
	}
}

// environmentsProject finds the project of a list; the reference tells a missing project from one without visible environments.
func environmentsProject(c *Ctx) error {
	id, _ := strconv.ParseUint(c.Query().Get("project"), 10, 63)
	p, ok := fsm.Projects.Get(c, id)
	if !ok {
		return route.BareArray("Invalid or missing value for project parameter.")
	}
	c.Project = p
	return nil
}

func listEnvironments(c *Ctx, _ struct {
	Project string `query:"project" types:"integer"`
}) (route.Page[environmentWithMetadata], error) {
	var shown []fsm.Environment
	for e := range fsm.EnvironmentsByProject.All(c, c.Project.ID) {
		if c.HasEnvironment(e, "VIEW_ENVIRONMENT") {
			shown = append(shown, e)
		}
	}
	return paginate(c, shown, c.renderEnvironment)
}

func createEnvironment(c *Ctx, in environmentCreate) (environmentWithMetadata, error) {
	e := newEnvironment(c.Tx, c.Project.ID)
	in.apply(&e)
	if err := environmentFree(c, e); err != nil {
		return environmentWithMetadata{}, err
	}
	if err := c.metadataFault(fsm.ContentEnvironment, in.Metadata, true); err != nil {
		return environmentWithMetadata{}, err
	}
	e = putNewEnvironment(c, e)
	c.putMetadata(fsm.ContentEnvironment, e.ID, in.Metadata)
	for _, f := range fsm.FeaturesByProject.List(c, c.Project.ID) {
		createDefaultState(c.Tx, c.Project, f, e.ID)
	}
	return c.renderEnvironment(e), nil
}

// newEnvironment has the defaults of new environments; it is not stored.
func newEnvironment(tx *fsm.Tx, project uint64) fsm.Environment {
	return fsm.Environment{
		UUID: tx.NewUUID(), APIKey: credential.NewEnvironmentKey(), Project: project, CreatedDate: tx.Now(), AllowClientTraits: true,
		UseCompositeKeyForHashing: true, UseMVV2Evaluation: true, UseIdentityOverridesInLocal: true,
	}
}

// putNewEnvironment stores an environment of c.Project with what every new one gets.
func putNewEnvironment(c *Ctx, e fsm.Environment) fsm.Environment {
	e.UpdatedAt = c.Now()
	e = fsm.Environments.Put(c.Tx, e)
	makeAdmin(c, fsm.LevelEnvironment, e.ID)
	c.Audit(e.ID, fsm.AuditEnvironment, e.ID, "New Environment created: "+e.Name)
	return e
}

// environmentFree checks what must be unique: the name within the project, the key among all keys.
func environmentFree(c *Ctx, e fsm.Environment) error {
	for other := range fsm.EnvironmentsByAPIKey.Refs(c, e.APIKey) {
		if other.ID != e.ID {
			return route.Field("api_key", "environment with this api key already exists.")
		}
	}
	if was := fsm.Environments.Ref(c, e.ID); was != nil && was.Name == e.Name {
		return nil // a clone may have the name of another; it keeps it
	}
	for other := range fsm.EnvironmentsByProject.Refs(c, e.Project) {
		if other.Name == e.Name && other.ID != e.ID {
			return route.NonField("An environment with this name already exists.")
		}
	}
	return nil
}

func environmentByUUID(c *Ctx, in struct {
	UUID uuid.UUID `path:"uuid"`
}) (environmentDetail, error) {
	e, ok := fsm.EnvironmentsByUUID.First(c, in.UUID)
	if !ok {
		return environmentDetail{}, route.NotFound(fsm.Environments.Name())
	}
	if !c.HasEnvironment(e, "VIEW_ENVIRONMENT") {
		return environmentDetail{}, route.PermissionDenied()
	}
	return c.renderEnvironmentDetail(e), nil
}

func getEnvironment(c *Ctx, _ environmentRef) (environmentDetail, error) {
	return c.renderEnvironmentDetail(c.Environment), nil
}

func updateEnvironment(c *Ctx, in environmentInput) (environmentWithMetadata, error) {
	e := c.Environment
	in.apply(&e)
	if err := environmentFree(c, e); err != nil {
		return environmentWithMetadata{}, err
	}
	if err := c.metadataFault(fsm.ContentEnvironment, in.Metadata, false); err != nil {
		return environmentWithMetadata{}, err
	}
	fsm.Environments.Put(c.Tx, e)
	c.putMetadata(fsm.ContentEnvironment, e.ID, in.Metadata)
	c.Audit(e.ID, fsm.AuditEnvironment, e.ID, "Environment updated: "+e.Name)
	return c.renderEnvironment(e), nil
}

func deleteEnvironment(c *Ctx, _ environmentRef) (route.Empty, error) {
	deleteEnvironmentTree(c, c.Environment)
	return c.OK()
}

// environmentDocument is the document of local evaluation, for administrators.
func environmentDocument(c *Ctx, _ environmentRef) (route.Blob, error) {
	if c.Env.Document == nil {
		return route.Blob{}, route.Unavailable("The server is starting.", 1)
	}
	doc, err := c.Env.Document(c.Environment.ID)
	return route.Blob{ContentType: "application/json", Data: doc}, err
}

func (in environmentInput) apply(e *fsm.Environment) {
	in.Name.Into(&e.Name)
	in.APIKey.Into(&e.APIKey)
	in.Description.IntoPtr(&e.Description)
	in.AllowClientTraits.Into(&e.AllowClientTraits)
	in.BannerText.IntoPtr(&e.BannerText)
	in.BannerColour.IntoPtr(&e.BannerColour)
	in.HideDisabledFlags.IntoPtr(&e.HideDisabledFlags)
	in.UseIdentityCompositeKeyForHashing.Into(&e.UseCompositeKeyForHashing)
	in.HideSensitiveData.Into(&e.HideSensitiveData)
	in.UseIdentityOverridesInLocalEval.Into(&e.UseIdentityOverridesInLocal)
	e.UseMVV2Evaluation = e.UseCompositeKeyForHashing // a mirror
}

func renderEnvironment(e fsm.Environment) environmentJSON {
	return environmentJSON{
		ID: e.ID, UUID: e.UUID, Name: e.Name, APIKey: e.APIKey, Description: e.Description, Project: e.Project,
		MinimumChangeRequestApprovals: e.MinimumChangeRequestApprovals, AllowClientTraits: e.AllowClientTraits, BannerText: e.BannerText,
		BannerColour: e.BannerColour, HideDisabledFlags: e.HideDisabledFlags, UseMVV2Evaluation: e.UseCompositeKeyForHashing,
		UseIdentityCompositeKeyForHashing: e.UseCompositeKeyForHashing, HideSensitiveData: e.HideSensitiveData,
		UseV2FeatureVersioning: e.UseV2FeatureVersioning, UseIdentityOverridesInLocalEval: e.UseIdentityOverridesInLocal,
	}
}

func (c *Ctx) renderEnvironment(e fsm.Environment) environmentWithMetadata {
	return environmentWithMetadata{environmentJSON: renderEnvironment(e), Metadata: metadataOf(c, fsm.ContentEnvironment, e.ID)}
}

func (c *Ctx) renderEnvironmentDetail(e fsm.Environment) environmentDetail {
	return environmentDetail{environmentWithMetadata: c.renderEnvironment(e),
		TotalSegmentOverrides: fsm.FeatureStatesByEnvironment.Count(c, e.ID, fsm.StateSegment)}
}
