package admin

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/route"
)

// featureQuery are the filters of the feature list. Lists of ids are separated by commas.
type featureQuery struct {
	Search        string                 `query:"search"`
	SortField     string                 `query:"sort_field" v:"choice=created_date|name,default=created_date"`
	SortDirection string                 `query:"sort_direction" v:"choice=ASC|DESC,default=ASC"`
	Tags          route.Optional[string] `query:"tags"`
	TagStrategy   string                 `query:"tag_strategy" v:"choice=INTERSECTION|UNION,default=INTERSECTION"`
	IsArchived    route.Optional[bool]   `query:"is_archived"`
	Type          route.Optional[string] `query:"type" v:"choice=STANDARD|MULTIVARIATE"`
	Owners        string                 `query:"owners"`
	GroupOwners   string                 `query:"group_owners"`
	Environment   route.Optional[uint64] `query:"environment"`
	Segment       route.Optional[uint64] `query:"segment"`
	Identity      string                 `query:"identity"`
	IsEnabled     route.Optional[bool]   `query:"is_enabled" v:"null"`
	ValueSearch   string                 `query:"value_search"`
	Stage         string                 `query:"lifecycle_stage" v:"choice=new|live|stale|permanent|needs_monitoring|to_remove"`

	tags, owners, groups []uint64
}

// Validate reads the lists of ids.
func (q *featureQuery) Validate(errs *route.Errors) {
	read := func(field, what, text string) (ids []uint64) {
		ids, ok := idList(text)
		if !ok {
			errs.Add(field, what+" IDs must be integers.")
		}
		return ids
	}
	q.tags = read("tags", "Tag", q.Tags.Value)
	q.owners = read("owners", "Owner", q.Owners)
	q.groups = read("group_owners", "Group owner", q.GroupOwners)
}

// idList reads "1,2".
func idList(text string) (ids []uint64, ok bool) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		id, err := strconv.ParseUint(part, 10, 63)
		if err != nil {
			return nil, false
		}
		ids = append(ids, id)
	}
	return ids, true
}

func listFeatures(c *Ctx, q featureQuery) (route.SizedPage[feature], error) {
	if !q.Environment.Set && (q.IsEnabled.Set && !q.IsEnabled.Null || q.ValueSearch != "" || q.Stage != "") {
		return route.SizedPage[feature]{}, route.BareArray("Environment is required in order to filter by state search or by state enabled")
	}
	scope, err := c.featureScope(q.Environment, q.Segment)
	if err != nil {
		return route.SizedPage[feature]{}, err
	}
	return paginateSized(c, q.features(scope), scope.render)
}

// features gives the features of the project that pass the filters, in order.
func (q *featureQuery) features(scope featureScope) []fsm.Feature {
	search := strings.ToLower(q.Search)
	var stages *lifecycle
	if q.Stage != "" {
		stages = scope.c.lifecycle(scope.environment)
	}
	rows := []fsm.Feature{}
	for f := range fsm.FeaturesByProject.All(scope.c, scope.c.Project.ID) {
		if strings.Contains(strings.ToLower(f.Name), search) && q.passes(&f) && q.statePasses(scope, f.ID) && (q.Stage == "" || stages.of(&f) == q.Stage) {
			rows = append(rows, f)
		}
	}
	q.sort(rows)
	q.overriddenFirst(scope, rows)
	return rows
}

func (q *featureQuery) passes(f *fsm.Feature) bool {
	switch {
	case q.IsArchived.Set && f.IsArchived != q.IsArchived.Value,
		q.Type.Set && string(f.Type) != q.Type.Value,
		q.Tags.Set && !q.tagsPass(f.Tags),
		len(q.owners)+len(q.groups) > 0 && !shareAny(f.Owners, q.owners) && !shareAny(f.GroupOwners, q.groups):
		return false
	}
	return true
}

// tagsPass asks for all of the tags, or for one; an empty list asks for untagged features.
func (q *featureQuery) tagsPass(have []uint64) bool {
	switch {
	case len(q.tags) == 0:
		return len(have) == 0
	case q.TagStrategy == "UNION":
		return shareAny(have, q.tags)
	}
	return !slices.ContainsFunc(q.tags, func(id uint64) bool { return !slices.Contains(have, id) })
}

func shareAny(a, b []uint64) bool {
	return slices.ContainsFunc(a, func(id uint64) bool { return slices.Contains(b, id) })
}

// statePasses looks at the feature's default in the environment asked for.
func (q *featureQuery) statePasses(scope featureScope, feature uint64) bool {
	enabled := q.IsEnabled.Set && !q.IsEnabled.Null
	if !enabled && q.ValueSearch == "" {
		return true
	}
	s := scope.defaultState(feature)
	return s != nil && (!enabled || s.Enabled == q.IsEnabled.Value) && (q.ValueSearch == "" || valueMatches(s.Value, q.ValueSearch))
}

// valueMatches finds text within text ignoring case, numbers and booleans as a whole.
func valueMatches(v fsm.FeatureValue, search string) bool {
	switch {
	case v.IsNull():
		return false
	case v.Type == fsm.Int:
		return strconv.FormatInt(*v.Integer, 10) == search
	case v.Type == fsm.Bool:
		return strings.EqualFold(strconv.FormatBool(*v.Boolean), search)
	}
	return strings.Contains(strings.ToLower(*v.String), strings.ToLower(search))
}

func (q *featureQuery) sort(rows []fsm.Feature) {
	slices.SortFunc(rows, func(a, b fsm.Feature) int {
		order := cmp.Compare(a.CreatedDate, b.CreatedDate)
		if q.SortField == "name" {
			order = cmp.Or(cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), cmp.Compare(a.Name, b.Name))
		}
		if q.SortDirection == "DESC" {
			order = -order
		}
		return cmp.Or(order, cmp.Compare(a.ID, b.ID))
	})
}

// overriddenFirst moves the features up that the segment or the identity asked for overrides.
func (q *featureQuery) overriddenFirst(scope featureScope, rows []fsm.Feature) {
	first := map[uint64]bool{}
	for id := range scope.segments {
		first[id] = true
	}
	if id, ok := identityID(scope.c, q.Identity); ok {
		for s := range fsm.FeatureStatesByIdentity.Refs(scope.c, id) {
			first[s.Feature] = true
		}
	}
	if len(first) == 0 {
		return
	}
	slices.SortStableFunc(rows, func(a, b fsm.Feature) int {
		switch {
		case first[a.ID] == first[b.ID]:
			return 0
		case first[a.ID]:
			return -1
		}
		return 1
	})
}

// identityID reads how a request names an identity: by id or by uuid.
func identityID(r fsm.Reader, text string) (uint64, bool) {
	if id, ok := parseID(text); ok {
		return id, true
	}
	u, err := uuid.Parse(text)
	if err != nil {
		return 0, false
	}
	return r.Identities().IDOf(identity.UUID(u))
}
