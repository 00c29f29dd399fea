package world

import "fmt"

// cond is a condition; an empty property is sent as null, as the dashboard does for
// a split over all identities.
func cond(property, operator, value string) object {
	o := object{"property": property, "operator": operator, "value": value}
	if property == "" {
		o["property"] = nil
	}
	return o
}

func rule(kind string, conditions ...object) object {
	return object{"type": kind, "conditions": conditions, "rules": []any{}}
}

// segment makes a segment with the rules below one ALL rule, as the dashboard does.
func (b *builder) segment(name string, rules ...object) {
	b.segments[name] = b.must("POST", fmt.Sprintf("/api/v1/projects/%d/segments/", b.p.ID), object{
		"name": name, "project": b.p.ID, "rules": []object{{"type": "ALL", "conditions": []any{}, "rules": rules}}}, 201).ID("id")
}

// override gives a flag another state for a segment and returns the ids of that
// state and of its feature segment.
func (b *builder) override(feature, segment string, enabled bool, value any, priority int) (state, featureSegment any) {
	a := b.must("POST", b.environment(fmt.Sprintf("features/%d/create-segment-override/", b.features[feature])), object{
		"feature_segment": object{"segment": b.segments[segment], "priority": priority},
		"enabled":         enabled, "feature_state_value": typed(value)}, 201)
	featureSegment = a.Get("feature_segment")
	if o, ok := featureSegment.(object); ok {
		featureSegment = o["id"]
	}
	return a.ID("id"), featureSegment
}

// operators makes one flag op_NAME per operator, switched on by a segment whose
// condition uses it. Conditions that a missing trait could decide in more than one way stand
// beside IS_SET: the engines differ there.
func (b *builder) operators() {
	for _, s := range []struct {
		name  string
		rules []object
	}{
		{"op_equal", []object{rule("ANY", cond("plan", "EQUAL", "gold"))}},
		{"op_equal_number", []object{rule("ANY", cond("age", "EQUAL", "33"))}},
		{"op_equal_boolean", []object{rule("ANY", cond("beta", "EQUAL", "true"))}},
		{"op_not_equal", []object{rule("ALL", cond("country", "IS_SET", ""), cond("country", "NOT_EQUAL", "US"))}},
		{"op_greater", []object{rule("ANY", cond("age", "GREATER_THAN", "40"))}},
		{"op_greater_inclusive", []object{rule("ANY", cond("age", "GREATER_THAN_INCLUSIVE", "18"))}},
		{"op_less", []object{rule("ANY", cond("age", "LESS_THAN", "18"))}},
		{"op_less_inclusive", []object{rule("ANY", cond("score", "LESS_THAN_INCLUSIVE", "12.5"))}},
		{"op_contains", []object{rule("ANY", cond("email", "CONTAINS", "user1"))}},
		{"op_not_contains", []object{rule("ALL", cond("email", "IS_SET", ""), cond("email", "NOT_CONTAINS", "user1"))}},
		{"op_regex", []object{rule("ANY", cond("email", "REGEX", `^.+@corp\.test$`))}},
		{"op_split", []object{rule("ANY", cond("", "PERCENTAGE_SPLIT", "47"))}},
		{"op_modulo", []object{rule("ANY", cond("number", "MODULO", "4|1"))}},
		{"op_set", []object{rule("ANY", cond("banned", "IS_SET", ""))}},
		{"op_not_set", []object{rule("ANY", cond("banned", "IS_NOT_SET", ""))}},
		{"op_in", []object{rule("ANY", cond("country", "IN", "CZ,FR,DE"))}},
		{"op_in_number", []object{rule("ANY", cond("age", "IN", "20,30,40"))}},
		{"op_semver", []object{rule("ANY", cond("version", "GREATER_THAN_INCLUSIVE", "1.2.3:semver"))}},
		{"op_nested", []object{
			rule("ALL", cond("plan", "EQUAL", "gold"), cond("age", "GREATER_THAN", "20")),
			rule("NONE", cond("country", "EQUAL", "US"), cond("country", "EQUAL", "BR")),
			rule("ANY", cond("score", "GREATER_THAN", "1"), cond("beta", "EQUAL", "true")),
		}},
		{"path_identifier", []object{rule("ANY", cond("$.identity.identifier", "REGEX", "^user-"))}},
	} {
		b.feature(s.name, false, "out", nil)
		b.segment(s.name, s.rules...)
		b.override(s.name, s.name, true, "in "+s.name, 0)
	}
}

// ranked lets segments compete: the lowest priority number wins.
func (b *builder) ranked() {
	b.feature("ranked", true, "nobody", nil)
	b.override("ranked", "op_greater_inclusive", true, "adults", 2)
	b.override("ranked", "op_equal", true, "gold", 0)
	b.override("ranked", "op_in", false, "near", 1)
	b.feature("typed", true, "text", nil)
	b.override("typed", "op_equal", true, 99, 0)
	b.override("typed", "op_greater", false, false, 1)
}
