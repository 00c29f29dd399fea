package sdk

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/route"
)

// lateWrites holds every write back until released, longer than its handler waits.
type lateWrites struct {
	IdentityWriter
	release chan struct{}
	done    chan error
}

func (w *lateWrites) Write(ctx context.Context, ops []identity.Op) (uint64, []identity.Result, error) {
	go func() {
		<-w.release
		_, _, err := w.IdentityWriter.Write(context.Background(), ops)
		w.done <- err
	}()
	<-ctx.Done()
	return 0, nil, ctx.Err()
}

// poison overwrites everything a RequestCtx lent to its handler.
func poison(ctx *fasthttp.RequestCtx) {
	for _, b := range [][]byte{
		ctx.Request.Body(), ctx.Request.Header.RequestURI(), ctx.Request.Header.RawHeaders(), ctx.QueryArgs().QueryString(),
		ctx.QueryArgs().Peek("identifier"), ctx.URI().PathOriginal(), ctx.URI().QueryString(), ctx.Request.Header.Peek("X-Environment-Key"),
	} {
		for i := range b {
			b[i] = '#'
		}
	}
	body := ctx.Response.SwapBody(nil)
	for i := range body[:cap(body)] {
		body[:cap(body)][i] = '#'
	}
}

func TestNothingBorrowedOutlivesItsHandler(t *testing.T) {
	var w *lateWrites
	h := newHouse(t, func(c *Config) {
		w = &lateWrites{c.Identities, make(chan struct{}), make(chan error, 16)}
		c.Identities, c.PersistBudget, c.WriteBudget = w, time.Millisecond, time.Millisecond
	})
	f, _ := h.segmentless("f")
	requests := []struct{ method, uri, body string }{
		{"POST", "/api/v1/identities/", `{"identifier":"plain","traits":[{"trait_key":"k","trait_value":"v"},{"trait_key":"x","trait_value":1.50}]}`},
		{"POST", "/api/v1/identities/", `{"identifier":"escap\u0065d","traits":[{"trait_key":"k","trait_value":"v"}],"more":1}`},
		{"GET", "/api/v1/identities/?identifier=query", ""},
		{"GET", "/api/v1/identities/path/", ""},
		{"GET", "/api/v1/flags/oldpath", ""},
		{"POST", "/api/v1/identities/deep/traits/k", `{"trait_value":"v"}`},
		{"POST", "/api/v1/traits/", `{"identity":{"identifier":"one"},"trait_key":"k","trait_value":"v"}`},
		{"PUT", "/api/v1/traits/bulk/", `[{"identity":{"identifier":"many"},"trait_key":"k","trait_value":"v"}]`},
		{"POST", "/api/v1/traits/increment-value/", `{"identifier":"count","trait_key":"k","increment_by":3}`},
		{"POST", "/api/v1/bulk-identities", `{"data":[{"identifier":"bulk","traits":[{"trait_key":"k","trait_value":"v"}]}]}`},
		{"POST", "/api/v1/analytics/flags/", `{"f":3}`},
		{"GET", "/api/v1/flags/", ""},
	}
	for _, r := range requests {
		ctx := &fasthttp.RequestCtx{}
		ctx.Request.Header.SetMethod(r.method)
		ctx.Request.SetRequestURI(r.uri)
		ctx.Request.Header.Set("X-Environment-Key", clientKey)
		ctx.Request.Header.SetContentType("application/json")
		ctx.Request.SetBodyString(r.body)
		var m route.Match
		require.True(t, h.table.Lookup(ctx.Method(), ctx.URI().PathOriginal(), &m))
		m.Row.Handler.(route.RawHandler).ServeRaw(ctx, &m)
		poison(ctx)
	}
	close(w.release)
	for range len(requests) - 2 { // all but the last two write
		require.NoError(t, <-w.done)
	}
	store := h.FSM.State().Identities().Environment(h.env.ID)
	have := map[string]string{}
	store.All(func(r identity.Record) bool {
		list := ""
		for it := r.Traits(); it.Next(); {
			list += it.Key() + "=" + string(it.Value()) + " "
		}
		have[string(r.Identifier())] = list
		return true
	})
	require.Equal(t, map[string]string{
		"plain": `k="v" x=1.5 `, "escaped": `k="v" `, "query": "", "path": "", "oldpath": "", "deep": `k="v" `,
		"one": `k="v" `, "many": `k="v" `, "count": `k=3 `, "bulk": `k="v" `,
	}, have)
	require.Contains(t, h.get("flags/").body, f.Name)
	require.NotContains(t, h.get("flags/").body, "#")
	require.NotContains(t, h.get("identities/?identifier=plain").body, "#")
}
