package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flagraft/flagraft/bench/load"
	"github.com/flagraft/flagraft/bench/probe"
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
	runs := b.Runs
	if plays[0].tails {
		runs = b.tails()
	}
	for i := range runs {
		keep := func(p *play, t turn, s Sample) {
			*t.keep = append(*t.keep, s)
			b.say("%-28s %-9s %d/%d %9.0f/s  %7.1f us CPU  p99 %7.2f ms  load %.1f", p.Name, t.side.name, i+1, runs, s.PerSecond, s.CPU, s.P99, s.Load)
		}
		if sliced(plays) {
			if err := b.inSlices(ctx, plays, keep); err != nil {
				return err
			}
			continue
		}
		for _, p := range plays {
			for _, t := range p.turns {
				s, err := b.once(ctx, p, t, b.Duration)
				if err != nil {
					return err
				}
				keep(p, t, s)
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
	tails bool // more runs; see [Config.tails]
	whole bool // a slow side's last answers would take too much of a slice
}

// slice is how long a side is measured before the others have their turn, where they
// change within a run: the cores of a shared machine can be of half the speed for a
// second, and a side that met that would be compared with one that did not.
const slice = 100 * time.Millisecond

// sliced says whether sides change within a run: those that only read, and do nothing else
// meanwhile that would go on beside the others. Not in the open loop: a latency would be one
// of waking up.
func sliced(plays []*play) bool {
	turns := 0
	for _, p := range plays {
		for _, t := range p.turns {
			if turns++; t.beside != nil {
				return false
			}
		}
		if p.Writes || p.whole || p.Rate > 0 {
			return false
		}
	}
	return turns > 1
}

// inSlices makes one run of all turns, slice by slice.
func (b *bench) inSlices(ctx context.Context, plays []*play, keep func(*play, turn, Sample)) (err error) {
	type part struct {
		play   *play
		turn   turn
		g      *load.Generator
		source load.Source
		before probe.Counters
		spent  outlay
	}
	var parts []*part
	defer func() {
		for _, p := range parts {
			err = errors.Join(err, p.g.Close())
		}
	}()
	for _, p := range plays {
		for _, t := range p.turns {
			g, err := load.Dial(p.Conns, t.side.addrs...)
			if err != nil {
				return err
			}
			part := &part{play: p, turn: t, g: g, source: t.source()}
			parts = append(parts, part)
			if part.before, err = t.side.begin(ctx); err != nil {
				return err
			}
		}
	}
	n := max(1, int(b.Duration/slice))
	for range n {
		for _, p := range parts {
			o := load.Options{Source: p.source, Rate: p.play.Rate, Duration: b.Duration / time.Duration(n), Status: p.play.Status}
			spent, err := p.turn.side.spend(func() (*load.Result, error) { return p.g.Run(ctx, o) })
			if err != nil {
				return fmt.Errorf("%s: %w", p.play.Name, err)
			}
			p.spent.add(spent)
		}
	}
	for _, p := range parts {
		s, err := p.turn.side.sample(ctx, p.before, p.spent, p.play.Items)
		if err != nil {
			return err
		}
		keep(p.play, p.turn, s)
	}
	return nil
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
	o := load.Options{Source: t.source(), Rate: p.Rate, Duration: d, Status: p.Status}
	s, err = t.side.take(ctx, p.Items, func() (*load.Result, error) { return g.Run(ctx, o) })
	if err != nil {
		return s, fmt.Errorf("%s: %w", p.Name, err)
	}
	b.stored += int64((s.Requests - s.Unstored) * p.Items)
	b.unknown += int64(s.Unstored * p.Items)
	return s, nil
}
