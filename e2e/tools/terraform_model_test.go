package tools

import "encoding/json"

// What the Terraform provider sends and keeps, a type for each kind of resource. A pointer tells null from "" or false; numbers that may have a fraction are
// kept as they were written. Attributes that the server computes are left out of what is sent.

type tfProject struct {
	ID                  int64   `json:"id,omitempty"`
	UUID                string  `json:"uuid,omitempty"`
	Name                string  `json:"name"`
	Organisation        int64   `json:"organisation"`
	HideDisabledFlags   bool    `json:"hide_disabled_flags"`
	PreventFlagDefaults bool    `json:"prevent_flag_defaults"`
	OnlyLowerCase       bool    `json:"only_allow_lower_case_feature_names"`
	FeatureNameRegex    *string `json:"feature_name_regex"`
	StaleFlagsLimitDays int64   `json:"stale_flags_limit_days"`
	Realtime            bool    `json:"enable_realtime_updates"`
}

type tfEnvironment struct {
	ID                int64   `json:"id,omitempty"`
	UUID              string  `json:"uuid,omitempty"`
	APIKey            string  `json:"api_key,omitempty"`
	Name              string  `json:"name"`
	Project           int64   `json:"project"`
	Description       *string `json:"description"`
	BannerText        *string `json:"banner_text"`
	BannerColour      *string `json:"banner_colour"`
	HideDisabledFlags *bool   `json:"hide_disabled_flags"`
	HideSensitiveData bool    `json:"hide_sensitive_data"`
	AllowClientTraits bool    `json:"allow_client_traits"`
	CompositeKey      bool    `json:"use_identity_composite_key_for_hashing"`
}

type tfTag struct {
	ID          int64   `json:"id,omitempty"`
	UUID        string  `json:"uuid,omitempty"`
	Project     int64   `json:"project"`
	Label       string  `json:"label"`
	Description *string `json:"description"`
	Colour      string  `json:"color"`
}

type tfSegment struct {
	ID          int64            `json:"id,omitempty"`
	UUID        string           `json:"uuid,omitempty"`
	Project     int64            `json:"project"`
	Feature     *int64           `json:"feature"`
	Name        string           `json:"name"`
	Description *string          `json:"description"`
	Rules       tfBlocks[tfRule] `json:"rules"`
}

type tfRule struct {
	Type       string                `json:"type"`
	Rules      tfBlocks[tfRule]      `json:"rules,omitempty"`
	Conditions tfBlocks[tfCondition] `json:"conditions,omitempty"`
}

// tfBlocks are nested blocks of a configuration: an empty list is as if there were none.
type tfBlocks[T any] []T

func (b *tfBlocks[T]) UnmarshalJSON(data []byte) error {
	var list []T
	err := json.Unmarshal(data, &list)
	if *b = list; len(list) == 0 {
		*b = nil
	}
	return err
}

type tfCondition struct {
	Operator string  `json:"operator"`
	Property *string `json:"property"`
	Value    *string `json:"value"`
}

type tfFeature struct {
	ID             int64   `json:"id,omitempty"`
	UUID           string  `json:"uuid,omitempty"`
	Project        int64   `json:"project"`
	Name           string  `json:"name"`
	Type           string  `json:"type"`
	Description    *string `json:"description"`
	InitialValue   *string `json:"initial_value"`
	DefaultEnabled bool    `json:"default_enabled"`
	IsArchived     bool    `json:"is_archived"`
	ServerKeyOnly  bool    `json:"is_server_key_only"`
	Owners         tfIDs   `json:"owners,omitempty"`
	GroupOwners    tfIDs   `json:"group_owners,omitempty"`
	Tags           tfIDs   `json:"tags"`
}

// tfIDs are written as numbers, and read as numbers or as objects with an id. None are [], never null.
type tfIDs []int64

func (ids tfIDs) MarshalJSON() ([]byte, error) { return json.Marshal(append([]int64{}, ids...)) }

func (ids *tfIDs) UnmarshalJSON(data []byte) error {
	var items []json.RawMessage
	if err := json.Unmarshal(data, &items); err != nil {
		return err
	}
	*ids = nil
	for _, item := range items {
		var object struct{ ID int64 }
		if json.Unmarshal(item, &object) != nil {
			if err := json.Unmarshal(item, &object.ID); err != nil {
				return err
			}
		}
		*ids = append(*ids, object.ID)
	}
	return nil
}

type tfOption struct {
	ID         int64       `json:"id,omitempty"`
	UUID       string      `json:"uuid,omitempty"`
	Feature    int64       `json:"feature"`
	Type       string      `json:"type"`
	String     *string     `json:"string_value"`
	Integer    *int64      `json:"integer_value"`
	Boolean    *bool       `json:"boolean_value"`
	Percentage json.Number `json:"default_percentage_allocation"`
	Key        *string     `json:"key"`
}

type tfState struct {
	ID             int64   `json:"id,omitempty"`
	UUID           string  `json:"uuid,omitempty"`
	Feature        int64   `json:"feature"`
	Environment    int64   `json:"environment"`
	FeatureSegment *int64  `json:"feature_segment,omitempty"`
	Enabled        bool    `json:"enabled"`
	Value          tfValue `json:"feature_state_value"`

	// Of a segment override only; they come from its feature segment.
	Segment  int64 `json:"-"`
	Priority int64 `json:"-"`
}

// tfValue is the typed value of `features/featurestates/`.
type tfValue struct {
	Type    string  `json:"type"`
	String  *string `json:"string_value"`
	Integer *int64  `json:"integer_value"`
	Boolean *bool   `json:"boolean_value"`
}

type tfFeatureSegment struct {
	ID          int64 `json:"id,omitempty"`
	Feature     int64 `json:"feature"`
	Segment     int64 `json:"segment"`
	Environment int64 `json:"environment"`
	Priority    int64 `json:"priority"`
}

type tfServerKey struct {
	ID        int64   `json:"id,omitempty"`
	Key       string  `json:"key,omitempty"`
	Active    bool    `json:"active"`
	Name      string  `json:"name"`
	ExpiresAt *string `json:"expires_at,omitempty"`
}

type tfIdentity struct {
	ID         int64  `json:"id,omitempty"`
	Identifier string `json:"identifier"`
}

type tfTrait struct {
	ID      int64        `json:"id,omitempty"`
	Key     string       `json:"trait_key"`
	Type    string       `json:"value_type"`
	String  *string      `json:"string_value"`
	Integer *int64       `json:"integer_value"`
	Boolean *bool        `json:"boolean_value"`
	Float   *json.Number `json:"float_value"`
}
