package sdk

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/tally"
)

// IdentityWriter commits identity operations; it is *[fsm.IdentityWriter].
type IdentityWriter interface {
	// Write returns once the operations are applied on this node, or ctx ends. It
	// may read the operations' slices after that.
	Write(ctx context.Context, ops []identity.Op) (index uint64, results []identity.Result, err error)
}

// UsageCounter counts requests and evaluations; it is *[fsm.UsageCounter].
type UsageCounter interface {
	Request(environment uint64, kind fsm.UsageKind, client fsm.RequestClient)
	Add(environment uint64, kind fsm.UsageKind, feature uint64, labels string, n int64)
}

// Config is what the SDK API is built of. FSM, Views, Identities and Usage are
// required.
type Config struct {
	FSM        *fsm.FSM
	Views      *fsm.Views
	Identities IdentityWriter
	Usage      UsageCounter
	Log        *slog.Logger
	// Streams is realtime; nil: it is refused.
	Streams *Streams

	// Fresh reports whether this node heard from the leader lately: then an identity
	// that needs no change needs no write. nil: never.
	Fresh func() bool
	// Applied reports whether this node has applied what it heard is committed. nil: always.
	Applied func() bool
	// Caps are the installation's, for the texts of refusals.
	Caps identity.Caps
	// Short reports whether memory is short: then nothing is stored. nil: never.
	Short func() bool
	// CatchUp returns when this node's state reflects every write that any node had
	// acknowledged before the call: until then "no change" may be news to the
	// cluster. nil: the state always does.
	CatchUp func(budget time.Duration) error
	// Ready reports whether this node has caught up once: before, an unknown key
	// may only be unknown here. nil: always.
	Ready func() bool
	// ReadIndex confirms the leadership and returns the index to wait for, for
	// requests that ask for linearizable answers. nil: they are refused.
	ReadIndex func(ctx context.Context) (uint64, error)
	// Age returns how old this node's knowledge may be (Flagraft-Age). nil: no header.
	Age func() time.Duration
	// Clock is the wall clock that key expiry is judged by. nil: time.Now.
	Clock func() time.Time
	// Node is the value of Flagraft-Node; empty: no header.
	Node string
	// Within is the context that the steps of a request belong to, of which nothing is borrowed from its connection, and that nothing
	// cancels. nil: context.Background().
	Within func(ctx *fasthttp.RequestCtx) context.Context
	// Begin starts headers with those that every answer has; cors: for a request
	// with an Origin. nil: there are none.
	Begin func(h *fasthttp.ResponseHeader, cors bool)

	Format fsm.Format
	// DocumentPages says who gets large environment documents in pages.
	DocumentPages Pages
	// PersistBudget is how long an identity answer waits for its traits to be
	// stored before it is given without. Zero: 300 ms.
	PersistBudget time.Duration
	// WriteBudget is how long requests wait that only write. Zero: 5 s.
	WriteBudget time.Duration
	// ReadBudget is how long a request waits for the index it asks for. Zero: 2 s.
	ReadBudget time.Duration
}

// SDK holds the handlers of the SDK API.
type SDK struct {
	Config
	node []byte
	pool sync.Pool // of *scratch

	// Compiled input types of the bodies.
	identifyBody  decoder[identifyInput]
	bulkBody      decoder[bulkInput]
	traitBody     decoder[traitInputBody]
	deprecated    decoder[deprecatedTraitInput]
	incrementBody decoder[incrementInput]
	analyticsBody decoder[analyticsInput]

	unpersisted     atomic.Uint64
	evaluated, kept *tally.Counter
}

// New makes the handlers.
func New(c Config) *SDK {
	if c.Fresh == nil {
		c.Fresh = func() bool { return false }
	}
	if c.Ready == nil {
		c.Ready = func() bool { return true }
	}
	if c.Begin == nil {
		c.Begin = func(h *fasthttp.ResponseHeader, _ bool) { h.Reset() }
	}
	if c.Within == nil {
		c.Within = func(*fasthttp.RequestCtx) context.Context { return context.Background() }
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Caps.TraitBytes == 0 {
		c.Caps.TraitBytes = identity.DefaultLimits().TraitBytes
	}
	orDefault(&c.PersistBudget, 300*time.Millisecond)
	orDefault(&c.WriteBudget, 5*time.Second)
	orDefault(&c.ReadBudget, 2*time.Second)
	s := &SDK{
		Config: c, node: []byte(c.Node),
		identifyBody: newDecoder[identifyInput](), bulkBody: newDecoder[bulkInput](),
		traitBody: newDecoder[traitInputBody](), deprecated: newDecoder[deprecatedTraitInput](),
		evaluated: tally.NewCounter(true), kept: tally.NewCounter(true),
		incrementBody: newDecoder[incrementInput](), analyticsBody: newDecoder[analyticsInput](),
	}
	s.pool.New = func() any { return newScratch() }
	return s
}

func orDefault(d *time.Duration, v time.Duration) {
	if *d == 0 {
		*d = v
	}
}

// Unpersisted returns how many identity answers were given although their traits
// were not stored.
func (s *SDK) Unpersisted() uint64 { return s.unpersisted.Load() }

// Evaluations returns how many identities were evaluated, and how many got a kept
// list instead.
func (s *SDK) Evaluations() (evaluated, kept uint64) { return s.evaluated.Count(), s.kept.Count() }
