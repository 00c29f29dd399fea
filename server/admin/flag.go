package admin

import (
	"cmp"
	"math"
	"slices"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// flag is what a feature does in an environment: its default and its segment overrides, the winner first.
type flag struct {
	Default   flagState      `json:"environment_default"`
	Overrides []flagOverride `json:"segment_overrides"`
}

type flagState struct {
	Enabled  bool          `json:"enabled"`
	Value    *flagValue    `json:"value"`
	Variants []flagVariant `json:"variants"`
}

type flagOverride struct {
	Segment  flagSegment `json:"segment"`
	Priority int64       `json:"priority"`
	flagState
}

type flagSegment struct {
	ID uint64 `json:"id"`
}

type flagVariant struct {
	ID     uint64  `json:"id"` // of the option
	Weight float64 `json:"weight"`
}

type flagInput struct {
	Default   route.Optional[flagStateInput]      `json:"environment_default"`
	Overrides route.Optional[[]flagOverrideInput] `json:"segment_overrides"`
}

type flagStateInput struct {
	Enabled  route.Optional[bool]               `json:"enabled"`
	Value    route.Optional[flagValue]          `json:"value" v:"null,whole"`
	Variants route.Optional[[]flagVariantInput] `json:"variants" v:"null"`
}

type flagOverrideInput struct {
	Segment  flagSegmentInput      `json:"segment" v:"required"`
	Priority route.Optional[int64] `json:"priority" v:"null,min=0,max=2147483647"`
	flagStateInput
}

type flagSegmentInput struct {
	ID uint64 `json:"id" v:"required"`
}

type flagVariantInput struct {
	ID     uint64  `json:"id" v:"required"`
	Weight float64 `json:"weight" v:"required,min=0,max=100"`
}

func flagRows() []route.Row {
	const detail = "/api/__future__/environments/{environment_key}/features/{feature_id}/"
	const override = "/api/__future__/environments/{environment_key}/features/{feature_id}/segment-overrides/{segment_id}/"
	update := flagPermission("UPDATE_FEATURE_STATE for environment_default, MANAGE_SEGMENT_OVERRIDES for segment_overrides", flagKeys)
	return []route.Row{
		{Method: "GET", Path: detail, OperationID: "api___future___environments_features_retrieve", Tag: "Experimental flag API", Auth: route.Admin,
			Summary:    "Show what a flag does in an environment.",
			Permission: flagPermission("VIEW_ENVIRONMENT, UPDATE_FEATURE_STATE or MANAGE_SEGMENT_OVERRIDES", nil), Handler: read(getFlag)},
		{Method: "PUT", Path: detail, OperationID: "api___future___environments_features_update", Tag: "Experimental flag API", Auth: route.Admin,
			Summary:    "Replace the default or the overrides: what is left out of them is as if they were new, and overrides that are not listed go.",
			Permission: update, Kind: route.Write, Handler: write(putFlag)},
		{Method: "PATCH", Path: detail, OperationID: "api___future___environments_features_partial_update", Tag: "Experimental flag API",
			Summary: "Change what is sent.", Auth: route.Admin, Permission: update, Kind: route.Write, Handler: write(patchFlag)},
		{Method: "DELETE", Path: override, OperationID: "api___future___environments_features_segment_overrides_destroy",
			Tag: "Experimental flag API", Summary: "Remove the override of a segment.", Auth: route.Admin, Kind: route.Write,
			Permission: flagPermission("MANAGE_SEGMENT_OVERRIDES", func(*Ctx) []string { return []string{"MANAGE_SEGMENT_OVERRIDES"} }),
			Handler:    write(deleteFlagOverride)},
	}
}

// flagKeys are the keys that a write takes: it depends on what is in the body.
func flagKeys(c *Ctx) (keys []string) {
	if c.BodyMember("environment_default").Kind != route.Missing {
		keys = append(keys, "UPDATE_FEATURE_STATE")
	}
	if c.BodyMember("segment_overrides").Kind != route.Missing {
		keys = append(keys, "MANAGE_SEGMENT_OVERRIDES")
	}
	return keys
}

// flagPermission hides the environment from those who hold no key for feature states there, and asks for the keys that need names. A write
// takes one of the keys that let write at least.
func flagPermission(name string, need func(*Ctx) []string) route.Permission {
	key := Path("environment_key")
	any := []string{"UPDATE_FEATURE_STATE", "MANAGE_SEGMENT_OVERRIDES"}
	if need == nil {
		any = append(any, "VIEW_ENVIRONMENT")
	}
	visible := environment(name, key, func(c *Ctx) bool {
		return slices.ContainsFunc(any, func(key string) bool { return c.HasEnvironment(c.Environment, key) })
	}).Refusing(route.NotFound(fsm.Environments.Name()))
	return Custom("environment "+name, func(c *Ctx) error {
		if err := visible.Feature(Path("feature_id")).Check(c.Call); err != nil || need == nil {
			return err
		}
		for _, key := range need(c) {
			if !c.HasEnvironment(c.Environment, key) {
				return route.PermissionDenied()
			}
		}
		return nil
	})
}

func getFlag(c *Ctx, _ struct{}) (flag, error) { return renderFlag(c) }

func putFlag(c *Ctx, in flagInput) (flag, error) { return in.write(c, true) }

func patchFlag(c *Ctx, in flagInput) (flag, error) { return in.write(c, false) }

func deleteFlagOverride(c *Ctx, in struct {
	Segment uint64 `path:"segment_id"`
}) (flag, error) {
	if err := removeOverride(c, in.Segment, route.Detail(404, "Segment override not found.")); err != nil {
		return flag{}, err
	}
	return renderFlag(c)
}

// removeOverride removes the override of a segment; missing is the answer when there is none.
func removeOverride(c *Ctx, segment uint64, missing error) error {
	found := func(s fsm.FeatureVersionState) bool { return segment != 0 && s.Link.Segment == segment }
	if !slices.ContainsFunc(fsm.StatesInPlace(c, c.Environment.ID, c.Feature.ID), found) {
		return missing
	}
	states := c.flagStates()
	for s, ok := overrideOf(states, segment); ok; s, ok = overrideOf(states, segment) {
		states.remove(s)
	}
	states.publish()
	return nil
}

// write changes the flag; replace resets what the input leaves out.
func (in flagInput) write(c *Ctx, replace bool) (flag, error) {
	if !in.Default.Set && !in.Overrides.Set {
		return renderFlag(c)
	}
	if err := in.checkSegments(); err != nil {
		return flag{}, err
	}
	errs, states := &route.Errors{}, c.flagStates()
	if in.Default.Set {
		if err := changeDefault(states, func(s *fsm.FeatureState) error {
			if replace {
				resetDefault(c, s)
			}
			return in.Default.Value.apply(c, s, errs.At("environment_default"))
		}); err != nil {
			return flag{}, err
		}
	}
	if replace && in.Overrides.Set {
		in.removeOthers(states)
	}
	for _, i := range inOrder(in.Overrides.Value, func(o flagOverrideInput) route.Optional[int64] { return o.Priority }) {
		if err := in.Overrides.Value[i].write(c, states, replace, errs.At("segment_overrides").Item(i)); err != nil {
			return flag{}, err
		}
	}
	if err := errs.Err(); err != nil {
		return flag{}, err
	}
	if replace {
		in.settlePriorities(states)
	}
	states.publish()
	return renderFlag(c)
}

// settlePriorities gives the overrides, when all came with a priority, exactly those: making room for one may have moved another, and the
// same PUT must change nothing.
func (in flagInput) settlePriorities(states flagStates) {
	if slices.ContainsFunc(in.Overrides.Value, func(o flagOverrideInput) bool { return !o.Priority.Set || o.Priority.Null }) {
		return
	}
	for _, o := range in.Overrides.Value {
		if s, ok := overrideOf(states, o.Segment.ID); ok && s.Link.Priority != o.Priority.Value {
			s.Link.Priority = o.Priority.Value
			states.relink(s.Link)
		}
	}
}

// checkSegments refuses two overrides of one segment.
func (in flagInput) checkSegments() error {
	errs, seen := &route.Errors{}, map[uint64]bool{}
	for i, o := range in.Overrides.Value {
		if seen[o.Segment.ID] {
			errs.At("segment_overrides").Item(i).Add("segment", MsgSegmentTwice)
		}
		seen[o.Segment.ID] = true
	}
	return errs.Err()
}

// removeOthers removes the overrides that are not listed.
func (in flagInput) removeOthers(states flagStates) {
	for _, s := range states.list() {
		listed := slices.ContainsFunc(in.Overrides.Value, func(o flagOverrideInput) bool { return o.Segment.ID == s.Link.Segment })
		if s.State.Kind() == fsm.StateSegment && !listed {
			states.remove(s)
		}
	}
}

// inOrder gives the positions of a list of overrides in the order in which they take their places: those with a priority by it, then the rest.
func inOrder[T any](list []T, priority func(T) route.Optional[int64]) []int {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	rank := func(i int) int64 {
		if p := priority(list[i]); p.Set && !p.Null {
			return p.Value
		}
		return math.MaxInt64
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
	return order
}

// write changes or makes one override.
func (in flagOverrideInput) write(c *Ctx, states flagStates, replace bool, errs *route.Errors) error {
	if s := fsm.Segments.Ref(c, in.Segment.ID); s == nil || s.Project != c.Project.ID {
		errs.At("segment").Add("id", "Segment not found.")
		return nil
	}
	var priority *int64
	in.Priority.IntoPtr(&priority)
	if priority == nil && replace {
		others := slices.DeleteFunc(states.links(), func(l fsm.FeatureSegment) bool { return l.Segment == in.Segment.ID })
		last := afterAll(others)
		if s, ok := overrideOf(states, in.Segment.ID); ok {
			if s.Link.Priority < last-1 {
				last-- // those behind it move up
			}
			last = min(last, maxPriority)
		}
		priority = &last
	}
	return changeOverride(c, states, in.Segment.ID, priority, errs, func(s *fsm.FeatureState) error {
		if replace {
			s.Enabled, s.Value, s.Multivariate = false, startValue(c.Project, c.Feature), nil
		}
		return in.apply(c, s, errs)
	})
}

// resetDefault makes a default what a new environment would start with.
func resetDefault(c *Ctx, s *fsm.FeatureState) {
	s.Enabled, s.Value = c.Feature.DefaultEnabled && !c.Project.PreventFlagDefaults, startValue(c.Project, c.Feature)
	left := s.Multivariate
	s.Multivariate = nil
	for _, o := range fsm.MultivariateOptionsByFeature.List(c, c.Feature.ID) {
		v := takeShare(c.Tx, &left, shareInput{Option: o.ID})
		v.Option, v.Percentage = o.ID, o.DefaultPercentageAllocation
		s.Multivariate = append(s.Multivariate, v)
	}
	slices.SortFunc(s.Multivariate, func(a, b fsm.MultivariateValue) int { return cmp.Compare(a.ID, b.ID) })
}

// apply changes a state as the input says; errs gets what is wrong with it.
func (in flagStateInput) apply(c *Ctx, s *fsm.FeatureState, errs *route.Errors) error {
	in.Enabled.Into(&s.Enabled)
	switch {
	case in.Value.Null:
		s.Value.Type, s.Value.String = fsm.Unicode, nil
	case in.Value.Set:
		if msg := in.Value.Value.apply(c, &s.Value); msg != "" {
			errs.Add("value", msg)
		}
	}
	if !in.Variants.Set || in.Variants.Null {
		return nil
	}
	var shares []shareInput
	total := 0.0
	for i, v := range in.Variants.Value {
		if msg := optionFault(c, c.Feature.ID, v.ID, shares); msg != "" {
			errs.At("variants").Item(i).Add("id", msg)
		}
		shares = append(shares, shareInput{Option: v.ID, Percentage: v.Weight})
		total += v.Weight
	}
	if fsm.MoreThanWhole(total) {
		errs.NonField(MsgShares)
	}
	if !errs.Empty() {
		return nil
	}
	return replaceShares(c, s, route.Some(shares))
}

// renderFlag shows the flag as it is live.
func renderFlag(c *Ctx) (flag, error) {
	out, found := flag{Overrides: []flagOverride{}}, false
	for _, s := range fsm.StatesInPlace(c, c.Environment.ID, c.Feature.ID) {
		shown := flagState{s.State.Enabled, renderFlagValue(s.State.Value), mapped(s.State.Multivariate, func(v fsm.MultivariateValue) flagVariant {
			return flagVariant{v.Option, v.Percentage}
		})}
		if s.State.Kind() == fsm.StateDefault {
			out.Default, found = shown, true
		} else {
			out.Overrides = append(out.Overrides, flagOverride{flagSegment{s.Link.Segment}, s.Link.Priority, shown})
		}
	}
	if !found {
		return flag{}, route.NotFound(fsm.FeatureStates.Name())
	}
	return out, nil
}
