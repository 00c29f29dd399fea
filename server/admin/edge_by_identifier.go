package admin

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/route"
)

// Overrides addressed by identifier and feature, and those of a whole environment. None of the paths ends in a slash in the reference.

type edgeByIdentifierUpdate struct {
	Identifier string `json:"identifier" v:"required,max=2000"`
	edgeStateInput
}

type edgeByIdentifierDelete struct {
	Identifier string      `json:"identifier" v:"required,max=2000"`
	Feature    route.Value `json:"feature" v:"required"`
}

// edgeOverrideList is every identity override of an environment.
type edgeOverrideList struct {
	Results []edgeOverride `json:"results"`
}

type edgeOverride struct {
	Identifier   string            `json:"identifier"`
	IdentityUUID uuid.UUID         `json:"identity_uuid"`
	State        edgeOverrideState `json:"feature_state"`
}

type edgeOverrideState struct {
	Value   route.Scalar `json:"feature_state_value" types:"string,integer,boolean,null"`
	Feature uint64       `json:"feature"`
	Shares  []edgeShare  `json:"multivariate_feature_state_values"`
	Enabled bool         `json:"enabled"`
	UUID    uuid.UUID    `json:"featurestate_uuid"`
}

func edgeByIdentifierRows() []route.Row {
	// The doubled word is the reference's.
	const doubled = "/api/v1/environments/environments/{environment_api_key}/edge-identities-featurestates"
	const single = "/api/v1/environments/{environment_api_key}/edge-identities-featurestates"
	key := Path("environment_api_key")
	view, update := EnvironmentPermission("VIEW_IDENTITIES", key), EnvironmentPermission("UPDATE_FEATURE_STATE", key)
	put := func() route.Handler { return write(putEdgeByIdentifier).before(createIfUnknown) }
	return []route.Row{
		{Method: "PUT", Path: doubled, OperationID: "api_v1_environments_environments_edge_identities_featurestates_update", Tag: "Identities",
			Auth: route.Admin, Permission: update, Kind: route.Write, Handler: put()},
		{Method: "DELETE", Path: doubled, OperationID: "api_v1_environments_environments_edge_identities_featurestates_destroy", Tag: "Identities",
			Auth: route.Admin, Permission: update, Kind: route.Write, Status: 204, Handler: write(deleteEdgeByIdentifier)},
		{Method: "PUT", Path: single, OperationID: "api_v1_environments_edge_identities_featurestates_update", Tag: "Identities",
			Auth: route.Admin, Permission: update, Kind: route.Write, Handler: put()},
		{Method: "DELETE", Path: single, OperationID: "api_v1_environments_edge_identities_featurestates_destroy", Tag: "Identities",
			Auth: route.Admin, Permission: update, Kind: route.Write, Status: 204, Handler: write(deleteEdgeByIdentifier)},
		{Method: "GET", Path: "/api/v1/environments/{environment_api_key}/edge-identity-overrides", Tag: "Environments",
			OperationID: "api_v1_environments_edge_identity_overrides_retrieve", Auth: route.Admin, Permission: view,
			Handler: read(listEdgeOverrides)},
	}
}

// createIfUnknown makes the identity that the override is for: its id, which the override's row needs, is given when that is applied. An
// override that will be refused makes none.
func createIfUnknown(c *Ctx, in *edgeByIdentifierUpdate) error {
	f, err := in.feature(c)
	if err != nil {
		return err
	}
	if err := in.check(c, f.ID); err != nil {
		return err
	}
	name := []byte(in.Identifier)
	if _, ok := c.identities().Lookup(name); ok {
		return nil
	}
	op := identity.Op{Kind: identity.KindUpsert, Environment: c.Environment.ID, Identifier: name}
	_, results, err := c.Env.Identities.Write(c.Context, []identity.Op{op})
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, fsm.ErrOverloaded):
		return route.Unavailable("The identity could not be created in time.", 1)
	case errors.Is(err, fsm.ErrReadOnly):
		return route.ReadOnly()
	case err != nil:
		return err
	}
	if len(results) == 1 {
		c.refuseLate(results[0], nil)
	}
	return c.late
}

func putEdgeByIdentifier(c *Ctx, in edgeByIdentifierUpdate) (edgeState, error) {
	f, err := in.feature(c)
	if err != nil {
		return edgeState{}, err
	}
	rec, ok := c.identities().Lookup([]byte(in.Identifier))
	if !ok { // deleted since createIfUnknown
		return edgeState{}, route.Unavailable("The identity was deleted meanwhile.", 1)
	}
	before, ok := fsm.FeatureStatesByIdentity.First(c, rec.ID(), f.ID)
	after := before
	if !ok {
		after = fsm.FeatureState{Feature: f.ID, Environment: c.Environment.ID, Identity: rec.ID()}
	}
	if err := in.apply(c, &after); err != nil {
		return edgeState{}, err
	}
	return c.renderEdgeState(saveEdgeOverride(c, &rec, before, after), &rec), nil
}

// deleteEdgeByIdentifier succeeds too when there is nothing to delete.
func deleteEdgeByIdentifier(c *Ctx, in edgeByIdentifierDelete) (route.Empty, error) {
	f, err := edgeStateInput{Feature: in.Feature}.feature(c)
	if err != nil {
		return c.fail(err)
	}
	rec, ok := c.identities().Lookup([]byte(in.Identifier))
	if !ok {
		return c.OK()
	}
	if s, ok := fsm.FeatureStatesByIdentity.First(c, rec.ID(), f.ID); ok {
		deleteEdgeOverride(c, &rec, s)
	}
	return c.OK()
}

func listEdgeOverrides(c *Ctx, in struct {
	Feature route.Optional[uint64] `query:"feature"`
}) (edgeOverrideList, error) {
	key := []any{c.Environment.ID, fsm.StateIdentity}
	if in.Feature.Set {
		key = append(key, in.Feature.Value)
	}
	store, out := c.identities(), edgeOverrideList{}
	for s := range fsm.FeatureStatesByEnvironment.All(c, key...) {
		rec, ok := store.ByID(s.Identity)
		if !ok || fsm.Features.Ref(c, s.Feature) == nil {
			continue
		}
		e := c.renderEdgeState(s, &rec)
		out.Results = append(out.Results, edgeOverride{
			Identifier: string(rec.Identifier()), IdentityUUID: e.IdentityUUID,
			State: edgeOverrideState{Value: e.Value, Feature: e.Feature, Shares: e.Shares, Enabled: e.Enabled, UUID: e.UUID},
		})
	}
	slices.SortFunc(out.Results, func(a, b edgeOverride) int {
		return cmp.Or(cmp.Compare(featureText(a.State.Feature), featureText(b.State.Feature)), slices.Compare(a.IdentityUUID[:], b.IdentityUUID[:]))
	})
	return out, nil
}
