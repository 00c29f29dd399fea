package fuzz

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flagraft/flagraft/e2e/ledger"
)

// Campaign is what to run and for how long: Each, or For.
type Campaign struct {
	Targets []Target
	// Each is the time of every target.
	Each time.Duration
	// For is the time of the whole. A quarter of it is dealt out evenly, and tells how fast each target is. The rest goes where it buys
	// most executions, in proportion to that speed, and at most an eighth of it to one target.
	For time.Duration
	// Results is the file that each run is appended to; empty: none.
	Results string
	Commit  string
	Log     func(format string, args ...any)
}

// ErrFinding ends a campaign at the first input that breaks something.
var ErrFinding = errors.New("a target failed")

// shortest is the time below which a run mostly starts workers.
const shortest = time.Second

// Run runs the campaign and returns its total.
func (c Campaign) Run(ctx context.Context) (total Result, err error) {
	if len(c.Targets) == 0 {
		return total, errors.New("no targets")
	}
	total.Target = "total"
	first := c.Each
	if c.For > 0 {
		first = c.For / 4 / time.Duration(len(c.Targets))
	}
	began := time.Now()
	rates := make([]float64, len(c.Targets))
	for i, t := range c.Targets {
		res, err := c.one(ctx, t, max(shortest, first), &total)
		if err != nil {
			return total, err
		}
		rates[i] = res.Rate()
	}
	if c.For == 0 {
		return total, nil
	}
	for i, length := range shares(rates, c.For-time.Since(began)) {
		if length < shortest {
			continue
		}
		if _, err := c.one(ctx, c.Targets[i], length, &total); err != nil {
			return total, err
		}
	}
	return total, nil
}

// one runs a target, writes down what it did and adds it to the total.
func (c Campaign) one(ctx context.Context, t Target, length time.Duration, total *Result) (Result, error) {
	res, err := t.run(ctx, length.Round(time.Millisecond))
	if err != nil {
		return res, err
	}
	res.Entry = ledger.Now(c.Commit)
	c.Log("%-44s %11d executions %9.0f/s  corpus %d", t, res.Executions, res.Rate(), res.Interesting)
	total.Executions += res.Executions
	total.Seconds += res.Seconds
	total.Findings += res.Findings
	if c.Results != "" {
		if err := ledger.Append(c.Results, res); err != nil {
			return res, err
		}
	}
	if res.Findings > 0 {
		return res, fmt.Errorf("%w: %s %s\n%s", ErrFinding, t, res.Input, res.Output)
	}
	return res, nil
}

// shares divides a time in proportion to the rates, none above an eighth of it unless there are fewer than eight.
func shares(rates []float64, whole time.Duration) []time.Duration {
	most := max(1.0/8, 1/float64(len(rates)))
	out := make([]time.Duration, len(rates))
	capped := make([]bool, len(rates))
	for left := 1.0; ; {
		sum := 0.0
		for i, r := range rates {
			if !capped[i] {
				sum += r
			}
		}
		again := false
		for i, r := range rates {
			if capped[i] || sum == 0 {
				continue
			}
			if share := left * r / sum; share > most {
				capped[i], again = true, true
				out[i] = time.Duration(most * float64(whole))
			}
		}
		if !again {
			for i, r := range rates {
				if !capped[i] && sum > 0 {
					out[i] = time.Duration(left * r / sum * float64(whole))
				}
			}
			return out
		}
		left = 1
		for _, c := range capped {
			if c {
				left -= most
			}
		}
		if left <= 0 {
			return out
		}
	}
}
