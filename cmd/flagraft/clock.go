package main

import (
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// clockOffsetFile names a file with a duration ("-90s") that this process's wall
// clock is off by, read anew every 100 ms. It is for fault tests, which cannot step
// the machine's clock; it is no setting.
const clockOffsetFile = "FLAGRAFT_TEST_CLOCK_OFFSET_FILE"

// wallClock is time.Now, or a clock that a test steps.
func wallClock() func() time.Time {
	name := os.Getenv(clockOffsetFile)
	if name == "" {
		return time.Now
	}
	return steppedClock(name)
}

func steppedClock(file string) func() time.Time {
	began := time.Now()
	var offset, next atomic.Int64 // nanoseconds; next is since began, which no step moves
	return func() time.Time {
		now := time.Now()
		if due := next.Load(); int64(now.Sub(began)) >= due && next.CompareAndSwap(due, int64(now.Sub(began)+100*time.Millisecond)) {
			text, err := os.ReadFile(file)
			if d, bad := time.ParseDuration(strings.TrimSpace(string(text))); err == nil && bad == nil {
				offset.Store(int64(d))
			}
		}
		return now.Round(0).Add(time.Duration(offset.Load())) // without the monotonic reading, as after a real step
	}
}
