package eval_test

import (
	"fmt"

	"github.com/flagraft/flagraft/eval"
)

// The JSON face: a context in, a result out.
func ExampleEvaluate() {
	context, err := eval.DecodeContext([]byte(`{
		"environment": {"key": "env", "name": "Production"},
		"features": {"banner": {"key": "1", "name": "banner", "enabled": true, "value": "hello"}}
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(eval.Evaluate(context).AppendJSON(nil)))
	// Output: {"flags":{"banner":{"name":"banner","enabled":true,"value":"hello","reason":"DEFAULT","variant":null}},"segments":[]}
}

// The server face: compile once, evaluate often with reused scratch.
func ExampleEnvironment_Evaluate() {
	env := eval.Compile(&eval.Spec{
		Key: "env", Name: "Production",
		Features: []*eval.FeatureContext{{Key: "1", Name: "banner", Value: eval.String("hello")}},
		Segments: []*eval.SegmentContext{{
			Key: "7", Name: "adults",
			Rules: []eval.SegmentRule{{Type: eval.All, Conditions: []eval.Condition{
				{Property: "age", Operator: eval.GreaterThanInclusive, Value: "18"}}}},
			Overrides: []*eval.FeatureContext{{Key: "2", Name: "banner", Value: eval.String("good evening"), Priority: eval.Int(1)}},
		}},
	}, nil)

	var subject eval.Subject       // pooled, one per request
	var evaluation eval.Evaluation // pooled, one per request
	subject.Reset(env)
	subject.SetIdentity("someone", "")
	subject.SetTrait("age", eval.Int(30))
	env.Evaluate(&subject, &evaluation)
	for i, outcome := range evaluation.Outcomes {
		reason := env.AppendReason(nil, i, outcome)
		fmt.Println(env.Feature(i).Name, env.Value(i, outcome).Text(), string(reason))
	}
	// Output: banner good evening TARGETING_MATCH; segment=adults
}
