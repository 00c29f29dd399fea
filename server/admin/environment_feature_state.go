package admin

import (
	"cmp"
	"slices"
	"strings"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// environmentStateInput is what may be changed of an environment's feature state: PUT and PATCH both change only what is sent.
type environmentStateInput struct {
	Enabled     route.Optional[bool]         `json:"enabled"`
	Value       route.Optional[route.Value]  `json:"feature_state_value"`
	Shares      route.Optional[[]shareInput] `json:"multivariate_feature_state_values" v:"null"`
	Feature     route.Optional[uint64]       `json:"feature" v:"pk"`
	Environment route.Optional[uint64]       `json:"environment" v:"null,pk"`
	LiveFrom    route.Optional[fsm.Time]     `json:"live_from" v:"null"`
}

type environmentStateRef struct {
	ID uint64 `path:"id"`
}

type environmentStateUpdate struct {
	environmentStateRef
	environmentStateInput
}

type environmentStateQuery struct {
	Feature     route.Optional[uint64] `query:"feature"`
	FeatureName route.Optional[string] `query:"feature_name"`
	AnyIdentity route.Optional[string] `query:"anyIdentity"`
}

// MsgUsesV2 refuses direct writes of what versions hold.
const MsgUsesV2 = "This environment uses v2 feature versioning. Use the environment feature version endpoint instead."

// MsgStateExists is the reference's text for a second state of the same kind, its odd form included.
const MsgStateExists = "['Feature state already exists for this environment, feature, version, segment & identity combination']"

func environmentFeatureStateRows() []route.Row {
	const list, detail = "/api/v1/environments/{environment_api_key}/featurestates/", "/api/v1/environments/{environment_api_key}/featurestates/{id}/"
	key := Path("environment_api_key")
	view, update := EnvironmentPermission("VIEW_ENVIRONMENT", key), EnvironmentPermission("UPDATE_FEATURE_STATE", key)
	return []route.Row{
		{Method: "GET", Path: list, OperationID: "api_v1_environments_featurestates_list", Tag: "Feature states", Auth: route.Admin,
			Permission: view, Handler: read(listEnvironmentStates)},
		{Method: "POST", Path: list, OperationID: "api_v1_environments_featurestates_create", Tag: "Feature states", Auth: route.Admin,
			Permission: All(update, existingFeature()), Kind: route.Write, Status: 201, Deprecated: true, Handler: write(createEnvironmentState)},
		{Method: "GET", Path: detail, OperationID: "api_v1_environments_featurestates_retrieve", Tag: "Feature states", Auth: route.Admin,
			Permission: view, Handler: read(getEnvironmentState)},
		{Method: "PUT", Path: detail, OperationID: "update_environment_feature_state", Tag: "Feature states", Auth: route.Admin,
			Permission: update, Kind: route.Write, Handler: write(putEnvironmentState)},
		{Method: "PATCH", Path: detail, OperationID: "api_v1_environments_featurestates_partial_update", Tag: "Feature states", Auth: route.Admin,
			Permission: update, Kind: route.Write, Handler: write(patchEnvironmentState)},
		{Method: "DELETE", Path: detail, OperationID: "api_v1_environments_featurestates_destroy", Tag: "Feature states", Auth: route.Admin,
			Permission: update, Kind: route.Write, Status: 204, Handler: write(deleteEnvironmentState)},
	}
}

// existingFeature refuses a body that names no feature: the reference asks for it with the permission, before it validates.
func existingFeature() route.Permission {
	return Custom("feature in the body", func(c *Ctx) error {
		id, _ := Body("feature").id(c)
		if fsm.Features.Ref(c, id) == nil {
			return route.PermissionDenied()
		}
		return nil
	})
}

func listEnvironmentStates(c *Ctx, in environmentStateQuery) (route.Page[listedState], error) {
	return paginate(c, environmentStates(c, in), c.renderListedState)
}

// environmentStates gives the defaults of the environment, or its identity overrides, by id.
func environmentStates(c *Ctx, in environmentStateQuery) []fsm.FeatureState {
	kind := fsm.StateDefault
	if in.AnyIdentity.Set {
		kind = fsm.StateIdentity
	}
	feature, ok := in.feature(c)
	if !ok {
		return nil
	}
	key := []any{c.Environment.ID, kind}
	if feature.Set {
		key = append(key, feature.Value)
	}
	states := fsm.FeatureStatesByEnvironment.List(c, key...)
	slices.SortFunc(states, func(a, b fsm.FeatureState) int { return cmp.Compare(a.ID, b.ID) })
	return states
}

// feature is the one that is asked for, if any, where an empty name asks for none; ok tells whether there can be one.
func (in environmentStateQuery) feature(c *Ctx) (_ route.Optional[uint64], ok bool) {
	if in.FeatureName.Value == "" {
		return in.Feature, true
	}
	f, ok := fsm.FeaturesByName.First(c, c.Project.ID, strings.ToLower(in.FeatureName.Value))
	return route.Some(f.ID), ok && (!in.Feature.Set || in.Feature.Value == f.ID)
}

func getEnvironmentState(c *Ctx, in environmentStateRef) (rawState, error) {
	s, err := findEnvironmentState(c, in)
	return c.renderRawState(s), err
}

// findEnvironmentState gets a default or an identity override of the environment in the path.
func findEnvironmentState(c *Ctx, in environmentStateRef) (fsm.FeatureState, error) {
	s, ok := fsm.FeatureStates.Get(c, in.ID)
	if !ok || s.Environment != c.Environment.ID || s.Kind() == fsm.StateSegment {
		return s, route.NotFound(fsm.FeatureStates.Name())
	}
	return s, nil
}

func putEnvironmentState(c *Ctx, in environmentStateUpdate) (rawState, error) {
	s, err := changeEnvironmentState(c, in)
	return c.renderRawState(s), err
}

func patchEnvironmentState(c *Ctx, in environmentStateUpdate) (shortState, error) {
	s, err := changeEnvironmentState(c, in)
	return shortState{s.Feature, s.Enabled}, err
}

func changeEnvironmentState(c *Ctx, in environmentStateUpdate) (fsm.FeatureState, error) {
	before, err := findEnvironmentState(c, in.environmentStateRef)
	if err != nil {
		return before, err
	}
	if err := c.directWrite(before); err != nil {
		return before, err
	}
	return in.change(c, before)
}

// change writes what the input says of a state that stays the same feature's.
func (in environmentStateInput) change(c *Ctx, before fsm.FeatureState) (fsm.FeatureState, error) {
	if err := sameState(before, in.Feature, in.Environment); err != nil {
		return before, err
	}
	after := before
	if err := in.apply(c, &after); err != nil {
		return before, err
	}
	return updateState(c, before, after), nil
}

// directWrite refuses to write a state that a version holds.
func (c *Ctx) directWrite(s fsm.FeatureState) error {
	if c.Environment.UseV2FeatureVersioning && s.Kind() != fsm.StateIdentity {
		return route.BadRequest(MsgUsesV2)
	}
	return nil
}

// sameState refuses to move a state to another feature or environment.
func sameState(s fsm.FeatureState, feature, environment route.Optional[uint64]) error {
	errs := &route.Errors{}
	if feature.Set && feature.Value != s.Feature {
		errs.Add("feature", "Cannot change the feature of a feature state")
	}
	if environment.Set && !environment.Null && environment.Value != s.Environment {
		errs.Add("environment", "Cannot change the environment of a feature state")
	}
	return errs.Err()
}

// apply changes a state as the input says.
func (in environmentStateInput) apply(c *Ctx, s *fsm.FeatureState) error {
	if in.Value.Set {
		if err := c.applyRaw(in.Value.Value, &s.Value); err != nil {
			return err
		}
	}
	in.Enabled.Into(&s.Enabled)
	s.LiveFrom = in.LiveFrom.Or(s.LiveFrom)
	return replaceShares(c, s, in.Shares)
}

// createEnvironmentState brings back a default that was deleted.
func createEnvironmentState(c *Ctx, in environmentStateInput) (rawState, error) {
	f, err := find(c, fsm.Features, in.Feature.Value)
	if err != nil {
		return rawState{}, err
	}
	if f.Project != c.Project.ID {
		return rawState{}, route.Field("feature", MsgForeignFeature)
	}
	if err := c.directWrite(fsm.FeatureState{}); err != nil {
		return rawState{}, err
	}
	s, err := createDefault(c, f, c.Environment.ID, in.apply)
	return c.renderRawState(s), err
}

// createDefault makes the missing default state of a feature in an environment, changed by apply.
func createDefault(c *Ctx, f fsm.Feature, environment uint64, apply func(*Ctx, *fsm.FeatureState) error) (fsm.FeatureState, error) {
	if s, ok := fsm.FeatureStatesByEnvironment.First(c, environment, fsm.StateDefault, f.ID); ok {
		return s, route.BareArray(MsgStateExists)
	}
	s := createDefaultState(c.Tx, c.Project, f, environment)
	if err := apply(c, &s); err != nil {
		return s, err
	}
	c.Audit(environment, fsm.AuditFeatureState, s.ID, "New Flag / Remote Config created: "+f.Name)
	return fsm.FeatureStates.Put(c.Tx, s), nil
}

func deleteEnvironmentState(c *Ctx, in environmentStateRef) (route.Empty, error) {
	s, err := findEnvironmentState(c, in)
	if err != nil {
		return c.fail(err)
	}
	if err := c.directWrite(s); err != nil {
		return c.fail(err)
	}
	deleteState(c, s)
	return c.OK()
}
