package fsm

import "github.com/google/uuid"

// FeatureHealthProvider is a monitoring system that reports on a project's
// features. What it posts to is derived from its UUID; see package admin.
type FeatureHealthProvider struct {
	ID        uint64    `cbor:"1,keyasint"`
	UUID      uuid.UUID `cbor:"2,keyasint"`
	Project   uint64    `cbor:"3,keyasint"`
	Name      string    `cbor:"4,keyasint"`           // Webhook, Grafana
	CreatedBy uint64    `cbor:"5,keyasint,omitempty"` // user
}

// FeatureHealthProviders is the table of providers.
var (
	FeatureHealthProviders = newTable[FeatureHealthProvider](52, "FeatureHealthProvider",
		func(p *FeatureHealthProvider) *uint64 { return &p.ID }, nil).since(3)
	FeatureHealthProvidersByProject = FeatureHealthProviders.index("project", func(p *FeatureHealthProvider, k Key) (Key, bool) { return k.Uint(p.Project), true })
	FeatureHealthProvidersByUUID    = FeatureHealthProviders.index("uuid", func(p *FeatureHealthProvider, k Key) (Key, bool) { return k.UUID(p.UUID), true })
)

// FeatureHealthEvent is the newest that a provider said of a feature, per
// environment and thing reported (ExternalID); older events are not kept.
type FeatureHealthEvent struct {
	ID          uint64        `cbor:"1,keyasint"`
	Project     uint64        `cbor:"2,keyasint"`
	Feature     uint64        `cbor:"3,keyasint"`
	Environment uint64        `cbor:"4,keyasint,omitempty"` // 0: everywhere
	Provider    string        `cbor:"5,keyasint"`
	ExternalID  string        `cbor:"6,keyasint,omitempty"`
	Unhealthy   bool          `cbor:"7,keyasint,omitempty"`
	CreatedAt   Time          `cbor:"8,keyasint"`
	Reason      *HealthReason `cbor:"9,keyasint,omitempty"`
}

// HealthReason explains an event, in texts and links.
type HealthReason struct {
	Texts []HealthBlock `cbor:"1,keyasint,omitempty"`
	Links []HealthBlock `cbor:"2,keyasint,omitempty"`
}

// HealthBlock is a text, or the address of a link.
type HealthBlock struct {
	Title *string `cbor:"1,keyasint,omitempty"`
	Text  string  `cbor:"2,keyasint"`
}

// FeatureHealthEvents is the table of health events.
var (
	FeatureHealthEvents = newTable[FeatureHealthEvent](53, "FeatureHealthEvent",
		func(e *FeatureHealthEvent) *uint64 { return &e.ID }, nil).since(3)
	FeatureHealthEventsByProject     = FeatureHealthEvents.index("project", func(e *FeatureHealthEvent, k Key) (Key, bool) { return k.Uint(e.Project), true })
	FeatureHealthEventsByFeature     = FeatureHealthEvents.index("feature", func(e *FeatureHealthEvent, k Key) (Key, bool) { return k.Uint(e.Feature), true })
	FeatureHealthEventsByEnvironment = FeatureHealthEvents.index("environment", func(e *FeatureHealthEvent, k Key) (Key, bool) {
		return k.Uint(e.Environment), e.Environment != 0
	})
)
