package tools

import "encoding/json"

// What the command line sends and reads of a flag. A value has its type as a word and is always written as text; what is left out of a PATCH stays.

type cliValue struct {
	Type  string `json:"type"` // string, integer or boolean
	Value string `json:"value"`
}

type cliVariant struct {
	ID     int64       `json:"id"`
	Weight json.Number `json:"weight"`
}

type cliSegment struct {
	ID int64 `json:"id"`
}

// cliFlag is the whole state of a flag in an environment, which every write answers.
type cliFlag struct {
	Default   cliState      `json:"environment_default"`
	Overrides []cliOverride `json:"segment_overrides"`
}

type cliState struct {
	Enabled  bool         `json:"enabled"`
	Value    *cliValue    `json:"value"`
	Variants []cliVariant `json:"variants"`
}

type cliOverride struct {
	Segment  cliSegment `json:"segment"`
	Priority int64      `json:"priority"`
	cliState
}

type cliChange struct {
	Default   *cliStateChange     `json:"environment_default,omitempty"`
	Overrides []cliOverrideChange `json:"segment_overrides,omitzero"`
}

type cliStateChange struct {
	Enabled  *bool        `json:"enabled,omitempty"`
	Value    *cliValue    `json:"value,omitempty"`
	Variants []cliVariant `json:"variants,omitempty"`
}

type cliOverrideChange struct {
	Segment  cliSegment   `json:"segment"`
	Enabled  *bool        `json:"enabled,omitempty"`
	Priority *int64       `json:"priority,omitempty"`
	Value    *cliValue    `json:"value,omitempty"`
	Variants []cliVariant `json:"variants,omitempty"`
}

// cliItem is what the command line needs of most things that it lists.
type cliItem struct {
	ID     int64
	Name   string
	APIKey string `json:"api_key"`
}

// cliIdentityState is an identity's override; its value is a bare scalar.
type cliIdentityState struct {
	ID       int64
	Identity json.RawMessage
	Enabled  bool
	Value    any `json:"feature_state_value"`
}
