package admin

import (
	"context"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// Admit authenticates and authorises a request to a raw row as [API.Serve] does to a typed one. It returns who asks, or the refusal.
func (a *API) Admit(ctx context.Context, m *route.Match, req *route.Request) (fsm.Author, error) {
	state := a.FSM.State()
	if !state.Born() { // it knows no token, which says nothing of this one
		return fsm.Author{}, route.Unavailable(route.MsgNoState, 1)
	}
	c := a.newCtx(route.NewCall(ctx, m, req), state, nil)
	if err := c.admit(); err != nil {
		return fsm.Author{}, err
	}
	return c.Principal.Author(), nil
}
