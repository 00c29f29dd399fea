package eval

import (
	"math/bits"

	"github.com/flagraft/flagraft/eval/jsonpath"
)

// Spec is what Compile builds an Environment from. The order of Segments
// decides ties between overrides of equal priority (the first wins) and the
// order of matches; the order of Features gives the indexes.
//
// Callers keep the pointers stable while the rows behind them are unchanged:
// compiled parts are reused by pointer. What is pointed to is read-only.
type Spec struct {
	Key, Name string
	Features  []*FeatureContext
	Segments  []*SegmentContext
}

// Environment is a compiled Spec. It is immutable and safe for any number of
// concurrent readers.
type Environment struct {
	key, name           string
	keyValue, nameValue Value // coerced, for JSONPath properties

	features     []feature
	featureIndex map[string]int32
	segments     []*segment

	slots map[string]int32 // trait names that conditions use
	texts map[string]int32 // texts that traits are compared with
	// readsIdentity: some condition looks at the identifier or key by path.
	// readsDocument: some condition has a JSONPath only a document can answer.
	readsIdentity, readsDocument bool

	cache *compileCache
}

// feature is one feature with what may override it.
type feature struct {
	context   *FeatureContext
	split     *split     // nil without variants
	overrides []Override // in order of precedence
	splits    []*split   // of the overrides; nil when none has variants
	// Segments with an override of this feature; first is the mask's first word.
	first uint64
	mask  []uint64
}

// Override is one segment override of a feature.
type Override struct {
	Segment int // index of the segment
	Context *FeatureContext
}

// Key is the client-side environment key.
func (e *Environment) Key() string { return e.key }

// Name is the environment's name.
func (e *Environment) Name() string { return e.name }

// FeatureCount is the number of features; indexes run from 0.
func (e *Environment) FeatureCount() int { return len(e.features) }

// Feature is the environment default of feature i.
func (e *Environment) Feature(i int) *FeatureContext { return e.features[i].context }

// FeatureIndex finds a feature by name.
func (e *Environment) FeatureIndex(name string) (int, bool) {
	i, ok := e.featureIndex[name]
	return int(i), ok
}

// Overrides lists the segment overrides of feature i in order of precedence.
// Outcome.Override is an index into it. The slice is read-only.
func (e *Environment) Overrides(i int) []Override { return e.features[i].overrides }

// SegmentCount is the number of segments; indexes run from 0.
func (e *Environment) SegmentCount() int { return len(e.segments) }

// Segment is segment i as it was given.
func (e *Environment) Segment(i int) *SegmentContext { return e.segments[i].context }

// UsesTrait tells whether any segment may look at the trait.
func (e *Environment) UsesTrait(name string) bool {
	_, ok := e.slots[name]
	return ok || e.readsDocument
}

// NoOverride is Outcome.Override when the environment default won.
const NoOverride = -1

// Outcome is what was decided for one feature.
type Outcome struct {
	Override int32 // index into Environment.Overrides, or NoOverride
	Variant  int32 // index into the winner's Variants, or NoVariant or Control
}

// Winner is the context that won feature i under outcome o.
func (e *Environment) Winner(i int, o Outcome) *FeatureContext {
	if o.Override < 0 {
		return e.features[i].context
	}
	return e.features[i].overrides[o.Override].Context
}

// Value is what feature i serves under outcome o.
func (e *Environment) Value(i int, o Outcome) Value {
	return ValueOf(e.Winner(i, o), int(o.Variant))
}

// AppendReason appends the reason of a result for feature i under outcome o.
func (e *Environment) AppendReason(dst []byte, i int, o Outcome) []byte {
	if o.Override < 0 {
		return AppendReason(dst, e.features[i].context, int(o.Variant), nil)
	}
	override := e.features[i].overrides[o.Override]
	return AppendReason(dst, override.Context, int(o.Variant), &e.segments[override.Segment].context.Name)
}

// Evaluation receives the outcomes of one evaluation. It is reusable scratch
// for one goroutine at a time; what it holds is valid until its next use.
type Evaluation struct {
	// Outcomes has one element per feature, by index.
	Outcomes []Outcome
	// Trace, when set, records why; nil costs nothing.
	Trace *Trace

	matched []uint64 // bit per segment
	first   uint64   // the first word of matched
	buf     []byte   // hash input
	any     bool     // some segment matched

	segmentKey string  // of the segment being matched
	queried    Value   // result of the last JSONPath query
	bucket     float64 // of the last percentage split, for the trace
	hasBucket  bool
}

// Matches tells whether segment i matched.
func (ev *Evaluation) Matches(i int) bool {
	return ev.matched[i>>6]&(1<<(i&63)) != 0
}

// Matched is the set of matching segments, bit i%64 of word i/64 for segment i. It is
// valid until the next evaluation and must not be modified.
func (ev *Evaluation) Matched() []uint64 { return ev.matched }

// AppendMatches appends the indexes of the matching segments in order.
func (ev *Evaluation) AppendMatches(dst []int) []int {
	for w, word := range ev.matched {
		for ; word != 0; word &= word - 1 {
			dst = append(dst, w<<6+bits.TrailingZeros64(word))
		}
	}
	return dst
}

// Evaluate decides every feature and segment for the subject, which must have
// been Reset for this very environment.
func (e *Environment) Evaluate(s *Subject, ev *Evaluation) {
	e.MatchSegments(s, ev)
	e.DecideFeatures(s, ev)
}

// DecideFeatures decides every feature after [Environment.MatchSegments] for the
// same subject; both together are [Environment.Evaluate].
func (e *Environment) DecideFeatures(s *Subject, ev *Evaluation) {
	if cap(ev.Outcomes) < len(e.features) {
		ev.Outcomes = make([]Outcome, len(e.features))
	}
	ev.Outcomes = ev.Outcomes[:len(e.features)]
	outcomes := ev.Outcomes[:len(e.features)]
	for i := range e.features {
		f := &e.features[i]
		if f.split == nil && !f.overridden(ev) {
			outcomes[i] = Outcome{NoOverride, NoVariant}
		} else {
			outcomes[i] = f.decide(s, ev)
		}
	}
	if ev.Trace != nil {
		ev.Trace.addFeatures(e, s, ev)
	}
}

// MatchSegments decides only the segments.
func (e *Environment) MatchSegments(s *Subject, ev *Evaluation) {
	ev.prepare(e, s)
	for i, segment := range e.segments {
		if segment.match(s, ev) {
			ev.matched[i>>6] |= 1 << (i & 63)
			ev.any = true
		}
	}
	ev.seal()
}

// seal makes what matched ready for the features.
func (ev *Evaluation) seal() {
	if len(ev.matched) > 0 {
		ev.first = ev.matched[0]
	}
}

// matchAll has all of n segments match, which were found to by another Environment.
func (ev *Evaluation) matchAll(n int) {
	ev.matched = cleared(ev.matched, (n+63)/64)
	for i := range n {
		ev.matched[i>>6] |= 1 << (i & 63)
	}
	ev.any, ev.first = n > 0, 0
	ev.seal()
}

// EvaluateFeature decides feature i alone and looks only at the segments that
// override it. Afterwards Matches and Outcomes are not meaningful.
func (e *Environment) EvaluateFeature(s *Subject, ev *Evaluation, i int) Outcome {
	ev.prepare(e, s)
	f := &e.features[i]
	for w, word := range f.mask {
		for ; word != 0; word &= word - 1 {
			if e.segments[w<<6+bits.TrailingZeros64(word)].match(s, ev) {
				ev.matched[w] |= word & -word
				ev.any = true
			}
		}
	}
	ev.seal()
	return f.decide(s, ev)
}

func (ev *Evaluation) prepare(e *Environment, s *Subject) {
	if s.env != e {
		panic("eval: the subject was reset for another environment")
	}
	words := (len(e.segments) + 63) / 64
	if cap(ev.matched) < words {
		ev.matched = make([]uint64, words)
	} else {
		ev.matched = ev.matched[:words]
		clear(ev.matched)
	}
	ev.any, ev.first = false, 0
	s.pathWork = jsonpath.MaxWork
}

// decide picks the override and the variant of one feature.
func (f *feature) decide(s *Subject, ev *Evaluation) Outcome {
	outcome := Outcome{NoOverride, NoVariant}
	choice := f.split
	if f.overridden(ev) {
		for i := range f.overrides {
			if ev.Matches(f.overrides[i].Segment) {
				outcome.Override = int32(i)
				choice = nil
				if f.splits != nil {
					choice = f.splits[i]
				}
				break
			}
		}
	}
	if choice != nil && s.hasIdentity {
		outcome.Variant = choice.choose(ev.percentage(choice.key, s.key))
	}
	return outcome
}

// overridden tells whether a matching segment overrides the feature.
func (f *feature) overridden(ev *Evaluation) bool {
	return f.first&ev.first != 0 || len(f.mask) > 1 && ev.any && ev.intersects(f.mask)
}

func (ev *Evaluation) intersects(mask []uint64) bool {
	for i, word := range mask {
		if word&ev.matched[i] != 0 {
			return true
		}
	}
	return false
}

// percentage is Percentage on the evaluation's own buffer.
func (ev *Evaluation) percentage(first, second string) float64 {
	ev.buf = append(ev.buf[:0], first...)
	ev.buf = append(ev.buf, ',')
	ev.buf = append(ev.buf, second...)
	return percentageOf(ev.buf)
}
