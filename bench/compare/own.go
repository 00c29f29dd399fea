package compare

import (
	"os"
	"time"

	"github.com/flagraft/flagraft/bench/probe"
	"github.com/flagraft/flagraft/eval"
)

// own is package eval in this process, either as a server uses it, compiled once, or
// as one call from context to result.
type own struct {
	contexts []*eval.Context
	compiled *eval.Environment // nil: one call
}

// Own returns flagraft's engine.
func Own(c *Contexts, compiled bool) (Engine, error) {
	o := &own{}
	for _, data := range c.whole() {
		context, err := eval.DecodeContext(data)
		if err != nil {
			return nil, err
		}
		o.contexts = append(o.contexts, context)
	}
	if first := o.contexts[0]; compiled {
		o.compiled = eval.Compile(&eval.Spec{Key: first.Environment.Key, Name: first.Environment.Name, Features: first.Features, Segments: first.Segments}, nil)
	}
	return o, nil
}

func (o *own) Name() string {
	if o.compiled != nil {
		return "flagraft, compiled once"
	}
	return "flagraft, from context to result"
}

func (o *own) Close() error { return nil }

func (o *own) Results() (out []*Result, err error) {
	var subject eval.Subject
	var evaluation eval.Evaluation
	for _, c := range o.contexts {
		result := &eval.Result{}
		if o.compiled == nil {
			result = eval.Evaluate(c)
		} else {
			o.evaluate(c, &subject, &evaluation)
			for i, outcome := range evaluation.Outcomes {
				result.Flags = append(result.Flags, eval.FlagResult{
					Name: o.compiled.Feature(i).Name, Enabled: o.compiled.Winner(i, outcome).Enabled, Value: o.compiled.Value(i, outcome),
					Reason: string(o.compiled.AppendReason(nil, i, outcome)),
				})
			}
			for _, i := range evaluation.AppendMatches(nil) {
				result.Segments = append(result.Segments, eval.SegmentResult{Name: o.compiled.Segment(i).Name})
			}
		}
		r, err := readResult(result.AppendJSON(nil))
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func (o *own) evaluate(c *eval.Context, s *eval.Subject, ev *eval.Evaluation) {
	s.Reset(o.compiled)
	s.SetIdentity(c.Identity.Identifier, c.Identity.Key)
	for _, t := range c.Identity.Traits {
		s.SetTrait(t.Name, t.Value)
	}
	o.compiled.Evaluate(s, ev)
}

func (o *own) Run(d time.Duration) (s Speed, err error) {
	before, err := probe.CPU(os.Getpid())
	if err != nil {
		return s, err
	}
	var subject eval.Subject
	var evaluation eval.Evaluation
	for end := time.Now().Add(d); time.Now().Before(end); s.Evaluations += len(o.contexts) {
		for _, c := range o.contexts {
			if o.compiled != nil {
				o.evaluate(c, &subject, &evaluation)
			} else {
				eval.Evaluate(c)
			}
		}
	}
	after, err := probe.CPU(os.Getpid())
	s.CPU = (after - before).Seconds()
	return s, err
}
