package admin

import (
	"slices"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/credential"
	"github.com/flagraft/flagraft/server/route"
)

type clonedEnvironment struct {
	ID      uint64 `json:"id"`
	Name    string `json:"name"`
	APIKey  string `json:"api_key"`
	Project uint64 `json:"project"`
}

func environmentCloneRows() []route.Row {
	return []route.Row{
		{Method: "POST", Path: "/api/v1/environments/{api_key}/clone/", OperationID: "api_v1_environments_clone_create", Tag: "Environments",
			Auth: route.Admin, Permission: Custom("project permission CREATE_ENVIRONMENT", mayCloneEnvironment), Kind: route.Write,
			Handler: write(cloneEnvironment)},
	}
}

func mayCloneEnvironment(c *Ctx) error {
	if err := environmentMember("api_key").Check(c.Call); err != nil {
		return err
	}
	if !c.HasProject(c.Project, "CREATE_ENVIRONMENT") {
		return route.PermissionDenied()
	}
	return nil
}

// cloneEnvironment copies settings, custom fields (unless others are sent), states and segment overrides with the times they go live at, not
// identities and keys. Two environments may get the same name this way, as in the reference.
func cloneEnvironment(c *Ctx, in struct {
	environmentRef
	Name     string       `json:"name" v:"required,max=2000"`
	Async    bool         `json:"clone_feature_states_async"` // states are always there at once
	Metadata metadataList `json:"metadata"`
}) (clonedEnvironment, error) {
	if err := c.metadataFault(fsm.ContentEnvironment, in.Metadata, false); err != nil {
		return clonedEnvironment{}, err
	}
	source, e := c.Environment, c.Environment
	e.ID, e.UUID, e.Name, e.APIKey, e.CreatedDate = 0, c.Tx.NewUUID(), in.Name, credential.NewEnvironmentKey(), c.Now()
	e = putNewEnvironment(c, e)
	c.Audit(e.ID, fsm.AuditEnvironment, e.ID, "Environment updated: "+e.Name)
	copyStates(c, source.ID, e.ID)
	if e.UseV2FeatureVersioning {
		startVersions(c, e)
	}
	c.copyMetadata(fsm.ContentEnvironment, source.ID, e.ID)
	c.putMetadata(fsm.ContentEnvironment, e.ID, in.Metadata)
	return clonedEnvironment{ID: e.ID, Name: e.Name, APIKey: e.APIKey, Project: e.Project}, nil
}

// copyStates copies the environment defaults and the segment overrides. One that is not live yet comes with its time: without a default a
// feature would be in no state at all.
func copyStates(c *Ctx, from, to uint64) {
	for _, s := range fsm.FeatureStatesByEnvironment.List(c, from, fsm.StateDefault) {
		copyState(c, s, to, 0)
	}
	for _, segment := range fsm.FeatureSegmentsByEnvironment.List(c, from) {
		states := fsm.FeatureStatesByFeatureSegment.List(c, segment.ID)
		if len(states) == 0 {
			continue // an override that was never given a state
		}
		segment.ID, segment.UUID, segment.Environment, segment.FeatureVersion = 0, c.Tx.NewUUID(), to, 0
		segment = fsm.FeatureSegments.Put(c.Tx, segment)
		for _, s := range states {
			copyState(c, s, to, segment.ID)
		}
	}
}

// copyState copies one state; the copy hashes multivariate values by its own id.
func copyState(c *Ctx, s fsm.FeatureState, to, segment uint64) {
	s.ID, s.UUID, s.Environment, s.FeatureSegment, s.Seed, s.FeatureVersion = 0, c.Tx.NewUUID(), to, segment, 0, 0
	s.CreatedAt, s.UpdatedAt = c.Now(), c.Now()
	s.Multivariate = slices.Clone(s.Multivariate)
	for i := range s.Multivariate {
		s.Multivariate[i].ID, s.Multivariate[i].UUID = c.Tx.NextMultivariateValueID(), c.Tx.NewUUID()
	}
	fsm.FeatureStates.Put(c.Tx, s)
}
