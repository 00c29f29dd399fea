package sdk

import (
	"strconv"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// getOptions is GET /flags/{feature_id}/multivariate-options/. The reference does
// not list HEAD for this one.
func (s *SDK) getOptions(ctx *fasthttp.RequestCtx, m *route.Match) {
	ctx.Response.Header.Set(fasthttp.HeaderAllow, "GET, OPTIONS")
	c, ok := s.enter(ctx, fsm.UsageFlags, false)
	if !ok {
		return
	}
	f := servedFeature(c, m.Decoded(0))
	if f == nil {
		s.fail(ctx, route.NotFound("Feature"))
		return
	}
	dst := f.Default.State.Value.AppendJSON([]byte(`{"control_value":`))
	dst = append(dst, `,"options":[`...)
	first := true
	for o := range fsm.MultivariateOptionsByFeature.Refs(c.view.State, f.Default.Feature.ID) {
		dst = o.Value.AppendJSON(append(comma(dst, &first), `{"value":`...))
		dst = append(dst, '}')
	}
	s.stamp(ctx, c.view, 0)
	ctx.Response.Header.SetContentTypeBytes(jsonType)
	ctx.Response.SetBodyRaw(append(dst, "]}"...))
}

func servedFeature(c caller, id string) *fsm.ServedFeature {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return nil
	}
	for i := range c.view.Features {
		if f := &c.view.Features[i]; f.Default.Feature.ID == n && (c.server || !f.Default.Feature.IsServerKeyOnly) {
			return f
		}
	}
	return nil
}
