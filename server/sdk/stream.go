package sdk

import (
	"net"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/requestid"
	"github.com/flagraft/flagraft/server/route"
)

const (
	msgTooManyStreams = "Too many streams are open on this node."
	msgStopping       = "This node is stopping."
)

// StreamsConfig is what realtime needs. Views is required.
type StreamsConfig struct {
	Views *fsm.Views
	// Everywhere returns the index that the Views of an environment have reached on
	// all ready nodes; Alone reports whether this is the only one. They are
	// [fsm.Progress]'s. nil: this node is alone.
	Everywhere func(environment uint64) uint64
	Alone      func() bool
	// Max is how many streams may be open. Zero: no limit.
	Max int
	// Ping is the period of keep-alives. Zero: 15 s.
	Ping time.Duration
}

// Streams is the realtime of one node. A stream costs no goroutine and no buffer:
// its connection is taken over from the HTTP server and belongs to one of a few
// writers, actors that look at the newest Views when they are woken and write to
// the sockets without waiting. What a client has not taken yet is in its socket;
// while that is full it has at most the rest of one event, and the newest one
// follows (see stream_writer.go).
type Streams struct {
	config  StreamsConfig
	writers []*streamWriter
	turn    atomic.Uint64
	stopped atomic.Bool

	open            atomic.Int64
	events, dropped atomic.Uint64
}

// NewStreams starts the writers.
func NewStreams(c StreamsConfig) *Streams {
	if c.Everywhere == nil || c.Alone == nil {
		c.Everywhere, c.Alone = func(uint64) uint64 { return 0 }, func() bool { return true }
	}
	orDefault(&c.Ping, pingEvery)
	s := &Streams{config: c}
	for range max(2, runtime.GOMAXPROCS(0)) {
		s.writers = append(s.writers, newStreamWriter(s))
	}
	return s
}

// Wake lets the writers look at Views and progress. It never blocks.
func (s *Streams) Wake() {
	for _, w := range s.writers {
		w.signal.Raise()
	}
}

// Stop ends all streams, so that clients connect to another node; later ones are refused.
func (s *Streams) Stop() {
	s.stopped.Store(true)
	for _, w := range s.writers {
		w.loop.Stop()
	}
}

// Open is the number of open streams. One whose client closed it counts until the
// keep-alives fail, the second from then; one whose client's machine is gone, for silentFor longer.
func (s *Streams) Open() int { return int(s.open.Load()) }

// Events is the number of events sent, counted per stream.
func (s *Streams) Events() uint64 { return s.events.Load() }

// Dropped is the number of streams ended because their client took nothing for 10 s.
func (s *Streams) Dropped() uint64 { return s.dropped.Load() }

// refusal is why no stream can be opened, or nil.
func (s *Streams) refusal() error {
	switch {
	case s == nil || s.stopped.Load():
		return route.Unavailable(msgStopping, 1)
	case s.config.Max > 0 && s.Open() >= s.config.Max:
		return route.Unavailable(msgTooManyStreams, 1)
	}
	return nil
}

// admit gives a stream to a writer.
func (s *Streams) admit(st *stream) {
	w := s.writers[s.turn.Add(1)%uint64(len(s.writers))]
	select {
	case w.arrivals <- st:
	case <-w.loop.Done():
		_ = st.conn.Close()
	}
}

// getStream is GET /sse/environments/{key}/stream, getOFREPStream the same in the
// form that OFREP clients want, for client-side keys. The path is all there is:
// browsers' EventSource sends no headers of its own.
func (s *SDK) getStream(ctx *fasthttp.RequestCtx, m *route.Match) { s.stream(ctx, m, flagsmithEvents) }

func (s *SDK) getOFREPStream(ctx *fasthttp.RequestCtx, m *route.Match) { s.stream(ctx, m, ofrepEvents) }

func (s *SDK) stream(ctx *fasthttp.RequestCtx, m *route.Match, d dialect) {
	live, err := s.streamed(m.Raw(0))
	if err == nil {
		err = s.Streams.refusal()
	}
	if err != nil {
		s.fail(ctx, err)
		return
	}
	st := &stream{live: live, key: string(m.Raw(0)), chunked: ctx.Request.Header.IsHTTP11(), dialect: d}
	st.seen = fsm.ReadIndexToken(string(ctx.Request.Header.Peek("Last-Event-ID")), s.FSM.State().Genesis.Epoch)
	h := &ctx.Response.Header
	h.SetContentType("text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // proxies of the nginx kind would hold events back
	h.Set("Access-Control-Allow-Origin", "*")
	h.Del("Vary")
	if len(s.node) > 0 {
		h.SetCanonical(nodeHeader, s.node)
	}
	if ctx.IsHead() {
		return
	}
	h.SetConnectionClose()
	h.SetContentLength(-2) // until the connection closes
	if st.chunked {
		h.SetContentLength(-1)
	}
	requestid.Answer(ctx, nil) // the server puts it into answers that it writes itself
	st.hello = append([]byte(nil), h.Header()...)
	ctx.HijackSetNoResponse(true)
	ctx.Hijack(func(c net.Conn) {
		st.own(c)
		s.Streams.admit(st)
	})
}

// streamed finds the environment of a client-side key.
func (s *SDK) streamed(key []byte) (*fsm.Live, error) {
	found, ok := s.Views.ByKey(key)
	if !ok {
		return nil, s.unknownKey()
	}
	if found.Server {
		return nil, route.Forbidden(msgNoKey)
	}
	view := found.Live.View()
	if view == nil {
		if view = s.firstView(found.Live); view == nil {
			return nil, route.Unavailable(route.MsgNoState, 1)
		}
	}
	if !view.Organisation.Serves() {
		return nil, route.Forbidden(msgStopped)
	}
	return found.Live, nil
}
