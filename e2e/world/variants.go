package world

import "fmt"

// option is a variant of a multivariate flag and its share in percent.
type option struct {
	value any
	share float64
}

// typed is a value in the shape of the admin API's typed objects.
func typed(v any) object {
	o := object{"type": "unicode", "string_value": nil, "integer_value": nil, "boolean_value": nil}
	switch v := v.(type) {
	case int:
		o["type"], o["integer_value"] = "int", v
	case bool:
		o["type"], o["boolean_value"] = "bool", v
	default:
		o["string_value"] = v
	}
	return o
}

// variants makes a multivariate flag and returns the ids of its options.
func (b *builder) variants(name, control string, options ...option) []int64 {
	feature := b.feature(name, true, control, nil)
	ids := make([]int64, 0, len(options))
	for _, o := range options {
		body := typed(o.value)
		body["feature"], body["default_percentage_allocation"] = feature, o.share
		ids = append(ids, b.must("POST", fmt.Sprintf("/api/v1/projects/%d/features/%d/mv-options/", b.p.ID, feature), body, 201).ID("id"))
	}
	return ids
}

// multivariate makes flags whose value depends on the identity's bucket.
func (b *builder) multivariate() {
	b.variants("colour", "grey", option{"red", 31}, option{"green", 29}, option{"blue", 21.5})
	b.variants("everyone", "nobody", option{"left", 55}, option{"right", 45})
	b.variants("mixed", "none", option{7, 39}, option{true, 33}, option{"seven", 27})

	ids := b.variants("tier_colour", "grey", option{"silver", 11}, option{"gold", 9})
	b.segment("team plan", rule("ANY", cond("plan", "EQUAL", "team")))
	state, segment := b.override("tier_colour", "team plan", true, "grey for teams", 0)
	b.must("PUT", fmt.Sprintf("/api/v1/features/featurestates/%d/", state), object{
		"feature": b.features["tier_colour"], "environment": b.p.EnvironmentID, "enabled": true,
		"feature_state_value": typed("grey for teams"), "feature_segment": segment,
		"multivariate_feature_state_values": []object{
			{"multivariate_feature_option": ids[0], "percentage_allocation": 43},
			{"multivariate_feature_option": ids[1], "percentage_allocation": 37},
		}}, 200)
}
