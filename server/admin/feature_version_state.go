package admin

import (
	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// versionStateInput is a state of a version: the default, or with feature_segment an override.
type versionStateInput struct {
	Enabled route.Optional[bool]                   `json:"enabled"`
	Value   route.Optional[typedInput]             `json:"feature_state_value" v:"required"`
	Segment route.Optional[overridingSegmentInput] `json:"feature_segment" v:"null"`
	Shares  route.Optional[[]shareInput]           `json:"multivariate_feature_state_values" v:"null"`
}

// state is the input without its segment.
func (in versionStateInput) state() featureStateInput {
	return featureStateInput{Enabled: in.Enabled, Value: in.Value, Shares: in.Shares}
}

type versionStatesRef struct {
	Version uuid.UUID `path:"environment_feature_version_pk"`
}

type versionStateRef struct {
	versionStatesRef
	ID uint64 `path:"id"`
}

type versionStateCreate struct {
	versionStatesRef
	versionStateInput
}

type versionStateUpdate struct {
	versionStateRef
	versionStateInput
}

func featureVersionStateRows() []route.Row {
	const (
		list   = "/api/v1/environments/{environment_pk}/features/{feature_pk}/versions/{environment_feature_version_pk}/featurestates/"
		detail = list + "{id}/"
	)
	denied := route.PermissionDenied()
	view := EnvironmentPermission("VIEW_ENVIRONMENT", PathID("environment_pk")).Refusing(denied).Feature(Path("feature_pk"))
	update := versionPermission("UPDATE_FEATURE_STATE", denied)
	return []route.Row{
		{Method: "GET", Path: list, OperationID: "get_environment_feature_version_states", Tag: "Feature versioning",
			Auth: route.Admin, Permission: view, Handler: read(listVersionStates)},
		{Method: "POST", Path: list, OperationID: "create_environment_feature_version_state", Tag: "Feature versioning",
			Auth: route.Admin, Level: 3, Permission: update, Kind: route.Write, Status: 201, Handler: write(createVersionState)},
		{Method: "PUT", Path: detail, OperationID: "update_environment_feature_version_state", Tag: "Feature versioning",
			Auth: route.Admin, Level: 3, Permission: update, Kind: route.Write, Handler: write(updateVersionState)},
		{Method: "PATCH", Path: detail, OperationID: "api_v1_environments_features_versions_featurestates_partial_update", Tag: "Feature versioning",
			Auth: route.Admin, Level: 3, Permission: update, Kind: route.Write, Handler: write(updateVersionState)},
		{Method: "DELETE", Path: detail, OperationID: "api_v1_environments_features_versions_featurestates_destroy", Tag: "Feature versioning",
			Auth: route.Admin, Level: 3, Permission: update, Kind: route.Write, Status: 204, Handler: write(deleteVersionState)},
	}
}

func listVersionStates(c *Ctx, in versionStatesRef) ([]segmentOverride, error) {
	v, err := findFeatureVersion(c, in.Version)
	return mapped(fsm.StatesOf(c, v), renderVersionState), err
}

func createVersionState(c *Ctx, in versionStateCreate) (segmentOverride, error) {
	d, err := changeableVersion(c, in.versionStatesRef)
	if err != nil {
		return segmentOverride{}, err
	}
	errs := &route.Errors{}
	s, err := d.create(in.versionStateInput, errs)
	if err == nil {
		err = errs.Err()
	}
	return renderVersionState(s), err
}

func updateVersionState(c *Ctx, in versionStateUpdate) (segmentOverride, error) {
	d, s, err := findVersionState(c, in.versionStateRef)
	if err != nil {
		return segmentOverride{}, err
	}
	s, err = d.update(s, in.versionStateInput)
	return renderVersionState(s), err
}

func deleteVersionState(c *Ctx, in versionStateRef) (route.Empty, error) {
	d, s, err := findVersionState(c, in)
	if err != nil {
		return c.fail(err)
	}
	if s.State.Kind() == fsm.StateDefault {
		return c.fail(route.BadRequest("Cannot delete environment default feature state."))
	}
	d.remove(s)
	return c.OK()
}

// changeableVersion opens the version in the path, if it was not published.
func changeableVersion(c *Ctx, in versionStatesRef) (*draft, error) {
	v, err := findFeatureVersion(c, in.Version)
	if err != nil {
		return nil, err
	}
	if v.Published() {
		return nil, route.BadRequest(MsgVersionPublished)
	}
	return openDraft(c, v), nil
}

// findVersionState opens the version in the path and gets a state of it.
func findVersionState(c *Ctx, in versionStateRef) (*draft, fsm.FeatureVersionState, error) {
	d, err := changeableVersion(c, in.versionStatesRef)
	if err != nil {
		return nil, fsm.FeatureVersionState{}, err
	}
	s, ok := fsm.FeatureVersionStates.Get(c, in.ID)
	if !ok || s.Version != d.version.ID {
		return nil, s, route.NotFound(fsm.FeatureStates.Name())
	}
	return d, s, nil
}

// renderVersionState shows a state without the time of its version.
func renderVersionState(s fsm.FeatureVersionState) segmentOverride {
	return renderSegmentOverride(s.State, s.Link)
}
