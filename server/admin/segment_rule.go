package admin

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// segmentRule is a rule of the upper level.
type segmentRule struct {
	ID         uint64             `json:"id"`
	Type       string             `json:"type"`
	Rules      []nestedRule       `json:"rules"`
	Conditions []segmentCondition `json:"conditions"`
}

// nestedRule is one of the lower level, which has no rules of its own.
type nestedRule struct {
	ID         uint64             `json:"id"`
	Type       string             `json:"type"`
	Conditions []segmentCondition `json:"conditions"`
}

type segmentCondition struct {
	ID          uint64  `json:"id"`
	Operator    string  `json:"operator"`
	Property    *string `json:"property"`
	Value       *string `json:"value"`
	Description *string `json:"description"`
}

// ruleInput is a rule as it is sent. The id of an existing rule keeps it; delete drops it.
type ruleInput struct {
	ID         route.Optional[uint64]           `json:"id" v:"null"`
	Type       string                           `json:"type" v:"required,choice=ALL|ANY|NONE"`
	Rules      route.Optional[[]ruleInput]      `json:"rules"`
	Conditions route.Optional[[]conditionInput] `json:"conditions"`
	Delete     bool                             `json:"delete"`
}

type conditionInput struct {
	ID          route.Optional[uint64] `json:"id" v:"null"`
	Operator    string                 `json:"operator" v:"required,choice=EQUAL|NOT_EQUAL|GREATER_THAN|GREATER_THAN_INCLUSIVE|LESS_THAN|LESS_THAN_INCLUSIVE|CONTAINS|NOT_CONTAINS|REGEX|PERCENTAGE_SPLIT|MODULO|IS_SET|IS_NOT_SET|IN"`
	Property    route.Optional[string] `json:"property" v:"null,max=1000"`
	Value       conditionValue         `json:"value" v:"null"`
	Description route.Optional[string] `json:"description" v:"null,blank"`
	Delete      bool                   `json:"delete"`
}

const conditionValueLimit = 1000

// conditionValue is the text of any value, as Python's str() makes it; a missing one is that of None (FACTS §10).
type conditionValue struct {
	text string
	sent bool
}

// FromValue implements the decoder's interface for types that read themselves.
func (v *conditionValue) FromValue(in route.Value) error {
	s := strings.TrimSpace(route.PythonStr(in))
	if utf8.RuneCountInString(s) > conditionValueLimit {
		return conditionFault(route.MaxLengthText(conditionValueLimit))
	}
	if msg := route.TextFault(s); msg != "" {
		return conditionFault(msg)
	}
	v.text, v.sent = s, true
	return nil
}

// stored is the text that is kept and compared with.
func (v conditionValue) stored() string {
	if !v.sent {
		return "None"
	}
	return v.text
}

type conditionFault string

func (f conditionFault) Error() string { return string(f) }

// checkRules refuses rules that nest too deep or hold too many conditions.
func checkRules(c *Ctx, rules []ruleInput) error {
	depth, conditions := measure(rules)
	switch limit := c.Env.Options.SegmentConditions; {
	case depth > 2:
		return route.Field("segment", "Rules must not be nested more than 2 levels deep.")
	case conditions > limit:
		return route.Field("segment", "The segment has "+strconv.Itoa(conditions)+" conditions, which exceeds the maximum condition count of "+
			strconv.Itoa(limit)+".")
	}
	return nil
}

// measure counts levels and conditions of what stays.
func measure(rules []ruleInput) (depth, conditions int) {
	for _, r := range rules {
		if r.Delete {
			continue
		}
		d, n := measure(r.Rules.Value)
		depth = max(depth, 1+d)
		for _, condition := range r.Conditions.Value {
			if !condition.Delete {
				n++
			}
		}
		conditions += n
	}
	return depth, conditions
}

// ruleNumbers gives ids to rules and conditions: those that were sent and exist, each once, or new ones.
type ruleNumbers struct {
	tx         *fsm.Tx
	known      map[uint64]bool
	conditions map[uint64]bool
}

func newRuleNumbers(tx *fsm.Tx, have []fsm.SegmentRule) *ruleNumbers {
	n := &ruleNumbers{tx: tx, known: map[uint64]bool{}, conditions: map[uint64]bool{}}
	n.learn(have)
	return n
}

func (n *ruleNumbers) learn(rules []fsm.SegmentRule) {
	for _, r := range rules {
		n.known[r.ID] = true
		for _, condition := range r.Conditions {
			n.conditions[condition.ID] = true
		}
		n.learn(r.Rules)
	}
}

// rules makes the rows of what was sent, without what was marked for deletion.
func (n *ruleNumbers) rules(sent []ruleInput) []fsm.SegmentRule {
	rows := make([]fsm.SegmentRule, 0, len(sent))
	for _, in := range sent {
		if in.Delete {
			continue
		}
		r := fsm.SegmentRule{ID: take(n.known, in.ID.Value, n.tx.NextSegmentRuleID), Type: in.Type}
		r.Rules = n.rules(in.Rules.Value)
		for _, condition := range in.Conditions.Value {
			if !condition.Delete {
				r.Conditions = append(r.Conditions, n.condition(condition))
			}
		}
		rows = append(rows, r)
	}
	return rows
}

func (n *ruleNumbers) condition(in conditionInput) fsm.Condition {
	row := fsm.Condition{ID: take(n.conditions, in.ID.Value, n.tx.NextConditionID), Operator: in.Operator}
	in.Property.IntoPtr(&row.Property)
	in.Description.IntoPtr(&row.Description)
	value := in.Value.stored()
	row.Value = &value
	return row
}

func take(known map[uint64]bool, id uint64, next func() uint64) uint64 {
	if known[id] {
		delete(known, id)
		return id
	}
	return next()
}

// renumbered copies rules under new ids.
func renumbered(tx *fsm.Tx, rules []fsm.SegmentRule) []fsm.SegmentRule {
	rows := make([]fsm.SegmentRule, len(rules))
	for i, r := range rules {
		rows[i] = fsm.SegmentRule{ID: tx.NextSegmentRuleID(), Type: r.Type, Rules: renumbered(tx, r.Rules)}
		for _, condition := range r.Conditions {
			condition.ID = tx.NextConditionID()
			rows[i].Conditions = append(rows[i].Conditions, condition)
		}
	}
	return rows
}

func renderRule(r fsm.SegmentRule) segmentRule {
	return segmentRule{ID: r.ID, Type: r.Type, Rules: mapped(r.Rules, renderNestedRule), Conditions: mapped(r.Conditions, renderCondition)}
}

func renderNestedRule(r fsm.SegmentRule) nestedRule {
	return nestedRule{ID: r.ID, Type: r.Type, Conditions: mapped(r.Conditions, renderCondition)}
}

func renderCondition(c fsm.Condition) segmentCondition {
	return segmentCondition{ID: c.ID, Operator: c.Operator, Property: c.Property, Value: c.Value, Description: c.Description}
}
