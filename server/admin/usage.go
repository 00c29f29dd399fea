package admin

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// usage is what an organisation asked for on one day, from clients with the same labels.
type usage struct {
	Flags      int64       `json:"flags"`
	Identities int64       `json:"identities"`
	Traits     int64       `json:"traits"`
	Documents  int64       `json:"environment_document"`
	Day        string      `json:"day"`
	Labels     usageLabels `json:"labels"`
}

// evaluations is how often SDKs evaluated a feature on one day.
type evaluations struct {
	Day    string      `json:"day"`
	Count  int64       `json:"count"`
	Labels usageLabels `json:"labels"`
}

// usageLabels are what clients say of themselves; null where they say nothing.
type usageLabels struct {
	ApplicationName    *string `json:"client_application_name"`
	ApplicationVersion *string `json:"client_application_version"`
	UserAgent          *string `json:"user_agent"`
}

type labelQuery struct {
	ApplicationName    string `query:"client_application_name"`
	ApplicationVersion string `query:"client_application_version"`
	UserAgent          string `query:"user_agent"`
}

type usageQuery struct {
	Project     uint64                 `query:"project_id"`
	Environment uint64                 `query:"environment_id"`
	Period      route.Optional[string] `query:"period" v:"null,choice=current_billing_period|previous_billing_period|90_day_period"`
	labelQuery
}

type usageCount struct {
	Count int64 `json:"count"`
}

type eventCount struct {
	Events int64 `json:"events"`
}

// usageNotification tells that a share of a plan's requests was used up.
type usageNotification struct {
	Organisation uint64   `json:"organisation_id"`
	Percent      int64    `json:"percent_usage"`
	NotifiedAt   fsm.Time `json:"notified_at"`
}

// usageDays are the days that are looked at when no period is named.
const usageDays = 30

func usageRows() []route.Row {
	const list = "/api/v1/organisations/{organisation_pk}/usage-data/"
	admin := throttledUsage(OrganisationAdmin(Path("organisation_pk")))
	return []route.Row{
		{Method: "GET", Path: list, OperationID: "api_v1_organisations_usage_data_retrieve", Tag: "Organisations", Auth: route.Admin,
			Summary: "Count an organisation's SDK requests by day.", Permission: admin, Refusals: throttled, NoHead: true, Handler: read(usageData)},
		{Method: "GET", Path: list + "total-count/", OperationID: "api_v1_organisations_usage_data_total_count_retrieve", Tag: "Organisations",
			Summary: "Count an organisation's SDK requests of the last thirty days.", Auth: route.Admin, Permission: admin, Refusals: throttled, NoHead: true,
			Handler: read(usageTotal)},
		{Method: "GET", Path: "/api/v1/organisations/{organisation_pk}/usage/", OperationID: "api_v1_organisations_usage_retrieve", Tag: "Organisations",
			Summary: "Use usage-data/total-count/.", Deprecated: true, Auth: route.Admin, Permission: admin, Refusals: throttled,
			Handler: read(usageEvents)},
		{Method: "GET", Path: "/api/v1/organisations/{organisation_pk}/api-usage-notification/", Tag: "Organisations", Auth: route.Admin,
			OperationID: "api_v1_organisations_api_usage_notification_list", Summary: "An empty list: there is no plan whose share could be used up.",
			Permission: OrganisationMember(Path("organisation_pk")), Handler: read(usageNotifications)},
		{Method: "GET", Path: "/api/v1/projects/{project_pk}/features/{id}/evaluation-data/", OperationID: "get_feature_evaluation_data", Tag: "Features",
			Summary: "Count by day how often SDKs evaluated a feature in an environment.", Auth: route.Admin,
			Permission: throttledUsage(ProjectPermission("VIEW_PROJECT", Path("project_pk")).Hidden().Feature(Path("id"))), Refusals: throttled, Handler: read(evaluationData)},
	}
}

// throttledUsage counts a request before its permission is looked at: these reads go through many counters.
func throttledUsage(p route.Permission) route.Permission {
	return Custom(p.Name(), func(c *Ctx) error {
		if err := c.Limit("usage:"+c.Principal.Scope(), c.Env.Options.UsagePerMinute); err != nil {
			return err
		}
		return p.Check(c.Call)
	})
}

func usageData(c *Ctx, in usageQuery) ([]usage, error) {
	days := usageDays
	switch in.Period.Value {
	case "90_day_period":
		days = 90
	case "current_billing_period", "previous_billing_period":
		return nil, route.Detail(404, "No billing periods found for this organisation.")
	}
	type key struct{ day, labels string }
	found := map[key]*usage{}
	c.eachRequestCount(in, days, func(u *fsm.Usage) {
		k := key{dayOf(u.Bucket), u.Labels}
		row := found[k]
		if row == nil {
			row = &usage{Day: k.day, Labels: readLabels(u.Labels)}
			found[k] = row
		}
		*row.counter(u.Kind) += u.Count
	})
	out := []usage{}
	for _, k := range slices.SortedFunc(maps.Keys(found), func(a, b key) int { return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.labels, b.labels)) }) {
		out = append(out, *found[k])
	}
	return out, nil
}

func usageEvents(c *Ctx, in struct{}) (eventCount, error) {
	total, err := usageTotal(c, in)
	return eventCount{total.Count}, err
}

func usageNotifications(c *Ctx, _ struct{}) (route.Page[usageNotification], error) {
	return paginate(c, nil, func(n usageNotification) usageNotification { return n })
}

func usageTotal(c *Ctx, _ struct{}) (out usageCount, err error) {
	c.eachRequestCount(usageQuery{}, usageDays, func(u *fsm.Usage) { out.Count += u.Count })
	return out, nil
}

// eachRequestCount visits the request counters of c.Organisation that the query asks for.
func (c *Ctx) eachRequestCount(in usageQuery, days int, visit func(*fsm.Usage)) {
	since := c.since(days)
	for p := range fsm.ProjectsByOrganisation.Refs(c, c.Organisation.ID) {
		if in.Project != 0 && in.Project != p.ID {
			continue
		}
		for e := range fsm.EnvironmentsByProject.Refs(c, p.ID) {
			if in.Environment != 0 && in.Environment != e.ID {
				continue
			}
			for kind := fsm.UsageFlags; kind < fsm.UsageEvaluation; kind++ {
				for u := range fsm.UsagesByKey.Refs(c, e.ID, byte(kind)) {
					if u.Bucket >= since && in.matches(u.Labels) {
						visit(u)
					}
				}
			}
		}
	}
}

func evaluationData(c *Ctx, in struct {
	Environment uint64 `query:"environment_id" v:"required"`
	Period      int64  `query:"period" v:"default=30,min=1,max=90"`
	labelQuery
}) ([]evaluations, error) {
	since := c.since(int(in.Period))
	out := []evaluations{}
	for u := range fsm.UsagesByKey.Refs(c, in.Environment, byte(fsm.UsageEvaluation), c.Feature.ID) {
		if u.Bucket < since || !in.matches(u.Labels) {
			continue
		}
		day, labels := dayOf(u.Bucket), readLabels(u.Labels)
		i := slices.IndexFunc(out, func(e evaluations) bool { return e.Day == day && e.Labels.equal(labels) })
		if i < 0 { // buckets come in order
			i, out = len(out), append(out, evaluations{Day: day, Labels: labels})
		}
		out[i].Count += u.Count
	}
	return out, nil
}

// since is the start of the first of the last days, today included. Nodes count by the clock.
func (c *Ctx) since(days int) fsm.Time {
	return fsm.TimeOf(c.Wall().Std().Truncate(24*time.Hour).AddDate(0, 0, 1-days))
}

func dayOf(t fsm.Time) string { return t.Std().Format(time.DateOnly) }

// counter is the member that a kind of request adds to.
func (u *usage) counter(kind fsm.UsageKind) *int64 {
	return [...]*int64{fsm.UsageFlags: &u.Flags, fsm.UsageIdentities: &u.Identities, fsm.UsageTraits: &u.Traits,
		fsm.UsageEnvironmentDocument: &u.Documents}[kind]
}

// readLabels reads the labels of a counter.
func readLabels(text string) usageLabels {
	labels, _ := url.ParseQuery(text)
	label := func(name string) *string {
		if !labels.Has(name) {
			return nil
		}
		value := labels.Get(name)
		return &value
	}
	return usageLabels{label(fsm.LabelApplicationName), label(fsm.LabelApplicationVersion), label(fsm.LabelUserAgent)}
}

func (l usageLabels) equal(o usageLabels) bool {
	return sameText(l.ApplicationName, o.ApplicationName) && sameText(l.ApplicationVersion, o.ApplicationVersion) && sameText(l.UserAgent, o.UserAgent)
}

// matches reports whether a counter's labels are those asked for.
func (q labelQuery) matches(text string) bool {
	if q == (labelQuery{}) {
		return true
	}
	have := readLabels(text)
	is := func(have *string, want string) bool { return want == "" || have != nil && *have == want }
	return is(have.ApplicationName, q.ApplicationName) && is(have.ApplicationVersion, q.ApplicationVersion) && is(have.UserAgent, q.UserAgent)
}
