package fsm

import "github.com/google/uuid"

// Environment is one set of feature states of a project, addressed by its
// client-side key.
type Environment struct {
	ID                            uint64    `cbor:"1,keyasint"`
	UUID                          uuid.UUID `cbor:"2,keyasint"`
	Name                          string    `cbor:"3,keyasint"`
	APIKey                        string    `cbor:"4,keyasint"` // client-side key, public
	Project                       uint64    `cbor:"5,keyasint"`
	CreatedDate                   Time      `cbor:"6,keyasint"`
	UpdatedAt                     Time      `cbor:"7,keyasint"` // only grows; see Tx.Audit
	Description                   *string   `cbor:"8,keyasint,omitempty"`
	AllowClientTraits             bool      `cbor:"9,keyasint,omitempty"`
	BannerText                    *string   `cbor:"10,keyasint,omitempty"`
	BannerColour                  *string   `cbor:"11,keyasint,omitempty"`
	HideDisabledFlags             *bool     `cbor:"12,keyasint,omitempty"` // nil: as the project says
	UseCompositeKeyForHashing     bool      `cbor:"13,keyasint,omitempty"` // use_identity_composite_key_for_hashing
	HideSensitiveData             bool      `cbor:"14,keyasint,omitempty"`
	UseV2FeatureVersioning        bool      `cbor:"15,keyasint,omitempty"`
	UseIdentityOverridesInLocal   bool      `cbor:"16,keyasint,omitempty"` // use_identity_overrides_in_local_eval
	MinimumChangeRequestApprovals *int64    `cbor:"17,keyasint,omitempty"`
	UseMVV2Evaluation             bool      `cbor:"18,keyasint,omitempty"`
}

// Environments is the table of environments.
var (
	Environments = newTable(10, "Environment", func(e *Environment) *uint64 { return &e.ID },
		func(_ Reader, e *Environment, t *Touched) { t.Add(e.ID) })
	EnvironmentsByProject = Environments.index("project", func(e *Environment, k Key) (Key, bool) { return k.Uint(e.Project), true })
	EnvironmentsByAPIKey  = Environments.index("api_key", func(e *Environment, k Key) (Key, bool) { return k.String(e.APIKey), true })
	EnvironmentsByUUID    = Environments.index("uuid", func(e *Environment, k Key) (Key, bool) { return k.UUID(e.UUID), true })
)

// EnvironmentAPIKey is a server-side key of an environment. The admin API shows
// it in every listing, so it is kept as it is.
type EnvironmentAPIKey struct {
	ID          uint64 `cbor:"1,keyasint"`
	Environment uint64 `cbor:"2,keyasint"`
	Key         string `cbor:"3,keyasint" secret:"true"` // "ser." and 22 characters
	Name        string `cbor:"4,keyasint"`
	Active      bool   `cbor:"5,keyasint,omitempty"`
	CreatedAt   Time   `cbor:"6,keyasint"`
	ExpiresAt   Time   `cbor:"7,keyasint,omitempty"`
}

// EnvironmentAPIKeys is the table of server-side keys.
var (
	EnvironmentAPIKeys = newTable(11, "EnvironmentAPIKey", func(e *EnvironmentAPIKey) *uint64 { return &e.ID },
		func(_ Reader, e *EnvironmentAPIKey, t *Touched) { t.Add(e.Environment) })
	EnvironmentAPIKeysByEnvironment = EnvironmentAPIKeys.index("environment", func(e *EnvironmentAPIKey, k Key) (Key, bool) { return k.Uint(e.Environment), true })
	EnvironmentAPIKeysByKey         = EnvironmentAPIKeys.index("key", func(e *EnvironmentAPIKey, k Key) (Key, bool) { return k.String(e.Key), true })
)
