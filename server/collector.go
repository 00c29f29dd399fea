package server

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/flagraft/flagraft/cluster/actor"
)

// What a byte costs the garbage collector is the work of a collection over the room that
// the heap has until the next one, and Go gives it as much room as is alive. That is plenty
// for identities, which have hardly a pointer. Rows and Views are full of them: with 64
// writers of admin requests half of a node's CPU went to collecting.
const (
	collectShare   = 0.05      // of the processors may go to collecting before there is more room
	collectRoom    = 256 << 20 // bytes that it may be then
	collectPercent = 200       // of what is alive, if that is more
	collectFrozen  = 50        // of what is alive, while a snapshot is written, if collecting takes less than its share
	collectEvery   = time.Second
	collectQuiet   = 3 // looks without a collection, after which the room is taken back
)

// collections is what the runtime knew after its last collection.
type collections struct {
	count     uint64
	spent, of float64 // CPU seconds for collecting, and those there were
	live      uint64  // bytes
	percent   uint64  // GOGC
}

func readCollections() collections {
	s := []metrics.Sample{
		{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/total:cpu-seconds"},
		{Name: "/gc/heap/live:bytes"}, {Name: "/gc/gogc:percent"},
	}
	metrics.Read(s)
	return collections{s[0].Value.Uint64(), s[1].Value.Float64(), s[2].Value.Float64(), s[3].Value.Uint64(), s[4].Value.Uint64()}
}

// A snapshot keeps what is replaced while it is written, and takes its time over it. What else may lie about is halved
// meanwhile: collecting identities is cheap.

// PaceCollector gives the garbage collector of this process more room while it has much to
// do, and less while frozen tells of snapshots, until the loop it returns is stopped. GOGC is what there is at least
// otherwise; with GOGC=off nothing is done. A memory limit holds as ever: near it the runtime collects regardless.
func PaceCollector(frozen func() int) *actor.Loop {
	return actor.Go(func(ctx context.Context) { paceCollector(ctx, collectEvery, frozen) })
}

func paceCollector(ctx context.Context, every time.Duration, frozen func() int) {
	last := readCollections()
	if last.percent > maxPercent {
		return // off
	}
	usual := int(last.percent)
	defer debug.SetGCPercent(usual)
	tick := time.NewTicker(every)
	defer tick.Stop()
	base := usual
	for quiet := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		was := base
		if base = usual; frozen() > 0 {
			base = min(usual, collectFrozen)
		}
		now := readCollections()
		percent := base
		switch {
		case now.count != last.count:
			percent = now.room(last, base)
			last, quiet = now, 0
		case base == was && quiet < collectQuiet:
			quiet++
			continue
		}
		if !near(percent, int(now.percent)) {
			debug.SetGCPercent(percent)
		}
	}
}

// maxPercent is beyond what anybody sets; the runtime says "off" with more.
const maxPercent = 1 << 20

// room is the GOGC with which collecting takes its share, going by what it took since.
func (c collections) room(since collections, base int) int {
	share := (c.spent - since.spent) / max(c.of-since.of, 1e-9)
	most := min(max(100*collectRoom/max(c.live, 1), collectPercent), maxPercent)
	return max(base, min(int(float64(c.percent)*share/collectShare), int(most)))
}

// near says that a change is not worth stopping the world for.
func near(a, b int) bool { return a == b || 10*max(a-b, b-a) < b }
