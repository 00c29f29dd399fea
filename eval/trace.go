package eval

// Trace records why an evaluation came out as it did. Set it as
// Evaluation.Trace before evaluating; the same code decides with and without
// it, except that with a trace no rule is cut short. It is for people: it
// allocates, and its strings may alias the subject's.
type Trace struct {
	Segments []SegmentTrace `json:"segments"`
	Features []FeatureTrace `json:"features"`
}

// SegmentTrace is one segment; it matched when it has rules and all matched.
type SegmentTrace struct {
	Key     string      `json:"key"`
	Name    string      `json:"name"`
	Matched bool        `json:"matched"`
	Rules   []RuleTrace `json:"rules"`
}

// RuleTrace is one rule with its parts.
type RuleTrace struct {
	Type       string           `json:"type"`
	Matched    bool             `json:"matched"`
	Conditions []ConditionTrace `json:"conditions,omitempty"`
	Rules      []RuleTrace      `json:"rules,omitempty"`
}

// ConditionTrace is one condition and the context value it saw, which is null
// when missing. Text that looks like a number is seen as a number.
type ConditionTrace struct {
	Property   string   `json:"property"`
	Operator   string   `json:"operator"`
	Value      string   `json:"value"`
	Seen       Value    `json:"seen"`
	Percentage *float64 `json:"percentage,omitempty"` // bucket of a percentage split
	Matched    bool     `json:"matched"`
}

// FeatureTrace is one feature: the overrides in order of precedence, of which
// the first with a matching segment won, and the variant choice.
type FeatureTrace struct {
	Name       string          `json:"name"`
	Overrides  []OverrideTrace `json:"overrides,omitempty"`
	Enabled    bool            `json:"enabled"`
	Value      Value           `json:"value"`
	Reason     string          `json:"reason"`
	Percentage *float64        `json:"percentage,omitempty"` // bucket of the variant choice
	Variant    string          `json:"variant,omitempty"`
}

// OverrideTrace is one override considered for a feature. Priority is null
// when absent, which comes last.
type OverrideTrace struct {
	Segment  string `json:"segment"`
	Priority Value  `json:"priority"`
	Matched  bool   `json:"matched"`
	Won      bool   `json:"won"`
}

func (t *Trace) matchSegment(g *segment, s *Subject, ev *Evaluation) bool {
	ev.segmentKey = g.context.Key
	trace := SegmentTrace{Key: g.context.Key, Name: g.context.Name, Matched: len(g.rules.rules) > 0}
	for i := range g.rules.rules {
		r := RuleTrace{Type: g.context.Rules[i].Type}
		r.Matched = g.rules.rules[i].match(s, ev, &r)
		trace.Matched = trace.Matched && r.Matched
		trace.Rules = append(trace.Rules, r)
	}
	t.Segments = append(t.Segments, trace)
	return trace.Matched
}

// addRule appends the trace of a sub-rule. The pointer is valid until the next call.
func (t *RuleTrace) addRule(r *rule) *RuleTrace {
	t.Rules = append(t.Rules, RuleTrace{Type: r.quantifier.String()})
	return &t.Rules[len(t.Rules)-1]
}

// String is the rule type's name in a context.
func (q ruleType) String() string {
	switch q {
	case ruleAll:
		return All
	case ruleAny:
		return Any
	case ruleNone:
		return None
	}
	return "?"
}

func (t *RuleTrace) addCondition(c *condition, seen Value, matched bool, ev *Evaluation) {
	trace := ConditionTrace{
		Property: c.detail.property, Operator: c.detail.operator, Value: c.text,
		Seen: seen, Matched: matched,
	}
	if ev.hasBucket {
		bucket := ev.bucket
		trace.Percentage = &bucket
	}
	t.Conditions = append(t.Conditions, trace)
}

func (t *Trace) addFeatures(e *Environment, s *Subject, ev *Evaluation) {
	for i := range e.features {
		t.Features = append(t.Features, e.traceFeature(i, s, ev))
	}
}

func (e *Environment) traceFeature(i int, s *Subject, ev *Evaluation) FeatureTrace {
	f, o := &e.features[i], ev.Outcomes[i]
	winner := e.Winner(i, o)
	trace := FeatureTrace{
		Name: f.context.Name, Enabled: winner.Enabled, Value: e.Value(i, o),
		Reason: string(e.AppendReason(nil, i, o)),
	}
	for j, override := range f.overrides {
		trace.Overrides = append(trace.Overrides, OverrideTrace{
			Segment:  e.segments[override.Segment].context.Name,
			Priority: override.Context.Priority,
			Matched:  ev.Matches(override.Segment),
			Won:      j == int(o.Override),
		})
	}
	if o.Variant != NoVariant {
		percentage := Percentage(winner.Key, s.key)
		trace.Percentage = &percentage
		trace.Variant, _ = VariantName(winner, int(o.Variant))
	}
	return trace
}
