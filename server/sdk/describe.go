package sdk

import "github.com/flagraft/flagraft/server/route"

// The types below only describe requests and answers in the API description; the
// handlers write their bytes themselves.

type flagsQuery struct {
	Feature string `query:"feature"`
}

type identityQuery struct {
	Identifier string `query:"identifier" v:"required"`
	Transient  string `query:"transient" types:"boolean"`
	Feature    string `query:"feature"`
}

type identifierPath struct {
	Identifier string `path:"identifier"`
}

type identityTraitPath struct {
	Identifier string      `path:"identifier"`
	Key        string      `path:"trait_key"`
	Value      route.Value `json:"trait_value" v:"required"`
}

// bulkOutput is the empty object that bulk-identities answers.
type bulkOutput struct{}

type bulkTraitInput struct {
	Traits []traitInputBody `body:""`
}

// analyticsCounts are counts by feature name.
type analyticsCounts struct {
	Counts route.Value `body:""`
}

type documentQuery struct {
	PageID string `query:"page_id"` // of a Link to the next page
}

type streamPath struct {
	Key string `path:"environment_key"`
}

type featurePath struct {
	Feature int64 `path:"feature_id"`
}

type flagOutput struct {
	ID             *int64        `json:"id"`
	Feature        featureOutput `json:"feature"`
	Value          route.Scalar  `json:"feature_state_value" types:"string,integer,boolean,null"`
	Environment    *int64        `json:"environment"`
	Identity       *int64        `json:"identity"`
	FeatureSegment *int64        `json:"feature_segment"`
	Enabled        bool          `json:"enabled"`
	Variant        *string       `json:"variant,omitempty"` // identity answers only
}

type featureOutput struct {
	ID             int64   `json:"id"`
	Name           string  `json:"name"`
	CreatedDate    *string `json:"created_date"`
	Description    *string `json:"description"`
	InitialValue   *string `json:"initial_value"`
	DefaultEnabled *bool   `json:"default_enabled"`
	Type           string  `json:"type"`
}

type traitOutput struct {
	ID        *int64       `json:"id"`
	Key       string       `json:"trait_key"`
	Value     route.Scalar `json:"trait_value"`
	Transient bool         `json:"transient"`
}

type identityOutput struct {
	Identifier string        `json:"identifier"`
	Traits     []traitOutput `json:"traits"`
	Flags      []flagOutput  `json:"flags"`
}

// flagsAnswer is all flags, or with ?feature= the one.
type flagsAnswer struct{}

// Alternatives are the two forms.
func (flagsAnswer) Alternatives() []any { return []any{[]flagOutput{}, flagOutput{}} }

// identityAnswer is everything, or with ?feature= the one flag. An empty identifier gets a detail with status 200, as in the reference.
type identityAnswer struct{}

// Alternatives are the three forms.
func (identityAnswer) Alternatives() []any {
	return []any{identityOutput{}, flagOutput{}, missingIdentifier{}}
}

type missingIdentifier struct {
	Detail string `json:"detail"`
}

type oldIdentityOutput struct {
	Flags    []flagOutput    `json:"flags"`
	Traits   []traitOutput   `json:"traits"`
	Segments []segmentOutput `json:"segments"`
}

type segmentOutput struct {
	ID          int64   `json:"id"`
	Name        string  `json:"name"`
	Description *string `json:"description"`
}

type incrementOutput struct {
	Key        string `json:"trait_key"`
	Value      int64  `json:"trait_value"`
	Identifier string `json:"identifier"`
}

type optionsOutput struct {
	Control route.Scalar `json:"control_value" types:"string,integer,boolean,null"`
	Options []struct {
		Value route.Scalar `json:"value" types:"string,integer,boolean,null"`
	} `json:"options"`
}

type documentOutput struct {
	ID                  int64            `json:"id"`
	APIKey              string           `json:"api_key"`
	Project             documentProject  `json:"project"`
	FeatureStates       []documentState  `json:"feature_states"`
	IdentityOverrides   []documentPerson `json:"identity_overrides"`
	Name                string           `json:"name"`
	AllowClientTraits   bool             `json:"allow_client_traits"`
	UpdatedAt           string           `json:"updated_at"`
	HideSensitiveData   bool             `json:"hide_sensitive_data"`
	HideDisabledFlags   *bool            `json:"hide_disabled_flags"`
	UseCompositeKey     bool             `json:"use_identity_composite_key_for_hashing"`
	UseOverridesInLocal bool             `json:"use_identity_overrides_in_local_eval"`
	AmplitudeConfig     *struct{}        `json:"amplitude_config"`
	DynatraceConfig     *struct{}        `json:"dynatrace_config"`
	HeapConfig          *struct{}        `json:"heap_config"`
	MixpanelConfig      *struct{}        `json:"mixpanel_config"`
	RudderstackConfig   *struct{}        `json:"rudderstack_config"`
	SegmentConfig       *struct{}        `json:"segment_config"`
	WebhookConfig       *struct{}        `json:"webhook_config"`
}

type documentProject struct {
	ID                 int64                `json:"id"`
	Name               string               `json:"name"`
	Organisation       documentOrganisation `json:"organisation"`
	HideDisabledFlags  bool                 `json:"hide_disabled_flags"`
	Segments           []documentSegment    `json:"segments"`
	RealtimeUpdates    bool                 `json:"enable_realtime_updates"`
	ServerKeyOnlyFlags []int64              `json:"server_key_only_feature_ids"`
}

type documentOrganisation struct {
	ID               int64  `json:"id"`
	Name             string `json:"name"`
	FeatureAnalytics bool   `json:"feature_analytics"`
	StopServingFlags bool   `json:"stop_serving_flags"`
	PersistTraitData bool   `json:"persist_trait_data"`
}

type documentSegment struct {
	ID            int64           `json:"id"`
	Name          string          `json:"name"`
	Rules         []documentRule  `json:"rules"`
	FeatureStates []documentState `json:"feature_states"`
}

type documentRule struct {
	Type       string              `json:"type"`
	Rules      []documentRule      `json:"rules"`
	Conditions []documentCondition `json:"conditions"`
}

type documentCondition struct {
	Operator string  `json:"operator"`
	Value    *string `json:"value"`
	Property *string `json:"property_"`
}

type documentState struct {
	Feature struct {
		ID   int64  `json:"id"`
		Name string `json:"name"`
		Type string `json:"type"`
	} `json:"feature"`
	Enabled        bool  `json:"enabled"`
	DjangoID       int64 `json:"django_id"`
	FeatureSegment *struct {
		Priority int64 `json:"priority"`
	} `json:"feature_segment"`
	UUID         string            `json:"featurestate_uuid"`
	Value        route.Scalar      `json:"feature_state_value" types:"string,integer,boolean,null"`
	Multivariate []documentVariant `json:"multivariate_feature_state_values"`
}

type documentVariant struct {
	Option struct {
		Value route.Scalar `json:"value" types:"string,integer,boolean,null"`
		ID    int64        `json:"id"`
		Key   *string      `json:"key"`
	} `json:"multivariate_feature_option"`
	Percentage float64 `json:"percentage_allocation"`
	ID         int64   `json:"id"`
	UUID       string  `json:"mv_fs_value_uuid"`
}

type documentPerson struct {
	Identifier        string          `json:"identifier"`
	EnvironmentAPIKey string          `json:"environment_api_key"`
	CreatedDate       string          `json:"created_date"`
	Features          []documentState `json:"identity_features"`
	Traits            []traitOutput   `json:"identity_traits"`
	UUID              string          `json:"identity_uuid"`
	DjangoID          int64           `json:"django_id"`
	DashboardAlias    *string         `json:"dashboard_alias"`
	CompositeKey      string          `json:"composite_key"`
}
