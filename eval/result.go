package eval

import (
	"encoding/json"

	"github.com/flagraft/flagraft/eval/jsonpath"
)

// Result is the outcome of one evaluation of a Context. It marshals to the
// documented JSON object, flags and segments in context order.
type Result struct {
	Flags    []FlagResult
	Segments []SegmentResult
}

// FlagResult is what one feature serves.
type FlagResult struct {
	Name     string
	Enabled  bool
	Value    Value
	Reason   string
	Variant  *string         // nil: null
	Metadata json.RawMessage // of the context that won; nil: omitted
}

// SegmentResult is one matching segment.
type SegmentResult struct {
	Name     string
	Metadata json.RawMessage
}

// Evaluate evaluates a context. The context is not changed.
func Evaluate(c *Context) *Result {
	// Most segments do not match as a rule: what those override is not sorted to features.
	all := Compile(c.spec(nil, c.Segments), nil)
	var subject Subject
	c.fill(&subject, all)
	var ev Evaluation
	all.MatchSegments(&subject, &ev)
	matching := make([]*SegmentContext, 0, len(c.Segments))
	for _, i := range ev.AppendMatches(nil) {
		matching = append(matching, c.Segments[i])
	}
	env := Compile(c.spec(c.Features, matching), all)
	ev.matchAll(len(matching))
	env.DecideFeatures(&subject, &ev)
	return newResult(env, &ev)
}

// EvaluateTraced is Evaluate that also records why, unless trace is nil.
func EvaluateTraced(c *Context, trace *Trace) *Result {
	if trace == nil {
		return Evaluate(c)
	}
	env := Compile(c.spec(c.Features, c.Segments), nil)
	var subject Subject
	c.fill(&subject, env)
	evaluation := Evaluation{Trace: trace}
	env.Evaluate(&subject, &evaluation)
	return newResult(env, &evaluation)
}

func (c *Context) spec(features []*FeatureContext, segments []*SegmentContext) *Spec {
	return &Spec{Key: c.Environment.Key, Name: c.Environment.Name, Features: features, Segments: segments}
}

// fill makes a subject the context's identity.
func (c *Context) fill(s *Subject, env *Environment) {
	s.Reset(env)
	s.makeDocument = c.document
	if c.Identity == nil {
		return
	}
	s.SetIdentity(c.Identity.Identifier, c.Identity.Key)
	for _, t := range c.Identity.Traits {
		s.SetTrait(t.Name, t.Value)
	}
}

// document is the whole context as JSONPath sees it: what was decoded, with
// the identity's hashing key filled in.
func (c *Context) document(s *Subject) any {
	node, err := jsonpath.Decode(c.raw)
	root, ok := node.(*jsonpath.Object)
	if c.raw == nil || err != nil || !ok {
		return s.buildDocument()
	}
	if identity, ok := root.Get("identity"); ok {
		if identity, ok := identity.(*jsonpath.Object); ok && s.hasIdentity {
			identity.Set("key", s.key)
		}
	}
	return root
}

func newResult(env *Environment, ev *Evaluation) *Result {
	r := &Result{Flags: make([]FlagResult, 0, len(ev.Outcomes))}
	at := make(map[string]int, len(ev.Outcomes))
	for i, o := range ev.Outcomes {
		flag := flagResult(env, i, o)
		if j, ok := at[flag.Name]; ok {
			r.Flags[j] = flag
			continue
		}
		at[flag.Name] = len(r.Flags)
		r.Flags = append(r.Flags, flag)
	}
	for _, i := range ev.AppendMatches(nil) {
		segment := env.Segment(i)
		r.Segments = append(r.Segments, SegmentResult{segment.Name, segment.Metadata})
	}
	return r
}

func flagResult(env *Environment, i int, o Outcome) FlagResult {
	winner := env.Winner(i, o)
	flag := FlagResult{
		Name:     env.Feature(i).Name,
		Enabled:  winner.Enabled,
		Value:    env.Value(i, o),
		Reason:   string(env.AppendReason(nil, i, o)),
		Metadata: winner.Metadata,
	}
	if name, ok := VariantName(winner, int(o.Variant)); ok {
		flag.Variant = &name
	}
	return flag
}

// MarshalJSON writes the result in the documented shape.
func (r *Result) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

// AppendJSON appends the result in the documented shape.
func (r *Result) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"flags":{`...)
	for i := range r.Flags {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendJSONString(dst, r.Flags[i].Name)
		dst = append(dst, ':')
		dst = r.Flags[i].appendJSON(dst)
	}
	dst = append(dst, `},"segments":[`...)
	for i, s := range r.Segments {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"name":`...)
		dst = appendJSONString(dst, s.Name)
		dst = appendMetadata(dst, s.Metadata)
		dst = append(dst, '}')
	}
	return append(dst, "]}"...)
}

func (f *FlagResult) appendJSON(dst []byte) []byte {
	dst = append(dst, `{"name":`...)
	dst = appendJSONString(dst, f.Name)
	dst = append(dst, `,"enabled":`...)
	dst = Bool(f.Enabled).AppendJSON(dst)
	dst = append(dst, `,"value":`...)
	dst = f.Value.AppendJSON(dst)
	dst = append(dst, `,"reason":`...)
	dst = appendJSONString(dst, f.Reason)
	dst = append(dst, `,"variant":`...)
	if f.Variant == nil {
		dst = append(dst, "null"...)
	} else {
		dst = appendJSONString(dst, *f.Variant)
	}
	dst = appendMetadata(dst, f.Metadata)
	return append(dst, '}')
}

func appendMetadata(dst []byte, metadata json.RawMessage) []byte {
	if len(metadata) == 0 || string(metadata) == "{}" || string(metadata) == "null" {
		return dst
	}
	return append(append(dst, `,"metadata":`...), metadata...)
}
