package admin

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// featureVersion is one version of a feature in an environment, as the API shows it.
type featureVersion struct {
	CreatedAt   fsm.Time  `json:"created_at"`
	UpdatedAt   fsm.Time  `json:"updated_at"`
	Published   bool      `json:"published"`
	LiveFrom    fsm.Time  `json:"live_from"` // null: a draft
	UUID        uuid.UUID `json:"uuid"`
	IsLive      bool      `json:"is_live"` // past ones too
	PublishedBy *uint64   `json:"published_by"`
	CreatedBy   *uint64   `json:"created_by"`
	Description *string   `json:"description"`
}

// featureVersionDetail is a version alone.
type featureVersionDetail struct {
	featureVersion
	Previous    *uuid.UUID `json:"previous_version_uuid"`
	Feature     uint64     `json:"feature"`
	Environment uint64     `json:"environment"`
}

// publishedVersion is all that publishing answers.
type publishedVersion struct {
	LiveFrom fsm.Time `json:"live_from"`
}

type featureVersionRef struct {
	UUID uuid.UUID `path:"id"`
}

type featureVersionInput struct {
	Description route.Optional[string]              `json:"description" v:"null,blank"`
	LiveFrom    route.Optional[fsm.Time]            `json:"live_from" v:"null"`
	Publish     bool                                `json:"publish_immediately"`
	Create      route.Optional[[]versionStateInput] `json:"feature_states_to_create" v:"null"`
	Update      route.Optional[[]versionStateInput] `json:"feature_states_to_update" v:"null"`
	Delete      route.Optional[[]uint64]            `json:"segment_ids_to_delete_overrides" v:"null"`
}

// MsgNeedsV2 refuses versions in environments without them.
const MsgNeedsV2 = "Environment must use v2 feature versioning."

// MsgVersionPublished refuses to change what was published.
const MsgVersionPublished = "Cannot modify published version."

func featureVersionRows() []route.Row {
	const list, detail, alone = "/api/v1/environments/{environment_pk}/features/{feature_pk}/versions/",
		"/api/v1/environments/{environment_pk}/features/{feature_pk}/versions/{id}/", "/api/v1/environment-feature-versions/{id}/"
	update := versionPermission("UPDATE_FEATURE_STATE", route.PermissionDenied())
	return []route.Row{
		{Method: "GET", Path: list, OperationID: "get_environment_feature_versions", Tag: "Feature versioning", Auth: route.Admin,
			Summary:    "List the versions of a feature in an environment, the newest first.",
			Permission: versionPermission("VIEW_ENVIRONMENT", route.NotFound(fsm.Environments.Name())), Handler: read(listFeatureVersions)},
		{Method: "POST", Path: list, OperationID: "create_environment_feature_version", Tag: "Feature versioning", Auth: route.Admin, Level: 3,
			Summary:    "Make a version out of the live one, changed as the body says; nothing of it is served before it is published.",
			Permission: update, Kind: route.Write, Status: 201, Handler: write(createFeatureVersion)},
		{Method: "DELETE", Path: detail, OperationID: "api_v1_environments_features_versions_destroy", Tag: "Feature versioning", Auth: route.Admin,
			Summary: "Delete a version that has not become live.", Level: 3,
			Permission: update, Kind: route.Write, Status: 204, Handler: write(deleteFeatureVersion)},
		{Method: "POST", Path: detail + "publish/", OperationID: "publish_environment_feature_version", Tag: "Feature versioning", Auth: route.Admin,
			Summary: "Make a version live, now or at live_from.", Level: 3, Permission: update, Kind: route.Write, Handler: write(publishFeatureVersion)},
		{Method: "GET", Path: alone, OperationID: "api_v1_environment_feature_versions_retrieve", Tag: "Feature versioning", Auth: route.Admin,
			Permission: Custom("environment permission VIEW_ENVIRONMENT", mayViewVersion), Handler: read(getFeatureVersion)},
	}
}

// versionPermission asks for a key of the environment whose id is in the path, and for seeing environment and project; the feature in the
// path is loaded too.
func versionPermission(key string, refusal error) route.Permission {
	environment := EnvironmentPermission(key, PathID("environment_pk")).Refusing(refusal)
	return All(environment.Feature(Path("feature_pk")), Custom("environment VIEW_ENVIRONMENT and project VIEW_PROJECT", func(c *Ctx) error {
		if !c.HasEnvironment(c.Environment, "VIEW_ENVIRONMENT") || !c.HasProject(c.Project, "VIEW_PROJECT") {
			return refusal
		}
		return nil
	}))
}

func mayViewVersion(c *Ctx) error {
	id, err := uuid.Parse(c.Param("id"))
	if err != nil {
		return route.NotFoundDetail()
	}
	v, ok := fsm.FeatureVersionsByUUID.First(c, id)
	if !ok {
		return route.NotFound(fsm.FeatureVersions.Name())
	}
	if !c.loadEnvironment(v.Environment) || !c.HasEnvironment(c.Environment, "VIEW_ENVIRONMENT") {
		return route.PermissionDenied()
	}
	return nil
}

func listFeatureVersions(c *Ctx, in struct {
	IsLive route.Optional[bool] `query:"is_live"`
}) (route.SizedPage[featureVersion], error) {
	rows := fsm.FeatureVersionsByEnvironment.List(c, c.Environment.ID, c.Feature.ID)
	if in.IsLive.Set {
		rows = slices.DeleteFunc(rows, func(v fsm.FeatureVersion) bool { return v.Live() != in.IsLive.Value })
	}
	slices.SortFunc(rows, newestVersion)
	return paginateSized(c, rows, c.renderFeatureVersion)
}

// newestVersion sorts versions: those that have no time yet, then the latest.
func newestVersion(a, b fsm.FeatureVersion) int {
	if a.LiveFrom.IsZero() != b.LiveFrom.IsZero() {
		return cmp.Compare(a.LiveFrom, b.LiveFrom)
	}
	return cmp.Or(cmp.Compare(b.LiveFrom, a.LiveFrom), cmp.Compare(b.ID, a.ID))
}

func createFeatureVersion(c *Ctx, in featureVersionInput) (featureVersion, error) {
	if !c.Environment.UseV2FeatureVersioning {
		return featureVersion{}, route.FieldText("environment", MsgNeedsV2)
	}
	d := newDraft(c, fsm.FeatureVersion{LiveFrom: in.LiveFrom.Value})
	in.Description.IntoPtr(&d.version.Description)
	if err := in.change(d); err != nil {
		return featureVersion{}, err
	}
	if in.Publish {
		d.publish()
	}
	return c.renderFeatureVersion(fsm.FeatureVersions.Put(c.Tx, d.version)), nil
}

// change makes a draft what the input says.
func (in featureVersionInput) change(d *draft) error {
	for i, state := range in.Create.Value {
		errs := &route.Errors{}
		if _, err := d.create(state, errs.At("feature_states_to_create").Item(i)); err != nil {
			return err
		}
		if err := errs.Err(); err != nil {
			return err
		}
	}
	for _, state := range in.Update.Value {
		s := d.find(state.Segment.Value.Segment)
		if s == nil && state.Segment.Value.Segment == 0 {
			s = d.addDefault()
		}
		if s == nil {
			return d.conflict("segment override does not exist for segment '" + segmentName(d.c, state.Segment.Value.Segment) + "'.")
		}
		if _, err := d.update(*s, state); err != nil {
			return err
		}
	}
	for _, segment := range in.Delete.Value {
		for s := d.find(segment); s != nil && segment != 0; s = d.find(segment) {
			d.remove(*s)
		}
	}
	return nil
}

func getFeatureVersion(c *Ctx, in featureVersionRef) (featureVersionDetail, error) {
	v, ok := fsm.FeatureVersionsByUUID.First(c, in.UUID)
	if !ok {
		return featureVersionDetail{}, route.NotFound(fsm.FeatureVersions.Name())
	}
	return featureVersionDetail{featureVersion: c.renderFeatureVersion(v), Previous: previousVersion(c, v), Feature: v.Feature, Environment: v.Environment}, nil
}

// previousVersion is the newest published version that is older than v, which is as old as now until it has a time.
func previousVersion(c *Ctx, v fsm.FeatureVersion) *uuid.UUID {
	before := v.LiveFrom
	if before.IsZero() {
		before = c.Now()
	}
	var previous *fsm.FeatureVersion
	for o := range fsm.FeatureVersionsByEnvironment.Refs(c, v.Environment, v.Feature) {
		if o.ID != v.ID && o.Published() && o.LiveFrom < before && (previous == nil || o.LiveFrom >= previous.LiveFrom) {
			previous = o
		}
	}
	if previous == nil {
		return nil
	}
	return &previous.UUID
}

// findFeatureVersion gets a version of the feature and the environment in the path.
func findFeatureVersion(c *Ctx, id uuid.UUID) (fsm.FeatureVersion, error) {
	v, ok := fsm.FeatureVersionsByUUID.First(c, id)
	if !ok || v.Environment != c.Environment.ID || v.Feature != c.Feature.ID {
		return v, route.NotFound(fsm.FeatureVersions.Name())
	}
	return v, nil
}

// deleteFeatureVersion also takes back what is scheduled.
func deleteFeatureVersion(c *Ctx, in featureVersionRef) (route.Empty, error) {
	v, err := findFeatureVersion(c, in.UUID)
	if err != nil {
		return c.fail(err)
	}
	if v.Live() {
		return c.fail(route.BadRequest("Cannot delete a live version."))
	}
	dropVersion(c, v)
	return c.OK()
}

// dropVersion deletes a version that is not live, with what it holds.
func dropVersion(c *Ctx, v fsm.FeatureVersion) {
	fsm.FeatureVersionStatesByVersion.DeleteAll(c.Tx, v.ID)
	fsm.FeatureVersions.Delete(c.Tx, v.ID)
}

// publishFeatureVersion publishes a draft, or moves a scheduled version to another time.
func publishFeatureVersion(c *Ctx, in struct {
	featureVersionRef
	LiveFrom route.Optional[fsm.Time] `json:"live_from" v:"null"`
}) (publishedVersion, error) {
	v, err := findFeatureVersion(c, in.UUID)
	if err != nil {
		return publishedVersion{}, err
	}
	if v.Live() {
		return publishedVersion{}, route.BadRequest(MsgVersionPublished)
	}
	d := openDraft(c, v)
	if in.LiveFrom.Set {
		d.version.LiveFrom = in.LiveFrom.Value
	}
	d.publish()
	return publishedVersion{d.version.LiveFrom}, nil
}

func (c *Ctx) renderFeatureVersion(v fsm.FeatureVersion) featureVersion {
	return featureVersion{CreatedAt: v.CreatedAt, UpdatedAt: v.UpdatedAt, Published: v.Published(), LiveFrom: v.LiveFrom, UUID: v.UUID,
		IsLive: v.Live(), PublishedBy: c.userOrNull(v.PublishedBy), CreatedBy: c.userOrNull(v.CreatedBy), Description: v.Description}
}
