package sdk

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// profile fills the environment with the load profile: 50 features, 15 segments
// of 15 conditions that override each of them.
func (h *house) profile(variants bool) {
	h.Write(h.t, func(tx *fsm.Tx) error {
		var features []fsm.Feature
		for i := range 50 {
			f := fsm.Feature{Name: fmt.Sprint("feature_", i), Project: h.proj.ID, Type: fsm.Standard, CreatedDate: at}
			state := fsm.FeatureState{Environment: h.env.ID, Enabled: i%2 == 0, Value: str(fmt.Sprint("value-", i))}
			if variants {
				f.Type = fsm.Multivariate
			}
			f = fsm.Features.Put(tx, f)
			state.Feature = f.ID
			if variants {
				o := fsm.MultivariateOptions.Put(tx, fsm.MultivariateOption{Feature: f.ID, Value: str("variant")})
				state.Multivariate = []fsm.MultivariateValue{{ID: tx.NextMultivariateValueID(), Option: o.ID, Percentage: 50}}
			}
			fsm.FeatureStates.Put(tx, state)
			features = append(features, f)
		}
		for s := range 15 {
			rule := fsm.SegmentRule{Type: "ALL"}
			for c := range 15 {
				property, value := fmt.Sprint("trait_", c), fmt.Sprintf("segment_%d_value_%d", s, c)
				rule.Conditions = append(rule.Conditions, fsm.Condition{Operator: "EQUAL", Property: &property, Value: &value})
			}
			g := fsm.Segments.Put(tx, fsm.Segment{Name: fmt.Sprint("segment_", s), Project: h.proj.ID, Rules: []fsm.SegmentRule{{Type: "ALL", Rules: []fsm.SegmentRule{rule}}}})
			for _, f := range features {
				link := fsm.FeatureSegments.Put(tx, fsm.FeatureSegment{Feature: f.ID, Segment: g.ID, Environment: h.env.ID, Priority: int64(s)})
				fsm.FeatureStates.Put(tx, fsm.FeatureState{
					Feature: f.ID, Environment: h.env.ID, FeatureSegment: link.ID, Enabled: true, Value: str(fmt.Sprint("segment ", s)),
				})
			}
		}
		return nil
	})
}

// profileBody is a POST /identities/ with 15 traits that match segment 7.
func profileBody(identifier string) string {
	var items []string
	for c := range 15 {
		items = append(items, fmt.Sprintf(`{"trait_key":"trait_%d","trait_value":"segment_7_value_%d"}`, c, c))
	}
	return fmt.Sprintf(`{"identifier":"%s","traits":[%s]}`, identifier, strings.Join(items, ","))
}

// request makes a reusable call of one handler, as the server makes it for each
// request of a connection.
func (h *house) request(method, uri, body string) func() *fasthttp.RequestCtx {
	ctx := &fasthttp.RequestCtx{}
	ctx.Request.Header.SetMethod(method)
	ctx.Request.SetRequestURI(uri)
	ctx.Request.Header.Set("X-Environment-Key", clientKey)
	ctx.Request.Header.SetContentType("application/json")
	ctx.Request.SetBodyString(body)
	path := []byte("/" + strings.Trim(uri, "/") + "/")
	var m route.Match
	return func() *fasthttp.RequestCtx {
		ctx.Response.Reset()
		if !h.table.Lookup(ctx.Method(), path, &m) {
			panic("no row")
		}
		m.Row.Handler.(route.RawHandler).ServeRaw(ctx, &m)
		return ctx
	}
}

func TestHotPathsDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	for _, variants := range []bool{false, true} {
		h := newHouse(t)
		h.profile(variants)
		flags := h.request("GET", "/api/v1/flags/", "")
		identify := h.request("POST", "/api/v1/identities/", profileBody("user-1"))
		require.Equal(t, 200, flags().Response.StatusCode())
		require.Contains(t, string(identify().Response.Body()), `"feature_state_value":"segment 7"`)
		w := bufio.NewWriterSize(io.Discard, 64<<10)
		send := func(ctx *fasthttp.RequestCtx) { ctx.Response.Write(w); w.Reset(io.Discard) }
		require.Zero(t, testing.AllocsPerRun(200, func() { send(flags()) }), "GET /flags/")
		require.Zero(t, testing.AllocsPerRun(200, func() { send(identify()) }), "POST /identities/")
	}
}

func BenchmarkFlags(b *testing.B) {
	h := newHouse(b)
	h.profile(false)
	run := h.request("GET", "/api/v1/flags/", "")
	b.ReportAllocs()
	for b.Loop() {
		run()
	}
}

func BenchmarkIdentify(b *testing.B) {
	for name, variants := range map[string]bool{"standard": false, "multivariate": true} {
		b.Run(name, func(b *testing.B) {
			h := newHouse(b)
			h.profile(variants)
			run := h.request("POST", "/api/v1/identities/", profileBody("user-1"))
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
}

// BenchmarkIdentifyStores has each request change a trait, which is stored before it is answered.
func BenchmarkIdentifyStores(b *testing.B) {
	h := newHouse(b)
	h.profile(false)
	one := h.request("POST", "/api/v1/identities/", profileBody("user-1"))
	other := h.request("POST", "/api/v1/identities/", strings.Replace(profileBody("user-1"), "segment_7_value_0", "segment_8_value_0", 1))
	b.ReportAllocs()
	for b.Loop() {
		one()
		other()
	}
}

// BenchmarkIdentifyMany asks for identities at random, so that what is stored is
// not in the processor's caches.
func BenchmarkIdentifyMany(b *testing.B) {
	const many = 100_000
	h := newHouse(b)
	h.profile(false)
	run := h.request("POST", "/api/v1/identities/", profileBody("user-000000"))
	body := run().Request.Body()
	number := body[bytes.IndexByte(body, '0'):][:6]
	for i := range many {
		copy(number, fmt.Sprintf("%06d", i))
		run()
	}
	random := rand.New(rand.NewPCG(1, 2))
	for b.Loop() {
		n := random.IntN(many)
		for i := range number {
			number[len(number)-1-i], n = byte('0'+n%10), n/10
		}
		run()
	}
}

func BenchmarkScan(b *testing.B) {
	body := []byte(profileBody("user-1"))
	sc := newScratch()
	b.ReportAllocs()
	for b.Loop() {
		sc.in.reset()
		if !sc.scan(body) {
			b.Fatal("not plain")
		}
	}
}
