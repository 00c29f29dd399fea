package admin

import (
	"context"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// Admit authenticates and authorises a request to a raw row as [API.Serve] does to a typed one. It returns who asks, or the refusal.
func (a *API) Admit(ctx context.Context, m *route.Match, req *route.Request) (fsm.Author, error) {
	c := a.newCtx(route.NewCall(ctx, m, req), a.FSM.State(), nil)
	if err := c.admit(); err != nil {
		return fsm.Author{}, err
	}
	return c.Principal.Author(), nil
}
