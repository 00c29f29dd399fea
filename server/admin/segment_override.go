package admin

import (
	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// segmentOverride is a segment override as the operation that makes all of it at once answers, and a state of a version.
type segmentOverride struct {
	ID          uint64             `json:"id"`
	Feature     uint64             `json:"feature"`
	Enabled     bool               `json:"enabled"`
	Value       typedValue         `json:"feature_state_value"`
	Segment     *overridingSegment `json:"feature_segment"` // null: the default, in a version
	DeletedAt   *fsm.Time          `json:"deleted_at"`
	UUID        uuid.UUID          `json:"uuid"`
	CreatedAt   fsm.Time           `json:"created_at"`
	UpdatedAt   fsm.Time           `json:"updated_at"`
	LiveFrom    fsm.Time           `json:"live_from"`
	Environment uint64             `json:"environment"`
	Identity    *uint64            `json:"identity"`
	Change      *uint64            `json:"change_request"`
	Shares      []share            `json:"multivariate_feature_state_values"`
}

type overridingSegment struct {
	ID       uint64    `json:"id"`
	Segment  uint64    `json:"segment"`
	Priority int64     `json:"priority"`
	UUID     uuid.UUID `json:"uuid"`
}

type segmentOverrideInput struct {
	Enabled bool                                   `json:"enabled"`
	Value   route.Optional[typedInput]             `json:"feature_state_value" v:"required"`
	Segment route.Optional[overridingSegmentInput] `json:"feature_segment" v:"null"`
	Shares  route.Optional[[]shareInput]           `json:"multivariate_feature_state_values" v:"null"`
}

type overridingSegmentInput struct {
	Segment  uint64                `json:"segment" v:"required,pk"`
	Priority route.Optional[int64] `json:"priority" v:"null,min=0,max=2147483647"`
}

func segmentOverrideRows() []route.Row {
	return []route.Row{{
		Method: "POST", Path: "/api/v1/environments/{environment_api_key}/features/{feature_pk}/create-segment-override/",
		OperationID: "create_segment_override", Tag: "Feature segments", Auth: route.Admin,
		Permission: EnvironmentPermission("MANAGE_SEGMENT_OVERRIDES", Path("environment_api_key")).Feature(Path("feature_pk")),
		Kind:       route.Write, Status: 201, Handler: write(createSegmentOverride),
	}}
}

func createSegmentOverride(c *Ctx, in segmentOverrideInput) (segmentOverride, error) {
	if err := c.directWrite(fsm.FeatureState{}); err != nil {
		return segmentOverride{}, err
	}
	if !in.Segment.Set || in.Segment.Null {
		return segmentOverride{}, route.Field("feature_segment", route.MsgRequired)
	}
	link, errs := in.Segment.Value, &route.Errors{}
	if err := checkLink(c, c.Feature.ID, link.Segment, errs.At("feature_segment")); err != nil {
		return segmentOverride{}, errs
	}
	s := fsm.FeatureState{Feature: c.Feature.ID, Environment: c.Environment.ID, Enabled: in.Enabled, Value: startValue(c.Project, c.Feature)}
	base := s.Value
	if err := (featureStateInput{Value: in.Value, Shares: in.Shares}).apply(c, &s); err != nil {
		return segmentOverride{}, err
	}
	var priority *int64
	link.Priority.IntoPtr(&priority)
	fs := linkSegment(c, c.Feature.ID, link.Segment, priority)
	s.FeatureSegment = fs.ID
	return renderSegmentOverride(createOverride(c, s, base), fs), nil
}

func renderSegmentOverride(s fsm.FeatureState, fs fsm.FeatureSegment) segmentOverride {
	out := segmentOverride{ID: s.ID, Feature: s.Feature, Enabled: s.Enabled, Value: renderTyped(s.Value),
		UUID: s.UUID, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, LiveFrom: s.LiveFrom, Environment: s.Environment, Shares: renderShares(s)}
	if fs.ID != 0 {
		out.Segment = &overridingSegment{fs.ID, fs.Segment, fs.Priority, fs.UUID}
	}
	return out
}
