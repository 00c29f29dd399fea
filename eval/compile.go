package eval

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/flagraft/flagraft/eval/jsonpath"
	"github.com/flagraft/flagraft/eval/pattern"
)

// numbering gives names dense numbers. It only grows along a lineage of
// environments, so that compiled rules stay valid; a shared one is copied
// before it grows.
type numbering struct {
	index  map[string]int32
	shared bool
}

// newNumbering reserves 0 for the empty name.
func newNumbering() numbering { return numbering{index: map[string]int32{"": 0}} }

func (n *numbering) number(name string) int32 {
	number, ok := n.index[name]
	if !ok {
		if n.shared {
			n.index, n.shared = maps.Clone(n.index), false
		}
		number = int32(len(n.index))
		n.index[name] = number
	}
	return number
}

// compileCache is what a later Compile may take over. It is written during
// Compile only and read-only afterwards.
type compileCache struct {
	rules  map[rulesID]*ruleSet
	splits map[*FeatureContext]*split
}

// rulesID identifies a list of rules by where it lies.
type rulesID struct {
	first *SegmentRule
	count int
}

// slack is how many numbers may be out of use before numbering starts anew.
const slack = 256

// Compile builds an immutable Environment. prev may be nil; otherwise it is an
// earlier Environment of the same lineage, of which everything is reused that
// belongs to an identical *FeatureContext, *SegmentContext or Rules slice.
func Compile(spec *Spec, prev *Environment) *Environment {
	c := newCompiler(spec, prev)
	e := c.environment()
	if prev != nil && c.wasteful(e) {
		e = newCompiler(spec, nil).environment()
	}
	return e
}

type compiler struct {
	spec    *Spec
	prev    *Environment
	slots   numbering // of trait names
	texts   numbering // of texts that traits are compared with
	cache   *compileCache
	current *ruleSet // being compiled
}

func newCompiler(spec *Spec, prev *Environment) *compiler {
	c := &compiler{spec: spec, prev: prev, cache: &compileCache{
		rules:  make(map[rulesID]*ruleSet, len(spec.Segments)),
		splits: make(map[*FeatureContext]*split),
	}}
	c.slots, c.texts = newNumbering(), newNumbering()
	if prev != nil {
		c.slots = numbering{index: prev.slots, shared: true}
		c.texts = numbering{index: prev.texts, shared: true}
	}
	return c
}

func (c *compiler) environment() *Environment {
	e := &Environment{
		key: c.spec.Key, name: c.spec.Name,
		keyValue: coerce(String(c.spec.Key)), nameValue: coerce(String(c.spec.Name)),
		segments: make([]*segment, len(c.spec.Segments)),
		cache:    c.cache,
	}
	for i, context := range c.spec.Segments {
		rules := c.ruleSet(context.Rules)
		e.segments[i] = &segment{context: context, rules: rules}
		e.readsIdentity = e.readsIdentity || rules.readsIdentity
		e.readsDocument = e.readsDocument || rules.readsDocument
	}
	e.slots, e.texts = c.slots.index, c.texts.index
	e.guards = c.guards(e)
	c.features(e)
	return e
}

// guards takes those of the environment before when every segment has the rules that it had.
func (c *compiler) guards(e *Environment) *guards {
	if c.prev != nil && slices.EqualFunc(e.segments, c.prev.segments, func(a, b *segment) bool { return a.rules == b.rules }) {
		return c.prev.guards
	}
	return newGuards(e.segments)
}

// wasteful tells whether most numbers belong to rules that are gone.
func (c *compiler) wasteful(e *Environment) bool {
	used := 0
	seen := make(map[*ruleSet]bool, len(e.segments))
	for _, g := range e.segments {
		if !seen[g.rules] {
			seen[g.rules] = true
			used += g.rules.numbers
		}
	}
	return len(e.slots)+len(e.texts) > slack+2*used
}

// features compiles the defaults and sorts every override to its feature.
func (c *compiler) features(e *Environment) {
	e.features = make([]feature, len(c.spec.Features))
	for i, context := range c.spec.Features {
		e.features[i] = feature{context: context, split: c.split(context)}
	}
	e.featureIndex = c.featureIndex()
	if c.sameOverrides(e) {
		c.takeOverrides(e)
		return
	}
	counts := make([]int, len(e.features))
	total := 0
	c.eachOverride(e, func(feature, _ int, _ *FeatureContext) {
		counts[feature]++
		total++
	})
	flat := make([]Override, total)
	for i, n := range counts {
		if n > 0 {
			e.features[i].overrides, flat = flat[:0:n], flat[n:]
		}
	}
	c.eachOverride(e, func(feature, segment int, context *FeatureContext) {
		f := &e.features[feature]
		f.overrides = append(f.overrides, Override{segment, context})
	})
	ranking := newRanking(len(e.segments))
	for i := range e.features {
		f := &e.features[i]
		c.rank(f)
		f.precedence = ranking.number(f.overrides)
	}
	e.precedences = ranking.list
}

// sameOverrides reports whether every feature and segment is where it was, with the
// same overrides.
func (c *compiler) sameOverrides(e *Environment) bool {
	return c.prev != nil && c.sameNames() &&
		slices.EqualFunc(e.segments, c.prev.segments, func(a, b *segment) bool { return a.context == b.context })
}

func (c *compiler) takeOverrides(e *Environment) {
	e.precedences = c.prev.precedences
	for i := range e.features {
		f, old := &e.features[i], &c.prev.features[i]
		f.overrides, f.splits, f.precedence = old.overrides, old.splits, old.precedence
		for j, s := range f.splits {
			if s != nil {
				c.cache.splits[f.overrides[j].Context] = s
			}
		}
	}
}

func (c *compiler) eachOverride(e *Environment, visit func(feature, segment int, context *FeatureContext)) {
	for i, segment := range c.spec.Segments {
		for _, context := range segment.Overrides {
			// An override of a feature the environment lacks is ignored.
			if feature, ok := e.featureIndex[context.Name]; ok {
				visit(int(feature), i, context)
			}
		}
	}
}

// rank orders overrides by precedence: lower priority first, ties in context order.
func (c *compiler) rank(f *feature) {
	slices.SortStableFunc(f.overrides, func(a, b Override) int {
		return compareNumbers(a.Context.Priority, b.Context.Priority)
	})
	for i := range f.overrides {
		if s := c.split(f.overrides[i].Context); s != nil {
			if f.splits == nil {
				f.splits = make([]*split, len(f.overrides))
			}
			f.splits[i] = s
		}
	}
}

func (c *compiler) split(f *FeatureContext) *split {
	if len(f.Variants) == 0 {
		return nil
	}
	s, ok := c.cache.splits[f]
	if !ok && c.prev != nil {
		s, ok = c.prev.cache.splits[f]
	}
	if !ok {
		s = newSplit(f)
	}
	c.cache.splits[f] = s
	return s
}

func (c *compiler) sameNames() bool {
	return slices.EqualFunc(c.spec.Features, c.prev.features, func(a *FeatureContext, b feature) bool { return a.Name == b.context.Name })
}

func (c *compiler) featureIndex() map[string]int32 {
	if c.prev != nil && c.sameNames() {
		return c.prev.featureIndex
	}
	index := make(map[string]int32, len(c.spec.Features))
	for i, f := range c.spec.Features {
		if _, ok := index[f.Name]; !ok {
			index[f.Name] = int32(i)
		}
	}
	return index
}

func (c *compiler) ruleSet(rules []SegmentRule) *ruleSet {
	if len(rules) == 0 {
		return &ruleSet{needs: needsOf(nil)}
	}
	id := rulesID{&rules[0], len(rules)}
	set, ok := c.cache.rules[id]
	if !ok && c.prev != nil {
		set, ok = c.prev.cache.rules[id]
	}
	if !ok {
		set = &ruleSet{}
		c.current = set
		set.rules = c.rules(rules)
		set.guard, set.needs = guardOfAll(set.rules), needsOf(set.rules)
	}
	c.cache.rules[id] = set
	return set
}

func (c *compiler) rules(rules []SegmentRule) []rule {
	compiled := make([]rule, len(rules))
	for i := range rules {
		compiled[i] = rule{quantifier: quantifierOf(rules[i].Type), rules: c.rules(rules[i].Rules)}
		if n := len(rules[i].Conditions); n > 0 {
			compiled[i].conditions = make([]condition, n)
		}
		details := make([]detail, len(rules[i].Conditions))
		for j := range rules[i].Conditions {
			c.condition(&compiled[i].conditions[j], &details[j], &rules[i].Conditions[j])
		}
		c.sortChecks(&compiled[i])
	}
	return compiled
}

// sortChecks tells the conditions that ask whether a plain trait equals a text
// from the rest.
func (c *compiler) sortChecks(r *rule) {
	for i := range r.conditions {
		condition := &r.conditions[i]
		if condition.op == opEqual && condition.source == fromTrait && condition.casts&castSemver == 0 && condition.text != "" {
			c.current.numbers++
			r.texts = append(r.texts, textCheck{condition.slot, c.texts.number(condition.text), int32(i)})
		} else {
			r.others = append(r.others, int32(i))
		}
	}
}

func quantifierOf(name string) ruleType {
	switch name {
	case All:
		return ruleAll
	case Any:
		return ruleAny
	case None:
		return ruleNone
	}
	return ruleUnknown
}

func (c *compiler) slot(name string) int32 {
	c.current.numbers++
	return c.slots.number(name)
}

func (c *compiler) condition(compiled *condition, more *detail, given *Condition) {
	more.property, more.operator = given.Property, given.Operator
	*compiled = condition{op: operatorOf(given.Operator), text: given.Value, detail: more}
	c.property(compiled, given.Property)
	switch compiled.op {
	case opEqual, opNotEqual, opGreaterThan, opGreaterThanInclusive, opLessThan, opLessThanInclusive:
		compiled.castValue(given.Value)
	case opPercentageSplit:
		compiled.castFloat(given.Value)
	case opRegex:
		compiled.detail.pattern = pattern.Python(given.Value)
	case opModulo:
		compiled.castModulo(given.Value)
	case opIn:
		compiled.detail.members = membersOf(given)
	}
}

// property decides where the context value comes from.
func (c *compiler) property(compiled *condition, property string) {
	if property == "" && compiled.op == opPercentageSplit {
		compiled.source = fromHashKey
		return
	}
	compiled.slot = c.slot(property)
	if !strings.HasPrefix(property, "$.") {
		return
	}
	query, err := jsonpath.Parse(property)
	if err != nil {
		return // not a path: a trait of that name
	}
	names, _ := query.Names()
	switch {
	case slices.Equal(names, []string{"environment", "key"}):
		compiled.source = fromEnvironmentKey
	case slices.Equal(names, []string{"environment", "name"}):
		compiled.source = fromEnvironmentName
	case slices.Equal(names, []string{"identity", "identifier"}):
		compiled.source = fromIdentifier
		c.current.readsIdentity = true
	case slices.Equal(names, []string{"identity", "key"}):
		compiled.source = fromIdentityKey
		c.current.readsIdentity = true
	case len(names) == 3 && names[0] == "identity" && names[1] == "traits":
		compiled.source = fromTraitPath
		compiled.detail.pathSlot = c.slot(names[2])
	default:
		compiled.source = fromQuery
		compiled.detail.query = query
		c.current.readsDocument = true
	}
}

// castValue casts the value of a comparison to every type.
func (c *condition) castValue(value string) {
	if value != "False" && value != "false" {
		c.casts |= castTrue
	}
	if number, ok := pyInt(value); ok {
		if number.isBig() {
			c.casts |= castBig
			c.detail.big = number
		} else {
			c.casts |= castInt
			c.integer = int64(number.bits)
		}
	}
	c.castFloat(value)
	if text, ok := strings.CutSuffix(value, semverSuffix); ok {
		c.casts |= castSemver
		if c.detail.version, ok = parseVersion(text); ok {
			c.casts |= castVersion
		}
	}
}

func (c *condition) castFloat(value string) {
	if f, ok := pyFloat(value); ok {
		c.casts |= castFloat
		c.float = f
	}
}

// castModulo reads "divisor|remainder"; a zero divisor is not valid.
func (c *condition) castModulo(value string) {
	divisor, remainder, ok := strings.Cut(value, "|")
	if !ok {
		return
	}
	var okDivisor, okRemainder bool
	c.detail.divisor, okDivisor = pyFloat(divisor)
	c.detail.remainder, okRemainder = pyFloat(remainder)
	c.valid = okDivisor && okRemainder && c.detail.divisor != 0
}

// membersOf is the set of texts of an IN condition: a list's elements, the
// elements of a JSON array, or the parts of a comma list, untrimmed.
func membersOf(given *Condition) map[string]struct{} {
	list := given.List
	if !given.IsList {
		var ok bool
		if list, ok = parseJSONList(given.Value); !ok {
			list = strings.Split(given.Value, ",")
		}
	}
	members := make(map[string]struct{}, len(list))
	for _, member := range list {
		members[member] = struct{}{}
	}
	return members
}

// parseJSONList reads a text that starts with [ as a JSON array of texts.
func parseJSONList(text string) ([]string, bool) {
	if !strings.HasPrefix(text, "[") || !json.Valid([]byte(text)) {
		return nil, false
	}
	list, err := listOfTexts([]byte(text))
	return list, err == nil
}
