package admin

import (
	"cmp"
	"slices"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/route"
)

// The feature states of one identity: its overrides, each with its own value; what an identity gets of a multivariate one is in all/.
// edge_feature_state.go shows the same rows by uuid.

type identityStateList struct {
	Identity uint64 `path:"identity_pk"`
}

type identityStateQuery struct {
	identityStateList
	environmentStateQuery // whose anyIdentity means nothing here
}

type identityStateRef struct {
	identityStateList
	ID uint64 `path:"id"`
}

type identityStateCreate struct {
	identityStateList
	environmentStateInput
}

type identityStateUpdate struct {
	identityStateRef
	environmentStateInput
}

type identityClone struct {
	identityStateList
	Source uint64 `json:"source_identity_id" v:"required"`
}

func identityFeatureStateRows() []route.Row {
	const list = "/api/v1/environments/{environment_api_key}/identities/{identity_pk}/featurestates/"
	const detail = list + "{id}/"
	key := Path("environment_api_key")
	view, update, admin := EnvironmentPermission("VIEW_ENVIRONMENT", key), EnvironmentPermission("UPDATE_FEATURE_STATE", key), EnvironmentAdmin(key)
	return []route.Row{
		{Method: "GET", Path: list, OperationID: "api_v1_environments_identities_featurestates_list", Tag: "Identities", Auth: route.Admin,
			Permission: view, Handler: read(listIdentityStates)},
		{Method: "POST", Path: list, OperationID: "api_v1_environments_identities_featurestates_create", Tag: "Identities", Auth: route.Admin,
			Permission: All(update, existingFeature()), Kind: route.Write, Status: 201, Deprecated: true, Handler: write(createIdentityState)},
		{Method: "GET", Path: list + "all/", OperationID: "api_v1_environments_identities_featurestates_all_retrieve", Tag: "Identities",
			Auth: route.Admin, Permission: view, Handler: read(allIdentityStates)},
		{Method: "POST", Path: list + "clone-from-given-identity/", Tag: "Identities",
			OperationID: "api_v1_environments_identities_featurestates_clone_from_given_identity_create", Auth: route.Admin, Permission: admin,
			Kind: route.Write, Handler: write(cloneIdentityStates).before(func(c *Ctx, _ *identityClone) error { return c.compiled() })},
		{Method: "GET", Path: detail, OperationID: "api_v1_environments_identities_featurestates_retrieve", Tag: "Identities", Auth: route.Admin,
			Permission: view, Handler: read(getIdentityState)},
		{Method: "PUT", Path: detail, OperationID: "api_v1_environments_identities_featurestates_update", Tag: "Identities", Auth: route.Admin,
			Permission: update, Kind: route.Write, Handler: write(putIdentityState)},
		{Method: "PATCH", Path: detail, OperationID: "api_v1_environments_identities_featurestates_partial_update", Tag: "Identities",
			Auth: route.Admin, Permission: update, Kind: route.Write, Handler: write(patchIdentityState)},
		{Method: "DELETE", Path: detail, OperationID: "api_v1_environments_identities_featurestates_destroy", Tag: "Identities", Auth: route.Admin,
			Permission: update, Kind: route.Write, Status: 204, Handler: write(deleteIdentityState)},
	}
}

func listIdentityStates(c *Ctx, in identityStateQuery) (route.Page[listedState], error) {
	rec, err := findIdentity(c, in.Identity)
	if err != nil {
		return route.Page[listedState]{}, err
	}
	states := []fsm.FeatureState{}
	if feature, ok := in.feature(c); ok {
		states = identityOverrides(c, rec.ID(), feature)
	}
	return paginate(c, states, c.renderListedState)
}

// identityOverrides gives the overrides of an identity by id, of one feature when it is set. Rows that a deleted feature left are no
// overrides.
func identityOverrides(c *Ctx, id uint64, feature route.Optional[uint64]) []fsm.FeatureState {
	key := []any{id}
	if feature.Set && !feature.Null {
		key = append(key, feature.Value)
	}
	states := []fsm.FeatureState{}
	for s := range fsm.FeatureStatesByIdentity.All(c, key...) {
		if fsm.Features.Ref(c, s.Feature) != nil {
			states = append(states, s)
		}
	}
	slices.SortFunc(states, func(a, b fsm.FeatureState) int { return cmp.Compare(a.ID, b.ID) })
	return states
}

func createIdentityState(c *Ctx, in identityStateCreate) (rawState, error) {
	rec, err := findIdentity(c, in.Identity)
	if err != nil {
		return rawState{}, err
	}
	f, err := find(c, fsm.Features, in.Feature.Value)
	switch {
	case err != nil:
		return rawState{}, err
	case f.Project != c.Project.ID:
		return rawState{}, route.Field("feature", MsgForeignFeature)
	}
	s := fsm.FeatureState{Feature: f.ID, Environment: c.Environment.ID, Identity: rec.ID(), Value: startValue(c.Project, f)}
	if overridden(c, s) {
		return rawState{}, route.BareArray(MsgStateExists)
	}
	base := s.Value
	if err := in.apply(c, &s); err != nil {
		return rawState{}, err
	}
	return c.renderRawState(createOverride(c, s, base)), nil
}

// holdIdentity keeps the write out of a turn in which the identity is deleted: its override would outlive it.
func (c *Ctx) holdIdentity(id uint64) {
	c.Tx.Identity(identity.Op{Kind: identity.KindUpsert, Environment: c.Environment.ID, Identity: id}, nil)
}

func getIdentityState(c *Ctx, in identityStateRef) (rawState, error) {
	s, err := findIdentityState(c, in)
	return c.renderRawState(s), err
}

func findIdentityState(c *Ctx, in identityStateRef) (s fsm.FeatureState, err error) {
	rec, err := findIdentity(c, in.Identity)
	if err != nil {
		return s, err
	}
	s, ok := fsm.FeatureStates.Get(c, in.ID)
	if !ok || s.Identity != rec.ID() {
		return s, route.NotFound(fsm.FeatureStates.Name())
	}
	return s, nil
}

func putIdentityState(c *Ctx, in identityStateUpdate) (rawState, error) {
	s, err := changeIdentityState(c, in)
	return c.renderRawState(s), err
}

func patchIdentityState(c *Ctx, in identityStateUpdate) (shortState, error) {
	s, err := changeIdentityState(c, in)
	return shortState{s.Feature, s.Enabled}, err
}

func changeIdentityState(c *Ctx, in identityStateUpdate) (fsm.FeatureState, error) {
	before, err := findIdentityState(c, in.identityStateRef)
	if err != nil {
		return before, err
	}
	return in.change(c, before)
}

func deleteIdentityState(c *Ctx, in identityStateRef) (route.Empty, error) {
	s, err := findIdentityState(c, in)
	if err != nil {
		return c.fail(err)
	}
	deleteState(c, s)
	return c.OK()
}

func allIdentityStates(c *Ctx, in identityStateList) ([]servedFlag, error) {
	rec, err := findIdentity(c, in.Identity)
	if err != nil {
		return nil, err
	}
	return evaluateIdentity(c, &rec, true)
}

// compiled waits, before a transaction that evaluates, for the View it will use.
func (c *Ctx) compiled() error {
	_, err := c.view()
	return err
}

// cloneIdentityStates makes the overrides of an identity those of another one of the environment.
func cloneIdentityStates(c *Ctx, in identityClone) ([]servedFlag, error) {
	rec, err := findIdentity(c, in.Identity)
	if err != nil {
		return nil, err
	}
	source, err := findIdentity(c, in.Source)
	if err != nil {
		return nil, err
	}
	wanted := identityOverrides(c, source.ID(), route.Optional[uint64]{})
	for _, s := range identityOverrides(c, rec.ID(), route.Optional[uint64]{}) {
		if !slices.ContainsFunc(wanted, func(w fsm.FeatureState) bool { return w.Feature == s.Feature }) {
			deleteState(c, s)
		}
	}
	for _, w := range wanted {
		before, ok := fsm.FeatureStatesByIdentity.First(c, rec.ID(), w.Feature)
		if !ok {
			before = c.blankOverride(rec.ID(), w.Feature)
		}
		updateState(c, before, copyOverride(c.Tx, before, w))
	}
	return evaluateIdentity(c, &rec, true)
}

// blankOverride makes the override that the reference starts a copy with: off, with the feature's initial value.
func (c *Ctx) blankOverride(id, feature uint64) fsm.FeatureState {
	f, _ := fsm.Features.Get(c, feature)
	s := fsm.FeatureState{Feature: feature, Environment: c.Environment.ID, Identity: id, Value: startValue(c.Project, f)}
	return createOverride(c, s, s.Value)
}

// copyOverride gives a state what another one holds, which counts from when that one does. The shares are new, in the order of the other's.
func copyOverride(tx *fsm.Tx, s, from fsm.FeatureState) fsm.FeatureState {
	s.Enabled, s.Value = from.Enabled, from.Value
	if now := tx.Now(); s.LiveFrom > now || from.LiveFrom > now {
		s.LiveFrom = from.LiveFrom
	}
	s.Multivariate = mapped(from.Multivariate, func(v fsm.MultivariateValue) fsm.MultivariateValue {
		return fsm.MultivariateValue{ID: tx.NextMultivariateValueID(), UUID: tx.NewUUID(), Option: v.Option, Percentage: v.Percentage}
	})
	return s
}
