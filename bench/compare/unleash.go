package compare

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/flagraft/flagraft/eval"
)

// Bootstrap is the state of Unleash Edge in offline mode.
type Bootstrap struct {
	Version  int              `json:"version"`
	Features []UnleashFeature `json:"features"`
	Segments []UnleashSegment `json:"segments"`
}

// UnleashFeature is on when it is enabled and one of its strategies holds. The first
// that holds chooses the variant.
type UnleashFeature struct {
	Name       string     `json:"name"`
	Type       string     `json:"type"`
	Project    string     `json:"project"`
	Enabled    bool       `json:"enabled"`
	Strategies []Strategy `json:"strategies"`
}

// Strategy holds when all constraints of all its segments do.
type Strategy struct {
	Name     string           `json:"name"`
	Segments []int64          `json:"segments,omitempty"`
	Variants []UnleashVariant `json:"variants,omitempty"`
}

// UnleashVariant carries a value.
type UnleashVariant struct {
	Name       string  `json:"name"`
	Weight     int     `json:"weight"`
	Stickiness string  `json:"stickiness"`
	Payload    Payload `json:"payload"`
}

// Payload is the value of a variant.
type Payload struct {
	Type  string `json:"type"`
	Value string `json:"value"`
}

// UnleashSegment is a list of constraints that must all hold.
type UnleashSegment struct {
	ID          int64        `json:"id"`
	Constraints []Constraint `json:"constraints"`
}

// Constraint compares a property of the context with values.
type Constraint struct {
	Property string   `json:"contextName"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
}

// In is the operator of constraints that hold when a property has one of the values.
const In = "IN"

// Unleash is the same environment for Unleash Edge: an override becomes a strategy
// with its segment, the environment's own state one without, behind them. With values
// each strategy has one variant with all the weight, which carries the value.
func (d *Document) Unleash(values bool) (*Bootstrap, error) {
	b := &Bootstrap{Version: 2}
	overrides := map[string][]Strategy{}
	type winner struct {
		state   State
		segment int64
	}
	var order []winner
	for _, s := range d.Project.Segments {
		segment := UnleashSegment{ID: s.ID}
		for _, r := range s.Rules {
			if err := segment.add(r); err != nil {
				return nil, fmt.Errorf("compare: segment %s: %w", s.Name, err)
			}
		}
		b.Segments = append(b.Segments, segment)
		for _, o := range s.Overrides {
			if !o.Enabled {
				return nil, fmt.Errorf("compare: segment %s switches %s off: strategies can only switch on", s.Name, o.Feature.Name)
			}
			order = append(order, winner{o, s.ID})
		}
	}
	slices.SortStableFunc(order, func(x, y winner) int { return cmp.Compare(x.state.priority(), y.state.priority()) })
	for _, w := range order {
		s, err := w.state.strategy(values)
		if err != nil {
			return nil, err
		}
		s.Segments = []int64{w.segment}
		overrides[w.state.Feature.Name] = append(overrides[w.state.Feature.Name], s)
	}
	for _, f := range d.Features {
		u := UnleashFeature{Name: f.Feature.Name, Type: "release", Project: "default", Strategies: overrides[f.Feature.Name]}
		if f.Enabled {
			s, err := f.strategy(values)
			if err != nil {
				return nil, err
			}
			u.Strategies = append(u.Strategies, s)
		}
		u.Enabled = len(u.Strategies) > 0 // no strategy at all would mean: on for everybody
		b.Features = append(b.Features, u)
	}
	return b, nil
}

func (s *State) priority() int {
	if s.Override == nil {
		return 0
	}
	return s.Override.Priority
}

func (s *State) strategy(values bool) (Strategy, error) {
	out := Strategy{Name: "default"}
	if !values {
		return out, nil
	}
	text, ok := s.Value.(string)
	if !ok {
		return out, fmt.Errorf("compare: the value of %s is no text", s.Feature.Name)
	}
	out.Variants = []UnleashVariant{{Name: text, Weight: 1000, Stickiness: "default", Payload: Payload{"string", text}}}
	return out, nil
}

// add adds the constraints of a rule.
func (s *UnleashSegment) add(r Rule) error {
	if r.Type != eval.All {
		return fmt.Errorf("a rule of type %s: constraints are only joined by and", r.Type)
	}
	for _, c := range r.Conditions {
		if c.Operator != eval.Equal {
			return fmt.Errorf("operator %s has no equal among constraints", c.Operator)
		}
		s.Constraints = append(s.Constraints, Constraint{c.Property, In, []string{c.Value}})
	}
	for _, sub := range r.Rules {
		if err := s.add(sub); err != nil {
			return err
		}
	}
	return nil
}
