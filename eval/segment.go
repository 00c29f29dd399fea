package eval

// segment is a compiled segment.
type segment struct {
	context *SegmentContext
	rules   *ruleSet
}

// ruleSet is the compiled form of a list of root rules.
type ruleSet struct {
	rules   []rule
	guard   []textPair // see guardOfAll
	needs   needs
	numbers int // how many slots and texts it uses, at most
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
	conditions []condition // in the order given
	rules      []rule
	quantifier ruleType
	// The conditions again, as they are looked at without a trace: their order
	// does not matter, so the cheap ones come first.
	texts  []textCheck
	others []int32
}

// textCheck is a condition that a plain trait equals a text. Both are numbers:
// the subject knows the number of the text each of its traits has.
type textCheck struct{ slot, text, condition int32 }

// match tells whether every root rule matches; a segment without rules never does.
func (g *segment) match(s *Subject, ev *Evaluation) bool {
	if ev.Trace != nil {
		return ev.Trace.matchSegment(g, s, ev)
	}
	if answer, known := g.rules.needs.met(s); known {
		return answer
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
	if trace != nil {
		return r.traceConditions(s, ev, trace)
	}
	// The answer that decides: a false one for ALL, a true one for ANY and NONE.
	decisive := r.quantifier != ruleAll
	decided := r.anyText(s, ev, decisive) || r.anyOther(s, ev, decisive)
	return decided == (r.quantifier == ruleAny)
}

// anyText tells whether a text check comes out as asked.
func (r *rule) anyText(s *Subject, ev *Evaluation, want bool) bool {
	for i := range r.texts {
		check := &r.texts[i]
		text := s.texts[check.slot]
		holds := text == check.text
		if text == notText {
			holds = r.conditions[check.condition].match(s, ev, nil)
		}
		if holds == want {
			return true
		}
	}
	return false
}

func (r *rule) anyOther(s *Subject, ev *Evaluation, want bool) bool {
	for _, i := range r.others {
		if r.conditions[i].match(s, ev, nil) == want {
			return true
		}
	}
	return false
}

// traceConditions looks at every condition.
func (r *rule) traceConditions(s *Subject, ev *Evaluation, trace *RuleTrace) bool {
	decisive, decided := r.quantifier != ruleAll, false
	for i := range r.conditions {
		if r.conditions[i].match(s, ev, trace) == decisive {
			decided = true
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
