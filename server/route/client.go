package route

import "github.com/valyala/fasthttp"

var (
	agentHeader       = []byte("Flagsmith-Sdk-User-Agent") // as fasthttp spells it
	applicationHeader = []byte("Flagsmith-Application-Name")
	versionHeader     = []byte("Flagsmith-Application-Version")
)

// Client is what an SDK says of itself and of its application. The slices are the request's.
type Client struct{ Application, Version, Agent []byte }

// ClientOf reads the headers that SDKs send.
func ClientOf(ctx *fasthttp.RequestCtx) Client {
	h := &ctx.Request.Header
	agent := h.PeekCanonical(agentHeader)
	if len(agent) == 0 { // only browsers need it
		agent = h.UserAgent()
	}
	return Client{Application: h.PeekCanonical(applicationHeader), Version: h.PeekCanonical(versionHeader), Agent: agent}
}
