package fsm

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flagraft/flagraft/cluster/actor"
)

// usageFlush is how often a node sends its counters to the leader, and
// usageKinds bounds how many different counters it holds until then.
const (
	usageFlush = 10 * time.Second
	usageRetry = 50 * time.Millisecond // of the last flush
	usageKinds = 100_000
	// maxUsageEntry is about how large an entry of counters becomes at most: what is larger than the cluster takes
	// would be sent again for ever.
	maxUsageEntry = 1 << 20
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
// UsageBatches. A batch is sent again, under its number, until its outcome is
// known, so that it counts once. Counts of a node that dies before a flush are
// lost.
//
// Full-policy: evaluations of new keys are dropped past the bound, requests lose their labels.
type UsageCounter struct {
	fsm   *FSM
	node  string
	send  func(ctx context.Context, entry []byte) error
	clock func() time.Time
	log   *slog.Logger
	loop  *actor.Loop

	// requests counts every SDK request, on its path: environment id → *requestCounts.
	requests sync.Map

	// counts is under a mutex, not in an actor: a message would cost more than the
	// addition.
	mu     sync.Mutex
	counts map[usageKey]int64

	// flushing serialises flushes: the loop's and those that tests ask for.
	flushing sync.Mutex
	pending  [][]byte // entries that are not known to be applied, in their order
	seq      uint64   // of the newest entry

	sent, failed atomic.Uint64
}

// NewUsageCounter starts the counter of one node. send carries an entry to the
// leader, who proposes it.
func NewUsageCounter(f *FSM, node string, clock func() time.Time, send func(ctx context.Context, entry []byte) error, log *slog.Logger) *UsageCounter {
	c := &UsageCounter{fsm: f, node: node, send: send, clock: clock, log: log, counts: map[usageKey]int64{}}
	c.loop = actor.Go(c.run)
	return c
}

// Request counts one request of an environment. It counts towards the day of the
// next tick.
func (c *UsageCounter) Request(environment uint64, kind UsageKind, client RequestClient) {
	counts, ok := c.requests.Load(environment)
	if !ok {
		counts, _ = c.requests.LoadOrStore(environment, new(requestCounts))
	}
	counts.(*requestCounts).of(client).kinds[kind].Add(1)
}

// Add counts n more of something on the current day.
func (c *UsageCounter) Add(environment uint64, kind UsageKind, feature uint64, labels string, n int64) {
	k := usageKey{environment, kind, feature, c.day(), labels}
	c.mu.Lock()
	defer c.mu.Unlock()
	if have, ok := c.counts[k]; ok || len(c.counts) < usageKinds {
		c.counts[k] = have + n
	}
}

// day is the bucket of now: all that is asked of the counts is by day.
func (c *UsageCounter) day() Time { return TimeOf(c.clock().Truncate(usageDay)) }

// Stop flushes once more and ends the counter.
func (c *UsageCounter) Stop() { c.loop.Stop() }

// Flush sends what was counted; what cannot be sent now is sent the next time.
func (c *UsageCounter) Flush(ctx context.Context) error {
	c.flushing.Lock()
	defer c.flushing.Unlock()
	c.gather() // also behind entries that wait: it must not count towards a later day
	if len(c.pending) == 0 {
		c.pending = c.take()
	}
	return c.sendPending(ctx)
}

// sendPending sends the entries that wait.
func (c *UsageCounter) sendPending(ctx context.Context) error {
	for len(c.pending) > 0 {
		if err := c.send(ctx, c.pending[0]); err != nil {
			c.failed.Add(1)
			return err
		}
		c.pending = c.pending[1:]
		c.sent.Add(1)
	}
	return nil
}

// last is the flush at the end: what was counted behind entries that wait goes with them. It is tried until ctx ends,
// since the leader often changes in the moment in which nodes stop.
func (c *UsageCounter) last(ctx context.Context) error {
	c.flushing.Lock()
	defer c.flushing.Unlock()
	c.gather()
	c.pending = append(c.pending, c.take()...)
	for {
		err := c.sendPending(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(usageRetry):
		case <-ctx.Done():
			return err
		}
	}
}

// Flushes returns how many entries were sent, and how many attempts failed.
func (c *UsageCounter) Flushes() (sent, failed uint64) { return c.sent.Load(), c.failed.Load() }

// take makes entries of what was gathered and sets the counts to nothing; none
// when there are none.
func (c *UsageCounter) take() (entries [][]byte) {
	c.mu.Lock()
	counts := c.counts
	c.counts = map[usageKey]int64{}
	c.mu.Unlock()
	var batch []Usage
	size := 0
	for k, n := range counts {
		batch = append(batch, Usage{
			Environment: k.environment, Kind: k.kind, Feature: k.feature, Bucket: k.bucket, Labels: k.labels, Count: n,
		})
		if size += usageSize + len(k.labels); size >= maxUsageEntry {
			entries, batch, size = append(entries, c.entry(batch)), nil, 0
		}
	}
	if len(batch) > 0 {
		entries = append(entries, c.entry(batch))
	}
	return entries
}

// gather puts the requests counted since it last did among the counts of the day.
func (c *UsageCounter) gather() {
	day, state := c.day(), c.fsm.State()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests.Range(func(environment, requests any) bool {
		id := environment.(uint64)
		requests.(*requestCounts).take(func(labels string, kind UsageKind, n int64) {
			k := usageKey{environment: id, kind: kind, bucket: day, labels: labels}
			if _, ok := c.counts[k]; !ok && len(c.counts) >= usageKinds {
				k.labels = "" // requests count towards limits: past the bound they only lose what their client says
			}
			c.counts[k] += n
		})
		if Environments.Ref(state, id) == nil {
			c.requests.Delete(id) // it was deleted: nothing is counted for it any more
		}
		return true
	})
}

// entry gives counts their number.
func (c *UsageCounter) entry(counts []Usage) []byte {
	now := c.clock()
	c.seq = max(c.seq+1, uint64(now.UnixMicro()))
	if s, ok := nodeSequencesByNode.First(c.fsm.State(), c.node); ok {
		c.seq = max(c.seq, s.Usage+1)
	}
	b := usageBatch{Node: c.node, Seq: c.seq, Time: TimeOf(now), Counts: counts}
	return newEntry(KindUsageBatch, BaseLevel, must(encMode.Marshal(&b)))
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
			if err := c.last(last); err != nil {
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

// StampUsageEntry checks a usage entry that a node sent and dates it with the clock of the leader, who
// proposes it: the clock of one other node, when it is ahead, must not move the time of the whole state, nor count
// for days that have not begun.
func StampUsageEntry(entry []byte, now time.Time) ([]byte, error) {
	kind, body, err := splitEntry(entry)
	var b usageBatch
	if err == nil && kind != KindUsageBatch {
		err = fmt.Errorf("%w: no entry of usage counters", ErrFormat)
	}
	if err == nil {
		err = decodeBody(body, &b)
	}
	if err != nil {
		return nil, err
	}
	b.Time = TimeOf(now)
	today := TimeOf(now.Truncate(usageDay))
	for i := range b.Counts {
		b.Counts[i].Bucket = min(b.Counts[i].Bucket, today)
	}
	return newEntry(KindUsageBatch, BaseLevel, must(encMode.Marshal(&b))), nil
}
