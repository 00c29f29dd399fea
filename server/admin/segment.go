package admin

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/eval"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// segment is a set of rules over traits, as the API shows it.
type segment struct {
	ID          uint64         `json:"id"`
	UUID        uuid.UUID      `json:"uuid"`
	CreatedAt   fsm.Time       `json:"created_at"`
	UpdatedAt   fsm.Time       `json:"updated_at"`
	Name        string         `json:"name"`
	Description *string        `json:"description"`
	Project     uint64         `json:"project"`
	Feature     *uint64        `json:"feature"`
	VersionOf   uint64         `json:"version_of"` // its own id
	Rules       []segmentRule  `json:"rules"`
	Metadata    []metadata     `json:"metadata"`
	Memberships []segmentCount `json:"membership_counts"`
	ManagedBy   string         `json:"managed_by"`
}

// segmentCount is how many identities of an environment are in a segment; nothing counts them yet.
type segmentCount struct {
	Environment  uint64   `json:"environment"`
	Count        int      `json:"count"`
	LastSyncedAt fsm.Time `json:"last_synced_at"`
}

// overridingState is a feature state that overrides for a segment.
type overridingState struct {
	ID          uint64 `json:"id"`
	Feature     uint64 `json:"feature"`
	Environment uint64 `json:"environment"`
}

type segmentRef struct {
	ID uint64 `path:"id"`
}

type segmentInput struct {
	Name        route.Optional[string]      `json:"name" v:"required,max=2000"`
	Description route.Optional[string]      `json:"description" v:"null,blank"`
	Feature     route.Optional[uint64]      `json:"feature" v:"null,pk"`
	Rules       route.Optional[[]ruleInput] `json:"rules" v:"required,nonempty"`
	Metadata    metadataList                `json:"metadata"`
}

type segmentUpdate struct {
	segmentRef
	segmentInput
}

type segmentQuery struct {
	Q                      string                 `query:"q"`
	Identity               route.Optional[string] `query:"identity"`
	IncludeFeatureSpecific bool                   `query:"include_feature_specific" v:"default=true"`
}

func segmentRows() []route.Row {
	const list, detail = "/api/v1/projects/{project_pk}/segments/", "/api/v1/projects/{project_pk}/segments/{id}/"
	project := Path("project_pk")
	view, manage := ProjectPermission("VIEW_PROJECT", project), ProjectPermission("MANAGE_SEGMENTS", project)
	return []route.Row{
		{Method: "GET", Path: list, OperationID: "list_project_segments", Tag: "Segments", Auth: route.Admin, Permission: view.Hidden(),
			Handler: read(listSegments)},
		{Method: "POST", Path: list, OperationID: "create_project_segment", Tag: "Segments", Auth: route.Admin, Permission: manage,
			Kind: route.Write, Status: 201, Handler: write(createSegment)},
		{Method: "GET", Path: detail, OperationID: "get_project_segment", Tag: "Segments", Auth: route.Admin, Permission: view,
			Handler: read(getSegment)},
		{Method: "PUT", Path: detail, OperationID: "update_project_segment", Tag: "Segments", Auth: route.Admin, Permission: manage,
			Kind: route.Write, Handler: write(updateSegment)},
		{Method: "PATCH", Path: detail, OperationID: "api_v1_projects_segments_partial_update", Tag: "Segments", Auth: route.Admin, Permission: manage,
			Kind: route.Write, Handler: write(updateSegment)},
		{Method: "DELETE", Path: detail, OperationID: "api_v1_projects_segments_destroy", Tag: "Segments", Auth: route.Admin, Permission: manage,
			Kind: route.Write, Status: 204, Handler: write(deleteSegment)},
		{Method: "POST", Path: detail + "clone/", OperationID: "api_v1_projects_segments_clone_create", Tag: "Segments", Auth: route.Admin,
			Permission: manage, Kind: route.Write, Status: 201, Handler: write(cloneSegment)},
		{Method: "GET", Path: detail + "associated-features/", OperationID: "api_v1_projects_segments_associated_features_retrieve", Tag: "Segments",
			Auth: route.Admin, Permission: manage, Handler: read(listOverridingStates)},
		{Method: "GET", Path: detail + "members/", OperationID: "api_v1_projects_segments_members_retrieve", Tag: "Segments", Auth: route.Admin,
			Permission: view, Summary: "Not available: identities are not counted by segment.", Handler: read(segmentMembers)},
		{Method: "GET", Path: "/api/v1/segments/get-by-uuid/{uuid}/", OperationID: "api_v1_segments_get_by_uuid_retrieve", Tag: "Segments",
			Auth: route.Admin, NoHead: true, Handler: read(segmentByUUID)},
	}
}

func listSegments(c *Ctx, q segmentQuery) (route.SizedPage[segment], error) {
	matches := func(uint64) bool { return true }
	if q.Identity.Value != "" {
		matched, err := c.segmentsOf(q.Identity.Value)
		if err != nil {
			return route.SizedPage[segment]{}, err
		}
		matches = func(id uint64) bool { return matched[id] }
	}
	rows, text := []fsm.Segment{}, strings.ToLower(q.Q)
	for s := range fsm.SegmentsByProject.Refs(c, c.Project.ID) {
		if strings.Contains(strings.ToLower(s.Name), text) && (q.IncludeFeatureSpecific || s.Feature == 0) && matches(s.ID) {
			rows = append(rows, *s)
		}
	}
	return paginateSized(c, rows, c.renderSegment)
}

// segmentsOf gives the segments of the project that an identity, named by id or uuid, is in.
func (c *Ctx) segmentsOf(identity string) (map[uint64]bool, error) {
	id, _ := identityID(c, identity)
	for e := range fsm.EnvironmentsByProject.All(c, c.Project.ID) {
		rec, ok := c.Identities().Environment(e.ID).ByID(id)
		if !ok {
			continue
		}
		c.Environment = e
		v, err := c.view()
		if err != nil {
			return nil, err
		}
		engine, evaluation, matched := v.Segments(), eval.Evaluation{}, map[uint64]bool{}
		engine.MatchSegments(c.subject(engine, &rec), &evaluation)
		for _, i := range evaluation.AppendMatches(nil) {
			segment, _ := parseID(engine.Segment(i).Key)
			matched[segment] = true
		}
		return matched, nil
	}
	return nil, route.InvalidPK("identity", identity)
}

func createSegment(c *Ctx, in segmentInput) (segment, error) {
	s := fsm.Segment{UUID: c.Tx.NewUUID(), Project: c.Project.ID, CreatedAt: c.Now()}
	if err := in.apply(c, &s); err != nil {
		return segment{}, err
	}
	s, err := addSegment(c, s)
	if err != nil {
		return segment{}, err
	}
	c.putMetadata(fsm.ContentSegment, s.ID, in.Metadata)
	return c.renderSegment(s), nil
}

// addSegment stores a new segment, if there is room for it.
func addSegment(c *Ctx, s fsm.Segment) (fsm.Segment, error) {
	if full(fsm.SegmentsByProject.Count(c, c.Project.ID), c.Env.Options.MaxSegments) {
		return s, route.Field("project", "The project has reached the maximum allowed segments limit.")
	}
	s.UpdatedAt, s.Version = c.Now(), 1
	s = fsm.Segments.Put(c.Tx, s)
	c.Audit(0, fsm.AuditSegment, s.ID, "New Segment created: "+s.Name)
	return s, nil
}

func getSegment(c *Ctx, in segmentRef) (segment, error) {
	s, err := findSegment(c, in)
	return c.renderSegment(s), err
}

func segmentByUUID(c *Ctx, in struct {
	UUID uuid.UUID `path:"uuid"`
}) (segment, error) {
	s, ok := fsm.SegmentsByUUID.First(c, in.UUID)
	if ok {
		c.Project, ok = fsm.Projects.Get(c, s.Project)
	}
	if !ok || !c.HasProject(c.Project, "VIEW_PROJECT") {
		return segment{}, route.NotFound(fsm.Segments.Name())
	}
	return c.renderSegment(s), nil
}

// updateSegment also books the revision that the reference keeps of what was there before: a "created" row with an id of its own.
func updateSegment(c *Ctx, in segmentUpdate) (segment, error) {
	s, err := findSegment(c, in.segmentRef)
	if err != nil {
		return segment{}, err
	}
	before := s.Name
	if err := in.apply(c, &s); err != nil {
		return segment{}, err
	}
	s.UpdatedAt = c.Now()
	s.Version++
	s = fsm.Segments.Put(c.Tx, s)
	c.putMetadata(fsm.ContentSegment, s.ID, in.Metadata)
	c.Audit(0, fsm.AuditSegment, c.Tx.NextSegmentID(), "New Segment created: "+before)
	c.Audit(0, fsm.AuditSegment, s.ID, "Segment updated: "+s.Name)
	return c.renderSegment(s), nil
}

func deleteSegment(c *Ctx, in segmentRef) (route.Empty, error) {
	s, err := findSegment(c, in)
	if err != nil {
		return c.fail(err)
	}
	removeSegment(c, s)
	return c.OK()
}

// removeSegment deletes a segment and what is overridden for it.
func removeSegment(c *Ctx, s fsm.Segment) {
	for _, fs := range fsm.FeatureSegmentsBySegment.List(c, s.ID) {
		unlinkSegment(c, fs)
	}
	fsm.MetadataByObject.DeleteAll(c.Tx, fsm.ContentSegment, s.ID)
	fsm.FeatureVersionStatesBySegment.DeleteAll(c.Tx, s.ID)
	fsm.Segments.Delete(c.Tx, s.ID)
	c.Tx.Audit(fsm.AuditLog{Log: "Segment deleted: " + s.Name, Project: c.Project.ID, RelatedObjectType: fsm.AuditSegment, RelatedObjectID: s.ID,
		RelatedObjectUUID: s.UUID})
}

func cloneSegment(c *Ctx, in struct {
	segmentRef
	Name string `json:"name" v:"required,max=2000"`
}) (segment, error) {
	s, err := findSegment(c, in.segmentRef)
	if err != nil {
		return segment{}, err
	}
	clone, err := addSegment(c, fsm.Segment{UUID: c.Tx.NewUUID(), Name: in.Name, Description: s.Description, Project: s.Project, Feature: s.Feature,
		CreatedAt: c.Now(), Rules: renumbered(c.Tx, s.Rules)})
	if err != nil {
		return segment{}, err
	}
	c.copyMetadata(fsm.ContentSegment, s.ID, clone.ID)
	return c.renderSegment(clone), nil
}

// segmentMembers is for clients that ask whether there is such a list.
func segmentMembers(*Ctx, segmentRef) (route.Empty, error) {
	return route.Empty{}, route.NotFoundDetail()
}

func listOverridingStates(c *Ctx, in struct {
	segmentRef
	Environment route.Optional[uint64] `query:"environment"`
}) (route.SizedPage[overridingState], error) {
	s, err := findSegment(c, in.segmentRef)
	if err != nil {
		return route.SizedPage[overridingState]{}, err
	}
	key := []any{s.ID}
	if in.Environment.Set {
		key = append(key, in.Environment.Value)
	}
	states := []overridingState{}
	for fs := range fsm.FeatureSegmentsBySegment.Refs(c, key...) {
		for state := range fsm.FeatureStatesByFeatureSegment.Refs(c, fs.ID) {
			states = append(states, overridingState{state.ID, state.Feature, state.Environment})
		}
	}
	slices.SortFunc(states, func(a, b overridingState) int { return cmp.Compare(a.ID, b.ID) })
	return route.PaginateSized(c.Call, states)
}

// findSegment gets a segment of the project in the path.
func findSegment(c *Ctx, in segmentRef) (fsm.Segment, error) {
	s, ok := fsm.Segments.Get(c, in.ID)
	if !ok || s.Project != c.Project.ID {
		return s, route.NotFound(fsm.Segments.Name())
	}
	return s, nil
}

// apply checks what was sent and changes the row.
func (in segmentInput) apply(c *Ctx, s *fsm.Segment) error {
	if id := in.Feature.Value; id != 0 {
		if f := fsm.Features.Ref(c, id); f == nil || f.Project != s.Project {
			return route.InvalidPK("feature", id)
		}
	}
	if err := c.metadataFault(fsm.ContentSegment, in.Metadata, s.ID == 0); err != nil {
		return err
	}
	in.Name.Into(&s.Name)
	in.Description.IntoPtr(&s.Description)
	in.Feature.Into(&s.Feature)
	if !in.Rules.Set {
		return nil
	}
	if err := checkRules(c, in.Rules.Value); err != nil {
		return err
	}
	s.Rules = newRuleNumbers(c.Tx, s.Rules).rules(in.Rules.Value)
	return nil
}

func (c *Ctx) renderSegment(s fsm.Segment) segment {
	return segment{ID: s.ID, UUID: s.UUID, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, Name: s.Name, Description: s.Description,
		Project: s.Project, Feature: idOrNull(s.Feature), VersionOf: s.ID, Rules: mapped(s.Rules, renderRule),
		Metadata: metadataOf(c, fsm.ContentSegment, s.ID)}
}
