package admin

import (
	"math"
	"sync"
	"time"

	"github.com/flagraft/flagraft/server/route"
)

// Throttle counts requests per key in sliding windows of a minute, on this node. Sign-ins and the like run on the leader, so there is one
// count in the cluster until leadership moves.
type Throttle struct {
	clock func() time.Time

	// A mutex and not an actor: a count takes a microsecond, and the caller needs the answer before it goes on.
	mu sync.Mutex
	// hits are those of keys asked for since it began, before those of the map that it replaced. So what is old goes without a walk, which
	// with many keys would keep all callers waiting.
	hits, before map[string][]time.Time
	began        time.Time
}

const (
	throttleWindow = time.Minute
	// throttleKeys is how many keys a map may hold before the next one begins early: then the counts of the keys in the oldest are lost.
	throttleKeys = 100_000
)

// NewThrottle makes an empty throttle.
func NewThrottle(clock func() time.Time) *Throttle {
	return &Throttle{clock: clock, hits: map[string][]time.Time{}, began: clock()}
}

// Allow counts a request of key and refuses it with 429 when perMinute were counted within the last minute. A limit of 0 is none.
func (t *Throttle) Allow(key string, perMinute int) error {
	if perMinute <= 0 {
		return nil
	}
	now := t.clock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.began) >= throttleWindow || len(t.hits) >= throttleKeys {
		t.hits, t.before, t.began = map[string][]time.Time{}, t.hits, now
	}
	hits, ok := t.hits[key]
	if !ok {
		hits = t.before[key]
	}
	recent := within(hits, now)
	if len(recent) >= perMinute {
		t.hits[key] = recent
		wait := throttleWindow - now.Sub(recent[0])
		return route.Throttled(int(math.Ceil(wait.Seconds())))
	}
	t.hits[key] = append(recent, now)
	return nil
}

// within drops what is older than the window.
func within(hits []time.Time, now time.Time) []time.Time {
	for len(hits) > 0 && now.Sub(hits[0]) >= throttleWindow {
		hits = hits[1:]
	}
	return hits
}
