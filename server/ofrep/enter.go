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
	index, f := a.asked(&ctx.Request.Header) // before the key is looked up, which may be as new
	if f != nil {
		return caller{}, f
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
	// A flagConfigEtag is only waited for: the stream announces a change again when all nodes have it.
	if seen := ctx.QueryArgs().Peek("flagConfigEtag"); len(seen) > 0 {
		a.reach(fsm.ReadIndexToken(string(bytes.Trim(seen, `"`)), a.FSM.State().Genesis.Epoch), found.Live.ID())
	}
	if !a.reach(index, found.Live.ID()) {
		return caller{}, behind
	}
	view := found.Live.View()
	if view == nil {
		a.reach(a.FSM.State().Index, found.Live.ID())
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

// asked waits until this node has applied what Flagraft-Consistency and
// Flagraft-Min-Index ask for, and returns the index that the View is to show; 0: any.
func (a *API) asked(h *fasthttp.RequestHeader) (index uint64, f *fault) {
	switch level := string(h.Peek("Flagraft-Consistency")); level {
	case "local":
	case "", "min-index":
		index = fsm.ReadIndexToken(string(h.Peek("Flagraft-Min-Index")), a.FSM.State().Genesis.Epoch)
	case "linearizable":
		wait, cancel := context.WithTimeout(context.Background(), a.ReadBudget)
		defer cancel()
		if a.ReadIndex == nil {
			return 0, noLeader
		}
		var err error
		if index, err = a.ReadIndex(wait); err != nil {
			return 0, noLeader
		}
	default:
		return 0, badLevel
	}
	if !a.reach(index) {
		return 0, behind
	}
	return index, nil
}

// reach waits until an index is applied here and shown by the Views of environments; 0 is always there.
func (a *API) reach(index uint64, environments ...uint64) bool {
	if index == 0 {
		return true
	}
	wait, cancel := context.WithTimeout(context.Background(), a.ReadBudget)
	defer cancel()
	return a.Views.Wait(wait, index, environments...) == nil
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
