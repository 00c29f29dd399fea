package compare

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// Engine evaluates contexts on one core.
type Engine interface {
	Name() string
	// Results are those of all contexts.
	Results() ([]*Result, error)
	// Run evaluates one context after the other for a while.
	Run(d time.Duration) (Speed, error)
	Close() error
}

// Speed is what an engine did, and the processor time it took.
type Speed struct {
	Evaluations int     `json:"evaluations"`
	CPU         float64 `json:"cpu"` // seconds
}

// PerSecond is the number of evaluations in a second of processor time.
func (s Speed) PerSecond() float64 { return float64(s.Evaluations) / s.CPU }

// Result is what engines agree on.
type Result struct {
	Flags    map[string]ResultFlag
	Segments []string // names of those that match, sorted
}

// ResultFlag is what one feature serves, and why.
type ResultFlag struct {
	Enabled bool   `json:"enabled"`
	Value   any    `json:"value"`
	Reason  string `json:"reason"`
}

func readResult(data []byte) (*Result, error) {
	var raw struct {
		Flags    map[string]ResultFlag `json:"flags"`
		Segments []struct {
			Name string `json:"name"`
		} `json:"segments"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("compare: result: %w", err)
	}
	r := &Result{Flags: raw.Flags}
	for _, s := range raw.Segments {
		r.Segments = append(r.Segments, s.Name)
	}
	slices.Sort(r.Segments) // engines give them in different orders
	return r, nil
}

// Agree checks that engines have the same results.
func Agree(engines ...Engine) error {
	var first []*Result
	for _, e := range engines {
		results, err := e.Results()
		if err != nil {
			return err
		}
		if first == nil {
			first = results
		}
		if len(results) != len(first) {
			return fmt.Errorf("compare: %s has %d results, not %d", e.Name(), len(results), len(first))
		}
		for i, r := range results {
			if !reflect.DeepEqual(r, first[i]) {
				return fmt.Errorf("compare: %s and %s differ in context %d: %v, %v", engines[0].Name(), e.Name(), i, *first[i], *r)
			}
		}
	}
	return nil
}
