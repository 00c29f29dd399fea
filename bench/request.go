package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/bench/inside"
	"github.com/flagraft/flagraft/bench/seed"
	"github.com/flagraft/flagraft/eval"
	"github.com/flagraft/flagraft/server"
)

// What one request costs without a socket.
const (
	nameRequest    = "request"
	nameEvaluation = "evaluation"

	whatRequest     = "POST /identities/ in the handler, traits unchanged, random identities"
	whatFlags       = "GET /flags/ in the handler"
	whatAllocs      = ": objects allocated"
	whatEvaluation  = "evaluation, %d flags, %d segments with %d conditions"
	whatHashes      = "evaluation, 50 multivariate flags, 15 percentage segments"
	whatWithFilling = ", with the identity taken in"
)

// request measures requests and evaluations in this process, on a node with the profile's identities.
func (b *bench) request(ctx context.Context, dir string) error {
	if !b.wants(nameRequest, nameEvaluation) {
		return nil
	}
	return inProcess(ctx, dir, 1, b.requestOn)
}

func (b *bench) requestOn(ctx context.Context, c *inside.Cluster) error {
	project, err := b.Profile.Project(ctx, c.Client(0), "bench")
	if err != nil {
		return err
	}
	requests, node := b.Profile.Requests(project.EnvironmentKey), c.Nodes[0]
	if b.wants(nameEvaluation) {
		if err := b.evaluations(node, project.EnvironmentKey); err != nil {
			return err
		}
	}
	if !b.wants(nameRequest) {
		return nil
	}
	if err := b.fill(ctx, insideOf(c), requests); err != nil {
		return err
	}
	flags, err := read(requests.Flags()(nil))
	if err != nil {
		return err
	}
	if err := b.handled(whatFlags, node, func() *fasthttp.RequestCtx { return flags }); err != nil {
		return err
	}
	identity, err := randomIdentities(b.Profile, requests)
	if err != nil {
		return err
	}
	return b.handled(whatRequest, node, identity)
}

// read makes what a handler gets of a request.
func read(request []byte) (*fasthttp.RequestCtx, error) {
	ctx := &fasthttp.RequestCtx{}
	return ctx, ctx.Request.Read(bufio.NewReader(bytes.NewReader(request)))
}

// randomIdentities returns requests of random loaded identities: one of each kind, whose number is written over.
func randomIdentities(p seed.Profile, r seed.Requests) (func() *fasthttp.RequestCtx, error) {
	kinds := min(p.Kinds(), p.Identities)
	list, numbers := make([]*fasthttp.RequestCtx, kinds), make([][]byte, kinds)
	for n := range kinds {
		ctx, err := read(r.Identity(n))
		if err != nil {
			return nil, err
		}
		body, text := ctx.Request.Body(), []byte(seed.Loaded(n))
		at := bytes.Index(body, text)
		list[n], numbers[n] = ctx, body[at:at+len(text)]
	}
	random := rand.New(rand.NewPCG(1, 2)) // any will do
	return func() *fasthttp.RequestCtx {
		n := random.IntN(p.Identities / kinds * kinds)
		digits := numbers[n%kinds]
		for i, rest := len(digits)-1, n; i >= len(digits)-9; i-- {
			digits[i], rest = byte('0'+rest%10), rest/10
		}
		return list[n%kinds]
	}, nil
}

// handled adds the time that the handler takes for a request, and what it allocates for one that is written out, too.
func (b *bench) handled(what string, node *server.Node, next func() *fasthttp.RequestCtx) error {
	out := bufio.NewWriterSize(io.Discard, 64<<10)
	for range 1000 { // pools are filled, every kind was asked for
		ctx := next()
		node.Handle(ctx)
		if s := ctx.Response.StatusCode(); s != fasthttp.StatusOK || len(ctx.Response.Header.Peek("Flagraft-Traits-Persisted")) > 0 {
			return fmt.Errorf("%s: status %d, %s", what, s, ctx.Response.Header.String())
		}
		if err := ctx.Response.Write(out); err != nil {
			return err
		}
		ctx.Response.Reset()
	}
	b.timed(&Figure{Name: nameRequest, Kind: what, What: what, Unit: "µs"}, func(n int) {
		for range n {
			ctx := next()
			node.Handle(ctx)
			ctx.Response.Reset()
		}
	})
	f := &Figure{Name: nameRequest, Kind: what + whatAllocs, What: what + whatAllocs, Unit: "a request"}
	for range b.Runs {
		n := int(50_000 * b.Duration.Seconds())
		objects, took := allocations(func() {
			for range n {
				ctx := next()
				node.Handle(ctx)
				_ = ctx.Response.Write(out) // to nowhere
				out.Reset(io.Discard)
				ctx.Response.Reset()
			}
		})
		idle, slept := allocations(func() { time.Sleep(min(took, time.Second)) })
		f.Values = append(f.Values, max(0, objects-idle*took.Seconds()/slept.Seconds())/float64(n)) // the node's own clocks are not the request's
	}
	f.Load = b.load()
	b.figure(f)
	return nil
}

// allocations counts the objects that the process allocates meanwhile, whoever does.
func allocations(run func()) (objects float64, took time.Duration) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	run()
	took = time.Since(start)
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs - before.Mallocs), took
}

// timed fills a figure with the microseconds of one of n rounds, by the clock.
func (b *bench) timed(f *Figure, run func(n int)) {
	const n = 2000
	perRun := min(b.Duration, time.Second)
	run(n)
	for range b.Runs {
		rounds, start := 0, time.Now()
		for time.Since(start) < perRun {
			run(n)
			rounds += n
		}
		f.Values = append(f.Values, time.Since(start).Seconds()*1e6/float64(rounds))
	}
	f.Load = b.load()
	b.figure(f)
}

// evaluations measures the engine: of the node's own compiled environment, and of one where everything is hashed.
func (b *bench) evaluations(node *server.Node, key string) error {
	p := b.Profile
	k, ok := node.Views().ByKey([]byte(key))
	if !ok || k.Live.View() == nil {
		return errors.New("the environment has no View")
	}
	identities := make([]evaluated, p.Kinds())
	for n := range identities {
		identities[n] = evaluated{name: seed.Loaded(n), key: key + "_" + seed.Loaded(n)}
		for _, t := range p.LoadedTraits(n) {
			identities[n].traits = append(identities[n].traits, eval.Trait{Name: t.Key, Value: eval.String(t.Value)})
		}
	}
	b.evaluation(k.Live.View().Engine, identities, whatEvaluation, p.Features, p.Segments, p.Conditions)
	for n := range identities {
		identities[n].traits = nil
	}
	b.evaluation(hashes(), identities, whatHashes)
	return nil
}

// evaluated is whom flags are evaluated for.
type evaluated struct {
	name, key string
	traits    []eval.Trait
}

func (i *evaluated) into(s *eval.Subject, e *eval.Environment) {
	s.Reset(e)
	s.SetIdentity(i.name, i.key)
	for _, t := range i.traits {
		s.SetTrait(t.Name, t.Value)
	}
}

func (b *bench) evaluation(e *eval.Environment, identities []evaluated, what string, sizes ...any) {
	subjects := make([]eval.Subject, len(identities))
	for i := range identities {
		identities[i].into(&subjects[i], e)
	}
	var out eval.Evaluation
	b.timed(newFigure(nameEvaluation, "µs", what, sizes...), func(n int) {
		for i := range n {
			e.Evaluate(&subjects[i%len(subjects)], &out)
		}
	})
	b.timed(newFigure(nameEvaluation, "µs", what+whatWithFilling, sizes...), func(n int) {
		for i := range n {
			identities[i%len(identities)].into(&subjects[0], e)
			e.Evaluate(&subjects[0], &out)
		}
	})
}

// hashes is an environment of 50 multivariate features and 15 percentage segments.
func hashes() *eval.Environment {
	spec := &eval.Spec{Key: "key", Name: "bench"}
	for i := range 50 {
		spec.Features = append(spec.Features, &eval.FeatureContext{
			Key: fmt.Sprint(1000 + i), Name: fmt.Sprintf("feature_%02d", i), Value: eval.String("control"),
			Variants: []eval.Variant{
				{Value: eval.String("a"), Weight: eval.Int(30), Priority: eval.Int(1)},
				{Value: eval.String("b"), Weight: eval.Int(30), Priority: eval.Int(2)},
			}})
	}
	for i := range 15 {
		spec.Segments = append(spec.Segments, &eval.SegmentContext{Key: fmt.Sprint(i), Name: fmt.Sprint("segment_", i),
			Rules: []eval.SegmentRule{{Type: eval.All, Conditions: []eval.Condition{{Operator: eval.PercentageSplit, Value: "50"}}}}})
	}
	return eval.Compile(spec, nil)
}
