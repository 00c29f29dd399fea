package sdk

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"
)

// TestExpectIdentity: whatever a body is, looking ahead at it changes nothing and needs no memory.
func TestExpectIdentity(t *testing.T) {
	h := newHouse(t)
	var ctx fasthttp.RequestCtx
	ctx.Request.Header.Set("X-Environment-Key", "unknown")
	require.Nil(t, h.sdk.expectIdentity(&ctx))
	ctx.Request.Header.Set("X-Environment-Key", clientKey)
	expect := h.sdk.expectIdentity(&ctx)
	bodies := []string{"", "{", `{"identifier":`, `{"identifier":"`, `{"identifier":null}`, `{"identifier":"\u0000"}`, `{"identifier":""}`, `{"identifier":"bob"}`, `{"identifier":"nobody","traits":[]}`, `[]`}
	all := func() {
		for _, body := range bodies {
			expect([]byte(body))
		}
	}
	all() // nobody is stored
	h.post("identities/", `{"identifier":"bob"}`)
	before := h.sdk.FSM.State().Index
	all()
	require.Equal(t, before, h.sdk.FSM.State().Index)
	body := []byte(`{"identifier":"bob"}`)
	require.Zero(t, testing.AllocsPerRun(100, func() { expect(body) }))
}
