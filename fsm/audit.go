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

// SwitchedText is what the audit log says of a state that was switched, or has become live.
func SwitchedText(r Reader, fs FeatureState) string {
	f, _ := Features.Get(r, fs.Feature)
	override := "Flag state / Remote config value updated for feature '" + f.Name + "' and "
	switch fs.Kind() {
	case StateSegment:
		link, _ := FeatureSegments.Get(r, fs.FeatureSegment)
		segment, _ := Segments.Get(r, link.Segment)
		return override + "segment '" + segment.Name + "'"
	case StateIdentity:
		identifier := ""
		if record, ok := r.Identities().Environment(fs.Environment).ByID(fs.Identity); ok {
			identifier = string(record.Identifier())
		}
		return override + "identity '" + identifier + "'"
	default:
		return "Flag state updated for feature: " + f.Name
	}
}
