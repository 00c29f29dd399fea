package server

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/server/route"
	"github.com/flagraft/flagraft/server/settings"
)

func TestBodiesAreBoundedTogether(t *testing.T) {
	now := time.Unix(0, 0)
	b := newBodies(3*bodyFactor<<20, time.Minute)
	b.clock = func() time.Time { return now }
	var h [5]fasthttp.RequestHeader
	require.True(t, b.admit(&h[0], smallBody))
	require.Zero(t, b.bytes(), "small bodies are not counted")
	for i := range 3 {
		require.True(t, b.admit(&h[i], 1<<20))
	}
	require.False(t, b.admit(&h[3], 1<<20))
	require.True(t, b.done(&h[3]), "it was refused")
	require.False(t, b.done(&h[3]))
	require.False(t, b.done(&h[0]))
	require.True(t, b.admit(&h[3], 1<<20), "there is room again")
	require.True(t, b.admit(&h[3], 1<<20), "the next request of the same connection")
	require.EqualValues(t, 3*bodyFactor<<20, b.bytes())
	now = now.Add(2 * time.Minute) // the clients went away while they sent
	require.True(t, b.admit(&h[4], 1<<20))
	require.EqualValues(t, bodyFactor<<20, b.bytes())
	require.True(t, b.done(&h[4]) == false && b.bytes() == 0)
	require.True(t, newBodies(1, time.Minute).admit(&h[0], 1<<20), "one is always taken")
}

func TestBudget(t *testing.T) {
	st := settings.Defaults()
	free := newBudget(st, math.MaxInt64, math.MaxInt64)
	require.EqualValues(t, st.MaxConnections, free.connections)
	require.EqualValues(t, st.MaxRequests, free.requests)
	tight := newBudget(st, 256<<20, math.MaxInt64)
	require.Less(t, tight.connections*(int64(st.MaxHeaderBytes)+connectionCost), int64(256<<20)/3)
	require.Less(t, tight.requests, int64(st.MaxRequests))
	require.Less(t, tight.bodies, free.bodies)
	require.EqualValues(t, 20_000-SpareDescriptors, newBudget(st, math.MaxInt64, 20_000).connections)
	require.EqualValues(t, 60, newBudget(st, math.MaxInt64, 120).connections, "half, where there are few")
	st.MaxWrites = 3
	require.EqualValues(t, 3, newBudget(st, 1<<40, math.MaxInt64).writes)
}

func TestGate(t *testing.T) {
	g := gate{limit: 2}
	require.True(t, g.enter(2))
	require.False(t, g.enter(1))
	g.leave(1)
	require.True(t, g.enter(1))
	require.True(t, (&gate{}).enter(1<<40))
}

func TestMemoryLimitSetting(t *testing.T) {
	for text, want := range map[string]int64{"512MiB": 512 << 20, "2GiB": 2 << 30, "16KiB": 16 << 10, "1000": 1000} {
		got, err := parseBytes(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "x", "-1", "0", "1TB", "99999999999GiB"} {
		_, err := parseBytes(text)
		require.Error(t, err, text)
	}
}

func TestShortMemoryShedsAllButWrites(t *testing.T) {
	w := newMemoryWatch(1) // one byte
	w.measure()
	require.True(t, w.short())
	require.True(t, w.tight())
	w.limit = math.MaxInt64
	w.measure()
	require.False(t, w.tight())
	w.limit = int64(float64(w.used.Load()) / 0.85)
	w.measure()
	require.True(t, w.tight())
	s := rawServer(t, func(ctx *fasthttp.RequestCtx, _ *route.Match) { ctx.Response.SetBodyString("[]") })
	s.memory.level.Store(memoryShort)
	ctx := request("/api/v1/flags/7/")
	s.handle(ctx)
	require.Equal(t, 503, ctx.Response.StatusCode())
	require.Equal(t, "1", string(ctx.Response.Header.Peek("Retry-After")))
	s.memory.level.Store(memoryTight)
	ctx = request("/api/v1/flags/7/")
	s.handle(ctx)
	require.Equal(t, 200, ctx.Response.StatusCode())
}
