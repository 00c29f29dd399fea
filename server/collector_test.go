package server

import (
	"context"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/cluster/actor"
)

func TestRoomForTheCollector(t *testing.T) {
	const mb = 1 << 20
	for name, c := range map[string]struct {
		share   float64
		percent uint64
		live    uint64
		want    int
	}{
		"nothing to do":                {0, 100, 10 * mb, 100},
		"its share":                    {collectShare, 100, 10 * mb, 100},
		"twice its share":              {2 * collectShare, 100, 10 * mb, 200},
		"still twice its share":        {2 * collectShare, 200, 10 * mb, 400},
		"less than with more room":     {collectShare / 2, 400, 10 * mb, 200},
		"as much as there may be":      {0.9, 100, 64 * mb, 400},
		"more is alive than it may be": {0.5, 100, 512 * mb, collectPercent},
		"next to nothing is alive":     {1, 1 << 19, 0, maxPercent},
	} {
		since := collections{spent: 7, of: 70}
		now := collections{spent: 7 + 100*c.share, of: 170, percent: c.percent, live: c.live}
		require.InDelta(t, c.want, now.room(since, 100), 1, name)
	}
}

func TestCollectorGetsRoomAndGivesItBack(t *testing.T) {
	base := int(readCollections().percent)
	percent := func() int { return int(readCollections().percent) }
	loop := actor.Go(func(ctx context.Context) { paceCollector(ctx, time.Millisecond, func() int { return 0 }) })
	defer loop.Stop()

	alive := make([]*[16]*int, 1<<18) // 32 MB of pointers
	for i := range alive {
		alive[i] = new([16]*int)
	}
	for n := 0; percent() <= base; n++ {
		alive[n%len(alive)] = new([16]*int)
	}
	require.Eventually(t, func() bool { return percent() == base }, time.Minute, time.Millisecond, "nothing is collected any more")

	for n := 0; percent() <= base; n++ {
		alive[n%len(alive)] = new([16]*int)
	}
	loop.Stop()
	require.Equal(t, base, percent())
}

func TestCollectorHasLessRoomDuringSnapshots(t *testing.T) {
	base := int(readCollections().percent)
	percent := func() int { return int(readCollections().percent) }
	var frozen atomic.Int64
	loop := actor.Go(func(ctx context.Context) {
		paceCollector(ctx, time.Millisecond, func() int { return int(frozen.Load()) })
	})
	defer loop.Stop()
	frozen.Store(1)
	require.Eventually(t, func() bool { return percent() == collectFrozen }, time.Minute, time.Millisecond)
	frozen.Store(0)
	require.Eventually(t, func() bool { return percent() == base }, time.Minute, time.Millisecond)
}

func TestCollectorThatIsOffStaysOff(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	paceCollector(t.Context(), time.Millisecond, func() int { return 1 }) // returns
}
