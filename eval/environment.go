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
	precedences  []precedence
	segments     []*segment
	guards       *guards

	slots map[string]int32 // trait names that conditions use
	texts map[string]int32 // texts that traits are compared with
	// readsIdentity: some condition looks at the identifier or key by path.
	// readsDocument: some condition has a JSONPath only a document can answer.
	readsIdentity, readsDocument bool

	cache *compileCache
}

// feature is one feature with what may override it.
type feature struct {
	context    *FeatureContext
	split      *split     // nil without variants
	overrides  []Override // in order of precedence
	splits     []*split   // of the overrides; nil when none has variants
	precedence int32      // of the overrides, in Environment.precedences
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

// Feature is the environment default of feature i; indexes run from 0.
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

	candidates []uint64 // bit per segment that may match
	matched    []uint64 // bit per segment
	winners    []int32  // by precedence, the place of the override that wins
	waiting    waiting
	buf        []byte // hash input
	any        bool   // some segment matched

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
	winners := e.winners(ev)
	for i := range e.features {
		f := &e.features[i]
		winner := winners[f.precedence]
		if f.split == nil && (winner == NoOverride || f.splits == nil) {
			outcomes[i] = Outcome{winner, NoVariant}
			continue
		}
		var open *split
		if outcomes[i], open = f.decide(s, winner); open != nil {
			e.chooseLater(s, ev, i, open)
		}
	}
	e.chooseWaiting(s, ev)
	if ev.Trace != nil {
		ev.Trace.addFeatures(e, s, ev)
	}
}

// MatchSegments decides only the segments.
func (e *Environment) MatchSegments(s *Subject, ev *Evaluation) {
	ev.prepare(e, s)
	for w, word := range ev.candidates {
		e.matchWord(s, ev, w, word)
	}
}

// matchWord decides the segments of word w of a set.
func (e *Environment) matchWord(s *Subject, ev *Evaluation, w int, word uint64) {
	for ; word != 0; word &= word - 1 {
		if e.segments[w<<6+bits.TrailingZeros64(word)].match(s, ev) {
			ev.matched[w] |= word & -word
			ev.any = true
		}
	}
}

// winners decides every precedence.
func (e *Environment) winners(ev *Evaluation) []int32 {
	ev.winners = ev.winners[:0]
	for i := range e.precedences {
		ev.winners = append(ev.winners, e.precedences[i].winner(ev))
	}
	return ev.winners
}

// matchAll has all of n segments match, which were found to by another Environment.
func (ev *Evaluation) matchAll(n int) {
	ev.matched = appendAll(ev.matched[:0], n)
	ev.any = n > 0
}

// appendAll appends the set of n segments, see [Evaluation.Matched].
func appendAll(dst []uint64, n int) []uint64 {
	for ; n >= 64; n -= 64 {
		dst = append(dst, ^uint64(0))
	}
	if n > 0 {
		dst = append(dst, 1<<n-1)
	}
	return dst
}

// EvaluateFeature decides feature i alone and looks only at the segments that
// override it. Afterwards Matches and Outcomes are not meaningful.
func (e *Environment) EvaluateFeature(s *Subject, ev *Evaluation, i int) Outcome {
	ev.prepare(e, s)
	f := &e.features[i]
	p := &e.precedences[f.precedence]
	for w, word := range p.mask {
		e.matchWord(s, ev, w, word&ev.candidates[w])
	}
	outcome, open := f.decide(s, p.winner(ev))
	if open != nil {
		ev.join(open.key, s.key)
		outcome.Variant = open.choose(percentageOf(ev.buf))
	}
	return outcome
}

func (ev *Evaluation) prepare(e *Environment, s *Subject) {
	if s.env != e {
		panic("eval: the subject was reset for another environment")
	}
	ev.matched = cleared(ev.matched, (len(e.segments)+63)/64)
	if ev.Trace == nil {
		ev.candidates = e.guards.appendCandidates(ev.candidates[:0], s)
	} else {
		ev.candidates = appendAll(ev.candidates[:0], len(e.segments))
	}
	ev.any = false
	s.pathWork = jsonpath.MaxWork
}

// decide picks the variant of one feature, of which override winner, or none, wins,
// unless it depends on a hash: then open is the split that has to choose.
func (f *feature) decide(s *Subject, winner int32) (o Outcome, open *split) {
	switch choice := f.choice(winner); {
	case choice == nil || !s.hasIdentity:
		return Outcome{winner, NoVariant}, nil
	case choice.settled:
		return Outcome{winner, choice.always}, nil
	default:
		return Outcome{winner, NoVariant}, choice
	}
}

// choice is the split that decides the variant when override winner, or none, wins;
// nil when there are no variants.
func (f *feature) choice(winner int32) *split {
	switch {
	case winner == NoOverride:
		return f.split
	case f.splits == nil:
		return nil
	}
	return f.splits[winner]
}

// join puts what is hashed for two ids into the evaluation's own buffer.
func (ev *Evaluation) join(first, second string) {
	ev.buf = append(ev.buf[:0], first...)
	ev.buf = append(ev.buf, ',')
	ev.buf = append(ev.buf, second...)
}
