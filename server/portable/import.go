package portable

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/credential"
)

// Imported tells what an import made.
type Imported struct {
	Organisation uint64                `json:"organisation"`
	Project      uint64                `json:"project"`
	Name         string                `json:"name"`
	Features     int                   `json:"features"`
	Segments     int                   `json:"segments"`
	Identities   int                   `json:"identities"`
	Environments []ImportedEnvironment `json:"environments"`
}

// ImportedEnvironment is an environment's new id and its key, which is the document's unless that was taken.
type ImportedEnvironment struct {
	ID     uint64 `json:"id"`
	Name   string `json:"name"`
	APIKey string `json:"api_key"`
	NewKey bool   `json:"new_key"`
}

// identityOps makes the operations that create the identities of an environment.
func (e *Environment) identityOps(environment uint64) []identity.Op {
	ops := make([]identity.Op, len(e.Identities))
	for i, id := range e.Identities {
		op := identity.Op{Kind: identity.KindCreate, Environment: environment, Identifier: []byte(id.Identifier), Alias: []byte(strings.ToLower(id.Alias))}
		for _, k := range slices.Sorted(maps.Keys(id.Traits)) {
			v, _ := canonical(id.Traits[k]) // checked by Parse
			op.Traits = append(op.Traits, identity.TraitOp{Key: []byte(k), Value: v})
		}
		ops[i] = op
	}
	return ops
}

// IdentityOps makes the operations that create the identities of the project's environments, whose ids are reserved. They come before
// the project: nobody sees them until their environment is there.
func (p *Project) IdentityOps(environments []uint64) (ops []identity.Op) {
	for i := range p.Environments {
		ops = append(ops, p.Environments[i].identityOps(environments[i])...)
	}
	return ops
}

// importer makes one project in a transaction.
type importer struct {
	tx *fsm.Tx
	p  *Project

	project  uint64
	org      uint64
	tags     []uint64                     // by number
	fields   []map[fsm.ContentType]uint64 // model fields by number
	segments []uint64
	features map[string]uint64
	options  map[string][]uint64 // by feature and number
}

// Target is where a project is imported to.
type Target struct {
	Organisation uint64      // 0: the one with the document's name, or a new one
	Others       []uuid.UUID // the document's other organisations, which may have the same name
	User         uint64      // administrator of a new organisation; 0: nobody
	Environments []uint64    // reserved ids of the project's environments
	Limits       Limits
}

// Import makes a project in a transaction, all of it or, with an error, nothing. Errors are *[Invalid].
func (p *Project) Import(tx *fsm.Tx, o *Organisation, to Target) (Imported, error) {
	if err := p.within(to.Limits); err != nil {
		return Imported{}, err
	}
	org, err := o.find(tx, to)
	if err != nil {
		return Imported{}, err
	}
	if row, _ := fsm.Organisations.Get(tx, org); row.ProjectsFull(tx) {
		return Imported{}, &Invalid{fmt.Sprintf("organisation %q", row.Name), "it has the maximum allowed number of projects"}
	}
	for other := range fsm.ProjectsByOrganisation.Refs(tx, org) {
		if other.Name == p.Name {
			return Imported{}, &Invalid{fmt.Sprintf("organisation %q", o.Name), fmt.Sprintf("it has a project %q already", p.Name)}
		}
	}
	m := &importer{tx: tx, p: p, org: org, features: map[string]uint64{}, options: map[string][]uint64{}}
	m.project = fsm.Projects.Put(tx, fsm.Project{UUID: free(tx, fsm.ProjectsByUUID, p.UUID), Name: p.Name, Organisation: org, CreatedDate: when(tx, p.CreatedDate),
		HideDisabledFlags: p.HideDisabledFlags, EnableRealtimeUpdates: p.EnableRealtimeUpdates, PreventFlagDefaults: p.PreventFlagDefaults,
		OnlyAllowLowerCaseNames: p.OnlyAllowLowerCaseNames, FeatureNameRegex: p.FeatureNameRegex, StaleFlagsLimitDays: p.StaleFlagsLimitDays,
		EnforceFeatureOwners: p.EnforceFeatureOwners}).ID
	if err := m.customFields(); err != nil {
		return Imported{}, err
	}
	m.parts()
	done := Imported{Organisation: org, Project: m.project, Name: p.Name, Features: len(p.Features), Segments: len(p.Segments), Environments: []ImportedEnvironment{}}
	for i := range p.Environments {
		e, err := m.environment(&p.Environments[i], to.Environments[i])
		if err != nil {
			return Imported{}, err
		}
		done.Environments = append(done.Environments, e)
		done.Identities += len(p.Environments[i].Identities)
	}
	return done, nil
}

// find finds the organisation to import to, or makes it. Names are not unique: of two organisations of one document that are called the same,
// neither gets the projects of the other, whose members would see them.
func (o *Organisation) find(tx *fsm.Tx, to Target) (uint64, error) {
	if to.Organisation != 0 {
		if _, ok := fsm.Organisations.Get(tx, to.Organisation); !ok {
			return 0, &Invalid{fmt.Sprintf("organisation %d", to.Organisation), "it does not exist"}
		}
		return to.Organisation, nil
	}
	if have, ok := fsm.OrganisationsByUUID.First(tx, o.UUID); ok && have.Name == o.Name {
		return have.ID, nil
	}
	for have := range fsm.Organisations.Refs(tx) {
		if have.Name == o.Name && !slices.Contains(to.Others, have.UUID) {
			return have.ID, nil
		}
	}
	org := fsm.Organisations.Put(tx, fsm.Organisation{UUID: free(tx, fsm.OrganisationsByUUID, o.UUID), Name: o.Name, CreatedDate: when(tx, o.CreatedDate),
		PersistTraitData: o.PersistTraitData, StopServingFlags: o.StopServingFlags, FeatureAnalytics: o.FeatureAnalytics,
		RestrictProjectCreateToAdmin: o.RestrictProjectCreateToAdmin, Force2FA: o.Force2FA, WebhookNotificationEmail: o.WebhookNotificationEmail,
		SubscriptionUUID: tx.NewUUID()})
	if to.User != 0 {
		fsm.Memberships.Put(tx, fsm.Membership{Organisation: org.ID, User: to.User, Role: fsm.RoleAdmin, DateJoined: tx.Now()})
	}
	return org.ID, nil
}

// parts makes what the environments refer to.
func (m *importer) parts() {
	for _, t := range m.p.Tags {
		m.tags = append(m.tags, fsm.Tags.Put(m.tx, fsm.Tag{UUID: free(m.tx, fsm.TagsByUUID, t.UUID), Project: m.project, Label: t.Label, Color: t.Color,
			Description: t.Description, IsPermanent: t.IsPermanent, IsSystemTag: t.IsSystemTag, Type: t.Type}).ID)
	}
	for _, f := range m.p.Features {
		row := fsm.Feature{UUID: free(m.tx, fsm.FeaturesByUUID, f.UUID), Name: f.Name, Project: m.project, Type: fsm.FeatureType(f.Type),
			CreatedDate: when(m.tx, f.CreatedDate), DefaultEnabled: f.DefaultEnabled, InitialValue: f.InitialValue, Description: f.Description,
			IsArchived: f.IsArchived, IsServerKeyOnly: f.IsServerKeyOnly}
		for _, t := range f.Tags {
			row.Tags = append(row.Tags, m.tags[t-1])
		}
		row = fsm.Features.Put(m.tx, row)
		m.features[f.Name] = row.ID
		m.fieldValues(fsm.ContentFeature, row.ID, f.CustomFields)
		for _, o := range f.Options {
			m.options[f.Name] = append(m.options[f.Name], fsm.MultivariateOptions.Put(m.tx, fsm.MultivariateOption{UUID: free(m.tx, fsm.MultivariateOptionsByUUID, o.UUID),
				Feature: row.ID, Value: o.Value.row(), DefaultPercentageAllocation: o.Percentage, Key: o.Key}).ID)
		}
	}
	for _, g := range m.p.Segments {
		m.segments = append(m.segments, fsm.Segments.Put(m.tx, fsm.Segment{UUID: free(m.tx, fsm.SegmentsByUUID, g.UUID), Name: g.Name, Description: g.Description,
			Project: m.project, Feature: m.features[g.Feature], CreatedAt: when(m.tx, g.CreatedAt), UpdatedAt: m.tx.Now(), Version: 1, Rules: m.rules(g.Rules)}).ID)
		m.fieldValues(fsm.ContentSegment, m.segments[len(m.segments)-1], g.CustomFields)
	}
}

func (v Value) row() fsm.FeatureValue {
	return fsm.FeatureValue{Type: fsm.ValueType(v.Type), String: v.String, Integer: v.Integer, Boolean: v.Boolean}
}

func (m *importer) rules(list []Rule) []fsm.SegmentRule {
	var out []fsm.SegmentRule
	for _, r := range list {
		row := fsm.SegmentRule{ID: m.tx.NextSegmentRuleID(), Type: r.Type, Rules: m.rules(r.Rules)}
		for _, c := range r.Conditions {
			row.Conditions = append(row.Conditions, fsm.Condition{ID: m.tx.NextConditionID(), Operator: c.Operator, Property: c.Property, Value: c.Value, Description: c.Description})
		}
		out = append(out, row)
	}
	return out
}

func (m *importer) environment(e *Environment, id uint64) (ImportedEnvironment, error) {
	key, taken := e.APIKey, false
	if _, taken = fsm.EnvironmentsByAPIKey.First(m.tx, key); taken {
		key = credential.NewEnvironmentKey()
	}
	fsm.Environments.Put(m.tx, fsm.Environment{ID: id, UUID: free(m.tx, fsm.EnvironmentsByUUID, e.UUID), Name: e.Name, APIKey: key, Project: m.project,
		CreatedDate: when(m.tx, e.CreatedDate), UpdatedAt: m.tx.Now(), Description: e.Description, AllowClientTraits: e.AllowClientTraits,
		BannerText: e.BannerText, BannerColour: e.BannerColour, HideDisabledFlags: e.HideDisabledFlags, UseCompositeKeyForHashing: e.UseCompositeKeyForHashing,
		HideSensitiveData: e.HideSensitiveData, UseV2FeatureVersioning: e.UseV2FeatureVersioning, UseIdentityOverridesInLocal: e.UseIdentityOverridesInLocal,
		UseMVV2Evaluation: e.UseMVV2Evaluation})
	m.fieldValues(fsm.ContentEnvironment, id, e.CustomFields)
	for _, k := range e.ServerKeys {
		if _, taken := fsm.EnvironmentAPIKeysByKey.First(m.tx, k.Key); taken {
			k.Key = credential.NewServerKey()
		}
		row := fsm.EnvironmentAPIKey{Environment: id, Key: k.Key, Name: k.Name, Active: k.Active, CreatedAt: when(m.tx, k.CreatedAt)}
		if k.ExpiresAt != nil {
			row.ExpiresAt = fsm.TimeOf(*k.ExpiresAt)
		}
		fsm.EnvironmentAPIKeys.Put(m.tx, row)
	}
	for i := range e.States {
		m.state(&e.States[i], fsm.FeatureState{Environment: id})
	}
	for i := range e.SegmentOverrides {
		o := &e.SegmentOverrides[i]
		g := fsm.FeatureSegments.Put(m.tx, fsm.FeatureSegment{UUID: m.tx.NewUUID(), Feature: m.features[o.Feature], Segment: m.segments[o.Segment-1],
			Environment: id, Priority: o.Priority})
		m.state(&o.State, fsm.FeatureState{Environment: id, FeatureSegment: g.ID})
	}
	if e.UseV2FeatureVersioning {
		m.versions(e, id)
	}
	store := m.tx.Identities().Environment(id)
	if have := store.Count(); have != len(e.Identities) { // a restore in between took those that were created
		return ImportedEnvironment{}, fmt.Errorf("portable: %d of %d identities are there", have, len(e.Identities))
	}
	for i := range e.Identities {
		identity := &e.Identities[i]
		if len(identity.Overrides) == 0 {
			continue
		}
		r, ok := store.Lookup([]byte(identity.Identifier))
		if !ok {
			return ImportedEnvironment{}, fmt.Errorf("portable: identity %q was not created", identity.Identifier)
		}
		for j := range identity.Overrides {
			m.state(&identity.Overrides[j], fsm.FeatureState{Environment: id, Identity: r.ID()})
		}
	}
	return ImportedEnvironment{ID: id, Name: e.Name, APIKey: key, NewKey: taken}, nil
}

func (m *importer) state(s *State, row fsm.FeatureState) {
	fsm.FeatureStates.Put(m.tx, m.stateRow(s, row))
}

// stateRow fills in a state's row.
func (m *importer) stateRow(s *State, row fsm.FeatureState) fsm.FeatureState {
	row.UUID, row.Feature, row.Enabled, row.Value = free(m.tx, fsm.FeatureStatesByUUID, s.UUID), m.features[s.Feature], s.Enabled, s.Value.row()
	row.CreatedAt, row.UpdatedAt, row.LiveFrom = m.tx.Now(), m.tx.Now(), m.tx.Now()
	if s.LiveFrom != nil {
		row.LiveFrom = fsm.TimeOf(*s.LiveFrom)
	}
	row.Version, row.Seed = max(s.Version, 1), s.Seed
	for _, v := range s.Variants {
		row.Multivariate = append(row.Multivariate, fsm.MultivariateValue{ID: m.tx.NextMultivariateValueID(), UUID: m.tx.NewUUID(),
			Option: m.options[s.Feature][v.Option-1], Percentage: v.Percentage})
	}
	return row
}

// free is the document's uuid unless somebody has it, or none was given.
func free[R any](tx *fsm.Tx, index fsm.Index[R], id uuid.UUID) uuid.UUID {
	if _, taken := index.First(tx, id); taken || id == uuid.Nil {
		return tx.NewUUID()
	}
	return id
}

func when(tx *fsm.Tx, t time.Time) fsm.Time {
	if t.IsZero() {
		return tx.Now()
	}
	return fsm.TimeOf(t)
}
