package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/flagraft/flagraft/bench/inside"
	"github.com/flagraft/flagraft/bench/load"
	"github.com/flagraft/flagraft/bench/seed"
	"github.com/flagraft/flagraft/e2e/nodes"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
)

const (
	nameCommit = "commit-path"
	nameView   = "commit-to-view"

	whatView50 = "commit to every node's View, p50 at %d admin writes and %s upserts a second"
	whatView99 = "commit to every node's View, p99 at %d admin writes and %s upserts a second"
)

// commit measures three nodes in this process without their HTTP: identities straight
// into the leader's batches, and how soon every node's View has a change.
func (b *bench) commit(ctx context.Context, dir string) error {
	if !b.wants(nameCommit, nameView) {
		return nil
	}
	return inProcess(ctx, dir, 3, b.commitOn)
}

// inProcess runs a measurement on so many nodes in this process, which it stops.
func inProcess(ctx context.Context, dir string, size int, measure func(context.Context, *inside.Cluster) error) error {
	ready, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c, err := inside.Start(ready, dir, size)
	if err != nil {
		return err
	}
	return errors.Join(measure(ctx, c), c.Stop(ctx))
}

func (b *bench) commitOn(ctx context.Context, c *inside.Cluster) error {
	project, err := b.Profile.Project(ctx, c.Client(0), "bench")
	if err != nil {
		return err
	}
	trio := insideOf(c)
	for _, rate := range b.Rates {
		if !b.wants(nameCommit) {
			break
		}
		s := b.report.add(&Scenario{Name: nameCommit, Title: "new identities into the leader's commit path, no HTTP", Nodes: 3, Rate: rate, Items: 1, Writes: true})
		for i := range b.Runs + 1 {
			var sample Sample
			if err := c.Led(ctx, func() (err error) {
				u := upserts{environment: uint64(project.EnvironmentID), prefix: b.prefix(), rate: rate, writers: []*fsm.IdentityWriter{c.Nodes[0].Identities()}}
				sample, err = trio.take(ctx, 1, func() (*load.Result, error) { return u.run(ctx, b.Duration) })
				return err
			}); err != nil {
				return fmt.Errorf("%s: %w", nameCommit, err)
			}
			if i == 0 {
				continue // what is measured must be warm
			}
			s.Flagraft = append(s.Flagraft, sample)
			b.say("%-28s %-9s %d/%d %9.0f/s  p50 %.2f ms  p99 %.2f ms  fsync %.2f ms  load %.1f", s.Name, trio.name, i, b.Runs, sample.PerSecond, sample.P50, sample.P99, sample.StoreMillis, sample.Load)
		}
	}
	if !b.wants(nameView) {
		return nil
	}
	return b.views(ctx, c, project, &trio)
}

// upserts is an open loop of new identities with five traits.
type upserts struct {
	environment uint64
	prefix      string
	rate        float64
	writers     []*fsm.IdentityWriter // in turn
}

// refusedLatency is what a request counts that the node did not take.
const refusedLatency = 10 * time.Second

// run writes for a while and waits for all answers.
func (u *upserts) run(ctx context.Context, d time.Duration) (*load.Result, error) {
	r := &load.Result{Latency: hdrhistogram.New(1, int64(2*time.Minute/time.Microsecond), 3)}
	var mu sync.Mutex // guards r
	var wg sync.WaitGroup
	start, total := time.Now(), int(u.rate*d.Seconds())
	for sent := 0; sent < total && ctx.Err() == nil; time.Sleep(200 * time.Microsecond) {
		for due := min(total, int(time.Since(start).Seconds()*u.rate)); sent < due; sent++ {
			intended, op, w := start.Add(time.Duration(float64(sent)/u.rate*1e9)), u.op(sent), u.writers[sent%len(u.writers)]
			wg.Go(func() {
				_, _, err := w.Write(ctx, op)
				took := time.Since(intended)
				mu.Lock()
				defer mu.Unlock()
				r.Requests++
				if err != nil {
					r.Unpersisted++
					took = refusedLatency
				}
				_ = r.Latency.RecordValue(max(1, took.Microseconds())) // two minutes are more than a write waits
			})
		}
	}
	wg.Wait()
	r.Elapsed = time.Since(start)
	return r, ctx.Err()
}

// op makes one identity.
func (u *upserts) op(n int) []identity.Op {
	op := identity.Op{Kind: identity.KindUpsert, Environment: u.environment, Identifier: seed.Short{}.Identifier([]byte(u.prefix), n)}
	literals := seed.Short{}.Literals(n, 0)
	for i, key := range seed.ShortKeys {
		op.Traits = append(op.Traits, identity.TraitOp{Key: []byte(key), Value: []byte(literals[i])})
	}
	return []identity.Op{op}
}

// Loads beside which Views are followed.
const (
	viewWrites  = 100    // admin writes a second
	viewUpserts = 20_000 // identities a second
)

// views measures the time from the commit of an admin write to the View that has it, on the node where that came last.
func (b *bench) views(ctx context.Context, c *inside.Cluster, p *nodes.Project, trio *side) error {
	path, on, err := firstState(ctx, p)
	if err != nil {
		return err
	}
	u := upserts{environment: uint64(p.EnvironmentID), rate: min(viewUpserts, b.Rates[0])}
	for _, n := range c.Nodes {
		u.writers = append(u.writers, n.Identities())
	}
	p50, p99 := newFigure(nameView, "ms", whatView50, viewWrites, count(u.rate)), newFigure(nameView, "ms", whatView99, viewWrites, count(u.rate))
	for range b.Runs {
		var lags *Timing
		var conditions Conditions
		if err := c.Led(ctx, func() (err error) {
			admin := *p.Admin
			admin.Base = c.Client(0).Base
			w := &watch{nodes: c.Nodes, environment: uint64(p.EnvironmentID)}
			var indexes []uint64
			u.prefix = b.prefix()
			w.begin()
			conditions, err = trio.during(ctx, func() error {
				wrote := make(chan error, 1)
				go func() {
					var err error
					indexes, err = toggled(ctx, &admin, path, &on, b.Duration)
					wrote <- err
				}()
				r, err := u.run(ctx, b.Duration)
				if err == nil && r.Unpersisted > 0 {
					err = fmt.Errorf("%d of %d upserts were not stored", r.Unpersisted, r.Requests)
				}
				return errors.Join(err, <-wrote)
			})
			w.end()
			if err != nil {
				return err
			}
			lags = &Timing{Millis: w.lags(indexes)}
			if len(lags.Millis) < len(indexes) || len(indexes) == 0 {
				return fmt.Errorf("%d of %d changes were seen in all Views", len(lags.Millis), len(indexes))
			}
			return nil
		}); err != nil {
			return fmt.Errorf("%s: %w", nameView, err)
		}
		p50.Values, p99.Values = append(p50.Values, lags.percentile(0.5)), append(p99.Values, lags.percentile(0.99))
		p50.Conditions, p99.Conditions = conditions, conditions
		p99.Note = fmt.Sprintf("%d writes a run", len(lags.Millis))
	}
	b.figure(p50)
	b.figure(p99)
	return nil
}
