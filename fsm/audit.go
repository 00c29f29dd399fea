package fsm

import "github.com/google/uuid"

// The related object types of audit rows that flagraft writes.
const (
	AuditFeature        = "FEATURE"
	AuditFeatureState   = "FEATURE_STATE"
	AuditSegment        = "SEGMENT"
	AuditEnvironment    = "ENVIRONMENT"
	AuditEdgeIdentity   = "EDGE_IDENTITY"
	AuditFeatureVersion = "EF_VERSION" // named by its uuid
	AuditHealth         = "FEATURE_HEALTH"
)

// AuditLog is one row of Flagsmith's audit log. The field-level changes are not
// stored here: they are those of the change-log entry with the same Write.
type AuditLog struct {
	ID                uint64    `cbor:"1,keyasint"`
	CreatedDate       Time      `cbor:"2,keyasint"`
	Log               string    `cbor:"3,keyasint"`
	Author            uint64    `cbor:"4,keyasint,omitempty"` // user; 0 for keys and the system
	Organisation      uint64    `cbor:"5,keyasint"`
	Project           uint64    `cbor:"6,keyasint"`
	Environment       uint64    `cbor:"7,keyasint,omitempty"` // 0: the whole project
	RelatedObjectID   uint64    `cbor:"8,keyasint,omitempty"`
	RelatedObjectUUID uuid.UUID `cbor:"9,keyasint"`
	RelatedObjectType string    `cbor:"10,keyasint"`
	IsSystemEvent     bool      `cbor:"11,keyasint,omitempty"`
	Write             uint64    `cbor:"12,keyasint,omitempty"` // id of the ChangeLog row
}

// AuditLogs is the table of audit rows.
var (
	AuditLogs               = newTable[AuditLog](18, "AuditLog", func(a *AuditLog) *uint64 { return &a.ID }, nil)
	AuditLogsByProject      = AuditLogs.index("project", func(a *AuditLog, k Key) (Key, bool) { return k.Uint(a.Project), true })
	AuditLogsByOrganisation = AuditLogs.index("organisation", func(a *AuditLog, k Key) (Key, bool) { return k.Uint(a.Organisation), true })
)
