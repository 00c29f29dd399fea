package load

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"
)

func serve(t *testing.T, h fasthttp.RequestHandler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &fasthttp.Server{Handler: h, MaxRequestBodySize: 16 << 20}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		require.NoError(t, s.Shutdown())
		_ = l.Close() // Shutdown does nothing when Serve has not begun, and Serve would accept for good
		require.NoError(t, <-done)
	})
	return l.Addr().String()
}

func get(dst []byte) []byte { return append(dst, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"...) }

func generate(t *testing.T, addr string, conns int, o Options) *Result {
	t.Helper()
	g, err := Dial(conns, addr)
	require.NoError(t, err)
	defer func() { require.NoError(t, g.Close()) }()
	r, err := g.Run(context.Background(), o)
	require.NoError(t, err)
	return r
}

func TestClosedLoopCountsEveryAnswer(t *testing.T) {
	var served atomic.Int64
	addr := serve(t, func(ctx *fasthttp.RequestCtx) {
		served.Add(1)
		ctx.SetBodyString(strings.Repeat("x", 50_000)) // more than one read
	})
	r := generate(t, addr, 7, Options{Source: get, Count: 500})
	require.NoError(t, r.Err())
	require.Equal(t, 500, r.Requests)
	require.EqualValues(t, 500, served.Load())
	require.EqualValues(t, 500, r.Latency.TotalCount())
	require.Greater(t, r.Bytes, int64(500*50_000))
	require.Positive(t, r.PerSecond())
}

func TestOpenLoopSendsWhatIsDue(t *testing.T) {
	addr := serve(t, func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("ok") })
	r := generate(t, addr, 4, Options{Source: get, Rate: 1000, Duration: 300 * time.Millisecond})
	require.NoError(t, r.Err())
	require.Equal(t, 300, r.Requests)
}

// A server that stalls once must be charged for all requests that fell due meanwhile.
func TestOpenLoopChargesAStallToEverybodyWhoWaited(t *testing.T) {
	const stall = 200 * time.Millisecond
	var n atomic.Int64
	addr := serve(t, func(ctx *fasthttp.RequestCtx) {
		if n.Add(1) == 1 {
			time.Sleep(stall)
		}
		ctx.SetBodyString("ok")
	})
	r := generate(t, addr, 1, Options{Source: get, Rate: 500, Duration: 250 * time.Millisecond})
	require.NoError(t, r.Err())
	require.Equal(t, 125, r.Requests)
	// 100 of the 125 fell due during the stall; half of them waited 100 ms and more.
	require.GreaterOrEqual(t, r.Quantile(60), stall/2)
}

// The only connection waits for an answer when a last request is due: the run may not pass.
func TestALastRequestThatIsNotSentFailsARun(t *testing.T) {
	answer := make(chan struct{})
	addr := serve(t, func(*fasthttp.RequestCtx) { <-answer })
	defer close(answer) // or the server would wait for its handler for good
	g, err := Dial(1, addr)
	require.NoError(t, err)
	defer func() { require.NoError(t, g.Close()) }()
	// Begun so long ago that the grace is over, with a request that was answered.
	const end, interval = 15, 10
	r := &run{g: g, o: Options{Source: get}, result: newResult(), start: time.Now().Add(-2 * grace), end: end, interval: interval, idle: []int{0}}
	r.result.Requests = 1
	require.NoError(t, r.loop(context.Background()))
	require.Equal(t, 1, r.sent)
	require.Equal(t, 1, r.result.Unsent)
	require.ErrorContains(t, r.result.Err(), "1 requests fell due")
}

func TestRefusalsFailARun(t *testing.T) {
	var n atomic.Int64
	addr := serve(t, func(ctx *fasthttp.RequestCtx) {
		switch n.Add(1) {
		case 3:
			ctx.Error("no such key", 403)
		case 4:
			ctx.SetStatusCode(204)
		case 5:
			ctx.Response.Header.Set("Flagraft-Traits-Persisted", "false")
		}
	})
	r := generate(t, addr, 1, Options{Source: get, Count: 10})
	require.Equal(t, map[int]int{403: 1}, r.Refused)
	require.Equal(t, 1, r.Unpersisted)
	require.ErrorContains(t, r.Err(), "1 answers with status 403")
	require.ErrorContains(t, r.Err(), "no such key")
	require.Equal(t, 10, r.Requests)
	require.Equal(t, 9, r.Done(), "what was not stored does not count as done")
}

// A run may be about another status than 2xx; then that one alone counts.
func TestWantedStatus(t *testing.T) {
	var n atomic.Int64
	addr := serve(t, func(ctx *fasthttp.RequestCtx) {
		if n.Add(1) != 2 {
			ctx.SetStatusCode(304)
		}
	})
	r := generate(t, addr, 1, Options{Source: get, Count: 3, Status: 304})
	require.Equal(t, map[int]int{200: 1}, r.Refused)
	require.Equal(t, 3, r.Requests)
}

func TestBigRequestsAreSentWhole(t *testing.T) {
	const size = 3 << 20 // beyond any socket buffer
	var wrong atomic.Int64
	addr := serve(t, func(ctx *fasthttp.RequestCtx) {
		if b := ctx.PostBody(); len(b) != size || b[0] != 'a' || b[size-1] != 'z' {
			wrong.Add(1)
		}
	})
	body := "a" + strings.Repeat("-", size-2) + "z"
	r := generate(t, addr, 3, Options{Count: 9, Source: func(dst []byte) []byte {
		return append(fmt.Appendf(dst, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", size), body...)
	}})
	require.NoError(t, r.Err())
	require.Equal(t, 9, r.Requests)
	require.Zero(t, wrong.Load())
}

func TestRunsOfOneGeneratorAndItsEnd(t *testing.T) {
	addr := serve(t, func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("ok") })
	g, err := Dial(2, addr)
	require.NoError(t, err)
	for range 2 {
		r, err := g.Run(context.Background(), Options{Source: get, Count: 20})
		require.NoError(t, err)
		require.Equal(t, 20, r.Requests)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = g.Run(ctx, Options{Source: get, Duration: time.Minute})
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, g.Close())
}

func TestClosedConnectionIsAnError(t *testing.T) {
	addr := serve(t, func(ctx *fasthttp.RequestCtx) { ctx.SetConnectionClose() })
	g, err := Dial(1, addr)
	require.NoError(t, err)
	defer func() { require.NoError(t, g.Close()) }()
	_, err = g.Run(context.Background(), Options{Source: get, Count: 2})
	require.ErrorContains(t, err, "load: ")
}
