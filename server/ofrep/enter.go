package ofrep

import (
	"bytes"
	"context"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm"
)

// caller is an authenticated request: what it looks at and how.
type caller struct {
	view   *fsm.View
	server bool // a server-side key
}

// enter authenticates a request, waits for what it wants to see and loads the View.
func (a *API) enter(ctx *fasthttp.RequestCtx) (caller, *fault) {
	key := environmentKey(&ctx.Request.Header)
	if len(key) == 0 {
		return caller{}, noKey
	}
	found, ok := a.Views.ByKey(key)
	switch {
	case !ok && (!a.FSM.State().Born() || !a.Ready()):
		return caller{}, noState
	case !ok:
		return caller{}, unknownKey
	case found.Server && !found.Usable(fsm.TimeOf(a.Clock())):
		return caller{}, unusable
	}
	if f := a.await(ctx, found.Live); f != nil {
		return caller{}, f
	}
	view := found.Live.View()
	if view == nil {
		a.reach(a.FSM.State().Index, found.Live)
		if view = found.Live.View(); view == nil {
			return caller{}, noState
		}
	}
	if !view.Organisation.Serves() {
		return caller{}, stopped
	}
	return caller{view: view, server: found.Server}, nil
}

// environmentKey is X-Environment-Key, or the token of a Bearer authorization.
func environmentKey(h *fasthttp.RequestHeader) []byte {
	if key := h.Peek("X-Environment-Key"); len(key) > 0 {
		return key
	}
	scheme, token, _ := bytes.Cut(bytes.TrimSpace(h.Peek(fasthttp.HeaderAuthorization)), []byte{' '})
	if !bytes.EqualFold(scheme, []byte("Bearer")) {
		return nil
	}
	return bytes.TrimSpace(token)
}

// await honours Flagraft-Consistency and Flagraft-Min-Index. A flagConfigEtag is
// only waited for: the stream announces a change again when all nodes have it.
func (a *API) await(ctx *fasthttp.RequestCtx, l *fsm.Live) *fault {
	epoch := a.FSM.State().Genesis.Epoch
	if seen := ctx.QueryArgs().Peek("flagConfigEtag"); len(seen) > 0 {
		a.reach(minIndex(bytes.Trim(seen, `"`), epoch), l)
	}
	h := &ctx.Request.Header
	index := uint64(0)
	switch level := string(h.Peek("Flagraft-Consistency")); level {
	case "local":
	case "", "min-index":
		index = minIndex(h.Peek("Flagraft-Min-Index"), epoch)
	case "linearizable":
		wait, cancel := context.WithTimeout(context.Background(), a.ReadBudget)
		defer cancel()
		if a.ReadIndex == nil {
			return noLeader
		}
		var err error
		if index, err = a.ReadIndex(wait); err != nil {
			return noLeader
		}
	default:
		return badLevel
	}
	if !a.reach(index, l) {
		return behind
	}
	return nil
}

// reach waits until the environment's View shows an index; 0 is always there.
func (a *API) reach(index uint64, l *fsm.Live) bool {
	if index == 0 {
		return true
	}
	wait, cancel := context.WithTimeout(context.Background(), a.ReadBudget)
	defer cancel()
	return a.Views.Wait(wait, index, l.ID()) == nil
}

// minIndex reads a token "<epoch>-<index>"; one of another epoch, or none, is 0.
func minIndex(token []byte, epoch string) uint64 {
	have, digits, ok := bytes.Cut(token, []byte{'-'})
	if !ok || string(have) != epoch {
		return 0
	}
	n, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// stamp sets the headers that every answer from a View carries.
func (a *API) stamp(ctx *fasthttp.RequestCtx, view *fsm.View) {
	h := &ctx.Response.Header
	h.SetBytesV("Flagraft-Index", view.IndexToken)
	if a.Age != nil {
		h.Set("Flagraft-Age", strconv.FormatInt(int64(a.Age()/time.Millisecond), 10))
	}
	if a.Node != "" {
		h.Set("Flagraft-Node", a.Node)
	}
}
