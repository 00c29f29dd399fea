package admin

import (
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// feature is a flag as the API shows it. Create answers lack the last member, PATCH answers IsNumComplete, as in the reference.
type feature struct {
	ID                   uint64                 `json:"id"`
	Name                 string                 `json:"name"`
	Type                 fsm.FeatureType        `json:"type"`
	DefaultEnabled       bool                   `json:"default_enabled"`
	InitialValue         *string                `json:"initial_value"`
	CreatedDate          fsm.Time               `json:"created_date"`
	Description          *string                `json:"description"`
	Tags                 []uint64               `json:"tags"`
	Options              []nestedOption         `json:"multivariate_options"`
	IsArchived           bool                   `json:"is_archived"`
	Owners               []userSummary          `json:"owners"`
	GroupOwners          []featureGroup         `json:"group_owners"`
	UUID                 uuid.UUID              `json:"uuid"`
	Project              uint64                 `json:"project"`
	EnvironmentState     *smallState            `json:"environment_feature_state"`
	SegmentState         *smallState            `json:"segment_feature_state"`
	SegmentOverrides     int                    `json:"num_segment_overrides"`
	IdentityOverrides    *int                   `json:"num_identity_overrides"`
	IsNumComplete        *bool                  `json:"is_num_identity_overrides_complete,omitempty"`
	IsServerKeyOnly      bool                   `json:"is_server_key_only"`
	LastModifiedAnywhere *string                `json:"last_modified_in_any_environment"`     // only known of versioned environments
	LastModifiedInThis   *string                `json:"last_modified_in_current_environment"` // likewise
	Metadata             []metadata             `json:"metadata"`
	CodeReferences       *[]codeReferencesCount `json:"code_references_counts,omitempty"`
}

type featureRef struct {
	ID uint64 `path:"id"`
}

func featureRows() []route.Row {
	const list, detail = "/api/v1/projects/{project_pk}/features/", "/api/v1/projects/{project_pk}/features/{id}/"
	view := ProjectPermission("VIEW_PROJECT", Path("project_pk")).Hidden()
	edit, remove := ProjectPermission("CREATE_FEATURE", Path("project_pk")), ProjectPermission("DELETE_FEATURE", Path("project_pk"))
	return []route.Row{
		{Method: "GET", Path: list, OperationID: "list_project_features", Tag: "Features", Auth: route.Admin, Permission: view,
			Summary: "List a project's features; environment=<id> adds their states there.", Handler: read(listFeatures)},
		{Method: "POST", Path: list, OperationID: "create_feature", Tag: "Features", Auth: route.Admin, Permission: edit,
			Kind: route.Write, Status: 201, Handler: write(createFeature)},
		{Method: "GET", Path: detail, OperationID: "get_feature_flag", Tag: "Features", Auth: route.Admin, Permission: view.Feature(Path("id")),
			Handler: read(getFeature)},
		{Method: "PUT", Path: detail, OperationID: "update_feature", Tag: "Features", Auth: route.Admin, Permission: edit.Feature(Path("id")),
			Kind: route.Write, Handler: write(putFeature)},
		{Method: "PATCH", Path: detail, OperationID: "api_v1_projects_features_partial_update", Tag: "Features", Auth: route.Admin,
			Permission: edit.Feature(Path("id")), Kind: route.Write, Handler: write(patchFeature)},
		{Method: "DELETE", Path: detail, OperationID: "api_v1_projects_features_destroy", Tag: "Features", Auth: route.Admin,
			Permission: remove.Feature(Path("id")), Kind: route.Write, Status: 204, Handler: write(deleteFeature)},
		{Method: "GET", Path: "/api/v1/features/get-by-uuid/{uuid}/", OperationID: "api_v1_features_get_by_uuid_retrieve", Tag: "Features",
			Auth: route.Admin, NoHead: true, Handler: read(featureByUUID)},
	}
}

func getFeature(c *Ctx, in struct {
	featureRef
	Environment route.Optional[uint64] `query:"environment"`
	Segment     route.Optional[uint64] `query:"segment"`
}) (feature, error) {
	scope, err := c.featureScope(in.Environment, in.Segment)
	if err != nil {
		return feature{}, err
	}
	return scope.render(c.Feature), nil
}

func featureByUUID(c *Ctx, in struct {
	UUID uuid.UUID `path:"uuid"`
}) (feature, error) {
	f, ok := fsm.FeaturesByUUID.First(c, in.UUID)
	if ok {
		c.Project, ok = fsm.Projects.Get(c, f.Project)
	}
	if !ok || !c.HasProject(c.Project, "VIEW_PROJECT") {
		return feature{}, route.NotFound(fsm.Features.Name())
	}
	return featureScope{c: c, mentions: c.codeMentions()}.render(f), nil
}

// maxRemovals is how many identity overrides that go with a feature have a row each in the audit log; of the others there is one for each
// environment. A hundred thousand rows are more than a write may hold, and the feature could not be deleted.
const maxRemovals = 1_000

func deleteFeature(c *Ctx, _ featureRef) (route.Empty, error) {
	f, booked, more := c.Feature, 0, map[uint64]int{}
	for s := range fsm.FeatureStatesByFeature.Refs(c, f.ID) {
		if s.Kind() == fsm.StateIdentity {
			if booked++; booked > maxRemovals {
				more[s.Environment]++
				continue
			}
		}
		auditRemoval(c, *s)
	}
	for _, e := range slices.Sorted(maps.Keys(more)) {
		c.Tx.AuditOnly(fsm.AuditLog{Log: fmt.Sprintf("Flag state / Remote config value deleted for feature '%s' and %d more identities", f.Name, more[e]),
			Project: c.Project.ID, Environment: e, RelatedObjectType: fsm.AuditFeature, RelatedObjectID: f.ID})
	}
	fsm.FeatureStatesByFeature.DeleteAll(c.Tx, f.ID)
	fsm.FeatureSegmentsByFeature.DeleteAll(c.Tx, f.ID)
	fsm.FeatureVersionsByFeature.DeleteAll(c.Tx, f.ID)
	fsm.FeatureVersionStatesByFeature.DeleteAll(c.Tx, f.ID)
	for _, s := range fsm.SegmentsByProject.List(c, f.Project) {
		if s.Feature == f.ID { // only for this feature now, though others may have overrides from before
			removeSegment(c, s)
		}
	}
	deleteFeatureTree(c, f)
	c.Audit(0, fsm.AuditFeature, f.ID, "Flag / Remote Config Deleted: "+f.Name)
	return c.OK()
}

// auditRemoval books that a state goes with its feature, whose own row moves the environments on.
func auditRemoval(c *Ctx, s fsm.FeatureState) {
	row := fsm.AuditLog{Log: stateTexts(c, s).deleted, Project: c.Project.ID, Environment: s.Environment,
		RelatedObjectType: fsm.AuditFeatureState, RelatedObjectID: s.ID}
	if s.Kind() == fsm.StateSegment {
		row.RelatedObjectType, row.RelatedObjectID = fsm.AuditFeature, s.Feature
	}
	c.Tx.AuditOnly(row)
}

// featureScope is what a request wants to see of features: their states in an environment, and in a segment there. It collects what a list
// of features needs once.
type featureScope struct {
	c           *Ctx
	environment uint64                       // 0: none
	versioned   []uint64                     // environments of the project whose features have versions
	segments    map[uint64]*fsm.FeatureState // override of the segment by feature
	users       map[uint64]userSummary
	mentions    *codeMentions
	short       bool // as create answers
}

// featureScope reads the two ids; they must be of the project.
func (c *Ctx) featureScope(environment, segment route.Optional[uint64]) (featureScope, error) {
	scope := featureScope{c: c, users: map[uint64]userSummary{}, mentions: c.codeMentions()}
	if !environment.Set {
		return scope, nil
	}
	if e := fsm.Environments.Ref(c, environment.Value); e == nil || e.Project != c.Project.ID {
		return scope, route.InvalidPK("environment", environment.Value)
	}
	scope.environment = environment.Value
	for e := range fsm.EnvironmentsByProject.Refs(c, c.Project.ID) {
		if e.UseV2FeatureVersioning {
			scope.versioned = append(scope.versioned, e.ID)
		}
	}
	if segment.Set {
		scope.segments = map[uint64]*fsm.FeatureState{}
		wins := map[uint64]int64{} // priority by feature: a segment may override one twice
		for fs := range fsm.FeatureSegmentsBySegment.Refs(c, segment.Value, environment.Value) {
			for s := range fsm.FeatureStatesByFeatureSegment.Refs(c, fs.ID) {
				if best, ok := wins[s.Feature]; s.LiveFrom <= c.Now() && (!ok || fs.Priority < best) {
					scope.segments[s.Feature], wins[s.Feature] = s, fs.Priority
				}
			}
		}
	}
	return scope, nil
}

// defaultState is the feature's default in the environment of the scope, or nil.
func (f featureScope) defaultState(feature uint64) (state *fsm.FeatureState) {
	for s := range fsm.FeatureStatesByEnvironment.Refs(f.c, f.environment, fsm.StateDefault, feature) {
		if s.LiveFrom <= f.c.Now() && (state == nil || s.Version >= state.Version) {
			state = s
		}
	}
	return state
}

func (f featureScope) render(row fsm.Feature) feature {
	yes := true
	out := feature{ID: row.ID, Name: row.Name, Type: row.Type, DefaultEnabled: row.DefaultEnabled, InitialValue: row.InitialValue,
		CreatedDate: row.CreatedDate, Description: row.Description, Tags: row.Tags,
		Options:    mapped(fsm.MultivariateOptionsByFeature.List(f.c, row.ID), renderNestedOption),
		IsArchived: row.IsArchived, Owners: f.owners(row), GroupOwners: groupOwners(f.c, row), UUID: row.UUID, Project: row.Project,
		IsNumComplete: &yes, IsServerKeyOnly: row.IsServerKeyOnly, Metadata: metadataOf(f.c, fsm.ContentFeature, row.ID)}
	if !f.short {
		counts := f.mentions.of(row.Name)
		out.CodeReferences = &counts
	}
	if f.environment == 0 {
		return out
	}
	out.LastModifiedAnywhere, out.LastModifiedInThis = f.lastModified(row.ID)
	out.EnvironmentState = renderSmallState(f.defaultState(row.ID))
	out.SegmentState = renderSmallState(f.segments[row.ID])
	out.SegmentOverrides = f.overridingSegments(row.ID)
	if n := fsm.FeatureStatesByEnvironment.Count(f.c, f.environment, fsm.StateIdentity, row.ID); n > 0 {
		out.IdentityOverrides = &n
	}
	return out
}

// lastModified tells when the versions that are served became live: the newest one, and that of the environment of the scope.
func (f featureScope) lastModified(feature uint64) (anywhere, here *string) {
	var newest, served fsm.Time
	for _, e := range f.versioned {
		v, ok := fsm.ServingVersion(f.c, e, feature)
		if !ok {
			continue
		}
		newest = max(newest, v.LiveFrom)
		if e == f.environment {
			served = v.LiveFrom
		}
	}
	return liveText(newest), liveText(served)
}

// liveText is nil for a version that there is not.
func liveText(from fsm.Time) *string {
	if from.IsZero() {
		return nil
	}
	text := from.Std().Format("2006-01-02T15:04:05.000000+00:00")
	return &text
}

// overridingSegments counts the segments that override the feature in the environment of the scope by now; one may do so twice.
func (f featureScope) overridingSegments(feature uint64) int {
	var seen []uint64
	for s := range fsm.FeatureStatesByEnvironment.Refs(f.c, f.environment, fsm.StateSegment, feature) {
		if fs := fsm.FeatureSegments.Ref(f.c, s.FeatureSegment); fs != nil && s.LiveFrom <= f.c.Now() && !slices.Contains(seen, fs.Segment) {
			seen = append(seen, fs.Segment)
		}
	}
	return len(seen)
}
