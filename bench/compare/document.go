package compare

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Document is an environment document, as far as it has equivalents elsewhere.
type Document struct {
	Key      string  `json:"api_key"`
	Name     string  `json:"name"`
	Features []State `json:"feature_states"`
	Project  struct {
		Segments []Segment `json:"segments"`
	} `json:"project"`
}

// State is what a feature serves in an environment or a segment.
type State struct {
	Feature struct {
		ID   int64  `json:"id"`
		Name string `json:"name"`
	} `json:"feature"`
	Enabled  bool              `json:"enabled"`
	Value    any               `json:"feature_state_value"`
	Variants []json.RawMessage `json:"multivariate_feature_state_values"`
	Override *struct {
		Priority int `json:"priority"` // lower wins
	} `json:"feature_segment"` // nil: the environment's
}

// Segment is a segment with its overrides.
type Segment struct {
	ID        int64   `json:"id"`
	Name      string  `json:"name"`
	Rules     []Rule  `json:"rules"`
	Overrides []State `json:"feature_states"`
}

// Rule combines conditions and rules, which must both hold.
type Rule struct {
	Type       string      `json:"type"`
	Rules      []Rule      `json:"rules"`
	Conditions []Condition `json:"conditions"`
}

// Condition compares a trait with a value.
type Condition struct {
	Property string `json:"property_"`
	Operator string `json:"operator"`
	Value    string `json:"value"`
}

// Read reads an environment document.
func Read(data []byte) (*Document, error) {
	d := &Document{}
	if err := json.Unmarshal(data, d); err != nil {
		return nil, fmt.Errorf("compare: environment document: %w", err)
	}
	states := slices.Clone(d.Features)
	for _, s := range d.Project.Segments {
		states = append(states, s.Overrides...)
	}
	for _, s := range states {
		if len(s.Variants) > 0 {
			return nil, fmt.Errorf("compare: %s is multivariate: others choose variants by other hashes", s.Feature.Name)
		}
	}
	return d, nil
}

// Plain is the environment without its segments.
func (d *Document) Plain() *Document {
	plain := *d
	plain.Project.Segments = nil
	return &plain
}
