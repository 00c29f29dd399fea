package fsm

import (
	"cmp"
	"slices"

	"github.com/google/uuid"
)

// FeatureVersion is one version of what a feature does in an environment with v2 feature versioning: its default and its segment overrides.
//
// What is served stands in [FeatureStates] and [FeatureSegments], where Views look for it, as without versioning. The states of every other
// version (drafts, scheduled and past ones) stand in [FeatureVersionStates], out of sight of everything that reads what is live. A version
// that becomes live changes places with the one before it: see [Tx.PublishVersion].
type FeatureVersion struct {
	ID          uint64       `cbor:"1,keyasint"`
	UUID        uuid.UUID    `cbor:"2,keyasint"`
	Environment uint64       `cbor:"3,keyasint"`
	Feature     uint64       `cbor:"4,keyasint"`
	CreatedAt   Time         `cbor:"5,keyasint"`
	UpdatedAt   Time         `cbor:"6,keyasint"`
	Phase       VersionPhase `cbor:"7,keyasint"`
	LiveFrom    Time         `cbor:"8,keyasint,omitempty"`
	CreatedBy   uint64       `cbor:"9,keyasint,omitempty"`  // user
	PublishedBy uint64       `cbor:"10,keyasint,omitempty"` // user
	Description *string      `cbor:"11,keyasint,omitempty"`
}

// VersionPhase says how far a version is. It only grows.
type VersionPhase uint8

// The phases of a version.
const (
	VersionDraft     VersionPhase = 1 // may be changed, is never served
	VersionScheduled VersionPhase = 2 // published, LiveFrom lies ahead; see Scheduler
	VersionServing   VersionPhase = 3 // at most one of a feature in an environment
	VersionPast      VersionPhase = 4 // was live, or came too late: a newer one serves
)

// Published reports whether the version can no more be changed.
func (v *FeatureVersion) Published() bool { return v.Phase >= VersionScheduled }

// Live reports whether the version has become live, be it served or past.
func (v *FeatureVersion) Live() bool { return v.Phase >= VersionServing }

// FeatureVersions is the table of versions. FeatureVersionsByEnvironment keys are (environment, feature).
var (
	FeatureVersions = newTable[FeatureVersion](45, "EnvironmentFeatureVersion",
		func(v *FeatureVersion) *uint64 { return &v.ID }, nil).since(3)
	FeatureVersionsByEnvironment = FeatureVersions.index("environment", func(v *FeatureVersion, k Key) (Key, bool) {
		return k.Uint(v.Environment).Uint(v.Feature), true
	})
	FeatureVersionsByFeature = FeatureVersions.index("feature", func(v *FeatureVersion, k Key) (Key, bool) { return k.Uint(v.Feature), true })
	FeatureVersionsByUUID    = FeatureVersions.index("uuid", func(v *FeatureVersion, k Key) (Key, bool) { return k.UUID(v.UUID), true })
	featureVersionsServing   = FeatureVersions.index("serving", func(v *FeatureVersion, k Key) (Key, bool) {
		return k.Uint(v.Environment).Uint(v.Feature), v.Phase == VersionServing
	})
	featureVersionsScheduled = FeatureVersions.index("scheduled", func(v *FeatureVersion, k Key) (Key, bool) {
		return k.Uint(uint64(v.LiveFrom)), v.Phase == VersionScheduled
	})
)

// FeatureVersionState is a default or a segment override of a version that is not served, with everything that serving it takes. Its ids are
// those that the rows of FeatureStates and FeatureSegments get, or had.
type FeatureVersionState struct {
	ID      uint64         `cbor:"1,keyasint"` // of State
	Version uint64         `cbor:"2,keyasint"`
	State   FeatureState   `cbor:"3,keyasint"`
	Link    FeatureSegment `cbor:"4,keyasint"` // zero unless State is a segment override
}

// FeatureVersionStates is the table of what versions hold. FeatureVersionStatesByEnvironment keys are (environment, feature).
var (
	FeatureVersionStates = newTable[FeatureVersionState](46, "FeatureVersionState",
		func(s *FeatureVersionState) *uint64 { return &s.ID }, nil).since(3)
	FeatureVersionStatesByVersion = FeatureVersionStates.index("version", func(s *FeatureVersionState, k Key) (Key, bool) {
		return k.Uint(s.Version), true
	})
	FeatureVersionStatesByEnvironment = FeatureVersionStates.index("environment", func(s *FeatureVersionState, k Key) (Key, bool) {
		return k.Uint(s.State.Environment).Uint(s.State.Feature), true
	})
	FeatureVersionStatesByFeature = FeatureVersionStates.index("feature", func(s *FeatureVersionState, k Key) (Key, bool) {
		return k.Uint(s.State.Feature), true
	})
	FeatureVersionStatesBySegment = FeatureVersionStates.index("segment", func(s *FeatureVersionState, k Key) (Key, bool) {
		return k.Uint(s.Link.Segment), s.Link.Segment != 0
	})
)

// StatesInPlace returns the default and the segment overrides of a feature where Views look for them, as a version holds them.
func StatesInPlace(r Reader, environment, feature uint64) []FeatureVersionState {
	var states []FeatureVersionState
	for s := range FeatureStatesByEnvironment.Refs(r, environment, StateDefault, feature) {
		states = append(states, FeatureVersionState{ID: s.ID, Version: s.FeatureVersion, State: *s})
	}
	for s := range FeatureStatesByEnvironment.Refs(r, environment, StateSegment, feature) {
		if link, ok := FeatureSegments.Get(r, s.FeatureSegment); ok {
			states = append(states, FeatureVersionState{ID: s.ID, Version: s.FeatureVersion, State: *s, Link: link})
		}
	}
	return sorted(states)
}

// StatesOf returns the states of a version, wherever they stand: the default, then the overrides, the winner first.
func StatesOf(r Reader, v FeatureVersion) []FeatureVersionState {
	if v.Phase == VersionServing {
		return StatesInPlace(r, v.Environment, v.Feature)
	}
	return sorted(FeatureVersionStatesByVersion.List(r, v.ID))
}

func sorted(states []FeatureVersionState) []FeatureVersionState {
	slices.SortFunc(states, func(a, b FeatureVersionState) int {
		return cmp.Or(cmp.Compare(a.State.Kind(), b.State.Kind()), cmp.Compare(a.Link.Priority, b.Link.Priority),
			cmp.Compare(a.Link.Segment, b.Link.Segment), cmp.Compare(a.ID, b.ID))
	})
	return states
}

// ServingVersion returns the version of a feature that is served in an environment.
func ServingVersion(r Reader, environment, feature uint64) (FeatureVersion, bool) {
	return featureVersionsServing.First(r, environment, feature)
}

// StartVersions makes what a feature does in an environment its first version. Below the format level that knows versions it does nothing:
// everything here copes with states that are of no version.
func (tx *Tx) StartVersions(environment, feature uint64) {
	if tx.state.Level() < FeatureVersions.def.level {
		return
	}
	v := FeatureVersions.Put(tx, FeatureVersion{UUID: tx.NewUUID(), Environment: environment, Feature: feature, CreatedAt: tx.now, UpdatedAt: tx.now,
		LiveFrom: tx.now, Phase: VersionServing})
	for _, s := range StatesInPlace(tx, environment, feature) {
		tx.place(s, v.ID)
	}
}

// EndVersions makes what is served in an environment plain states again. Every other version is lost.
func (tx *Tx) EndVersions(environment uint64) {
	for _, v := range FeatureVersionsByEnvironment.List(tx, environment) {
		if v.Phase == VersionServing {
			for _, s := range StatesInPlace(tx, environment, v.Feature) {
				if s.State.LiveFrom.IsZero() {
					s.State.LiveFrom = tx.now
					s.State.UpdatedAt = max(s.State.UpdatedAt, tx.now) // not scheduled
				}
				tx.place(s, 0)
			}
		}
	}
	FeatureVersionStatesByEnvironment.DeleteAll(tx, environment)
	FeatureVersionsByEnvironment.DeleteAll(tx, environment)
}

// DraftVersion stores a new version as a draft that starts with copies of the states in place. Copies have ids of their own and keep the
// seed, so that nobody gets another variant.
func (tx *Tx) DraftVersion(v FeatureVersion) FeatureVersion {
	v.UUID, v.Phase, v.CreatedAt, v.UpdatedAt = tx.NewUUID(), VersionDraft, tx.now, tx.now
	v = FeatureVersions.Put(tx, v)
	for _, s := range StatesInPlace(tx, v.Environment, v.Feature) {
		s.State.Seed = s.State.HashSeed()
		s.State.Multivariate = slices.Clone(s.State.Multivariate)
		for i := range s.State.Multivariate {
			s.State.Multivariate[i].ID, s.State.Multivariate[i].UUID = tx.NextMultivariateValueID(), tx.NewUUID()
		}
		tx.AddVersionState(v, s.State, s.Link)
	}
	return v
}

// AddVersionState puts a new state into a draft; link, whose Segment is 0 for a default, is its feature segment.
func (tx *Tx) AddVersionState(v FeatureVersion, state FeatureState, link FeatureSegment) FeatureVersionState {
	state.ID, state.UUID, state.FeatureVersion = tx.nextID(FeatureStates.def), tx.NewUUID(), v.ID
	state.CreatedAt, state.UpdatedAt = tx.now, tx.now
	if state.LiveFrom <= tx.now {
		state.LiveFrom = 0 // live when its version is
	}
	if link.Segment != 0 {
		link.ID, link.UUID, link.FeatureVersion = tx.nextID(FeatureSegments.def), tx.NewUUID(), v.ID
	}
	state.FeatureSegment = link.ID
	return FeatureVersionStates.Put(tx, FeatureVersionState{ID: state.ID, Version: v.ID, State: state, Link: link})
}

// PublishVersion publishes a version as of its LiveFrom. If that lies ahead, the Scheduler calls this again when it is there. Otherwise the
// version becomes live: its states and those of the version that was served change places, unless that one is the newer of the two.
func (tx *Tx) PublishVersion(v FeatureVersion) FeatureVersion {
	if v.LiveFrom > tx.now {
		v.Phase = VersionScheduled
		return FeatureVersions.Put(tx, v)
	}
	before, ok := ServingVersion(tx, v.Environment, v.Feature)
	if ok && before.LiveFrom > v.LiveFrom {
		v.Phase = VersionPast
	} else {
		tx.displace(v, before)
		v.Phase = VersionServing
		for _, s := range FeatureVersionStatesByVersion.List(tx, v.ID) {
			FeatureVersionStates.Delete(tx, s.ID)
			tx.place(s, v.ID)
		}
	}
	f, _ := Features.Get(tx, v.Feature)
	e, _ := Environments.Get(tx, v.Environment)
	// No event of the system: who has no account and scheduled it is a key.
	tx.Audit(AuditLog{Log: "New version published for feature: " + f.Name, Project: e.Project, Environment: v.Environment, Author: v.PublishedBy,
		RelatedObjectType: AuditFeatureVersion, RelatedObjectUUID: v.UUID})
	return FeatureVersions.Put(tx, v)
}

// displace moves what is in place to the version it is of; without one (ID 0) it is lost.
func (tx *Tx) displace(v, before FeatureVersion) {
	for _, s := range StatesInPlace(tx, v.Environment, v.Feature) {
		FeatureStates.Delete(tx, s.ID)
		if before.ID != 0 {
			s.Version = before.ID
			FeatureVersionStates.Put(tx, s)
		}
	}
	for _, link := range FeatureSegmentsByEnvironment.List(tx, v.Environment, v.Feature) {
		FeatureSegments.Delete(tx, link.ID)
	}
	if before.ID != 0 {
		before.Phase = VersionPast
		FeatureVersions.Put(tx, before)
	}
}

// place puts a state where Views look, as one of a version.
func (tx *Tx) place(s FeatureVersionState, version uint64) {
	if s.Link.ID != 0 {
		s.Link.FeatureVersion = version
		FeatureSegments.Put(tx, s.Link)
	}
	s.State.FeatureVersion = version
	FeatureStates.Put(tx, s.State)
}
