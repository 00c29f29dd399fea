package fsm

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/flagraft/flagraft/cluster/actor"
)

// usageFlush is how often a node sends its counters to the leader, and
// usageKinds bounds how many different counters it holds until then.
const (
	usageFlush = 10 * time.Second
	usageKinds = 100_000
)

// usageKey is what one counter counts.
type usageKey struct {
	environment uint64
	kind        UsageKind
	feature     uint64
	bucket      Time
	labels      string
}

// UsageCounter gathers a node's usage counters and sends them to the leader as
// UsageBatches. Counts of a node that dies before a flush are lost.
//
// Full-policy: counters of new keys are dropped past the bound.
type UsageCounter struct {
	fsm   *FSM
	node  string
	send  func(ctx context.Context, entry []byte) error
	clock func() time.Time
	log   *slog.Logger
	loop  *actor.Loop

	// counts is under a mutex, not in an actor: every SDK request adds one, and a
	// message per request would cost more than the addition.
	mu     sync.Mutex
	counts map[usageKey]int64
}

// NewUsageCounter starts the counter of one node. send carries an entry to the
// leader, who proposes it.
func NewUsageCounter(f *FSM, node string, clock func() time.Time, send func(ctx context.Context, entry []byte) error, log *slog.Logger) *UsageCounter {
	c := &UsageCounter{fsm: f, node: node, send: send, clock: clock, log: log, counts: map[usageKey]int64{}}
	c.loop = actor.Go(c.run)
	return c
}

// Add counts n more of something at the current hour.
func (c *UsageCounter) Add(environment uint64, kind UsageKind, feature uint64, labels string, n int64) {
	k := usageKey{environment, kind, feature, TimeOf(c.clock().Truncate(time.Hour)), labels}
	c.mu.Lock()
	defer c.mu.Unlock()
	if have, ok := c.counts[k]; ok || len(c.counts) < usageKinds {
		c.counts[k] = have + n
	}
}

// Stop flushes once more and ends the counter.
func (c *UsageCounter) Stop() { c.loop.Stop() }

// Flush sends what was counted; what cannot be sent is kept for the next time.
func (c *UsageCounter) Flush(ctx context.Context) error {
	c.mu.Lock()
	counts := c.counts
	c.counts = map[usageKey]int64{}
	c.mu.Unlock()
	if len(counts) == 0 {
		return nil
	}
	now := c.clock()
	b := usageBatch{Node: c.node, Seq: uint64(now.UnixMicro()), Time: TimeOf(now)}
	if s, ok := nodeSequencesByNode.First(c.fsm.State(), c.node); ok {
		b.Seq = max(b.Seq, s.Usage+1)
	}
	for k, n := range counts {
		b.Counts = append(b.Counts, Usage{
			Environment: k.environment, Kind: k.kind, Feature: k.feature, Bucket: k.bucket, Labels: k.labels, Count: n,
		})
	}
	err := c.send(ctx, newEntry(KindUsageBatch, must(encMode.Marshal(&b))))
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		// A time-out may have been applied; counting twice is worse than not at all.
		c.mu.Lock()
		defer c.mu.Unlock()
		maps.Copy(counts, c.merge(counts))
		c.counts = counts
	}
	return err
}

func (c *UsageCounter) merge(old map[usageKey]int64) map[usageKey]int64 {
	for k, n := range c.counts {
		c.counts[k] = n + old[k]
	}
	return c.counts
}

func (c *UsageCounter) run(ctx context.Context) {
	tick := time.NewTicker(usageFlush)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			defer cancel()
			if err := c.Flush(last); err != nil {
				c.log.Warn("usage counters of the last seconds are lost", "error", err)
			}
			return
		}
		sending, cancel := context.WithTimeout(ctx, usageFlush)
		if err := c.Flush(sending); err != nil {
			c.log.Debug("usage counters wait for a leader", "error", err)
		}
		cancel()
	}
}

// ValidUsageEntry reports whether data is a usage entry; the leader checks it
// before it proposes what another node sent.
func ValidUsageEntry(data []byte) bool {
	kind, body, err := splitEntry(data)
	var b usageBatch
	return err == nil && kind == KindUsageBatch && decodeBody(body, &b) == nil
}
