package admin

import (
	"context"

	"github.com/flagraft/flagraft/server/route"
)

// Admit authenticates and authorises a request to a raw row as [API.Serve] does to a typed one. It returns the refusal, or nil.
func (a *API) Admit(ctx context.Context, m *route.Match, req *route.Request) error {
	return a.newCtx(route.NewCall(ctx, m, req), a.FSM.State(), nil).admit()
}
