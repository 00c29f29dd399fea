package admin

import (
	"context"
	"crypto/subtle"

	"github.com/flagraft/flagraft/server/route"
)

// throttled is the refusal of rows whose permission limits requests.
var throttled = []int{429}

// Limit counts a request under key and refuses it with 429 beyond so many a minute; 0 is no limit. Writes all run on the leader, which
// counts the cluster's; what every node answers is counted by each, and the limit is shared between the ready ones. It is for permissions:
// a write is counted before its transaction, once.
func (c *Ctx) Limit(key string, perMinute int) error {
	if c.Tx != nil || c.Env.exempt(c.Request) {
		return nil
	}
	if c.Row.Kind != route.Write {
		perMinute = c.Env.share(perMinute)
	}
	return c.Env.Throttle.Allow(key, perMinute)
}

// CountRequest holds accounts and organisation keys to the limit of the whole admin API, on the node that got the request from its client.
func (a *API) CountRequest(ctx context.Context, m *route.Match, req *route.Request) error {
	limit := a.Env.Options.AdminPerMinute
	if limit == 0 || m.Row.Auth == route.None || a.Env.exempt(req) {
		return nil
	}
	c := a.newCtx(route.NewCall(ctx, m, req), a.FSM.State(), nil)
	p, err := c.credentials()
	if err != nil || p.Anonymous() {
		return nil // refused anyway
	}
	return a.Env.Throttle.Allow("admin:"+p.Scope(), a.Env.share(limit))
}

// share is this node's part of a limit of the cluster.
func (e *Env) share(limit int) int {
	nodes := 1
	if e.ReadyNodes != nil {
		nodes = max(1, e.ReadyNodes())
	}
	return (limit + nodes - 1) / nodes
}

// exempt recognises the front end's own tests.
func (e *Env) exempt(req *route.Request) bool {
	token := e.Options.E2EToken
	return token != "" && subtle.ConstantTimeCompare([]byte(req.Header("X-E2E-Test-Auth-Token")), []byte(token)) == 1
}
