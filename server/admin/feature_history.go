package admin

import (
	"math"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// What happened to one feature, for those who see it: an operation of our own. The rows are those of the change log, which as a whole is for
// superusers.

// featureEvent is a write that changed the feature.
type featureEvent struct {
	ID      uint64          `json:"id"`
	Index   uint64          `json:"index"`
	Time    fsm.Time        `json:"time"`
	Author  changeAuthor    `json:"author"`
	Changes []featureChange `json:"changes"`
}

// featureChange is one row of it.
type featureChange struct {
	rowChange
	// Scope is whom the row is about: feature, default, segment, identity or variant.
	Scope string `json:"scope"`
	// Target is the id of the segment or identity, and Name its name; null and empty for the rest.
	Target *uint64 `json:"target"`
	Name   string  `json:"name"`
}

type featureHistory struct {
	Next    *string        `json:"next"`
	Results []featureEvent `json:"results"`
}

type historyQuery struct {
	Before route.Optional[uint64] `query:"before"` // id that the page begins below
	Limit  route.Optional[int64]  `query:"limit" v:"min=1,max=100"`
}

const (
	historyLimit = 30
	// historyScan is how many entries of the change log one request looks at; a page may be short, and next goes on.
	historyScan = 20_000
)

func featureHistoryRows() []route.Row {
	const list = "/api/flagraft/v1/environments/{environment_api_key}/features/{feature_pk}/history/"
	return []route.Row{{Method: "GET", Path: list, OperationID: "flagraft_v1_environments_features_history_list", Tag: "Features", Auth: route.Admin,
		Summary:    "What happened to a feature in an environment: who, when, from what to what. The newest first.",
		Permission: EnvironmentPermission("VIEW_ENVIRONMENT", Path("environment_api_key")).Feature(Path("feature_pk")), Handler: read(listFeatureHistory)}}
}

func listFeatureHistory(c *Ctx, q historyQuery) (featureHistory, error) {
	before, limit, scanned := uint64(math.MaxUint64), historyLimit, 0
	q.Before.Into(&before)
	if q.Limit.Set {
		limit = int(q.Limit.Value)
	}
	page := featureHistory{Results: []featureEvent{}}
	for e := range fsm.ChangeLog.RefsBelow(c, before) {
		if len(page.Results) == limit || scanned == historyScan {
			page.Next = c.nextChanges(e.ID + 1)
			break
		}
		scanned++
		shown, err := c.featureEvent(e)
		if err != nil {
			return page, err
		}
		if len(shown.Changes) > 0 {
			page.Results = append(page.Results, shown)
		}
	}
	return page, nil
}

// featureEvent keeps the rows of a write that are the feature's.
func (c *Ctx) featureEvent(e *fsm.ChangeLogEntry) (featureEvent, error) {
	out := featureEvent{ID: e.ID, Index: e.Index, Time: e.Time,
		Author: changeAuthor{User: idOrNull(e.Author.User), MasterAPIKey: idOrNull(e.Author.MasterAPIKey), Name: e.Author.Name}}
	for _, r := range e.Changes {
		f, ours := c.featureChange(r)
		if !ours {
			continue
		}
		var err error
		if f.rowChange, err = renderRowChange(r); err != nil {
			return out, err
		}
		out.Changes = append(out.Changes, f)
	}
	return out, nil
}

// featureChange finds out whom a changed row is about, and whether it is the feature's.
func (c *Ctx) featureChange(r fsm.RowChange) (out featureChange, ours bool) {
	if f, ok := eitherRow(fsm.Features, r); ok {
		return featureChange{Scope: "feature"}, f.ID == c.Feature.ID
	}
	if o, ok := eitherRow(fsm.MultivariateOptions, r); ok {
		return featureChange{Scope: "variant"}, o.Feature == c.Feature.ID
	}
	if s, ok := eitherRow(fsm.FeatureSegments, r); ok {
		return featureChange{Scope: "segment", Target: &s.Segment, Name: segmentName(c, s.Segment)}, c.isHere(s.Feature, s.Environment)
	}
	if s, ok := eitherRow(fsm.FeatureStates, r); ok && c.isHere(s.Feature, s.Environment) {
		return c.stateScope(s), s.Kind() != fsm.StateIdentity || c.HasEnvironment(c.Environment, "VIEW_IDENTITIES")
	}
	return out, false
}

func (c *Ctx) isHere(feature, environment uint64) bool {
	return feature == c.Feature.ID && environment == c.Environment.ID
}

func (c *Ctx) stateScope(s fsm.FeatureState) featureChange {
	switch s.Kind() {
	case fsm.StateSegment:
		out := featureChange{Scope: "segment"}
		if link := fsm.FeatureSegments.Ref(c, s.FeatureSegment); link != nil {
			out.Target, out.Name = &link.Segment, segmentName(c, link.Segment)
		}
		return out
	case fsm.StateIdentity:
		return featureChange{Scope: "identity", Target: &s.Identity, Name: identityName(c, s)}
	}
	return featureChange{Scope: "default"}
}

// eitherRow is the row after a change, or as it was before it went.
func eitherRow[R any](t fsm.Table[R], r fsm.RowChange) (R, bool) {
	if row, ok := t.After(r); ok {
		return row, true
	}
	return t.Before(r)
}
