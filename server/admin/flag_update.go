package admin

import (
	"strconv"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// flagName names a feature by its name or its id.
type flagName struct {
	Name route.Optional[string] `json:"name"`
	ID   route.Optional[uint64] `json:"id"`
}

// Validate wants one of the two.
func (n *flagName) Validate(e *route.Errors) {
	switch {
	case !n.Name.Set && !n.ID.Set:
		e.NonField("Either 'name' or 'id' is required for feature identification")
	case n.Name.Set && n.ID.Set:
		e.NonField("Provide either 'name' or 'id', not both")
	}
}

// find loads the feature into the Ctx.
func (n flagName) find(c *Ctx) error {
	for f := range fsm.FeaturesByProject.Refs(c, c.Project.ID) {
		if n.Name.Set && f.Name == n.Name.Value || n.ID.Set && f.ID == n.ID.Value {
			c.Feature = *f
			return nil
		}
	}
	return route.BareArray("Feature '" + route.PythonStr(c.BodyMember("feature")) + "' not found in project")
}

// flagUpdate changes the default, or the override of a segment.
type flagUpdate struct {
	Feature flagName                          `json:"feature" v:"required"`
	Segment route.Optional[flagUpdateSegment] `json:"segment"`
	Enabled bool                              `json:"enabled" v:"required"`
	Value   flagValue                         `json:"value" v:"required"`
}

type flagUpdateSegment struct {
	ID       uint64                `json:"id" v:"required"`
	Priority route.Optional[int64] `json:"priority" v:"null,min=0,max=2147483647"`
}

// flagUpdates changes the default and any number of overrides.
type flagUpdates struct {
	Feature   flagName             `json:"feature" v:"required"`
	Default   flagUpdateState      `json:"environment_default" v:"required"`
	Overrides []flagUpdateOverride `json:"segment_overrides"`
}

type flagUpdateState struct {
	Enabled bool      `json:"enabled" v:"required"`
	Value   flagValue `json:"value" v:"required"`
}

type flagUpdateOverride struct {
	Segment  uint64                       `json:"segment_id" v:"required"`
	Priority route.Optional[int64]        `json:"priority" v:"null,min=0,max=2147483647"`
	Shares   route.Optional[[]shareInput] `json:"multivariate_feature_state_values" v:"null"`
	flagUpdateState
}

// MsgSegmentTwice refuses two overrides of one segment.
const MsgSegmentTwice = "Duplicate segment_id values are not allowed"

// Validate refuses two overrides of one segment.
func (in *flagUpdates) Validate(e *route.Errors) {
	seen := map[uint64]bool{}
	for _, o := range in.Overrides {
		if seen[o.Segment] {
			e.Add("segment_overrides", MsgSegmentTwice)
			return
		}
		seen[o.Segment] = true
	}
}

func flagUpdateRows() []route.Row {
	const base = "/api/experiments/environments/{environment_key}/"
	row := func(path, id, summary string, h route.Handler) route.Row {
		return route.Row{Method: "POST", Path: base + path, OperationID: "api_experiments_environments_" + id, Tag: "Experimental flag API",
			Summary: summary, Auth: route.Admin, Permission: EnvironmentPermission("UPDATE_FEATURE_STATE", Path("environment_key")),
			Kind: route.Write, Status: 204, Handler: h}
	}
	return []route.Row{
		row("update-flag-v1/", "update_flag_v1_create", "Change a flag's default, or its override of one segment.", write(updateFlag)),
		row("update-flag-v2/", "update_flag_v2_create", "Change a flag's default and any of its overrides at once.", write(updateFlags)),
		row("delete-segment-override/", "delete_segment_override_create", "Remove a flag's override of a segment.", write(deleteOverride)),
	}
}

func updateFlag(c *Ctx, in flagUpdate) (route.Empty, error) {
	if err := in.Feature.find(c); err != nil {
		return c.fail(err)
	}
	errs, states, state := &route.Errors{}, c.flagStates(), flagUpdateState{in.Enabled, in.Value}
	var err error
	if in.Segment.Set {
		err = flagUpdateOverride{Segment: in.Segment.Value.ID, Priority: in.Segment.Value.Priority, flagUpdateState: state}.write(c, states, errs)
	} else {
		err = state.write(c, states, errs)
	}
	return finishUpdate(c, states, errs, err)
}

func updateFlags(c *Ctx, in flagUpdates) (route.Empty, error) {
	if err := in.Feature.find(c); err != nil {
		return c.fail(err)
	}
	errs, states := &route.Errors{}, c.flagStates()
	err := in.Default.write(c, states, errs.At("environment_default"))
	for _, i := range inOrder(in.Overrides, func(o flagUpdateOverride) route.Optional[int64] { return o.Priority }) {
		if err == nil {
			err = in.Overrides[i].write(c, states, errs.At("segment_overrides").Item(i))
		}
	}
	return finishUpdate(c, states, errs, err)
}

func finishUpdate(c *Ctx, states flagStates, errs *route.Errors, err error) (route.Empty, error) {
	if err == nil {
		err = errs.Err()
	}
	if err != nil {
		return c.fail(err)
	}
	states.publish()
	return c.OK()
}

// write changes the default.
func (in flagUpdateState) write(c *Ctx, states flagStates, errs *route.Errors) error {
	return changeDefault(states, func(s *fsm.FeatureState) error {
		in.apply(c, s, errs)
		return nil
	})
}

func (in flagUpdateState) apply(c *Ctx, s *fsm.FeatureState, errs *route.Errors) {
	s.Enabled = in.Enabled
	if msg := in.Value.apply(c, &s.Value); msg != "" {
		errs.At("value").NonField(msg)
	}
}

// write changes or makes an override.
func (in flagUpdateOverride) write(c *Ctx, states flagStates, errs *route.Errors) error {
	if s := fsm.Segments.Ref(c, in.Segment); s == nil || s.Project != c.Project.ID {
		errs.Add("segment_id", "Segment with id "+strconv.FormatUint(in.Segment, 10)+" not found in project")
		return nil
	}
	var priority *int64
	in.Priority.IntoPtr(&priority)
	return changeOverride(c, states, in.Segment, priority, errs, func(s *fsm.FeatureState) error {
		in.apply(c, s, errs)
		return replaceShares(c, s, in.Shares)
	})
}

func deleteOverride(c *Ctx, in struct {
	Feature flagName         `json:"feature" v:"required"`
	Segment flagSegmentInput `json:"segment" v:"required"`
}) (route.Empty, error) {
	if err := in.Feature.find(c); err != nil {
		return c.fail(err)
	}
	missing := route.Detail(404, "Segment override for segment "+strconv.FormatUint(in.Segment.ID, 10)+" does not exist")
	return route.Empty{}, removeOverride(c, in.Segment.ID, missing)
}
