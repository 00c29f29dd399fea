package compare

import (
	"encoding/json"
	"fmt"
)

// Flag is what a server answered for a feature.
type Flag struct {
	Enabled bool
	Value   any
}

// Flags reads an answer of flagraft: a list of flags, or an identity with one.
func Flags(body []byte) (map[string]Flag, error) {
	var identity struct {
		Flags []struct {
			Feature struct {
				Name string `json:"name"`
			} `json:"feature"`
			Enabled bool `json:"enabled"`
			Value   any  `json:"feature_state_value"`
		} `json:"flags"`
	}
	into := any(&identity)
	if len(body) > 0 && body[0] == '[' {
		into = &identity.Flags
	}
	if err := json.Unmarshal(body, into); err != nil {
		return nil, fmt.Errorf("compare: flags: %w", err)
	}
	flags := map[string]Flag{}
	for _, f := range identity.Flags {
		flags[f.Feature.Name] = Flag{f.Enabled, f.Value}
	}
	return flags, nil
}

// EdgeFlags reads an answer of Unleash Edge. Variants that are not enabled have no
// value.
func EdgeFlags(body []byte) (map[string]Flag, error) {
	var answer struct {
		Toggles []struct {
			Name    string `json:"name"`
			Enabled bool   `json:"enabled"`
			Variant struct {
				Payload *Payload `json:"payload"`
			} `json:"variant"`
		} `json:"toggles"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("compare: Unleash Edge's flags: %w", err)
	}
	flags := map[string]Flag{}
	for _, t := range answer.Toggles {
		f := Flag{Enabled: t.Enabled}
		if t.Variant.Payload != nil {
			f.Value = t.Variant.Payload.Value
		}
		flags[t.Name] = f
	}
	return flags, nil
}

// Same tells in what Unleash Edge's answer differs: a flag that is off may be missing
// in it and has no value there.
func Same(ours, edges map[string]Flag, values bool) error {
	for name, want := range ours {
		have := edges[name]
		if have.Enabled != want.Enabled || values && want.Enabled && have.Value != want.Value {
			return fmt.Errorf("compare: %s is %v in flagraft and %v in Unleash Edge", name, want, have)
		}
	}
	for name := range edges {
		if _, ok := ours[name]; !ok {
			return fmt.Errorf("compare: only Unleash Edge has %s", name)
		}
	}
	return nil
}
