package fsm

import "github.com/google/uuid"

// Project groups features, segments and environments.
type Project struct {
	ID                            uint64    `cbor:"1,keyasint"`
	UUID                          uuid.UUID `cbor:"2,keyasint"`
	Name                          string    `cbor:"3,keyasint"`
	Organisation                  uint64    `cbor:"4,keyasint"`
	CreatedDate                   Time      `cbor:"5,keyasint"`
	HideDisabledFlags             bool      `cbor:"6,keyasint,omitempty"`
	EnableRealtimeUpdates         bool      `cbor:"7,keyasint,omitempty"`
	PreventFlagDefaults           bool      `cbor:"8,keyasint,omitempty"`
	OnlyAllowLowerCaseNames       bool      `cbor:"9,keyasint,omitempty"`
	FeatureNameRegex              *string   `cbor:"10,keyasint,omitempty"`
	StaleFlagsLimitDays           int64     `cbor:"11,keyasint"`
	MinimumChangeRequestApprovals *int64    `cbor:"12,keyasint,omitempty"`
	EnforceFeatureOwners          bool      `cbor:"13,keyasint,omitempty"`
}

// Projects is the table of projects.
var (
	Projects = newTable(9, "Project", func(p *Project) *uint64 { return &p.ID },
		func(r Reader, p *Project, t *Touched) { t.project(r, p.ID) })
	ProjectsByOrganisation = Projects.index("organisation", func(p *Project, k Key) (Key, bool) { return k.Uint(p.Organisation), true })
	ProjectsByUUID         = Projects.index("uuid", func(p *Project, k Key) (Key, bool) { return k.UUID(p.UUID), true })
)
