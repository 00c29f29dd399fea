// Package eval is the flag evaluation engine: it decides, for one identity in
// one environment, which segments match, which override wins for each feature
// and which multivariate variant is served.
//
// The semantics are those of the Python reference engine 10.2.0. The package is
// pure: no I/O, no clock, no randomness, no package state.
//
// There are two faces over one evaluator:
//
//   - JSON: DecodeContext reads an evaluation context, Evaluate answers with a
//     Result that marshals to the documented shape.
//   - Server: Compile turns a Spec into an immutable Environment which any
//     number of goroutines may share; a reusable Subject carries one identity
//     and a reusable Evaluation receives the outcomes. Evaluating that way
//     does not allocate.
package eval
