package admin

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// featureStateInput is a feature state as features/featurestates/ takes it. What is left out stays; in a new state it is what the feature
// starts with.
type featureStateInput struct {
	Enabled  route.Optional[bool]         `json:"enabled"`
	Value    route.Optional[typedInput]   `json:"feature_state_value"`
	Shares   route.Optional[[]shareInput] `json:"multivariate_feature_state_values" v:"null"`
	LiveFrom route.Optional[fsm.Time]     `json:"live_from" v:"null"`
}

type featureStateCreate struct {
	featureStateInput
	Feature     uint64                 `json:"feature" v:"required,pk"`
	Environment uint64                 `json:"environment" v:"required,pk"`
	Segment     route.Optional[uint64] `json:"feature_segment" v:"null,pk"`
	Identity    route.Optional[uint64] `json:"identity" v:"null,pk"`
	Identifier  route.Optional[string] `json:"identifier" v:"null,blank"`
}

type featureStateUpdate struct {
	environmentStateRef
	featureStateInput
	Feature     route.Optional[uint64] `json:"feature" v:"required,pk"`
	Environment route.Optional[uint64] `json:"environment" v:"null,pk"`
}

type featureStateQuery struct {
	Environment uint64                 `query:"environment" v:"required,pk"` // c.Environment by now
	Feature     route.Optional[uint64] `query:"feature"`
	Segment     route.Optional[uint64] `query:"feature_segment"`
}

// MsgForeignFeature is the refusal of a feature that the environment's project does not have.
const MsgForeignFeature = "Feature does not exist in project"

func featureStateRows() []route.Row {
	const list, detail, byUUID = "/api/v1/features/featurestates/", "/api/v1/features/featurestates/{id}/", "/api/v1/features/featurestates/get-by-uuid/{uuid}/"
	return []route.Row{
		{Method: "GET", Path: list, OperationID: "api_v1_features_featurestates_list", Tag: "Feature states", Auth: route.Admin,
			Permission: EnvironmentPermission("VIEW_ENVIRONMENT", Query("environment")), Handler: read(listFeatureStates)},
		{Method: "POST", Path: list, OperationID: "api_v1_features_featurestates_create", Tag: "Feature states", Auth: route.Admin,
			Permission: All(newStatePermission(), existingFeature()), Kind: route.Write, Status: 201, Handler: write(createFeatureState)},
		{Method: "GET", Path: byUUID, OperationID: "api_v1_features_featurestates_get_by_uuid_retrieve", Tag: "Feature states", Auth: route.Admin,
			NoHead: true, Handler: read(featureStateByUUID)},
		{Method: "PUT", Path: detail, OperationID: "update_feature_state", Tag: "Feature states", Auth: route.Admin,
			Permission: statePermission(), Kind: route.Write, Handler: write(updateFeatureState)},
		{Method: "PATCH", Path: detail, OperationID: "api_v1_features_featurestates_partial_update", Tag: "Feature states", Auth: route.Admin,
			Permission: statePermission(), Kind: route.Write, Handler: write(updateFeatureState)},
	}
}

// stateKey is the permission that writing a state takes.
func stateKey(segment bool) string {
	if segment {
		return "MANAGE_SEGMENT_OVERRIDES"
	}
	return "UPDATE_FEATURE_STATE"
}

// newStatePermission judges by the environment in the body; a feature segment makes it a matter of segment overrides.
func newStatePermission() route.Permission {
	return Custom("environment UPDATE_FEATURE_STATE, or MANAGE_SEGMENT_OVERRIDES with feature_segment", func(c *Ctx) error {
		kind := c.BodyMember("feature_segment").Kind
		segment := kind != route.Missing && kind != route.Null
		return EnvironmentPermission(stateKey(segment), Body("environment")).Check(c.Call)
	})
}

// statePermission judges by the state in the path.
func statePermission() route.Permission {
	return Custom("environment UPDATE_FEATURE_STATE, or MANAGE_SEGMENT_OVERRIDES of a segment override", func(c *Ctx) error {
		id, ok := parseID(c.Param("id"))
		if !ok {
			return route.NotFoundDetail()
		}
		s, err := find(c, fsm.FeatureStates, id)
		if err != nil {
			return err
		}
		if !c.loadEnvironment(s.Environment) || !c.HasEnvironment(c.Environment, stateKey(s.Kind() == fsm.StateSegment)) {
			return route.PermissionDenied()
		}
		return nil
	})
}

// loadEnvironment puts an environment and its project into the Ctx.
func (c *Ctx) loadEnvironment(id uint64) (ok bool) {
	if c.Environment, ok = fsm.Environments.Get(c, id); ok {
		c.Project, ok = fsm.Projects.Get(c, c.Environment.Project)
	}
	return ok
}

func listFeatureStates(c *Ctx, in featureStateQuery) (route.Page[typedState], error) {
	states := []fsm.FeatureState{}
	add := func(s fsm.FeatureState) {
		if s.Environment == c.Environment.ID && (!in.Feature.Set || s.Feature == in.Feature.Value) {
			states = append(states, s)
		}
	}
	switch {
	case in.Segment.Set:
		for s := range fsm.FeatureStatesByFeatureSegment.All(c, in.Segment.Value) {
			add(s)
		}
	case in.Feature.Set:
		for s := range fsm.FeatureStatesByFeature.All(c, in.Feature.Value, c.Environment.ID) {
			add(s)
		}
	default:
		for s := range fsm.FeatureStatesByEnvironment.All(c, c.Environment.ID) {
			add(s)
		}
	}
	slices.SortFunc(states, func(a, b fsm.FeatureState) int { return cmp.Compare(a.ID, b.ID) })
	return paginate(c, states, c.renderTypedState)
}

func featureStateByUUID(c *Ctx, in struct {
	UUID uuid.UUID `path:"uuid"`
}) (typedState, error) {
	s, ok := fsm.FeatureStatesByUUID.First(c, in.UUID)
	if !ok || !c.loadEnvironment(s.Environment) || !c.HasProject(c.Project, "VIEW_PROJECT") {
		return typedState{}, route.NotFound(fsm.FeatureStates.Name())
	}
	return c.renderTypedState(s), nil
}

func updateFeatureState(c *Ctx, in featureStateUpdate) (typedState, error) {
	before, err := find(c, fsm.FeatureStates, in.ID)
	if err != nil {
		return typedState{}, err
	}
	if err := sameState(before, in.Feature, in.Environment); err != nil {
		return typedState{}, err
	}
	if err := c.directWrite(before); err != nil {
		return typedState{}, err
	}
	after := before
	if err := in.apply(c, &after); err != nil {
		return typedState{}, err
	}
	return c.renderTypedState(updateState(c, before, after)), nil
}

// apply changes a state as the input says.
func (in featureStateInput) apply(c *Ctx, s *fsm.FeatureState) error {
	errs := &route.Errors{}
	in.Value.Value.apply(c, &s.Value, errs.At("feature_state_value"))
	if err := errs.Err(); err != nil {
		return err
	}
	in.Enabled.Into(&s.Enabled)
	s.LiveFrom = in.LiveFrom.Or(s.LiveFrom)
	return replaceShares(c, s, in.Shares)
}

func createFeatureState(c *Ctx, in featureStateCreate) (typedState, error) {
	f, err := find(c, fsm.Features, in.Feature)
	if err != nil {
		return typedState{}, err
	}
	s := fsm.FeatureState{Feature: f.ID, Environment: c.Environment.ID, Value: startValue(c.Project, f)}
	if err := in.target(c, f, &s); err != nil {
		return typedState{}, err
	}
	if !c.HasEnvironment(c.Environment, stateKey(s.Kind() == fsm.StateSegment)) { // what the body came to, not what it looked like
		return typedState{}, route.PermissionDenied()
	}
	if err := c.directWrite(s); err != nil {
		return typedState{}, err
	}
	if s.Kind() == fsm.StateDefault {
		s, err = createDefault(c, f, c.Environment.ID, in.apply)
		return c.renderTypedState(s), err
	}
	if overridden(c, s) {
		return typedState{}, route.BareArray(MsgStateExists)
	}
	base := s.Value
	if err := in.apply(c, &s); err != nil {
		return typedState{}, err
	}
	return c.renderTypedState(createOverride(c, s, base)), nil
}

// startValue is the value that a new state of the feature has before one is set.
func startValue(p fsm.Project, f fsm.Feature) fsm.FeatureValue {
	if p.PreventFlagDefaults {
		return fsm.FeatureValue{Type: fsm.Unicode}
	}
	return initialValue(f.InitialValue)
}

// target fills in whom the new state is for, and refuses what does not belong together.
func (in featureStateCreate) target(c *Ctx, f fsm.Feature, s *fsm.FeatureState) error {
	if f.Project != c.Project.ID {
		return route.Field("feature", MsgForeignFeature)
	}
	store := c.Identities().Environment(c.Environment.ID)
	if in.Segment.Value != 0 {
		fs := fsm.FeatureSegments.Ref(c, in.Segment.Value)
		switch {
		case fs == nil:
			return route.InvalidPK("feature_segment", in.Segment.Value)
		case fs.Environment != c.Environment.ID:
			return route.NonField("Feature Segment does not belong to environment.")
		case fs.Feature != f.ID:
			return route.NonField("Feature Segment does not belong to feature.")
		}
		s.FeatureSegment = fs.ID
		return nil
	}
	switch {
	case in.Identifier.Value != "":
		rec, ok := store.Lookup([]byte(in.Identifier.Value))
		if !ok {
			return route.NonField("Invalid identifier")
		}
		s.Identity = rec.ID()
	case in.Identity.Value != 0:
		if _, ok := store.ByID(in.Identity.Value); !ok {
			return route.NonField("Identity does not exist in environment.")
		}
		s.Identity = in.Identity.Value
	}
	return nil
}

// overridden reports whether the override exists already.
func overridden(r fsm.Reader, s fsm.FeatureState) (found bool) {
	if s.FeatureSegment != 0 {
		_, found = fsm.FeatureStatesByFeatureSegment.First(r, s.FeatureSegment)
	} else {
		_, found = fsm.FeatureStatesByIdentity.First(r, s.Identity, s.Feature)
	}
	return found
}
