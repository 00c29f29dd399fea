package server

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/settings"
	"github.com/flagraft/flagraft/server/webhook"
)

const (
	// webhooksAtOnce is how many webhooks are called at once; those whose last call failed have half of the places.
	webhooksAtOnce = 32
	// webhookTurn is how many events a webhook gets at most before others that wait have the place; see WebhookTiming.Turn.
	webhookTurn = 100
	// webhookRecords is how many finished deliveries are kept of each webhook.
	webhookRecords = 100
	// giveUpAtOnce bounds the rows of one sweep's write.
	giveUpAtOnce = 2_000
	// reasonDisabled is why events of a disabled webhook are given up.
	reasonDisabled = "The webhook is disabled."
)

// WebhookTiming is how often things are done about webhooks.
type WebhookTiming struct {
	Tick       time.Duration // looking for events that are due
	Turn       time.Duration // of a webhook: no further event is begun after it, so that slow ones share the places
	Sweep      time.Duration // looking for events to give up
	FirstRetry time.Duration // after a failure; doubled with each
	MaxRetry   time.Duration
}

func defaultWebhookTiming() WebhookTiming {
	return WebhookTiming{Tick: 100 * time.Millisecond, Turn: time.Second, Sweep: 10 * time.Second, FirstRetry: time.Second, MaxRetry: 5 * time.Minute}
}

// deliverer takes events to webhooks, on the leader. What waits is in the state, and so is how often it was tried: a new leader goes on where
// the old one stopped, and sends once more what was under way. Each webhook is called by one goroutine at a time, so its events arrive in
// their order; a webhook that does not answer keeps nobody else waiting.
type deliverer struct {
	node     *Node
	settings *settings.Settings
	timing   WebhookTiming
	sender   *webhook.Sender

	// A mutex and not an actor: calls end on goroutines of their own, and the loop that gives places must not wait for them.
	mu   sync.Mutex
	busy map[uint64]bool // the webhooks being called; true: for another time
	last [2]uint64       // who got a place last, of those for the first time and of those for another

	attempts *prometheus.CounterVec // by outcome
	givenUp  prometheus.Counter
}

func newDeliverer(n *Node) *deliverer {
	d := &deliverer{
		node: n, settings: n.settings, timing: n.Webhooks, busy: map[uint64]bool{},
		sender: webhook.New(n.settings.WebhookTimeout, n.settings.AllowPrivateHooks, n.build.Version),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "flagraft_webhook_attempts_total", Help: "Calls of webhooks from this node: delivered, refused by the receiver, or failed before an answer.",
		}, []string{"outcome"}),
		givenUp: prometheus.NewCounter(prometheus.CounterOpts{Name: "flagraft_webhook_given_up_total", Help: "Events that no webhook ever took, given up by this node."}),
	}
	for _, outcome := range []string{"delivered", "refused", "failed"} {
		d.attempts.WithLabelValues(outcome)
	}
	return d
}

// collectors are what it counts, and what waits for all of them in the state.
func (d *deliverer) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		d.attempts, d.givenUp,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "flagraft_webhook_events_waiting", Help: "Events that wait for their webhook."},
			func() float64 { return float64(d.node.fsm.State().DeliveriesWaiting()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "flagraft_webhook_oldest_waiting_seconds", Help: "Age of the oldest event that waits for its webhook."}, d.oldest),
	}
}

// oldest is the age of the oldest event that waits, in seconds.
func (d *deliverer) oldest() float64 {
	state, oldest := d.node.fsm.State(), fsm.Time(0)
	for w := range fsm.Webhooks.Refs(state) {
		if head, ok := fsm.WebhookDeliveriesWaiting.First(state, w.ID); ok && (oldest == 0 || head.Created < oldest) {
			oldest = head.Created
		}
	}
	if oldest == 0 {
		return 0
	}
	return max(0, d.node.Clock().Sub(oldest.Std()).Seconds())
}

// run is the loop.
func (d *deliverer) run(ctx context.Context) {
	defer d.sender.Close()
	for ; ctx.Err() == nil; pause(ctx, d.timing.Tick) {
		if d.leads() && !d.settings.DisableWebhooks {
			d.lead(ctx)
		}
	}
}

func (d *deliverer) leads() bool {
	return d.node.cluster.IsLeader() && !d.node.stopping.Load() && d.node.fsm.State().Born()
}

// lead works until this node does not lead any more, and then breaks off what is under way: the next leader does it again.
func (d *deliverer) lead(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var callers sync.WaitGroup
	defer callers.Wait()
	defer cancel()
	swept := time.Time{}
	for ; ctx.Err() == nil && d.leads(); pause(ctx, d.timing.Tick) {
		if d.node.fsm.State().DeliveriesWaiting() == 0 || d.node.cluster.ReadOnly() {
			continue // read-only: no call could be recorded, and the same one would be made with every tick
		}
		if time.Since(swept) >= d.timing.Sweep {
			if err := d.sweep(ctx); err != nil && ctx.Err() == nil {
				d.node.log.Debug("giving up events waits", "error", err)
			}
			swept = time.Now()
		}
		for _, id := range d.due() {
			callers.Go(func() {
				defer d.done(id)
				if err := d.call(ctx, id); err != nil && ctx.Err() == nil {
					d.node.log.Debug("what became of a delivery is not recorded", "webhook", id, "error", err)
				}
			})
		}
	}
}

// due takes places for the webhooks whose first event is due: the healthy ones first, and of each kind those that had no place for longest.
func (d *deliverer) due() (ids []uint64) {
	state, now := d.node.fsm.State(), fsm.TimeOf(d.node.Clock())
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.busy) >= webhooksAtOnce {
		return nil
	}
	var wait [2][]uint64 // by id: for the first time, for another
	for w := range fsm.Webhooks.Refs(state) {
		if _, busy := d.busy[w.ID]; busy || !w.Enabled {
			continue
		}
		if head, ok := fsm.WebhookDeliveriesWaiting.First(state, w.ID); ok && d.ready(head, now) {
			kind := min(head.Attempts, 1)
			wait[kind] = append(wait[kind], w.ID)
		}
	}
	places := [2]int{webhooksAtOnce, webhooksAtOnce / 2}
	for _, again := range d.busy {
		if again {
			places[1]--
		}
	}
	for kind, list := range wait {
		next, _ := slices.BinarySearch(list, d.last[kind]+1)
		for _, id := range slices.Concat(list[next:], list[:next]) {
			if len(d.busy) >= webhooksAtOnce || places[kind] <= 0 {
				break
			}
			places[kind]--
			d.busy[id], d.last[kind] = kind == 1, id
			ids = append(ids, id)
		}
	}
	return ids
}

// ready reports whether an event may be sent: for the first time at once, as its time may be ahead of the clock, and again when that is due. What
// is due after more than the longest pause was put off by a clock that was ahead.
func (d *deliverer) ready(e fsm.WebhookDelivery, now fsm.Time) bool {
	return e.Attempts == 0 || e.Due <= now || e.Due > now.Add(2*d.timing.MaxRetry)
}

func (d *deliverer) done(id uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.busy, id)
}

// call takes events to one webhook until none waits, one fails, or its turn is over. The error is that of recording.
func (d *deliverer) call(ctx context.Context, id uint64) error {
	for began, n := time.Now(), 0; n < webhookTurn && (n == 0 || time.Since(began) < d.timing.Turn); n++ {
		state := d.node.fsm.State()
		w, ok := fsm.Webhooks.Get(state, id)
		if !ok || !w.Enabled {
			return nil
		}
		head, ok := fsm.WebhookDeliveriesWaiting.First(state, id)
		if !ok || !d.ready(head, fsm.TimeOf(d.node.Clock())) {
			return nil
		}
		status, err := d.sender.Send(ctx, webhook.Call{URL: w.URL, Secret: w.Secret, Delivery: head.ID, Body: head.Body})
		if ctx.Err() != nil {
			return nil
		}
		outcome := judge(status, err)
		if recording := d.record(ctx, head, outcome, status, err); recording != nil || outcome == fsm.DeliveryWaiting {
			return recording
		}
	}
	return nil
}

// judge says what a call came to; DeliveryWaiting: it is to be repeated. An answer that only says that the request is not wanted is final, as
// a repetition would be answered alike and keep all later events waiting.
func judge(status int, err error) fsm.DeliveryOutcome {
	switch {
	case err != nil, status >= 500, status == 408, status == 425, status == 429:
		return fsm.DeliveryWaiting
	case status >= 200 && status < 300:
		return fsm.DeliveryDelivered
	}
	return fsm.DeliveryRefused
}

// record writes what a call came to.
func (d *deliverer) record(ctx context.Context, sent fsm.WebhookDelivery, outcome fsm.DeliveryOutcome, status int, failure error) error {
	switch outcome {
	case fsm.DeliveryDelivered:
		d.attempts.WithLabelValues("delivered").Inc()
	case fsm.DeliveryRefused:
		d.attempts.WithLabelValues("refused").Inc()
	default:
		d.attempts.WithLabelValues("failed").Inc()
	}
	now := d.node.Clock()
	_, err := d.node.writer.Write(ctx, fsm.Author{}, func(tx *fsm.Tx) error {
		row, ok := fsm.WebhookDeliveries.Get(tx, sent.ID)
		if !ok || row.Outcome != fsm.DeliveryWaiting || row.Webhook != sent.Webhook || row.Created != sent.Created {
			return nil // the webhook is gone, the event was given up, or a backup was restored that has another of this number
		}
		row.Attempts++
		row.Tried, row.Status, row.Error = fsm.TimeOf(now), uint16(status), ""
		if failure != nil {
			row.Error = clip(webhook.Reason(failure))
		}
		if outcome != fsm.DeliveryWaiting {
			row.Finish(tx, outcome, webhookRecords)
			return nil
		}
		row.Due = fsm.TimeOf(now.Add(d.backoff(row.Attempts)))
		fsm.WebhookDeliveries.Put(tx, row)
		return nil
	})
	return err
}

// backoff is the time until the next attempt, a fifth more or less.
func (d *deliverer) backoff(attempts uint32) time.Duration {
	wait := d.timing.MaxRetry
	if attempts < 20 {
		wait = min(wait, d.timing.FirstRetry<<(attempts-1))
	}
	return wait*4/5 + rand.N(wait*2/5+1)
}

// clip shortens a reason for the state, which takes whole letters only.
func clip(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	end := min(len(text), maxReason)
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// sweep gives up what waited too long, what is more than a webhook or all together may have waiting, and what waits for a disabled webhook:
// the oldest first, and in the order of the queue.
func (d *deliverer) sweep(ctx context.Context) error {
	for ctx.Err() == nil {
		lost := d.hopeless()
		if len(lost) == 0 {
			return nil
		}
		var notices []*notice
		if _, err := d.node.writer.Write(ctx, fsm.Author{}, func(tx *fsm.Tx) error {
			notices = nil // it may run again
			for _, l := range lost {
				if row, ok := fsm.WebhookDeliveries.Get(tx, l.id); ok && row.Outcome == fsm.DeliveryWaiting {
					if n := noticeOf(tx, l, row.Webhook); n != nil {
						notices = append(notices, n)
					}
					row.Error = l.reason
					row.Finish(tx, fsm.DeliveryGivenUp, webhookRecords)
				}
			}
			return nil
		}); err != nil {
			return err
		}
		for _, n := range notices {
			for _, to := range n.to {
				d.node.mailer.Queue(to, n.subject, n.body)
			}
		}
		d.givenUp.Add(float64(len(lost)))
		d.node.log.Warn("webhook events are given up", "events", len(lost))
	}
	return nil
}

// hopelessEvent is one to give up.
type hopelessEvent struct {
	id     uint64
	reason string
}

func (d *deliverer) hopeless() (lost []hopelessEvent) {
	state := d.node.fsm.State()
	before := fsm.TimeOf(d.node.Clock().Add(-d.settings.KeepWebhooks))
	for w := range fsm.Webhooks.Refs(state) {
		more := fsm.WebhookDeliveriesWaiting.Count(state, w.ID) - d.settings.KeepWebhookEvents
		for row := range fsm.WebhookDeliveriesWaiting.Refs(state, w.ID) {
			reason := ""
			switch {
			case !w.Enabled:
				reason = reasonDisabled
			case row.Created <= before:
				reason = "The webhook did not take it in time."
			case more > 0:
				reason = "Too many events waited for the webhook."
			}
			if reason == "" || len(lost) == giveUpAtOnce {
				break
			}
			lost = append(lost, hopelessEvent{row.ID, reason})
			more--
		}
	}
	if len(lost) == 0 && state.Held().Webhooks > uint64(d.settings.KeepWebhookBytes) {
		lost = oldestWaiting(state, state.Held().Webhooks-uint64(d.settings.KeepWebhookBytes))
	}
	return lost
}

// oldestWaiting finds the oldest events of all webhooks that hold so many bytes together.
func oldestWaiting(state *fsm.State, bytes uint64) (lost []hopelessEvent) {
	var held uint64
	for row := range fsm.WebhookDeliveries.Refs(state) { // ids grow with time
		if held >= bytes || len(lost) == giveUpAtOnce {
			break
		}
		if row.Outcome == fsm.DeliveryWaiting {
			lost = append(lost, hopelessEvent{row.ID, "Too many events waited for all webhooks."})
			held += uint64(len(row.Body))
		}
	}
	return lost
}
