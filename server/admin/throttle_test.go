package admin

import (
	"strconv"
	"testing"
	"time"
)

// TestThrottleOfManyKeys: counts last for their minute, old ones go, and neither takes a look at all the others: with the addresses of a
// flood each request did, and everybody waited.
func TestThrottleOfManyKeys(t *testing.T) {
	now := time.Unix(1e9, 0)
	throttle := NewThrottle(func() time.Time { return now })
	held := func() int { return len(throttle.hits) + len(throttle.before) }
	flood := func(name string, n int) {
		for i := range n {
			if err := throttle.Allow(name+strconv.Itoa(i), 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := throttle.Allow("kept", 1); err != nil {
		t.Fatal(err)
	}
	now = now.Add(throttleWindow / 2)
	flood("first", 20_000)
	now = now.Add(throttleWindow/2 - time.Second)
	if throttle.Allow("kept", 1) == nil || throttle.Allow("first7", 1) == nil {
		t.Error("the flood had counts forgotten")
	}
	now = now.Add(time.Second)
	if err := throttle.Allow("kept", 1); err != nil {
		t.Error("a minute later:", err)
	}
	if throttle.Allow("first7", 1) == nil {
		t.Error("half a minute later the count was gone")
	}
	now = now.Add(throttleWindow)
	flood("second", 1)
	now = now.Add(throttleWindow)
	flood("third", 1)
	if n := held(); n > 3 {
		t.Errorf("%d keys are held, 20,000 of them of minutes ago", n)
	}
	flood("many", 3*throttleKeys)
	if n := held(); n > 2*throttleKeys {
		t.Errorf("%d keys are held", n)
	}
}

// BenchmarkThrottleInAFlood counts a caller beside those of a flood.
func BenchmarkThrottleInAFlood(b *testing.B) {
	now := time.Unix(1e9, 0)
	throttle := NewThrottle(func() time.Time { return now })
	for i := range 50_000 {
		_ = throttle.Allow("flood"+strconv.Itoa(i), 1)
	}
	for b.Loop() {
		_ = throttle.Allow("caller", 20)
	}
}
