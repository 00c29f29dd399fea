package fsm

import "github.com/google/uuid"

// Organisation owns projects, members and master API keys.
type Organisation struct {
	ID                           uint64    `cbor:"1,keyasint"`
	UUID                         uuid.UUID `cbor:"2,keyasint"`
	Name                         string    `cbor:"3,keyasint"`
	CreatedDate                  Time      `cbor:"4,keyasint"`
	WebhookNotificationEmail     *string   `cbor:"5,keyasint,omitempty"`
	PersistTraitData             bool      `cbor:"6,keyasint,omitempty"`
	StopServingFlags             bool      `cbor:"7,keyasint,omitempty"`
	FeatureAnalytics             bool      `cbor:"8,keyasint,omitempty"`
	BlockAccessToAdmin           bool      `cbor:"9,keyasint,omitempty"`
	RestrictProjectCreateToAdmin bool      `cbor:"10,keyasint,omitempty"`
	Force2FA                     bool      `cbor:"11,keyasint,omitempty"`
	SubscriptionUUID             uuid.UUID `cbor:"12,keyasint"`
	MaxSeats                     uint64    `cbor:"13,keyasint,omitempty"` // members; 0: any number, and so below
	MaxProjects                  uint64    `cbor:"14,keyasint,omitempty"`
	MaxAPICalls                  uint64    `cbor:"15,keyasint,omitempty"` // SDK requests in a month, UTC
	APICallsExceeded             bool      `cbor:"16,keyasint,omitempty"` // set by the Scheduler
}

// Organisations is the table of organisations.
var (
	Organisations = newTable(1, "Organisation", func(o *Organisation) *uint64 { return &o.ID },
		func(r Reader, o *Organisation, t *Touched) {
			for p := range ProjectsByOrganisation.Refs(r, o.ID) {
				t.project(r, p.ID)
			}
		})
	OrganisationsByUUID = Organisations.index("uuid", func(o *Organisation, k Key) (Key, bool) { return k.UUID(o.UUID), true })
)

// Serves reports whether SDKs are answered.
func (o *Organisation) Serves() bool { return !o.StopServingFlags && !o.APICallsExceeded }

// OverAPICalls reports whether the SDK requests of now's month reach the limit.
func (o *Organisation) OverAPICalls(r Reader, now Time) bool {
	return o.MaxAPICalls != 0 && APICalls(r, o.ID, now) >= o.MaxAPICalls
}

// SeatsFull reports whether there may be no further member.
func (o *Organisation) SeatsFull(r Reader) bool {
	return o.MaxSeats != 0 && MembershipsByOrganisation.Count(r, o.ID) >= int(o.MaxSeats)
}

// ProjectsFull reports whether there may be no further project.
func (o *Organisation) ProjectsFull(r Reader) bool {
	return o.MaxProjects != 0 && ProjectsByOrganisation.Count(r, o.ID) >= int(o.MaxProjects)
}

// Role is a member's role in an organisation.
type Role string

// The two roles; an ADMIN holds every permission on everything in the organisation.
const (
	RoleAdmin Role = "ADMIN"
	RoleUser  Role = "USER"
)

// Membership makes a user a member of an organisation.
type Membership struct {
	ID           uint64 `cbor:"1,keyasint"`
	Organisation uint64 `cbor:"2,keyasint"`
	User         uint64 `cbor:"3,keyasint"`
	Role         Role   `cbor:"4,keyasint"`
	DateJoined   Time   `cbor:"5,keyasint"`
}

// Memberships is the table of organisation members.
var (
	Memberships               = newTable[Membership](2, "OrganisationUser", func(m *Membership) *uint64 { return &m.ID }, nil)
	MembershipsByOrganisation = Memberships.index("organisation", func(m *Membership, k Key) (Key, bool) { return k.Uint(m.Organisation).Uint(m.User), true })
	MembershipsByUser         = Memberships.index("user", func(m *Membership, k Key) (Key, bool) { return k.Uint(m.User).Uint(m.Organisation), true })
)

// MasterAPIKey is an organisation-wide management key. Only the SHA-256 of its
// secret is kept.
type MasterAPIKey struct {
	ID           uint64   `cbor:"1,keyasint"`
	Organisation uint64   `cbor:"2,keyasint"`
	Prefix       string   `cbor:"3,keyasint"`               // 8 characters, public
	Hash         [32]byte `cbor:"4,keyasint" secret:"true"` // SHA-256 of the whole key "<prefix>.<secret>"
	Name         string   `cbor:"5,keyasint"`
	Created      Time     `cbor:"6,keyasint"`
	ExpiryDate   Time     `cbor:"7,keyasint,omitempty"`
	Revoked      bool     `cbor:"8,keyasint,omitempty"`
	IsAdmin      bool     `cbor:"9,keyasint,omitempty"`
	CreatedBy    uint64   `cbor:"10,keyasint,omitempty"` // user
}

// MasterAPIKeys is the table of master API keys.
var (
	MasterAPIKeys               = newTable[MasterAPIKey](3, "MasterAPIKey", func(m *MasterAPIKey) *uint64 { return &m.ID }, nil)
	MasterAPIKeysByPrefix       = MasterAPIKeys.index("prefix", func(m *MasterAPIKey, k Key) (Key, bool) { return k.String(m.Prefix), true })
	MasterAPIKeysByOrganisation = MasterAPIKeys.index("organisation", func(m *MasterAPIKey, k Key) (Key, bool) { return k.Uint(m.Organisation), true })
)
