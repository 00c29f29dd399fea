package admin

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// featureSegment ties a segment to a feature in an environment, as writing it answers.
type featureSegment struct {
	ID          uint64    `json:"id"`
	UUID        uuid.UUID `json:"uuid"`
	Feature     uint64    `json:"feature"`
	Segment     uint64    `json:"segment"`
	Environment uint64    `json:"environment"`
	Priority    int64     `json:"priority"`
}

// listedFeatureSegment is one as reading shows it.
type listedFeatureSegment struct {
	ID                uint64    `json:"id"`
	UUID              uuid.UUID `json:"uuid"`
	Segment           uint64    `json:"segment"`
	Priority          int64     `json:"priority"`
	Environment       uint64    `json:"environment"`
	SegmentName       string    `json:"segment_name"`
	IsFeatureSpecific bool      `json:"is_feature_specific"`
}

type featureSegmentRef struct {
	ID uint64 `path:"id"`
}

type featureSegmentInput struct {
	Feature     route.Optional[uint64] `json:"feature" v:"required,pk"`
	Segment     route.Optional[uint64] `json:"segment" v:"required,pk"`
	Environment route.Optional[uint64] `json:"environment" v:"required,pk"`
}

type featureSegmentUpdate struct {
	featureSegmentRef
	featureSegmentInput
}

type prioritiesInput struct {
	List []priorityInput `body:""`
}

type priorityInput struct {
	ID       uint64 `json:"id" v:"required"`
	Priority int64  `json:"priority" v:"required,min=0,max=2147483647"`
}

func featureSegmentRows() []route.Row {
	const list, detail = "/api/v1/features/feature-segments/", "/api/v1/features/feature-segments/{id}/"
	return []route.Row{
		{Method: "GET", Path: list, OperationID: "list_feature_segments", Tag: "Feature segments", Auth: route.Admin, Handler: read(listFeatureSegments)},
		{Method: "POST", Path: list, OperationID: "api_v1_features_feature_segments_create", Tag: "Feature segments", Auth: route.Admin,
			Permission: EnvironmentPermission("MANAGE_SEGMENT_OVERRIDES", Body("environment")), Kind: route.Write, Status: 201,
			Handler: write(createFeatureSegment)},
		{Method: "GET", Path: list + "get-by-uuid/{uuid}/", OperationID: "api_v1_features_feature_segments_get_by_uuid_retrieve",
			Tag: "Feature segments", Auth: route.Admin, Handler: read(featureSegmentByUUID)},
		{Method: "POST", Path: list + "update-priorities/", OperationID: "api_v1_features_feature_segments_update_priorities_create",
			Tag: "Feature segments", Auth: route.Admin, Permission: prioritiesPermission(), Kind: route.Write, Handler: write(updatePriorities)},
		{Method: "GET", Path: detail, OperationID: "api_v1_features_feature_segments_retrieve", Tag: "Feature segments", Auth: route.Admin,
			Permission: featureSegmentPermission(), Handler: read(getFeatureSegment)},
		{Method: "PUT", Path: detail, OperationID: "api_v1_features_feature_segments_update", Tag: "Feature segments", Auth: route.Admin,
			Permission: featureSegmentPermission(), Kind: route.Write, Handler: write(updateFeatureSegment)},
		{Method: "PATCH", Path: detail, OperationID: "api_v1_features_feature_segments_partial_update", Tag: "Feature segments", Auth: route.Admin,
			Permission: featureSegmentPermission(), Kind: route.Write, Handler: write(updateFeatureSegment)},
		{Method: "DELETE", Path: detail, OperationID: "delete_feature_segment", Tag: "Feature segments", Auth: route.Admin,
			Permission: featureSegmentPermission(), Kind: route.Write, Status: 204, Handler: write(deleteFeatureSegment)},
	}
}

// featureSegmentPermission judges by the environment of the feature segment in the path.
func featureSegmentPermission() route.Permission {
	return Custom("environment permission MANAGE_SEGMENT_OVERRIDES", func(c *Ctx) error {
		id, ok := parseID(c.Param("id"))
		if !ok {
			return route.NotFoundDetail()
		}
		fs, err := find(c, fsm.FeatureSegments, id)
		if err != nil {
			return err
		}
		return c.managesOverrides(fs.Environment)
	})
}

// prioritiesPermission judges by the environments of the ids in the body; ids that do not exist are the handler's to refuse.
func prioritiesPermission() route.Permission {
	return Custom("environment permission MANAGE_SEGMENT_OVERRIDES", func(c *Ctx) error {
		body, err := c.Body()
		if err != nil {
			return err
		}
		for _, item := range body.Items {
			id, _ := item.Get("id").Int()
			if fs := fsm.FeatureSegments.Ref(c, uint64(max(id, 0))); fs != nil && fs.Environment != c.Environment.ID {
				if err := c.managesOverrides(fs.Environment); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// managesOverrides loads an environment and refuses who may not manage its segment overrides.
func (c *Ctx) managesOverrides(environment uint64) error {
	if !c.loadEnvironment(environment) || !c.HasEnvironment(c.Environment, "MANAGE_SEGMENT_OVERRIDES") {
		return route.PermissionDenied()
	}
	return nil
}

// listFeatureSegments shows nothing of projects that the caller does not see.
func listFeatureSegments(c *Ctx, in struct {
	Environment uint64 `query:"environment" v:"required"`
	Feature     uint64 `query:"feature" v:"required"`
}) (route.Page[listedFeatureSegment], error) {
	rows := []fsm.FeatureSegment{}
	if c.loadEnvironment(in.Environment) && c.HasProject(c.Project, "VIEW_PROJECT") {
		rows = byPriority(c, in.Environment, in.Feature)
	}
	return paginate(c, rows, c.renderListedFeatureSegment)
}

// byPriority lists the feature segments of a feature in an environment, the winner first.
func byPriority(r fsm.Reader, environment, feature uint64) []fsm.FeatureSegment {
	rows := fsm.FeatureSegmentsByEnvironment.List(r, environment, feature)
	slices.SortStableFunc(rows, func(a, b fsm.FeatureSegment) int { return cmp.Compare(a.Priority, b.Priority) })
	return rows
}

func getFeatureSegment(c *Ctx, in featureSegmentRef) (listedFeatureSegment, error) {
	fs, err := find(c, fsm.FeatureSegments, in.ID)
	return c.renderListedFeatureSegment(fs), err
}

func featureSegmentByUUID(c *Ctx, in struct {
	UUID uuid.UUID `path:"uuid"`
}) (listedFeatureSegment, error) {
	fs, ok := fsm.FeatureSegmentsByUUID.First(c, in.UUID)
	if !ok || !c.loadEnvironment(fs.Environment) || !c.HasProject(c.Project, "VIEW_PROJECT") {
		return listedFeatureSegment{}, route.NotFound(fsm.FeatureSegments.Name())
	}
	return c.renderListedFeatureSegment(fs), nil
}

func createFeatureSegment(c *Ctx, in featureSegmentInput) (featureSegment, error) {
	if err := c.directWrite(fsm.FeatureState{}); err != nil {
		return featureSegment{}, err
	}
	if err := checkLink(c, in.Feature.Value, in.Segment.Value, &route.Errors{}); err != nil {
		return featureSegment{}, err
	}
	return renderFeatureSegment(linkSegment(c, in.Feature.Value, in.Segment.Value, nil)), nil
}

// MsgOverridesLimit is the refusal of one segment override too many.
const MsgOverridesLimit = "The environment has reached the maximum allowed segments overrides limit."

// checkLink refuses a feature and a segment that cannot come together in c.Environment, and one too many; errs is what is wrong already.
func checkLink(c *Ctx, feature, segment uint64, errs *route.Errors) error {
	checkPair(c, feature, segment, errs)
	if errs.Empty() && full(fsm.FeatureSegmentsByEnvironment.Count(c, c.Environment.ID), c.Env.Options.MaxSegmentOverrides) {
		errs.Add("environment", MsgOverridesLimit)
	}
	return errs.Err()
}

// checkPair is checkLink for a link that is there already.
func checkPair(c *Ctx, feature, segment uint64, errs *route.Errors) {
	if f := fsm.Features.Ref(c, feature); f == nil || f.Project != c.Project.ID {
		errs.Add("feature", route.InvalidPKText(feature))
	}
	s := fsm.Segments.Ref(c, segment)
	switch {
	case s == nil || s.Project != c.Project.ID:
		errs.Add("segment", route.InvalidPKText(segment))
	case s.Feature != 0 && s.Feature != feature:
		errs.Add("feature", "Can only create segment override(using this segment) for feature "+strconv.FormatUint(s.Feature, 10))
	}
}

// linkSegment makes a feature segment in c.Environment, after the others or with a priority; who has that priority already, and all after
// it, move down.
func linkSegment(c *Ctx, feature, segment uint64, priority *int64) fsm.FeatureSegment {
	fs := fsm.FeatureSegment{UUID: c.Tx.NewUUID(), Feature: feature, Segment: segment, Environment: c.Environment.ID}
	others := byPriority(c, c.Environment.ID, feature)
	fs.Priority = placeLink(others, priority, c.putLink)
	return fsm.FeatureSegments.Put(c.Tx, fs)
}

// putLink stores a feature segment that changed.
func (c *Ctx) putLink(fs fsm.FeatureSegment) { fsm.FeatureSegments.Put(c.Tx, fs) }

// maxPriority is the last priority: clients with 32-bit integers refuse an environment document with a larger one.
const maxPriority = math.MaxInt32

// afterAll is the priority behind all others, which is past [maxPriority] when that one is taken.
func afterAll(others []fsm.FeatureSegment) int64 {
	last := int64(-1)
	for _, o := range others {
		last = max(last, o.Priority)
	}
	return last + 1
}

// placeLink finds the priority of a new feature segment beside others and stores those that make room for it: they move down, but at the end,
// where nothing gets past [maxPriority], up.
func placeLink(others []fsm.FeatureSegment, priority *int64, put func(fsm.FeatureSegment)) int64 {
	place := afterAll(others)
	if priority != nil {
		place = *priority
	}
	taken := slices.ContainsFunc(others, func(o fsm.FeatureSegment) bool { return o.Priority == place })
	lastFirst := slices.SortedStableFunc(slices.Values(others), func(a, b fsm.FeatureSegment) int { return cmp.Compare(b.Priority, a.Priority) })
	behind := 0
	for i, o := range lastFirst {
		moved, room := o.Priority, int64(maxPriority-i)
		if o.Priority >= place {
			behind++
			if taken {
				moved++
			}
		} else {
			room-- // for the new one
		}
		if moved = min(moved, room); moved != o.Priority {
			o.Priority = moved
			put(o)
		}
	}
	return min(place, int64(maxPriority-behind))
}

// updateFeatureSegment can point the override at another segment; feature and environment stay.
func updateFeatureSegment(c *Ctx, in featureSegmentUpdate) (featureSegment, error) {
	fs, err := find(c, fsm.FeatureSegments, in.ID)
	if err != nil {
		return featureSegment{}, err
	}
	if err := c.directWrite(fsm.FeatureState{}); err != nil {
		return featureSegment{}, err
	}
	errs := &route.Errors{}
	if in.Feature.Set && in.Feature.Value != fs.Feature {
		errs.Add("feature", "Cannot change the feature of a feature segment")
	}
	if in.Environment.Set && in.Environment.Value != fs.Environment {
		errs.Add("environment", "Cannot change the environment of a feature segment")
	}
	if err := errs.Err(); err != nil || !in.Segment.Set || in.Segment.Value == fs.Segment {
		return renderFeatureSegment(fs), err
	}
	checkPair(c, fs.Feature, in.Segment.Value, errs)
	if err := errs.Err(); err != nil {
		return featureSegment{}, err
	}
	fs.Segment = in.Segment.Value
	c.Tx.TouchEnvironment(fs.Environment)
	return renderFeatureSegment(fsm.FeatureSegments.Put(c.Tx, fs)), nil
}

func deleteFeatureSegment(c *Ctx, in featureSegmentRef) (route.Empty, error) {
	fs, err := find(c, fsm.FeatureSegments, in.ID)
	if err != nil {
		return c.fail(err)
	}
	if err := c.directWrite(fsm.FeatureState{}); err != nil {
		return c.fail(err)
	}
	unlinkSegment(c, fs)
	return c.OK()
}

// unlinkSegment removes a feature segment with its state; those after it move up.
func unlinkSegment(c *Ctx, fs fsm.FeatureSegment) {
	f, _ := fsm.Features.Get(c, fs.Feature)
	fsm.FeatureStatesByFeatureSegment.DeleteAll(c.Tx, fs.ID)
	fsm.FeatureSegments.Delete(c.Tx, fs.ID)
	for _, o := range fsm.FeatureSegmentsByEnvironment.List(c, fs.Environment, fs.Feature) {
		if o.Priority > fs.Priority {
			o.Priority--
			fsm.FeatureSegments.Put(c.Tx, o)
		}
	}
	c.Audit(fs.Environment, fsm.AuditFeature, fs.Feature, segmentTexts(f.Name, segmentName(c, fs.Segment)).deleted)
}

// updatePriorities gives feature segments the priorities asked for. Where not all of the feature's are sent, each moves to its new place, the
// others making room, in the order they have now, and the answer shows what was asked for even where a later move pushed an earlier one on:
// as the reference does it. All of them moved so can end in an order that nobody asked for, so they just take what was sent.
func updatePriorities(c *Ctx, in prioritiesInput) ([]listedFeatureSegment, error) {
	wanted, chosen, err := choosePriorities(c, in.List)
	if err != nil || len(chosen) == 0 {
		return []listedFeatureSegment{}, err
	}
	if err := c.directWrite(fsm.FeatureState{}); err != nil {
		return nil, err
	}
	changed := false
	for i := range chosen {
		changed = changed || chosen[i].Priority != wanted[chosen[i].ID]
	}
	if !changed {
		return mapped(chosen, c.renderListedFeatureSegment), nil
	}
	environment, feature := chosen[0].Environment, chosen[0].Feature
	whole := len(chosen) == fsm.FeatureSegmentsByEnvironment.Count(c, environment, feature)
	for i := range chosen {
		chosen[i].Priority = wanted[chosen[i].ID]
		if whole {
			c.putLink(chosen[i])
		} else {
			moveLink(fsm.FeatureSegmentsByEnvironment.List(c, environment, feature), chosen[i].ID, chosen[i].Priority, c.putLink)
		}
	}
	f, _ := fsm.Features.Get(c, feature)
	c.Audit(environment, fsm.AuditFeature, f.ID, "Segment overrides re-ordered for feature '"+f.Name+"'.")
	return mapped(chosen, c.renderListedFeatureSegment), nil
}

// choosePriorities gives the new priority by id, and the feature segments in their present order.
func choosePriorities(c *Ctx, list []priorityInput) (map[uint64]int64, []fsm.FeatureSegment, error) {
	wanted := map[uint64]int64{}
	chosen := make([]fsm.FeatureSegment, 0, len(list))
	for _, in := range list {
		fs, ok := fsm.FeatureSegments.Get(c, in.ID)
		if !ok {
			return nil, nil, route.NonField("Some of the provided ids were not found.")
		}
		if _, again := wanted[fs.ID]; !again {
			chosen = append(chosen, fs)
		}
		wanted[fs.ID] = in.Priority
		if fs.Feature != chosen[0].Feature || fs.Environment != chosen[0].Environment {
			return nil, nil, route.NonField("All feature segments must belong to the same feature & environment.")
		}
	}
	slices.SortFunc(chosen, func(a, b fsm.FeatureSegment) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.ID, b.ID))
	})
	return wanted, chosen, nil
}

// moveLink gives one of the links a priority and stores what changed; those between its old place and the new one move by one.
func moveLink(links []fsm.FeatureSegment, id uint64, to int64, put func(fsm.FeatureSegment)) {
	i := slices.IndexFunc(links, func(o fsm.FeatureSegment) bool { return o.ID == id })
	from := links[i].Priority
	for _, o := range links {
		switch {
		case o.ID == id:
			o.Priority = to
		case to < from && to <= o.Priority && o.Priority < from:
			o.Priority++
		case from < to && from < o.Priority && o.Priority <= to:
			o.Priority--
		default:
			continue
		}
		put(o)
	}
}

func renderFeatureSegment(fs fsm.FeatureSegment) featureSegment {
	return featureSegment{ID: fs.ID, UUID: fs.UUID, Feature: fs.Feature, Segment: fs.Segment, Environment: fs.Environment, Priority: fs.Priority}
}

func (c *Ctx) renderListedFeatureSegment(fs fsm.FeatureSegment) listedFeatureSegment {
	out := listedFeatureSegment{ID: fs.ID, UUID: fs.UUID, Segment: fs.Segment, Priority: fs.Priority, Environment: fs.Environment}
	if s := fsm.Segments.Ref(c, fs.Segment); s != nil {
		out.SegmentName, out.IsFeatureSpecific = s.Name, s.Feature != 0
	}
	return out
}
