package admin

import (
	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// rawState is a feature state with its value as a scalar.
type rawState struct {
	ID    uint64       `json:"id"`
	Value route.Scalar `json:"feature_state_value" types:"string,integer,boolean,null"`
	stateBody
}

// typedState is a feature state with its value by columns.
type typedState struct {
	ID    uint64     `json:"id"`
	Value typedValue `json:"feature_state_value"`
	stateBody
}

type stateBody struct {
	Shares      []share    `json:"multivariate_feature_state_values"`
	DeletedAt   *fsm.Time  `json:"deleted_at"`
	UUID        uuid.UUID  `json:"uuid"`
	Enabled     bool       `json:"enabled"`
	CreatedAt   fsm.Time   `json:"created_at"`
	UpdatedAt   fsm.Time   `json:"updated_at"`
	LiveFrom    fsm.Time   `json:"live_from"`
	Version     *int64     `json:"version"`
	Feature     uint64     `json:"feature"`
	Environment uint64     `json:"environment"`
	Identity    *uint64    `json:"identity"`
	Segment     *uint64    `json:"feature_segment"`
	Change      *uint64    `json:"change_request"`
	EFVersion   *uuid.UUID `json:"environment_feature_version"`
}

// listedState is a rawState as lists show it: the identity spelled out.
type listedState struct {
	ID          uint64         `json:"id"`
	Value       route.Scalar   `json:"feature_state_value" types:"string,integer,boolean,null"`
	Shares      []share        `json:"multivariate_feature_state_values"`
	Identity    *stateIdentity `json:"identity"`
	DeletedAt   *fsm.Time      `json:"deleted_at"`
	UUID        uuid.UUID      `json:"uuid"`
	Enabled     bool           `json:"enabled"`
	CreatedAt   fsm.Time       `json:"created_at"`
	UpdatedAt   fsm.Time       `json:"updated_at"`
	LiveFrom    fsm.Time       `json:"live_from"`
	Version     *int64         `json:"version"`
	Feature     uint64         `json:"feature"`
	Environment uint64         `json:"environment"`
	Segment     *uint64        `json:"feature_segment"`
	Change      *uint64        `json:"change_request"`
	EFVersion   *uuid.UUID     `json:"environment_feature_version"`
}

type stateIdentity struct {
	ID         uint64 `json:"id"`
	Identifier string `json:"identifier"`
}

// shortState is all that PATCH answers.
type shortState struct {
	Feature uint64 `json:"feature"`
	Enabled bool   `json:"enabled"`
}

// smallState is a feature state inside a feature.
type smallState struct {
	ID          uint64       `json:"id"`
	Value       route.Scalar `json:"feature_state_value" types:"string,integer,boolean,null"`
	Environment uint64       `json:"environment"`
	Identity    *uint64      `json:"identity"`
	Segment     *uint64      `json:"feature_segment"`
	Enabled     bool         `json:"enabled"`
}

func (c *Ctx) renderRawState(s fsm.FeatureState) rawState {
	return rawState{ID: s.ID, Value: renderRaw(s.Value), stateBody: c.renderStateBody(s)}
}

func (c *Ctx) renderTypedState(s fsm.FeatureState) typedState {
	return typedState{ID: s.ID, Value: renderTyped(s.Value), stateBody: c.renderStateBody(s)}
}

func (c *Ctx) renderStateBody(s fsm.FeatureState) stateBody {
	return stateBody{Shares: renderShares(s), UUID: s.UUID, Enabled: s.Enabled, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
		LiveFrom: s.LiveFrom, Version: stateVersion(s), Feature: s.Feature, Environment: s.Environment,
		Identity: idOrNull(s.Identity), Segment: idOrNull(s.FeatureSegment), EFVersion: c.versionOf(s)}
}

// stateVersion is the number of a state, which states of feature versions do not have.
func stateVersion(s fsm.FeatureState) *int64 {
	if s.FeatureVersion != 0 && s.LiveFrom.IsZero() {
		return nil
	}
	return &s.Version
}

// versionOf is the version that a state is of.
func (c *Ctx) versionOf(s fsm.FeatureState) *uuid.UUID {
	if v := fsm.FeatureVersions.Ref(c, s.FeatureVersion); v != nil {
		return &v.UUID
	}
	return nil
}

func (c *Ctx) renderListedState(s fsm.FeatureState) listedState {
	out := listedState{ID: s.ID, Value: renderRaw(s.Value), Shares: renderShares(s), UUID: s.UUID, Enabled: s.Enabled,
		CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, LiveFrom: s.LiveFrom, Version: stateVersion(s), Feature: s.Feature,
		Environment: s.Environment, Segment: idOrNull(s.FeatureSegment), EFVersion: c.versionOf(s)}
	if s.Identity != 0 {
		out.Identity = &stateIdentity{s.Identity, identityName(c, s)}
	}
	return out
}

func renderSmallState(s *fsm.FeatureState) *smallState {
	if s == nil {
		return nil
	}
	return &smallState{ID: s.ID, Value: renderRaw(s.Value), Environment: s.Environment, Identity: idOrNull(s.Identity),
		Segment: idOrNull(s.FeatureSegment), Enabled: s.Enabled}
}
