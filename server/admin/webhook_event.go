package admin

import (
	"slices"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
	"github.com/flagraft/flagraft/server/webhook"
)

// What webhooks are told of.
const (
	EventUpdated   = "FLAG_UPDATED"          // environment and organisation: a feature state is new or different
	EventDeleted   = "FLAG_DELETED"          // environment and organisation: a feature state is gone
	EventAudit     = "AUDIT_LOG_CREATED"     // organisation: a row of the audit log
	EventPublished = "NEW_VERSION_PUBLISHED" // environment: a version of a feature is live
)

// flagEvent is the data of FLAG_UPDATED and FLAG_DELETED.
type flagEvent struct {
	ChangedBy string     `json:"changed_by"` // e-mail, or name of the key
	Timestamp fsm.Time   `json:"timestamp"`
	New       *hookState `json:"new_state"`
	Previous  *hookState `json:"previous_state,omitempty"`
}

// hookState is a feature state as webhooks show it.
type hookState struct {
	Feature            hookFeature  `json:"feature"`
	Environment        hookRef      `json:"environment"`
	Identity           *uint64      `json:"identity"`
	IdentityIdentifier *string      `json:"identity_identifier"`
	FeatureSegment     *hookSegment `json:"feature_segment"`
	Enabled            bool         `json:"enabled"`
	Value              route.Scalar `json:"feature_state_value"`
	Shares             []hookShare  `json:"multivariate_feature_state_values"`
}

type hookFeature struct {
	ID             uint64   `json:"id"`
	CreatedDate    fsm.Time `json:"created_date"`
	DefaultEnabled bool     `json:"default_enabled"`
	Description    *string  `json:"description"`
	InitialValue   *string  `json:"initial_value"`
	Name           string   `json:"name"`
	Project        hookRef  `json:"project"`
	Type           string   `json:"type"`
}

type hookRef struct {
	ID   uint64 `json:"id"`
	Name string `json:"name"`
}

type hookSegment struct {
	Segment  hookSegmentRef `json:"segment"`
	Priority int64          `json:"priority"`
}

type hookSegmentRef struct {
	ID          uint64  `json:"id"`
	Name        string  `json:"name"`
	Description *string `json:"description"`
}

type hookShare struct {
	ID         uint64     `json:"id"`
	Option     hookOption `json:"multivariate_feature_option"`
	Percentage float64    `json:"percentage_allocation"`
}

type hookOption struct {
	ID    uint64       `json:"id"`
	Value route.Scalar `json:"value"`
}

// versionEvent is the data of NEW_VERSION_PUBLISHED.
type versionEvent struct {
	UUID        uuid.UUID          `json:"uuid"`
	Feature     hookRef            `json:"feature"`
	PublishedBy *hookUser          `json:"published_by"`
	States      []hookVersionState `json:"feature_states"`
}

type hookUser struct {
	ID    uint64 `json:"id"`
	Email string `json:"email"`
}

type hookVersionState struct {
	Enabled bool         `json:"enabled"`
	Value   route.Scalar `json:"value"`
	Shares  []hookShare  `json:"multivariate_feature_state_values"`
}

// maxAnnounced bounds the bytes of the events of one write: far above what a person does at once, and below what a write may hold.
const maxAnnounced = 8 << 20

// Announce queues, inside a transaction, what webhooks are to be told of what it changed: the events are read off its rows, so no handler
// makes them, and they are committed with the change or not at all. It costs one look into an empty table while there are no webhooks.
func Announce(tx *fsm.Tx) {
	for range fsm.Webhooks.Refs(tx) {
		announce(tx)
		return
	}
}

// announcer makes the events of one transaction.
type announcer struct {
	tx     *fsm.Tx
	before fsm.Reader
	hooks  map[hookScope][]uint64
	bytes  int
	lost   map[uint64]bool
}

// hookScope is an environment, or an organisation.
type hookScope struct{ environment, organisation uint64 }

func announce(tx *fsm.Tx) {
	audits, changes := fsm.AuditLogs.Changes(tx), fsm.FeatureStates.Changes(tx)
	changes = append(changes, unwritten(tx, changes)...)
	if len(audits)+len(changes) == 0 {
		return
	}
	a := &announcer{tx: tx, before: tx.Before(), hooks: map[hookScope][]uint64{}, lost: map[uint64]bool{}}
	changes = a.paired(changes)
	states := map[uint64]*stateChange{}
	for i := range changes {
		if c := &changes[i]; c.After == nil || a.seen(c.Before) && !a.live(c.After) {
			a.deleted(c.Before)
		} else if a.live(c.After) && a.differs(c) {
			states[c.ID] = c
		}
	}
	// As in the reference, the row of the audit log comes first, then what it is about.
	told := map[uint64]progress{}
	for _, c := range audits {
		if c.Before != nil || c.After == nil {
			continue // retention
		}
		a.audit(c.After)
		if s := states[c.After.RelatedObjectID]; s != nil && c.After.RelatedObjectType == fsm.AuditFeatureState {
			told[s.ID] = a.tell(s, told[s.ID])
		}
	}
	for i := range changes {
		if s := states[changes[i].ID]; s != nil && told[s.ID] != wholly {
			a.updated(s, s.After.Enabled)
		}
	}
	for _, c := range audits {
		if c.Before == nil && c.After != nil && c.After.RelatedObjectType == fsm.AuditFeatureVersion {
			a.published(c.After)
		}
	}
}

// progress is how far a state's change has been told.
type progress uint8

const (
	halfway progress = 1 // the value, with the switch as it was
	wholly  progress = 2
)

// tell tells of a state at one of its audit rows. The reference stores value and switch one after the other and tells of each.
func (a *announcer) tell(c *stateChange, so progress) progress {
	switch {
	case so == wholly:
	case so == 0 && c.Before != nil && c.Before.Enabled != c.After.Enabled && !c.Before.Value.SameValue(c.After.Value):
		a.updated(c, c.Before.Enabled)
		return halfway
	default:
		a.updated(c, c.After.Enabled)
	}
	return wholly
}

type stateChange = fsm.Change[fsm.FeatureState]

// unwritten are states that stand as they stood and are served otherwise: an override that moved to another segment, what has a variant whose
// value is another one, and those of identities that are scheduled, where versions began to be kept or ceased to be.
func unwritten(tx *fsm.Tx, written []stateChange) (more []stateChange) {
	known := map[uint64]bool{}
	for _, c := range written {
		known[c.ID] = true
	}
	add := func(s *fsm.FeatureState) {
		if !known[s.ID] {
			known[s.ID] = true
			more = append(more, stateChange{ID: s.ID, Before: s, After: s})
		}
	}
	for _, c := range fsm.FeatureSegments.Changes(tx) {
		if c.Before != nil && c.After != nil && c.Before.Segment != c.After.Segment {
			for s := range fsm.FeatureStatesByFeatureSegment.Refs(tx, c.ID) {
				add(s)
			}
		}
	}
	for _, c := range fsm.MultivariateOptions.Changes(tx) {
		if c.Before != nil && c.After != nil && !c.Before.Value.SameValue(c.After.Value) {
			for s := range fsm.FeatureStatesByFeature.Refs(tx, c.After.Feature) {
				if slices.ContainsFunc(s.Multivariate, func(v fsm.MultivariateValue) bool { return v.Option == c.ID && v.Percentage > 0 }) {
					add(s)
				}
			}
		}
	}
	for _, c := range fsm.Environments.Changes(tx) {
		if c.Before != nil && c.After != nil && c.Before.UseV2FeatureVersioning != c.After.UseV2FeatureVersioning {
			for s := range fsm.FeatureStatesByEnvironment.Refs(tx, c.ID, fsm.StateIdentity) {
				if s.LiveFrom > tx.Now() {
					add(s)
				}
			}
		}
	}
	return more
}

// paired makes one change of a row that went and one that came in its place, as when a version of a feature replaces another.
func (a *announcer) paired(changes []stateChange) []stateChange {
	gone := map[statePlace]*fsm.FeatureState{}
	for _, c := range changes {
		if c.After == nil {
			gone[placeOf(a.before, c.Before)] = c.Before
		}
	}
	if len(gone) == 0 {
		return changes
	}
	for i := range changes {
		if c := &changes[i]; c.Before == nil {
			at := placeOf(a.tx, c.After)
			c.Before = gone[at]
			delete(gone, at)
		}
	}
	return slices.DeleteFunc(changes, func(c stateChange) bool { return c.After == nil && gone[placeOf(a.before, c.Before)] != c.Before })
}

// statePlace says what a state is of: two rows of one place never stand beside each other for long.
type statePlace struct{ environment, feature, segment, identity uint64 }

func placeOf(r fsm.Reader, s *fsm.FeatureState) statePlace {
	at := statePlace{environment: s.Environment, feature: s.Feature, identity: s.Identity}
	if s.FeatureSegment != 0 {
		if fs := fsm.FeatureSegments.Ref(r, s.FeatureSegment); fs != nil {
			at.segment = fs.Segment
		}
	}
	return at
}

// differs leaves out rows that were only stamped, unless that made them live: an identity's override that did not wait for its date is no news then.
func (a *announcer) differs(c *stateChange) bool {
	return !a.seen(c.Before) || placeOf(a.before, c.Before) != placeOf(a.tx, c.After) || c.Before.Enabled != c.After.Enabled || !c.Before.Value.SameValue(c.After.Value) ||
		!slices.EqualFunc(c.Before.Multivariate, c.After.Multivariate, func(a, b fsm.MultivariateValue) bool {
			return a.Option == b.Option && a.Percentage == b.Percentage
		}) || slices.ContainsFunc(c.After.Multivariate, a.otherVariant)
}

// otherVariant reports whether a share that somebody gets is of a variant whose value is another one now.
func (a *announcer) otherVariant(v fsm.MultivariateValue) bool {
	was, is := fsm.MultivariateOptions.Ref(a.before, v.Option), fsm.MultivariateOptions.Ref(a.tx, v.Option)
	return v.Percentage > 0 && was != nil && is != nil && !was.Value.SameValue(is.Value)
}

// live leaves out what cannot be seen yet, and the states that a new environment begins with.
func (a *announcer) live(s *fsm.FeatureState) bool {
	return (s.LiveFrom <= a.tx.Now() || alwaysLive(a.tx, s)) && fsm.Environments.Ref(a.before, s.Environment) != nil
}

// seen reports whether a row as it was before, nil if there was none, had become live.
func (a *announcer) seen(before *fsm.FeatureState) bool {
	return before != nil && (before.LiveFrom <= before.UpdatedAt || alwaysLive(a.before, before))
}

// alwaysLive is of overrides of identities where versions are kept: they do not wait, see [fsm.View.InForce].
func alwaysLive(r fsm.Reader, s *fsm.FeatureState) bool {
	if s.Kind() != fsm.StateIdentity {
		return false
	}
	e := fsm.Environments.Ref(r, s.Environment)
	return e != nil && e.UseV2FeatureVersioning
}

// updated tells of a state that is new or different, with its switch set like that.
func (a *announcer) updated(c *stateChange, enabled bool) {
	a.flag(EventUpdated, c.After.Environment, func() any {
		now := *c.After
		now.Enabled = enabled
		event := flagEvent{ChangedBy: a.changedBy(&now), Timestamp: a.tx.Now(), New: renderHookState(a.tx, &now)}
		if a.seen(c.Before) {
			event.Previous = renderHookState(a.before, c.Before)
		}
		return event
	})
}

// deleted tells of a state that is gone, or waits for a later date from now on. With a feature go its defaults, without a word about the overrides; with an environment everything
// goes that could be told. Where the feature stays nobody was told of a state that never became live, and everybody of one that waits again.
func (a *announcer) deleted(s *fsm.FeatureState) {
	tell := a.seen(s)
	if fsm.Features.Ref(a.tx, s.Feature) == nil {
		tell = s.Kind() == fsm.StateDefault
	}
	if !tell || fsm.Environments.Ref(a.tx, s.Environment) == nil {
		return
	}
	a.flag(EventDeleted, s.Environment, func() any {
		return flagEvent{ChangedBy: a.changedBy(s), Timestamp: a.tx.Now(), Previous: renderHookState(a.before, s)}
	})
}

// changedBy names who writes or, of a version whose time has come, who published it.
func (a *announcer) changedBy(s *fsm.FeatureState) string {
	if author := a.tx.Author(); author != (fsm.Author{}) || s.Kind() == fsm.StateIdentity {
		return author.Name
	}
	v, _ := fsm.ServingVersion(a.tx, s.Environment, s.Feature)
	if u := fsm.Users.Ref(a.tx, v.PublishedBy); u != nil {
		return u.Email
	}
	return ""
}

// published tells of a version that is served from now on, after what it changed.
func (a *announcer) published(row *fsm.AuditLog) {
	v, ok := fsm.FeatureVersionsByUUID.First(a.tx, row.RelatedObjectUUID)
	if !ok || v.Phase != fsm.VersionServing {
		return // it was only scheduled, or came too late
	}
	event := versionEvent{UUID: v.UUID, Feature: hookRef{ID: v.Feature}, States: []hookVersionState{}}
	if f := fsm.Features.Ref(a.tx, v.Feature); f != nil {
		event.Feature.Name = f.Name
	}
	if u := fsm.Users.Ref(a.tx, v.PublishedBy); u != nil {
		event.PublishedBy = &hookUser{u.ID, u.Email}
	}
	for _, s := range fsm.StatesOf(a.tx, v) {
		event.States = append(event.States, hookVersionState{s.State.Enabled, renderRaw(s.State.Value), renderHookShares(a.tx, s.State.Multivariate)})
	}
	a.queue(EventPublished, func() any { return event }, hookScope{environment: v.Environment})
}

func (a *announcer) flag(event string, environment uint64, data func() any) {
	organisation := uint64(0)
	if e := fsm.Environments.Ref(a.tx, environment); e != nil {
		if p := fsm.Projects.Ref(a.tx, e.Project); p != nil {
			organisation = p.Organisation
		}
	}
	a.queue(event, data, hookScope{environment: environment}, hookScope{organisation: organisation})
}

func (a *announcer) audit(row *fsm.AuditLog) {
	a.queue(EventAudit, func() any { return renderAudit(a.tx, *row) }, hookScope{organisation: row.Organisation})
}

// in lists the enabled webhooks of an environment or organisation.
func (a *announcer) in(s hookScope) []uint64 {
	ids, known := a.hooks[s]
	if known {
		return ids
	}
	rows := fsm.WebhooksByOrganisation.Refs(a.tx, s.organisation)
	if s.environment != 0 {
		rows = fsm.WebhooksByEnvironment.Refs(a.tx, s.environment)
	}
	for w := range rows {
		if w.Enabled {
			ids = append(ids, w.ID)
		}
	}
	a.hooks[s] = ids
	return ids
}

// queue writes a delivery for each webhook of the scopes. The event is made if one of them takes it: that is most of the work.
func (a *announcer) queue(event string, data func() any, scopes ...hookScope) {
	var body []byte
	for _, s := range scopes {
		for _, id := range a.in(s) {
			if a.bytes > maxAnnounced && (a.lost[id] || a.tx.Divide()) {
				continue
			}
			if body == nil {
				body, _ = webhook.Body(event, data()) // what we encoded ourselves can be read
			}
			a.deliver(id, event, body)
		}
	}
}

func (a *announcer) deliver(hook uint64, event string, body []byte) {
	d := fsm.WebhookDelivery{Webhook: hook, Event: event, Created: a.tx.Now(), Due: a.tx.Now(), Body: body}
	if a.bytes += len(body); a.bytes > maxAnnounced {
		if a.lost[hook] || a.tx.Divide() {
			return
		}
		a.lost[hook] = true
		d.Body, d.Due, d.Outcome, d.Error = nil, 0, fsm.DeliveryGivenUp, "This and later events of one write were more than can be queued at once."
	}
	fsm.WebhookDeliveries.Put(a.tx, d)
}

// renderHookState shows a state with what it belongs to, as r has it.
func renderHookState(r fsm.Reader, s *fsm.FeatureState) *hookState {
	out := &hookState{Enabled: s.Enabled, Value: renderRaw(s.Value), Shares: renderHookShares(r, s.Multivariate)}
	if e := fsm.Environments.Ref(r, s.Environment); e != nil {
		out.Environment = hookRef{e.ID, e.Name}
	}
	if f := fsm.Features.Ref(r, s.Feature); f != nil {
		out.Feature = hookFeature{ID: f.ID, CreatedDate: f.CreatedDate, DefaultEnabled: f.DefaultEnabled, Description: f.Description,
			InitialValue: f.InitialValue, Name: f.Name, Type: string(f.Type), Project: hookRef{ID: f.Project}}
		if p := fsm.Projects.Ref(r, f.Project); p != nil {
			out.Feature.Project.Name = p.Name
		}
	}
	if s.Identity != 0 {
		out.Identity = &s.Identity
		if rec, ok := r.Identities().Environment(s.Environment).ByID(s.Identity); ok {
			identifier := string(rec.Identifier())
			out.IdentityIdentifier = &identifier
		}
	}
	if fs := fsm.FeatureSegments.Ref(r, s.FeatureSegment); fs != nil && s.FeatureSegment != 0 {
		out.FeatureSegment = &hookSegment{Priority: fs.Priority, Segment: hookSegmentRef{ID: fs.Segment}}
		if segment := fsm.Segments.Ref(r, fs.Segment); segment != nil {
			out.FeatureSegment.Segment.Name, out.FeatureSegment.Segment.Description = segment.Name, segment.Description
		}
	}
	return out
}

func renderHookShares(r fsm.Reader, values []fsm.MultivariateValue) []hookShare {
	shares := make([]hookShare, 0, len(values))
	for _, v := range values {
		share := hookShare{ID: v.ID, Option: hookOption{ID: v.Option}, Percentage: v.Percentage}
		if o := fsm.MultivariateOptions.Ref(r, v.Option); o != nil {
			share.Option.Value = renderRaw(o.Value)
		}
		shares = append(shares, share)
	}
	return shares
}
