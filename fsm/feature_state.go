package fsm

import "github.com/google/uuid"

// FeatureState is the value and enabled state of a feature in one environment:
// the environment default (FeatureSegment and Identity 0), a segment override
// (FeatureSegment set) or an identity override (Identity set).
type FeatureState struct {
	ID             uint64              `cbor:"1,keyasint"`
	UUID           uuid.UUID           `cbor:"2,keyasint"`
	Feature        uint64              `cbor:"3,keyasint"`
	Environment    uint64              `cbor:"4,keyasint"`
	FeatureSegment uint64              `cbor:"5,keyasint,omitempty"`
	Identity       uint64              `cbor:"6,keyasint,omitempty"`
	Enabled        bool                `cbor:"7,keyasint,omitempty"`
	Value          FeatureValue        `cbor:"8,keyasint"`
	Multivariate   []MultivariateValue `cbor:"9,keyasint,omitempty"` // by ascending ID
	CreatedAt      Time                `cbor:"10,keyasint"`
	UpdatedAt      Time                `cbor:"11,keyasint"`
	LiveFrom       Time                `cbor:"12,keyasint"`
	Version        int64               `cbor:"13,keyasint"`
	Seed           uint64              `cbor:"14,keyasint,omitempty"` // bucketing seed; 0: the id (spec: django_id)
	FeatureVersion uint64              `cbor:"15,keyasint,omitempty"` // v2 versioning
}

// HashSeed returns the first id of the multivariate hash (the document's django_id).
func (s *FeatureState) HashSeed() uint64 {
	if s.Seed != 0 {
		return s.Seed
	}
	return s.ID
}

// MultivariateValue is the share of one option in one feature state.
type MultivariateValue struct {
	ID         uint64    `cbor:"1,keyasint"` // from Tx.NextMultivariateValueID; orders the variants
	UUID       uuid.UUID `cbor:"2,keyasint"`
	Option     uint64    `cbor:"3,keyasint"`
	Percentage float64   `cbor:"4,keyasint"`
}

// FeatureStates is the table of feature states.
//
// FeatureStatesByEnvironment keys are (environment, kind, feature), kind as in
// StateDefault and its siblings: a prefix lists one kind. FeatureStatesByIdentity
// keys are (identity, feature).
var (
	FeatureStates = newTable(15, "FeatureState", func(s *FeatureState) *uint64 { return &s.ID },
		func(_ Reader, s *FeatureState, t *Touched) { t.Add(s.Environment) }).
		marked(func(s *FeatureState) (uint64, bool) { return s.Environment, s.Kind() == StateSegment })
	FeatureStatesByEnvironment = FeatureStates.index("environment", func(s *FeatureState, k Key) (Key, bool) {
		return k.Uint(s.Environment).Byte(s.Kind()).Uint(s.Feature), true
	})
	FeatureStatesByFeature        = FeatureStates.index("feature", func(s *FeatureState, k Key) (Key, bool) { return k.Uint(s.Feature).Uint(s.Environment), true })
	FeatureStatesByFeatureSegment = FeatureStates.index("feature_segment", func(s *FeatureState, k Key) (Key, bool) {
		return k.Uint(s.FeatureSegment), s.FeatureSegment != 0
	})
	FeatureStatesByIdentity = FeatureStates.index("identity", func(s *FeatureState, k Key) (Key, bool) {
		return k.Uint(s.Identity).Uint(s.Feature), s.Identity != 0
	})
	// featureStatesScheduled holds states that were not live yet when they were written, by LiveFrom; see Scheduler.
	featureStatesScheduled = FeatureStates.index("scheduled", func(s *FeatureState, k Key) (Key, bool) {
		return k.Uint(uint64(s.LiveFrom)), s.LiveFrom > s.UpdatedAt
	})
	FeatureStatesByUUID = FeatureStates.index("uuid", func(s *FeatureState, k Key) (Key, bool) { return k.UUID(s.UUID), true })
)

// The kinds of feature state, as a byte of the environment index.
const (
	StateDefault  byte = 1
	StateSegment  byte = 2
	StateIdentity byte = 3
)

// Kind returns which of the three kinds s is.
func (s *FeatureState) Kind() byte {
	switch {
	case s.Identity != 0:
		return StateIdentity
	case s.FeatureSegment != 0:
		return StateSegment
	default:
		return StateDefault
	}
}

// FeatureSegment ties a segment to a feature in one environment and gives the
// override its priority (lower wins).
type FeatureSegment struct {
	ID             uint64    `cbor:"1,keyasint"`
	UUID           uuid.UUID `cbor:"2,keyasint"`
	Feature        uint64    `cbor:"3,keyasint"`
	Segment        uint64    `cbor:"4,keyasint"`
	Environment    uint64    `cbor:"5,keyasint"`
	Priority       int64     `cbor:"6,keyasint"`
	FeatureVersion uint64    `cbor:"7,keyasint,omitempty"`
}

// FeatureSegments is the table of feature segments.
// FeatureSegmentsByEnvironment keys are (environment, feature).
var (
	FeatureSegments = newTable(16, "FeatureSegment", func(s *FeatureSegment) *uint64 { return &s.ID },
		func(_ Reader, s *FeatureSegment, t *Touched) { t.Add(s.Environment) }).
		marked(func(s *FeatureSegment) (uint64, bool) { return s.Environment, true })
	FeatureSegmentsByEnvironment = FeatureSegments.index("environment", func(s *FeatureSegment, k Key) (Key, bool) {
		return k.Uint(s.Environment).Uint(s.Feature), true
	})
	FeatureSegmentsBySegment = FeatureSegments.index("segment", func(s *FeatureSegment, k Key) (Key, bool) {
		return k.Uint(s.Segment).Uint(s.Environment), true
	})
	FeatureSegmentsByFeature = FeatureSegments.index("feature", func(s *FeatureSegment, k Key) (Key, bool) { return k.Uint(s.Feature), true })
	FeatureSegmentsByUUID    = FeatureSegments.index("uuid", func(s *FeatureSegment, k Key) (Key, bool) { return k.UUID(s.UUID), true })
)

// MoreThanWhole reports whether shares, in percent, add up to more than the whole. Decimals that make up 100 may pass it by what floats round.
func MoreThanWhole(total float64) bool { return total > 100+1e-9 }
