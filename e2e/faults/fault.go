package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Fault is one kind of fault.
type Fault struct {
	Name    string
	Network bool // needs the nodes to be in namespaces
	// Alone: not beside another fault in one round, because both together may
	// destroy more than a cluster promises to bear.
	Alone bool
	// Least and Most bound how long it lasts until it is healed.
	Least, Most time.Duration
	// Possible tells whether the cluster at hand can suffer it; nil: always.
	Possible func(*Cluster) bool
	// Inject makes it happen. Whatever it chooses comes from r. heal undoes it
	// and may be nil: the round undoes all faults at its end anyway.
	Inject func(ctx context.Context, c *Cluster, r *rand.Rand) (heal func() error, err error)
}

// possible tells whether the fault can be injected into c.
func (f *Fault) possible(c *Cluster) bool {
	return (c.Net != nil || !f.Network) && (f.Possible == nil || f.Possible(c))
}

// Kinds are all faults to processes, networks, clocks, members and disks.
func Kinds() []Fault {
	return slices.Concat(processFaults(), networkFaults(), memberFaults(), diskFaults())
}

// Step is one fault of a schedule.
type Step struct {
	Fault Fault
	At    time.Duration // after the round began
	For   time.Duration // until it is healed
	Seed  uint64        // of what it chooses
}

// String describes the step.
func (s Step) String() string {
	return fmt.Sprintf("%s at %.1fs for %.1fs", s.Fault.Name, s.At.Seconds(), s.For.Seconds())
}

// warmup is how long clients work before the first fault.
const warmup = 400 * time.Millisecond

// Schedule draws up to three faults, which may overlap in time. The first is of the given kind unless that is nil.
func Schedule(r *rand.Rand, kinds []Fault, first *Fault) []Step {
	f := kinds[r.IntN(len(kinds))]
	if first != nil {
		f = *first
	}
	steps := []Step{draw(r, f, warmup)}
	for _, chance := range []float64{0.67, 0.25} { // of a second one, and of a third after it
		next := kinds[r.IntN(len(kinds))]
		if r.Float64() >= chance || f.Alone || next.Alone {
			break
		}
		last := steps[len(steps)-1]
		gap := time.Duration(r.Int64N(int64(last.For + 300*time.Millisecond)))
		steps = append(steps, draw(r, next, last.At+gap))
	}
	return steps
}

// draw chooses how long a fault lasts, and the seed of what it chooses itself.
func draw(r *rand.Rand, f Fault, at time.Duration) Step {
	last := f.Least
	if f.Most > f.Least {
		last += time.Duration(r.Int64N(int64(f.Most - f.Least)))
	}
	return Step{Fault: f, At: at, For: last, Seed: r.Uint64()}
}

// play injects the steps at their times and heals each when its time is over.
func (r *Round) play(ctx context.Context, steps []Step) {
	done := make(chan struct{})
	for _, s := range steps {
		go func() {
			defer func() { done <- struct{}{} }()
			sleep(ctx, s.At-time.Since(r.rec.began))
			r.note("%s", s)
			heal, err := s.Fault.Inject(ctx, r.c, rand.New(rand.NewPCG(s.Seed, 1)))
			if err != nil {
				r.fail("fault", "%s: %v", s.Fault.Name, err)
				return
			}
			sleep(ctx, s.For)
			if heal != nil {
				if err := heal(); err != nil {
					r.fail("fault", "heal %s: %v", s.Fault.Name, err)
				}
			}
			r.note("%s is over", s.Fault.Name)
		}()
	}
	for range steps {
		<-done
	}
}

func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// some draws k of n nodes.
func some(r *rand.Rand, n, k int) []int { return r.Perm(n)[:k] }
