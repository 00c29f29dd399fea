package admin

import (
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// lifecycleCounts is how many features of a project, archived ones aside, are in each stage, as seen from one environment.
type lifecycleCounts struct {
	New             int `json:"new"`
	Live            int `json:"live"`
	Stale           int `json:"stale"`
	Permanent       int `json:"permanent"`
	NeedsMonitoring int `json:"needs_monitoring"`
	ToRemove        int `json:"to_remove"`
}

// The stages: from tags, from what code mentions and from what SDKs evaluate.
const (
	stageNew             = "new"
	stageLive            = "live"
	stageStale           = "stale"
	stagePermanent       = "permanent"
	stageNeedsMonitoring = "needs_monitoring"
	stageToRemove        = "to_remove"
)

func lifecycleRows() []route.Row {
	return []route.Row{{
		Method: "GET", Path: "/api/v1/environments/{environment_pk}/feature-lifecycle-counts/", OperationID: "get_feature_lifecycle_counts",
		Tag: "Environments", Summary: "Count features by lifecycle stage; the path takes the environment's id.", Auth: route.Admin,
		Permission: EnvironmentPermission("VIEW_ENVIRONMENT", PathID("environment_pk")).Missing404().Refusing(&route.Error{Status: 403}),
		Bare:       []int{403},
		Handler:    read(countLifecycle),
	}}
}

func countLifecycle(c *Ctx, _ struct{}) (out lifecycleCounts, err error) {
	stages := c.lifecycle(c.Environment.ID)
	counters := map[string]*int{stageNew: &out.New, stageLive: &out.Live, stageStale: &out.Stale, stagePermanent: &out.Permanent,
		stageNeedsMonitoring: &out.NeedsMonitoring, stageToRemove: &out.ToRemove}
	for f := range fsm.FeaturesByProject.Refs(c, c.Project.ID) {
		if !f.IsArchived {
			*counters[stages.of(f)]++
		}
	}
	return out, nil
}

// lifecycle tells the stage of features of c.Project.
type lifecycle struct {
	c           *Ctx
	environment uint64
	since       fsm.Time
	mentions    *codeMentions
	permanent   map[uint64]bool // tags
	stale       map[uint64]bool
}

func (c *Ctx) lifecycle(environment uint64) *lifecycle {
	l := &lifecycle{c: c, environment: environment, since: c.since(int(c.Project.StaleFlagsLimitDays) + 1), mentions: c.codeMentions(),
		permanent: map[uint64]bool{}, stale: map[uint64]bool{}}
	for t := range fsm.TagsByProject.Refs(c, c.Project.ID) {
		l.permanent[t.ID], l.stale[t.ID] = t.IsPermanent, t.Type == "STALE"
	}
	return l
}

func (l *lifecycle) of(f *fsm.Feature) string {
	permanent, stale := false, false
	for _, id := range f.Tags {
		permanent, stale = permanent || l.permanent[id], stale || l.stale[id]
	}
	inCode := l.mentions.any(f.Name)
	switch {
	case permanent:
		return stagePermanent
	case !stale && inCode:
		return stageLive
	case !stale:
		return stageNew
	case inCode:
		return stageStale
	case l.evaluated(f.ID):
		return stageNeedsMonitoring
	}
	return stageToRemove
}

// evaluated reports whether SDKs evaluated the feature lately.
func (l *lifecycle) evaluated(feature uint64) bool {
	for u := range fsm.UsagesByKey.Refs(l.c, l.environment, byte(fsm.UsageEvaluation), feature) {
		if u.Bucket >= l.since && u.Count > 0 {
			return true
		}
	}
	return false
}
