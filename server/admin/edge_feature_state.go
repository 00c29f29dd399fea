package admin

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/route"
)

// edgeState is an identity override as the uuid face shows it: with the value that the identity gets.
type edgeState struct {
	Value        route.Scalar `json:"feature_state_value" types:"string,integer,boolean,null"`
	Feature      uint64       `json:"feature"`
	Shares       []edgeShare  `json:"multivariate_feature_state_values"`
	Enabled      bool         `json:"enabled"`
	UUID         uuid.UUID    `json:"featurestate_uuid"`
	IdentityUUID uuid.UUID    `json:"identity_uuid"`
}

type edgeShare struct {
	Option     uint64  `json:"multivariate_feature_option"`
	Percentage float64 `json:"percentage_allocation"`
}

type edgeStateList struct {
	Identity uuid.UUID `path:"edge_identity_identity_uuid"`
}

type edgeStateQuery struct {
	edgeStateList
	Feature route.Optional[uint64] `query:"feature"`
}

type edgeStateRef struct {
	edgeStateList
	UUID uuid.UUID `path:"featurestate_uuid"`
}

// edgeStateInput is an override as it is sent. What is left out becomes null and false; only the shares stay.
type edgeStateInput struct {
	Feature route.Value                      `json:"feature" v:"required"` // id or name
	Enabled bool                             `json:"enabled"`
	Value   route.Value                      `json:"feature_state_value"`
	Shares  route.Optional[[]edgeShareInput] `json:"multivariate_feature_state_values"`
}

type edgeShareInput struct {
	Option     uint64                  `json:"multivariate_feature_option" v:"required,pk"`
	Percentage route.Optional[float64] `json:"percentage_allocation" v:"min=0,max=100"`
}

type edgeStateCreate struct {
	edgeStateList
	edgeStateInput
}

type edgeStateUpdate struct {
	edgeStateRef
	edgeStateInput
}

type edgeClone struct {
	edgeStateList
	Source uuid.UUID `json:"source_identity_uuid" v:"required"`
}

func edgeFeatureStateRows() []route.Row {
	const list = "/api/v1/environments/{environment_api_key}/edge-identities/{edge_identity_identity_uuid}/edge-featurestates/"
	const detail = list + "{featurestate_uuid}/"
	key := Path("environment_api_key")
	view, update := EnvironmentPermission("VIEW_ENVIRONMENT", key).Missing404(), EnvironmentPermission("UPDATE_FEATURE_STATE", key).Missing404()
	admin := EnvironmentAdmin(key).Missing404()
	return []route.Row{
		{Method: "GET", Path: list, OperationID: "api_v1_environments_edge_identities_edge_featurestates_list", Tag: "Identities", Auth: route.Admin,
			Permission: view, Handler: read(listEdgeStates)},
		{Method: "POST", Path: list, OperationID: "api_v1_environments_edge_identities_edge_featurestates_create", Tag: "Identities",
			Auth: route.Admin, Permission: update, Kind: route.Write, Status: 201, Handler: write(createEdgeState)},
		{Method: "GET", Path: list + "all/", OperationID: "api_v1_environments_edge_identities_edge_featurestates_all_list", Tag: "Identities",
			Auth: route.Admin, Permission: view, Handler: read(allEdgeStates)},
		{Method: "POST", Path: list + "clone-from-given-identity/", Tag: "Identities",
			OperationID: "api_v1_environments_edge_identities_edge_featurestates_clone_from_given_identity_create", Auth: route.Admin,
			Permission: admin, Kind: route.Write,
			Handler: write(cloneEdgeStates).before(func(c *Ctx, _ *edgeClone) error { return c.compiled() })},
		{Method: "GET", Path: detail, OperationID: "api_v1_environments_edge_identities_edge_featurestates_retrieve", Tag: "Identities",
			Auth: route.Admin, Permission: view, Handler: read(getEdgeState)},
		{Method: "PUT", Path: detail, OperationID: "api_v1_environments_edge_identities_edge_featurestates_update", Tag: "Identities",
			Auth: route.Admin, Permission: update, Kind: route.Write, Handler: write(updateEdgeState)},
		{Method: "DELETE", Path: detail, OperationID: "api_v1_environments_edge_identities_edge_featurestates_destroy", Tag: "Identities",
			Auth: route.Admin, Permission: update, Kind: route.Write, Status: 204, Handler: write(deleteEdgeState)},
	}
}

func listEdgeStates(c *Ctx, in edgeStateQuery) ([]edgeState, error) {
	rec, err := findIdentityForStates(c, in.Identity)
	if err != nil {
		return nil, err
	}
	return mapped(identityOverrides(c, rec.ID(), in.Feature), func(s fsm.FeatureState) edgeState { return c.renderEdgeState(s, &rec) }), nil
}

func createEdgeState(c *Ctx, in edgeStateCreate) (edgeState, error) {
	rec, err := findIdentityForStates(c, in.Identity)
	if err != nil {
		return edgeState{}, err
	}
	f, err := in.feature(c)
	if err != nil {
		return edgeState{}, err
	}
	s := fsm.FeatureState{Feature: f.ID, Environment: c.Environment.ID, Identity: rec.ID()}
	if overridden(c, s) {
		return edgeState{}, route.BareArray("Feature state already exists.")
	}
	if err := in.apply(c, &s); err != nil {
		return edgeState{}, err
	}
	return c.renderEdgeState(saveEdgeOverride(c, &rec, fsm.FeatureState{}, s), &rec), nil
}

func getEdgeState(c *Ctx, in edgeStateRef) (edgeState, error) {
	rec, s, err := findEdgeState(c, in)
	if err != nil {
		return edgeState{}, err
	}
	return c.renderEdgeState(s, &rec), nil
}

func updateEdgeState(c *Ctx, in edgeStateUpdate) (edgeState, error) {
	rec, before, err := findEdgeState(c, in.edgeStateRef)
	if err != nil {
		return edgeState{}, err
	}
	f, err := in.feature(c)
	switch {
	case err != nil:
		return edgeState{}, err
	case f.ID != before.Feature:
		return edgeState{}, route.Field("feature", "Cannot change the feature of a feature state")
	}
	after := before
	if err := in.apply(c, &after); err != nil {
		return edgeState{}, err
	}
	return c.renderEdgeState(saveEdgeOverride(c, &rec, before, after), &rec), nil
}

func deleteEdgeState(c *Ctx, in edgeStateRef) (route.Empty, error) {
	rec, s, err := findEdgeState(c, in)
	if err != nil {
		return c.fail(err)
	}
	deleteEdgeOverride(c, &rec, s)
	return c.OK()
}

// allEdgeStates lists disabled flags too, whatever hide_disabled_flags says.
func allEdgeStates(c *Ctx, in edgeStateList) ([]servedFlag, error) {
	rec, err := findIdentityForStates(c, in.Identity)
	if err != nil {
		return nil, err
	}
	return evaluateIdentity(c, &rec, false)
}

// cloneEdgeStates replaces the overrides of an identity by copies of another one's, under new uuids.
func cloneEdgeStates(c *Ctx, in edgeClone) ([]servedFlag, error) {
	rec, err := findIdentityForStates(c, in.Identity)
	if err != nil {
		return nil, err
	}
	source, err := findIdentityForStates(c, in.Source)
	if err != nil {
		return nil, err
	}
	if source.ID() == rec.ID() {
		return evaluateIdentity(c, &rec, false)
	}
	wanted := identityOverrides(c, source.ID(), route.Optional[uint64]{})
	for _, s := range identityOverrides(c, rec.ID(), route.Optional[uint64]{}) {
		if !slices.ContainsFunc(wanted, func(w fsm.FeatureState) bool { return w.Feature == s.Feature }) {
			deleteEdgeOverride(c, &rec, s)
		}
	}
	for _, w := range wanted {
		before, _ := fsm.FeatureStatesByIdentity.First(c, rec.ID(), w.Feature)
		after := before
		after.Feature, after.Environment, after.Identity, after.UUID = w.Feature, w.Environment, rec.ID(), c.Tx.NewUUID()
		saveEdgeOverride(c, &rec, before, copyOverride(c.Tx, after, w))
	}
	return evaluateIdentity(c, &rec, false)
}

// findIdentityForStates gets an identity of the environment in the path; one of another environment is told apart from none.
func findIdentityForStates(c *Ctx, u uuid.UUID) (identity.Record, error) {
	rec, err := findEdgeIdentity(c, u)
	if err == nil {
		return rec, nil
	}
	all := c.Identities()
	for _, e := range all.Environments() {
		if _, ok := all.Environment(e).ByUUID(identity.UUID(u)); ok {
			return rec, route.Forbidden("Identity does not belong to this environment.")
		}
	}
	return rec, err
}

func findEdgeState(c *Ctx, in edgeStateRef) (rec identity.Record, s fsm.FeatureState, err error) {
	if rec, err = findIdentityForStates(c, in.Identity); err != nil {
		return rec, s, err
	}
	s, ok := fsm.FeatureStatesByUUID.First(c, in.UUID)
	if !ok || s.Identity != rec.ID() || fsm.Features.Ref(c, s.Feature) == nil {
		return rec, s, route.NotFoundDetail()
	}
	return rec, s, nil
}

// feature finds the feature of the environment's project that is sent by id or by name.
func (in edgeStateInput) feature(c *Ctx) (fsm.Feature, error) {
	var f fsm.Feature
	ok := false
	if in.Feature.Kind == route.String {
		f, ok = fsm.FeaturesByName.First(c, c.Project.ID, strings.ToLower(in.Feature.Text))
		ok = ok && f.Name == in.Feature.Text
	}
	if id, isID := in.Feature.Int(); !ok && isID && id > 0 {
		f, ok = fsm.Features.Get(c, uint64(id))
	}
	if !ok || f.Project != c.Project.ID {
		return f, route.InvalidPK("feature", route.PythonStr(in.Feature))
	}
	return f, nil
}

// apply changes a state as the input says.
func (in edgeStateInput) apply(c *Ctx, s *fsm.FeatureState) error {
	s.Enabled = in.Enabled
	if err := c.applyEdgeValue(in.Value, &s.Value); err != nil {
		return err
	}
	shares, err := in.shares()
	if err != nil {
		return err
	}
	return replaceShares(c, s, shares)
}

// check refuses what apply would, of a state of the feature.
func (in edgeStateInput) check(c *Ctx, feature uint64) error {
	if err := c.applyEdgeValue(in.Value, &fsm.FeatureValue{}); err != nil {
		return err
	}
	shares, err := in.shares()
	if err != nil {
		return err
	}
	return checkShares(c, feature, shares.Value)
}

// shares are the shares that were sent, if any were.
func (in edgeStateInput) shares() (out route.Optional[[]shareInput], err error) {
	if !in.Shares.Set {
		return out, nil
	}
	total, shares := 0.0, make([]shareInput, len(in.Shares.Value))
	for i, sent := range in.Shares.Value {
		shares[i] = shareInput{Option: sent.Option, Percentage: sent.Percentage.Or(100)}
		total += shares[i].Percentage
	}
	if fsm.MoreThanWhole(total) {
		return out, route.Field("multivariate_feature_state_values", "Total percentage allocation for feature must be less or equal to 100 percent")
	}
	return route.Some(shares), nil
}

// applyEdgeValue is applyRaw as the uuid face has it: what is neither text, integer nor boolean becomes text, and refusals are about
// feature_state_value.
func (c *Ctx) applyEdgeValue(in route.Value, v *fsm.FeatureValue) error {
	const field = "feature_state_value"
	switch in.Kind {
	case route.Upload:
		return route.Field(field, route.MsgString)
	case route.Int:
		if n, ok := in.Int(); !ok || n > math.MaxInt32 || n < math.MinInt32 {
			return route.Field(field, outsideInt32(in.Text))
		}
	case route.String, route.Float, route.List, route.Object:
		in = route.Value{Kind: route.String, Text: route.PythonStr(in)}
		if msg := c.valueFault(in.Text); msg != "" {
			return route.Field(field, msg)
		}
	}
	var refused *route.Error
	if err := c.applyRaw(in, v); errors.As(err, &refused) {
		return route.Field(field, route.MsgString)
	}
	return nil
}

func outsideInt32(digits string) string {
	if strings.HasPrefix(digits, "-") {
		return route.MinValueText(math.MinInt32)
	}
	return route.MaxValueText(math.MaxInt32)
}

func (c *Ctx) renderEdgeState(s fsm.FeatureState, rec *identity.Record) edgeState {
	return edgeState{
		Value: renderRaw(c.valueFor(&s, rec)), Feature: s.Feature, Enabled: s.Enabled, UUID: s.UUID, IdentityUUID: uuid.UUID(rec.UUID()),
		Shares: mapped(s.Multivariate, func(v fsm.MultivariateValue) edgeShare { return edgeShare{v.Option, v.Percentage} }),
	}
}

// featureText orders overrides as the reference's keys do: by the text of the feature's id.
func featureText(id uint64) string { return strconv.FormatUint(id, 10) }
