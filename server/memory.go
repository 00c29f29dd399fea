package server

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/flagraft/flagraft/cluster/actor"
)

// cgroupShare is the part of the container's limit that the Go runtime may use: the rest is for what it does not count, such as the pages of
// the log that are mapped.
const cgroupShare = 0.9

// SetMemoryLimit sets the soft memory limit of the process (the runtime's) as the setting says: "auto" keeps GOMEMLIMIT, or takes 90 % of the
// cgroup's limit; "off" keeps what is; else a number of bytes with KiB, MiB or GiB behind it. It returns the limit, math.MaxInt64 for none.
func SetMemoryLimit(setting string, log *slog.Logger) (int64, error) {
	switch setting {
	case "off", "":
		return debug.SetMemoryLimit(-1), nil
	case "auto":
		if os.Getenv("GOMEMLIMIT") != "" {
			return debug.SetMemoryLimit(-1), nil
		}
		limit, err := memlimit.FromCgroup()
		if err != nil || limit == 0 || limit > math.MaxInt64/2 {
			log.Debug("no memory limit of a cgroup", "error", err)
			return debug.SetMemoryLimit(-1), nil
		}
		debug.SetMemoryLimit(int64(float64(limit) * cgroupShare))
		return debug.SetMemoryLimit(-1), nil
	}
	limit, err := parseBytes(setting)
	if err != nil {
		return 0, fmt.Errorf("memory-limit: %w", err)
	}
	debug.SetMemoryLimit(limit)
	return limit, nil
}

// parseBytes reads "512MiB", "2GiB", "1000000".
func parseBytes(text string) (int64, error) {
	unit := int64(1)
	digits := text
	for suffix, size := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if rest, ok := strings.CutSuffix(text, suffix); ok {
			digits, unit = rest, size
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/unit {
		return 0, fmt.Errorf("%q is not auto, off or a number of bytes such as 512MiB", text)
	}
	return n * unit, nil
}

// How short memory is.
const (
	memoryPlenty int32 = iota
	memoryTight        // past tightShare of the limit: identities are evaluated but not stored
	memoryShort        // past shortShare: only health, the cluster and admin writes are served
)

const (
	tightShare  = 0.80
	shortShare  = 0.90
	memoryEvery = 100 * time.Millisecond
)

// memoryWatch is the actor that compares the memory in use with the limit ten times a second. In use is what the last collection found alive,
// and what is no heap: garbage goes by itself when the limit comes near. Input: a ticker. Without a limit it rests.
type memoryWatch struct {
	limit int64
	level atomic.Int32
	used  atomic.Int64
	loop  *actor.Loop

	// Of the loop: the collection that used goes by, since when, and how long one takes that was asked for.
	cycles uint64
	since  time.Time
	took   time.Duration
}

// The runtime's metrics that make up the memory in use.
var memoryParts = []string{
	"/gc/heap/live:bytes", "/memory/classes/heap/stacks:bytes", "/memory/classes/metadata/mcache/inuse:bytes",
	"/memory/classes/metadata/mspan/inuse:bytes", "/memory/classes/metadata/other:bytes", "/memory/classes/os-stacks:bytes",
	"/memory/classes/other:bytes", "/memory/classes/profiling/buckets:bytes",
}

func newMemoryWatch(limit int64) *memoryWatch { return &memoryWatch{limit: limit} }

func (w *memoryWatch) start() {
	w.measure()
	w.loop = actor.Go(w.run)
}

func (w *memoryWatch) run(ctx context.Context) {
	if w.limit == math.MaxInt64 {
		<-ctx.Done()
		return
	}
	tick := time.NewTicker(memoryEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.measure()
			if w.tight() {
				w.collect()
			}
		}
	}
}

// What was found alive is old news after a second, and collecting may take a twentieth of the time.
const (
	memoryStale    = time.Second
	memoryPatience = 20
)

// collect has the runtime collect, unless it just did. A node that is short of memory stores nothing, so it allocates
// little and the next collection may be minutes away: till then it would refuse what there is room for again.
func (w *memoryWatch) collect() {
	now := time.Now()
	if cycles := readCollections().count; cycles != w.cycles {
		w.cycles, w.since = cycles, now
	}
	if now.Sub(w.since) < max(memoryStale, memoryPatience*w.took) {
		return
	}
	runtime.GC()
	w.took = time.Since(now)
	w.measure()
}

// memoryInUse is what the runtime says now.
func memoryInUse() (used int64) {
	samples := make([]metrics.Sample, len(memoryParts))
	for i := range samples {
		samples[i].Name = memoryParts[i]
	}
	metrics.Read(samples)
	for _, s := range samples {
		used += int64(s.Value.Uint64())
	}
	return used
}

// bound is the limit, 0 for none.
func (w *memoryWatch) bound() int64 {
	if w.limit == math.MaxInt64 {
		return 0
	}
	return w.limit
}

func (w *memoryWatch) measure() {
	used := memoryInUse()
	w.used.Store(used)
	switch {
	case float64(used) > shortShare*float64(w.limit):
		w.level.Store(memoryShort)
	case float64(used) > tightShare*float64(w.limit):
		w.level.Store(memoryTight)
	default:
		w.level.Store(memoryPlenty)
	}
}

func (w *memoryWatch) tight() bool { return w.level.Load() >= memoryTight }
func (w *memoryWatch) short() bool { return w.level.Load() >= memoryShort }

func (w *memoryWatch) stop() {
	if w.loop != nil {
		w.loop.Stop()
	}
}
