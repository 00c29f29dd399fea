package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flagraft/flagraft/e2e/nodes"
)

// RecoverWithin is how soon after healing a cluster must be whole again.
const RecoverWithin = 15 * time.Second

// Failure is something that a check found.
type Failure struct {
	Check  string `json:"check"`
	Detail string `json:"detail"`
}

// Round is one schedule of faults played against a working cluster.
type Round struct {
	c     *Cluster
	rec   *Recorder
	seed  uint64
	steps []Step
	log   func(format string, args ...any)

	working atomic.Bool // clients go on
	wait    sync.WaitGroup
	clients int

	// What clients work on.
	registers []*register
	presences []string
	sessions  []*session
	counters  []*counter

	reads, readsFailed, pairs atomic.Int64

	// mu guards what follows: faults, clients and checks report from their own goroutines.
	mu        sync.Mutex
	failures  []Failure
	failovers []time.Duration
	histories int
	undecided int
	recovered time.Duration
}

// NewRound prepares a round. file gets the record of its operations, "" means none.
func NewRound(c *Cluster, seed uint64, steps []Step, file string, log func(string, ...any)) (*Round, error) {
	rec, err := NewRecorder(file)
	if err != nil {
		return nil, err
	}
	return &Round{c: c, rec: rec, seed: seed, steps: steps, log: log}, nil
}

// Play plays the round and returns when every check has looked.
func (r *Round) Play(ctx context.Context) {
	r.c.round = r
	defer func() { r.c.round = nil }()
	if err := r.prepare(ctx); err != nil {
		r.fail("preparation", "%v", err)
		return
	}
	r.rec.began = time.Now()
	r.working.Store(true)
	r.startClients(ctx)
	r.play(ctx, r.steps)
	healed := time.Now()
	if err := r.c.HealAll(ctx); err != nil {
		r.fail("healing", "%v", err)
	}
	r.recover(ctx, healed)
	r.waitWhole(ctx)
	sleep(ctx, 300*time.Millisecond)
	r.working.Store(false)
	r.wait.Wait()
	r.check(ctx)
	if err := r.rec.Close(); err != nil {
		r.fail("record", "%v", err)
	}
	r.takeEnded()
}

// takeEnded reports processes that ended by themselves.
func (r *Round) takeEnded() {
	for {
		select {
		case f := <-r.c.ended:
			r.fail(f.Check, "%s", f.Detail)
		default:
			return
		}
	}
}

func (r *Round) fail(check, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, Failure{check, fmt.Sprintf(format, args...)})
}

// note writes to the harness's log.
func (r *Round) note(format string, args ...any) {
	r.log("  %6.2fs  %s", time.Since(r.rec.began).Seconds(), fmt.Sprintf(format, args...))
}

// Failures are what the checks found.
func (r *Round) Failures() []Failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.failures)
}

// client starts a client with a number and a source of choices of its own.
func (r *Round) client(run func(id int, rnd *rand.Rand)) {
	id := r.clients
	r.clients++
	rnd := rand.New(rand.NewPCG(r.seed, uint64(id)))
	r.wait.Go(func() { run(id, rnd) })
}

func (r *Round) startClients(ctx context.Context) {
	for _, k := range r.registers {
		for range 2 {
			r.client(func(id int, rnd *rand.Rand) { r.useRegister(ctx, k, id, rnd) })
		}
	}
	for _, name := range r.presences {
		for range 2 {
			r.client(func(id int, rnd *rand.Rand) { r.usePresence(ctx, name, id, rnd) })
		}
	}
	for _, s := range r.sessions {
		r.client(func(id int, rnd *rand.Rand) { r.useSession(ctx, s, id, rnd) })
	}
	for _, k := range r.counters {
		r.client(func(id int, rnd *rand.Rand) { r.writeTraits(ctx, k, id, rnd) })
	}
	r.client(func(id int, rnd *rand.Rand) { r.writeOnce(ctx, id, rnd) })
	for i := range r.c.Nodes {
		for _, identities := range []bool{false, true} {
			r.client(func(_ int, rnd *rand.Rand) { r.readFlags(ctx, i, identities, rnd) })
		}
	}
}

// recover waits until every node is ready and takes a write.
func (r *Round) recover(ctx context.Context, healed time.Time) {
	ctx, cancel := context.WithDeadline(ctx, healed.Add(4*RecoverWithin))
	defer cancel()
	var wait sync.WaitGroup
	for i := range r.c.Nodes {
		wait.Go(func() {
			for ctx.Err() == nil {
				if _, ok := r.c.Serving(i); ok && r.probe(ctx, i, 2*time.Second) {
					return
				}
				sleep(ctx, 20*time.Millisecond)
			}
			r.fail("recovery", "node %d takes no writes %v after healing: %s", i, 4*RecoverWithin, r.describe(i))
		})
	}
	wait.Wait()
	r.recovered = time.Since(healed)
	if r.recovered > RecoverWithin {
		r.fail("recovery", "took %v after healing", r.recovered.Round(time.Millisecond))
	}
}

// describe tells what a node thinks of itself, for messages.
func (r *Round) describe(i int) string {
	s, err := r.c.Nodes[i].Status(context.Background())
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("leader %q term %d commit %d applied %d peers %+v", s.Leader, s.Term, s.CommitIndex, s.AppliedIndex, s.Peers)
}

// probe writes through a node something that nobody else looks at.
func (r *Round) probe(ctx context.Context, i int, within time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	path := fmt.Sprintf("/api/v1/environments/%s/", r.c.Home.EnvironmentKey)
	a, err := r.c.At(i, r.c.Home.Admin).Do(ctx, "PATCH", path, object{"description": fmt.Sprint(time.Now().UnixNano())})
	return err == nil && a.Status == 200
}

// measureFailover measures how long after now a write is acknowledged by one of the nodes that live.
func (r *Round) measureFailover(ctx context.Context) {
	began := time.Now()
	r.wait.Go(func() {
		for k := 0; time.Since(began) < RecoverWithin && ctx.Err() == nil; k++ {
			i := k % len(r.c.Nodes)
			if _, ok := r.c.Serving(i); !ok {
				continue
			}
			if r.probe(ctx, i, 5*time.Second) {
				took := time.Since(began)
				r.note("failover took %v", took.Round(time.Millisecond))
				if len(r.steps) == 1 { // another fault beside it would be measured too
					r.mu.Lock()
					r.failovers = append(r.failovers, took)
					r.mu.Unlock()
				}
				return
			}
			sleep(ctx, 10*time.Millisecond)
		}
	})
}

type object = map[string]any

// must repeats a request through changing nodes until it succeeds; a key makes that safe.
func (r *Round) must(ctx context.Context, method, path string, body any, want int) (*nodes.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, RecoverWithin)
	defer cancel()
	admin := r.c.Home.Admin
	if method != "GET" {
		admin = admin.With("Idempotency-Key", fmt.Sprintf("%s %s %d", method, path, rand.Uint64()))
	}
	var refusal error // the last that was an answer
	for k := 0; ; k++ {
		a, err := r.c.At(k%len(r.c.Nodes), admin).Do(ctx, method, path, body)
		if err == nil && a.Status == want {
			return a, nil
		}
		if err == nil {
			refusal = fmt.Errorf("%d %.300s", a.Status, a.Body)
		}
		if ctx.Err() != nil || err == nil && a.Status < 500 {
			return nil, fmt.Errorf("%s %s: %w", method, path, errors.Join(err, refusal))
		}
		sleep(ctx, 50*time.Millisecond)
	}
}
