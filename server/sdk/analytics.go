package sdk

import (
	"math"
	"strconv"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// postAnalytics is POST /api/v1/analytics/flags/: {"feature name": count}.
// Unknown features and counts that are no integers of 32 bits are skipped.
func (s *SDK) postAnalytics(ctx *fasthttp.RequestCtx, _ *route.Match) {
	c, ok := s.enter(ctx, 0, false)
	if !ok {
		return
	}
	body, err := bodyOf(ctx)
	if err == nil && body.Kind != route.Object {
		err = route.NonField("Expected a JSON object.")
	}
	if err != nil {
		s.fail(ctx, err)
		return
	}
	labels := usageLabels(ctx)
	for _, m := range body.Members {
		if m.Value.Kind != route.Int {
			continue
		}
		if n, err := strconv.ParseInt(m.Value.Text, 10, 64); err == nil {
			s.countEvaluations(c, m.Name, labels, n)
		}
	}
	s.stamp(ctx, c.view, 0)
}

// countEvaluations skips counts beyond the 32 bits that the reference has for them: a few of them would make the sums wrap.
func (s *SDK) countEvaluations(c caller, name, labels string, n int64) {
	if n < math.MinInt32 || n > math.MaxInt32 {
		return
	}
	if i, ok := c.view.Engine.FeatureIndex(name); ok {
		s.Usage.Add(c.view.Environment.ID, fsm.UsageEvaluation, c.view.Features[i].Default.Feature.ID, labels, n)
	}
}

// usageLabels are what the client says of itself.
func usageLabels(ctx *fasthttp.RequestCtx) string {
	return fsm.UsageLabels(fsm.RequestClient(route.ClientOf(ctx)))
}

// analyticsInput is the body of POST /api/v2/analytics/flags/.
type analyticsInput struct {
	Evaluations []evaluationInput `json:"evaluations" v:"required"`
}

type evaluationInput struct {
	FeatureName        string                 `json:"feature_name" v:"required"`
	IdentityIdentifier route.Optional[string] `json:"identity_identifier" v:"max=2000"`
	Enabled            bool                   `json:"enabled_when_evaluated" v:"required"`
	Count              int64                  `json:"count" v:"required"`
}

// postAnalyticsV2 is POST /api/v2/analytics/flags/.
func (s *SDK) postAnalyticsV2(ctx *fasthttp.RequestCtx, m *route.Match) {
	c, ok := s.enter(ctx, 0, false)
	if !ok {
		return
	}
	in, err := s.analyticsBody.decode(ctx, m)
	if err != nil {
		s.fail(ctx, err)
		return
	}
	labels := usageLabels(ctx)
	for _, e := range in.Evaluations {
		s.countEvaluations(c, e.FeatureName, labels, e.Count)
	}
	s.stamp(ctx, c.view, 0)
	ctx.Response.SetStatusCode(fasthttp.StatusNoContent)
}

// postTelemetry takes what self-hosted installations of the reference report, and
// keeps nothing.
func (s *SDK) postTelemetry(*fasthttp.RequestCtx, *route.Match) {}
