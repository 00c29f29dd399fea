// Package portable writes and reads what an installation holds as JSON that people can read and edit: organisations, projects, features,
// segments, environments, states and, when asked for, identities and secrets. Accounts, permissions, audit and usage stay behind: a backup has them.
//
// Numbers in a document ("number", "segment", "option") only tie its parts together; an import gives ids of its own. Features are named.
package portable

import (
	"iter"
	"time"

	"github.com/google/uuid"
)

// Format and Version mark a document.
const (
	Format  = "flagraft-export"
	Version = 1
)

// Document is a whole export.
type Document struct {
	Format        string         `json:"format"`
	Version       int            `json:"version"`
	Flagraft      string         `json:"flagraft"`
	Index         uint64         `json:"index"` // of the state it was made of
	Time          time.Time      `json:"time"`  // of the state, or as of which it was asked for
	Identities    bool           `json:"identities"`
	Secrets       bool           `json:"secrets"`
	Organisations []Organisation `json:"organisations"`
}

// Others are the uuids of the organisations beside the one at an index.
func (d *Document) Others(index int) (out []uuid.UUID) {
	for i, o := range d.Organisations {
		if i != index {
			out = append(out, o.UUID)
		}
	}
	return out
}

// Organisation is an organisation's settings and projects.
type Organisation struct {
	UUID                         uuid.UUID `json:"uuid"`
	Name                         string    `json:"name"`
	CreatedDate                  time.Time `json:"created_date"`
	PersistTraitData             bool      `json:"persist_trait_data"`
	StopServingFlags             bool      `json:"stop_serving_flags"`
	FeatureAnalytics             bool      `json:"feature_analytics"`
	RestrictProjectCreateToAdmin bool      `json:"restrict_project_create_to_admin"`
	Force2FA                     bool      `json:"force_2fa,omitempty"`
	WebhookNotificationEmail     *string   `json:"webhook_notification_email,omitempty"`
	Projects                     []Project `json:"projects"`
}

// Project is a project with everything in it.
type Project struct {
	UUID                    uuid.UUID     `json:"uuid"`
	Name                    string        `json:"name"`
	CreatedDate             time.Time     `json:"created_date"`
	HideDisabledFlags       bool          `json:"hide_disabled_flags"`
	EnableRealtimeUpdates   bool          `json:"enable_realtime_updates"`
	PreventFlagDefaults     bool          `json:"prevent_flag_defaults"`
	OnlyAllowLowerCaseNames bool          `json:"only_allow_lower_case_feature_names"`
	FeatureNameRegex        *string       `json:"feature_name_regex"`
	StaleFlagsLimitDays     int64         `json:"stale_flags_limit_days"`
	EnforceFeatureOwners    bool          `json:"enforce_feature_owners"`
	Tags                    []Tag         `json:"tags"`
	CustomFields            []CustomField `json:"custom_fields,omitempty"`
	Features                []Feature     `json:"features"`
	Segments                []Segment     `json:"segments"`
	Environments            []Environment `json:"environments"`
}

// CustomField is a field that features, segments or environments of the project have beside their own: one of the project, or one that the
// organisation has for all its projects.
type CustomField struct {
	Number       int         `json:"number"`
	Organisation bool        `json:"organisation"` // of the organisation
	Name         string      `json:"name"`
	Type         string      `json:"type"` // int, str, bool, url or multiline_str
	Description  *string     `json:"description"`
	Kinds        []FieldKind `json:"kinds"`
}

// FieldKind is a kind of objects that have a field.
type FieldKind struct {
	Kind         string `json:"kind"`                     // environment, feature or segment
	Organisation bool   `json:"required_by_organisation"` // in all its projects
	Project      bool   `json:"required_by_project"`
}

// FieldValue is what an object has in a custom field.
type FieldValue struct {
	Field int    `json:"field"`
	Value string `json:"value"`
}

// Tag is a label of features.
type Tag struct {
	Number      int       `json:"number"`
	UUID        uuid.UUID `json:"uuid"`
	Label       string    `json:"label"`
	Color       string    `json:"color"`
	Description *string   `json:"description"`
	IsPermanent bool      `json:"is_permanent"`
	IsSystemTag bool      `json:"is_system_tag"`
	Type        string    `json:"type"`
}

// Feature is a flag; its name is what the rest of the project calls it.
type Feature struct {
	UUID            uuid.UUID `json:"uuid"`
	Name            string    `json:"name"`
	Type            string    `json:"type"` // STANDARD or MULTIVARIATE
	CreatedDate     time.Time `json:"created_date"`
	DefaultEnabled  bool      `json:"default_enabled"`
	InitialValue    *string   `json:"initial_value"`
	Description     *string   `json:"description"`
	IsArchived      bool      `json:"is_archived"`
	IsServerKeyOnly bool      `json:"is_server_key_only"`
	Tags            []int     `json:"tags"`
	Options         []Option  `json:"options"`

	CustomFields []FieldValue `json:"custom_fields,omitempty"`
}

// Option is one value of a multivariate feature; its number is among those of the feature.
type Option struct {
	Number     int       `json:"number"`
	UUID       uuid.UUID `json:"uuid"`
	Value      Value     `json:"value"`
	Percentage float64   `json:"default_percentage_allocation"`
	Key        *string   `json:"key"`
}

// Value is a typed value. A column of another type than Type is one that the type was changed from.
type Value struct {
	Type    string  `json:"type"` // unicode, int or bool
	String  *string `json:"string,omitempty"`
	Integer *int64  `json:"integer,omitempty"`
	Boolean *bool   `json:"boolean,omitempty"`
}

// Segment is a set of rules over traits.
type Segment struct {
	Number      int       `json:"number"`
	UUID        uuid.UUID `json:"uuid"`
	Name        string    `json:"name"`
	Description *string   `json:"description"`
	Feature     string    `json:"feature,omitempty"` // set: only for this feature
	CreatedAt   time.Time `json:"created_at"`
	Rules       []Rule    `json:"rules"`

	CustomFields []FieldValue `json:"custom_fields,omitempty"`
}

// Rule combines conditions and rules.
type Rule struct {
	Type       string      `json:"type"` // ALL, ANY or NONE
	Conditions []Condition `json:"conditions"`
	Rules      []Rule      `json:"rules"`
}

// Condition compares a trait with a value.
type Condition struct {
	Operator    string  `json:"operator"`
	Property    *string `json:"property"`
	Value       *string `json:"value"`
	Description *string `json:"description,omitempty"`
}

// Environment is an environment with its states. ServerKeys are there with secrets only, Identities with identities only.
type Environment struct {
	UUID                        uuid.UUID        `json:"uuid"`
	Name                        string           `json:"name"`
	APIKey                      string           `json:"api_key"` // client-side: public
	Description                 *string          `json:"description"`
	CreatedDate                 time.Time        `json:"created_date"`
	AllowClientTraits           bool             `json:"allow_client_traits"`
	BannerText                  *string          `json:"banner_text"`
	BannerColour                *string          `json:"banner_colour"`
	HideDisabledFlags           *bool            `json:"hide_disabled_flags"`
	UseCompositeKeyForHashing   bool             `json:"use_identity_composite_key_for_hashing"`
	HideSensitiveData           bool             `json:"hide_sensitive_data"`
	UseV2FeatureVersioning      bool             `json:"use_v2_feature_versioning"`
	UseIdentityOverridesInLocal bool             `json:"use_identity_overrides_in_local_eval"`
	UseMVV2Evaluation           bool             `json:"use_mv_v2_evaluation"`
	CustomFields                []FieldValue     `json:"custom_fields,omitempty"`
	ServerKeys                  []ServerKey      `json:"server_keys,omitempty"`
	States                      []State          `json:"states"`
	SegmentOverrides            []Override       `json:"segment_overrides"`
	Versions                    []FeatureVersion `json:"versions,omitempty"`
	Identities                  []Identity       `json:"identities,omitempty"`
}

// ServerKey is a server-side key.
type ServerKey struct {
	Key       string     `json:"key"`
	Name      string     `json:"name"`
	Active    bool       `json:"active"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at"`
}

// states are all states of the environment.
func (e *Environment) states() iter.Seq[*State] {
	return func(yield func(*State) bool) {
		for i := range e.States {
			if !yield(&e.States[i]) {
				return
			}
		}
		for i := range e.SegmentOverrides {
			if !yield(&e.SegmentOverrides[i].State) {
				return
			}
		}
		for i := range e.Versions {
			for s := range e.Versions[i].states() {
				if !yield(s) {
					return
				}
			}
		}
		for i := range e.Identities {
			for j := range e.Identities[i].Overrides {
				if !yield(&e.Identities[i].Overrides[j]) {
					return
				}
			}
		}
	}
}

// FeatureVersion is a version of a feature in an environment with use_v2_feature_versioning. The states of the live one are those of the
// environment; of past ones nothing is here.
type FeatureVersion struct {
	UUID             uuid.UUID  `json:"uuid"`
	Feature          string     `json:"feature"`
	Phase            string     `json:"phase"` // live, scheduled or draft
	Description      *string    `json:"description"`
	CreatedAt        time.Time  `json:"created_at"`
	LiveFrom         *time.Time `json:"live_from,omitempty"`
	Default          *State     `json:"default,omitempty"`
	SegmentOverrides []Override `json:"segment_overrides,omitempty"`
}

// The phases of a FeatureVersion.
const (
	phaseLive      = "live"
	phaseScheduled = "scheduled"
	phaseDraft     = "draft"
)

// states are those of the version itself.
func (v *FeatureVersion) states() iter.Seq[*State] {
	return func(yield func(*State) bool) {
		if v.Default != nil && !yield(v.Default) {
			return
		}
		for i := range v.SegmentOverrides {
			if !yield(&v.SegmentOverrides[i].State) {
				return
			}
		}
	}
}

// State is a feature's value and enabled state. Those of versions that are not live have no uuid.
type State struct {
	UUID     uuid.UUID  `json:"uuid,omitzero"`
	Feature  string     `json:"feature"`
	Enabled  bool       `json:"enabled"`
	Value    Value      `json:"value"`
	Variants []Variant  `json:"variants,omitempty"`
	Seed     uint64     `json:"seed"` // decides who gets which variant
	LiveFrom *time.Time `json:"live_from,omitempty"`
	Version  int64      `json:"version"`
}

// Variant is the share of an option.
type Variant struct {
	Option     int     `json:"option"`
	Percentage float64 `json:"percentage_allocation"`
}

// Override is a feature's state for a segment.
type Override struct {
	Segment  int   `json:"segment"`
	Priority int64 `json:"priority"`
	State
}

// Identity is an identity with its traits and overrides.
type Identity struct {
	Identifier string           `json:"identifier"`
	Alias      string           `json:"alias,omitempty"`
	Traits     map[string]Trait `json:"traits"`
	Overrides  []State          `json:"overrides,omitempty"`
}

// Trait is the JSON of a trait's value.
type Trait = any
