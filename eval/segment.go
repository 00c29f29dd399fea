package eval

// segment is a compiled segment.
type segment struct {
	context *SegmentContext
	rules   *ruleSet
}

// ruleSet is the compiled form of a list of root rules.
type ruleSet struct {
	rules []rule
	slots []int32 // trait slots the conditions use
	// See Environment.
	readsIdentity, readsDocument bool
}

type ruleType uint8

const (
	ruleUnknown ruleType = iota
	ruleAll
	ruleAny
	ruleNone
)

type rule struct {
	conditions []condition
	rules      []rule
	quantifier ruleType
}

// match tells whether every root rule matches; a segment without rules never does.
func (g *segment) match(s *Subject, ev *Evaluation) bool {
	if ev.Trace != nil {
		return ev.Trace.matchSegment(g, s, ev)
	}
	ev.segmentKey = g.context.Key
	rules := g.rules.rules
	for i := range rules {
		if !rules[i].match(s, ev, nil) {
			return false
		}
	}
	return len(rules) > 0
}

// match needs both the conditions and the sub-rules to hold, each under the
// rule's quantifier; an empty part holds. With a trace nothing is cut short.
func (r *rule) match(s *Subject, ev *Evaluation, trace *RuleTrace) bool {
	if r.quantifier == ruleUnknown && trace == nil {
		return false
	}
	holds := r.conditionsHold(s, ev, trace)
	if !holds && trace == nil {
		return false
	}
	if len(r.rules) > 0 {
		holds = r.rulesHold(s, ev, trace) && holds
	}
	return holds && r.quantifier != ruleUnknown
}

func (r *rule) conditionsHold(s *Subject, ev *Evaluation, trace *RuleTrace) bool {
	if len(r.conditions) == 0 {
		return true
	}
	// The answer that decides: a false one for ALL, a true one for ANY and NONE.
	decisive := r.quantifier != ruleAll
	decided := false
	for i := range r.conditions {
		c := &r.conditions[i]
		if c.match(s, ev, trace) == decisive {
			decided = true
			if trace == nil {
				break
			}
		}
	}
	return decided == (r.quantifier == ruleAny)
}

func (r *rule) rulesHold(s *Subject, ev *Evaluation, trace *RuleTrace) bool {
	decisive := r.quantifier != ruleAll
	decided := false
	for i := range r.rules {
		var sub *RuleTrace
		if trace != nil {
			sub = trace.addRule(&r.rules[i])
		}
		matched := r.rules[i].match(s, ev, sub)
		if sub != nil {
			sub.Matched = matched
		}
		if matched == decisive {
			decided = true
			if trace == nil {
				break
			}
		}
	}
	return decided == (r.quantifier == ruleAny)
}
