package ofrep

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// UsageCounter counts requests; it is *[fsm.UsageCounter].
type UsageCounter interface {
	Request(environment uint64, kind fsm.UsageKind, client fsm.RequestClient)
}

// Config is what the endpoints are built of. FSM, Views and Usage are required.
type Config struct {
	FSM   *fsm.FSM
	Views *fsm.Views
	Usage UsageCounter

	// Ready reports whether this node has caught up once. nil: always.
	Ready func() bool
	// ReadIndex confirms the leadership and returns the index to wait for. nil:
	// linearizable answers are refused.
	ReadIndex func(ctx context.Context) (uint64, error)
	// Age returns how old this node's knowledge may be. nil: no header.
	Age func() time.Duration
	// Clock is the wall clock that key expiry is judged by. nil: time.Now.
	Clock func() time.Time
	// Node is the value of Flagraft-Node; empty: no header.
	Node string
	// ReadBudget is how long a request waits for the index it asks for. Zero: 2 s.
	ReadBudget time.Duration
	// Evaluated is told of every flag that was evaluated alone. nil: nobody is.
	Evaluated func(environment, feature uint64)
	// EventStream gives the path and query of the stream that announces changes of
	// an environment, by client-side key: message events with the JSON data
	// {"type": "refetchEvaluation", "etag": <index token>}. nil: no eventStreams.
	EventStream func(environmentKey string) string
}

// API holds the handlers.
type API struct {
	Config
	evaluations atomic.Uint64
}

// New makes the handlers.
func New(c Config) *API {
	if c.Ready == nil {
		c.Ready = func() bool { return true }
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.ReadBudget == 0 {
		c.ReadBudget = 2 * time.Second
	}
	if c.Evaluated == nil {
		c.Evaluated = func(uint64, uint64) {}
	}
	return &API{Config: c}
}

// Evaluations is how many contexts were evaluated.
func (a *API) Evaluations() uint64 { return a.evaluations.Load() }

// Rows are the routes of OFREP.
func (a *API) Rows() []route.Row {
	const path = "/ofrep/v1/evaluate/flags"
	faults := []int{400, 401, 403, 503} // in OFREP's shape
	return []route.Row{
		{Method: "POST", Path: path, OperationID: "ofrep_v1_evaluate_flags", Tag: "ofrep", Kind: route.Read, Auth: route.EnvironmentKey, Refusals: faults,
			Summary: "Evaluate all flags for an OpenFeature context.",
			Handler: route.Raw(a.postFlags, bulkRequest{}, bulkAnswer{})},
		{Method: "POST", Path: path + "/{key}", OperationID: "ofrep_v1_evaluate_flag", Tag: "ofrep", Kind: route.Read, Auth: route.EnvironmentKey, Refusals: append(faults, 404),
			Summary: "Evaluate one flag for an OpenFeature context.",
			Handler: route.Raw(a.postFlag, flagRequest{}, flagAnswer{})},
	}
}

// The types below only describe requests and answers in the API description.

type bulkRequest struct {
	Context contextInput `json:"context"`
}

type flagRequest struct {
	Key     string       `path:"key"`
	Context contextInput `json:"context"`
}

type contextInput struct {
	TargetingKey string `json:"targetingKey"`
}

type bulkAnswer struct {
	Flags        []flagAnswer `json:"flags"`
	EventStreams []stream     `json:"eventStreams,omitempty"`
}

type stream struct {
	Type     string `json:"type"`
	Endpoint struct {
		RequestURI string `json:"requestUri"`
	} `json:"endpoint"`
	InactivityDelay int `json:"inactivityDelaySec"`
}

type flagAnswer struct {
	Key      string `json:"key"`
	Reason   string `json:"reason"`
	Variant  string `json:"variant"`
	Metadata struct {
		Enabled bool  `json:"enabled"`
		Feature int64 `json:"featureId"`
	} `json:"metadata"`
	Value any `json:"value,omitempty"`
}

// postFlag is POST /ofrep/v1/evaluate/flags/{key}.
func (a *API) postFlag(ctx *fasthttp.RequestCtx, m *route.Match) {
	key := m.Decoded(0)
	c, fault := a.enter(ctx)
	if fault != nil {
		fault.write(ctx, key)
		return
	}
	who, fault := a.person(ctx, c)
	if fault != nil {
		fault.write(ctx, key)
		return
	}
	a.stamp(ctx, c.view)
	i, ok := c.view.Engine.FeatureIndex(key)
	if !ok {
		notFound.write(ctx, key)
		return
	}
	chosen := a.evaluation(c, who).one(i)
	if !chosen.visible(c) {
		notFound.write(ctx, key)
		return
	}
	a.Evaluated(c.view.Environment.ID, chosen.Feature.ID)
	ctx.Response.Header.SetContentType(jsonType)
	ctx.Response.SetBodyRaw(chosen.append(nil))
}

// postFlags is POST /ofrep/v1/evaluate/flags.
func (a *API) postFlags(ctx *fasthttp.RequestCtx, _ *route.Match) {
	c, fault := a.enter(ctx)
	if fault != nil {
		fault.write(ctx, "")
		return
	}
	who, fault := a.person(ctx, c)
	if fault != nil {
		fault.write(ctx, "")
		return
	}
	a.stamp(ctx, c.view)
	body := a.bulk(c, who)
	tag := tagOf(body, who)
	ctx.Response.Header.Set(fasthttp.HeaderETag, tag)
	if matches(ctx.Request.Header.Peek(fasthttp.HeaderIfNoneMatch), tag) {
		ctx.Response.SetStatusCode(fasthttp.StatusNotModified)
		return
	}
	ctx.Response.Header.SetContentType(jsonType)
	ctx.Response.SetBodyRaw(body)
}

// bulk renders all flags the caller may see.
func (a *API) bulk(c caller, who person) []byte {
	dst := append(make([]byte, 0, 4096), `{"flags":[`...)
	first := true
	for _, chosen := range a.evaluation(c, who).all() {
		if !chosen.visible(c) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = chosen.append(dst)
	}
	dst = append(dst, ']')
	if a.EventStream != nil {
		dst = append(dst, `,"eventStreams":[{"type":"sse","endpoint":{"requestUri":`...)
		dst = route.AppendString(dst, a.EventStream(c.view.Environment.APIKey))
		dst = append(dst, `},"inactivityDelaySec":120}]`...)
	}
	return append(dst, '}')
}
