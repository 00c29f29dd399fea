package sdk

import "github.com/valyala/fasthttp"

// expectIdentity is Row.Expect of POST /identities/: it begins to look up the identity that a body is about, in the
// environment of the key that the connection sends. What is read so is taken for nothing: the key and the body are
// looked at again, and may be of no use by then.
func (s *SDK) expectIdentity(ctx *fasthttp.RequestCtx) func(body []byte) {
	found, ok := s.Views.ByKey(ctx.Request.Header.PeekCanonical(keyHeader))
	if !ok {
		return nil
	}
	environment := found.Live.ID()
	return func(body []byte) {
		p := scanner{data: body}
		if !p.word(`{"identifier":`) {
			return
		}
		if identifier, ok := p.string(); ok {
			s.FSM.State().Identities().Environment(environment).Expect(identifier)
		}
	}
}
