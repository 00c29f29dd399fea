package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flagraft/flagraft/bench/load"
)

// Scenario is what was measured of one kind of load.
type Scenario struct {
	Name   string  `json:"name"`  // short, with the form of the load
	Title  string  `json:"title"` // a sentence
	Nodes  int     `json:"nodes"`
	Conns  int     `json:"conns"`
	Rate   float64 `json:"rate,omitempty"` // of the open loop
	Items  int     `json:"items"`          // per request
	Writes bool    `json:"writes"`

	Flagraft []Sample `json:"flagraft"`
	Floor    []Sample `json:"floor,omitempty"`
	// Beside is what else was measured in the same turns: the floor on the machine that the
	// node's other work keeps busy, or the same load spread over all nodes.
	Beside []Sample `json:"beside,omitempty"`
	Status int      `json:"status,omitempty"` // of the answers; 0: any 2xx

	Point *Point `json:"point,omitempty"` // where sizes grow

	Peer      []Sample `json:"peer,omitempty"`       // Unleash Edge
	Bytes     int      `json:"bytes,omitempty"`      // of flagraft's body
	PeerBytes int      `json:"peer_bytes,omitempty"` // of the peer's
}

// turn is one side's part in a scenario.
type turn struct {
	side   *side
	source func() load.Source // a new one for each run
	keep   *[]Sample
	beside *disturbance // what the node does meanwhile; nil: nothing
}

// play runs the turns of scenarios one after the other, and all that again, so that
// every phase of the machine and its disk meets everybody.
func (b *bench) play(ctx context.Context, plays ...*play) error {
	for _, p := range plays {
		for _, t := range p.turns {
			if _, err := b.once(ctx, p, t, min(b.Duration, time.Second)); err != nil {
				return err // what is measured next must be warm
			}
		}
	}
	for i := range b.Runs {
		for _, p := range plays {
			for _, t := range p.turns {
				s, err := b.once(ctx, p, t, b.Duration)
				if err != nil {
					return err
				}
				*t.keep = append(*t.keep, s)
				b.say("%-28s %-9s %d/%d %9.0f/s  %7.1f us CPU  p99 %7.2f ms  load %.1f", p.Name, t.side.name, i+1, b.Runs, s.PerSecond, s.CPU, s.P99, s.Load)
			}
		}
	}
	for _, p := range plays {
		for _, t := range p.turns {
			if err := b.profile(ctx, p, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// play is a scenario with what it takes to run it.
type play struct {
	*Scenario
	turns []turn
}

func (b *bench) once(ctx context.Context, p *play, t turn, d time.Duration) (s Sample, err error) {
	g, err := load.Dial(p.Conns, t.side.addrs...)
	if err != nil {
		return s, err
	}
	defer func() {
		if closed := g.Close(); err == nil {
			err = closed
		}
	}()
	if t.beside != nil {
		end := t.beside.begin(ctx)
		defer func() { err = errors.Join(err, end()) }()
	}
	s, err = t.side.measure(ctx, g, load.Options{Source: t.source(), Rate: p.Rate, Duration: d, Status: p.Status}, p.Items)
	if err != nil {
		return s, fmt.Errorf("%s: %w", p.Name, err)
	}
	b.stored += int64((s.Requests - s.Unstored) * p.Items)
	b.unknown += int64(s.Unstored * p.Items)
	return s, nil
}
