//go:build !race

package server

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/server/route"
)

// Not with the race detector, which makes pools forget.
func TestRequestsOfAKnownHeadDoNotAllocate(t *testing.T) {
	body := bytes.Repeat([]byte("b"), 16<<10)
	s := hotServer(t, func(ctx *fasthttp.RequestCtx, _ *route.Match) { ctx.Response.SetBodyRaw(body) })
	c := serving(t, s)
	c.warm(t)
	request, buf := []byte(hotPost("x")), make([]byte, 64<<10)
	require.Zero(t, testing.AllocsPerRun(500, func() {
		_, _ = c.Write(request)
		for n := 0; n < len(body); {
			m, _ := c.Read(buf)
			n += m
		}
	}))
}
