package server

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/cluster/actor"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/admin"
	"github.com/flagraft/flagraft/server/console"
	"github.com/flagraft/flagraft/server/requestid"
	"github.com/flagraft/flagraft/server/route"
	"github.com/flagraft/flagraft/server/settings"
	"github.com/flagraft/flagraft/server/tally"
	"github.com/flagraft/flagraft/server/tracing"
)

// writeBuffer: larger than fasthttp's 4 KB, so that an answer of ordinary size is one write.
const writeBuffer = 32 << 10

const serverName = "flagraft"

// lingerers is how many refused connections are given time to read why; more are closed at once.
const lingerers = 256

// acceptSlack: connections are counted when they are served, a moment after they were let in.
const acceptSlack = 1024

// Server serves the HTTP API of one node.
type Server struct {
	settings *settings.Settings
	log      *slog.Logger
	node     string
	table    *route.Table
	common   *commonHeaders
	metrics  *requestMetrics
	tracing  *tracing.Tracer // nil: nobody asked for traces
	proxies  proxies
	console  *console.Console // nil: there is none

	fsm   *fsm.FSM
	views *fsm.Views
	api   *admin.API
	// atLevel returns nil once the cluster has reached a format level, else the refusal.
	atLevel func(ctx context.Context, level uint8) error
	leader  Leader
	reader  reader

	// ctx ends when the server has stopped, streams before it waits for running requests: a stream would never end by itself.
	ctx          context.Context
	cancel       context.CancelFunc
	streams      context.Context
	closeStreams context.CancelFunc

	retired     atomic.Bool // the node was removed from its cluster: see retire
	inFlight    atomic.Int64
	draining    atomic.Bool // answers close their connections
	budget      budget
	bodies      *bodies
	writes      gate // that run or wait here, in requests
	calls       gate // that other nodes sent here, in bytes
	memory      *memoryWatch
	connections connections
	openStreams func() int // connections that were taken over; nil: none

	visits   sync.Pool // of *visit
	http     *fasthttp.Server
	listener net.Listener
	tls      *apiTLS // nil: plain HTTP
	done     chan error
}

// listen starts serving on the API address.
func (s *Server) listen() error {
	l, err := net.Listen("tcp", s.settings.APIAddr)
	if err != nil {
		return fmt.Errorf("api: listen: %w", err)
	}
	if s.tls, err = openAPITLS(s.settings, s.log); err != nil {
		return errors.Join(err, l.Close())
	}
	s.tls.follow()
	bounded := boundedListener{Listener: l, log: s.log, room: s.room, shed: s.metrics.shed.Inc, plain: s.tls == nil, lingering: &gate{limit: lingerers}}
	s.listener = s.tls.listener(connListener{
		Listener: bounded,
		limits: limits{
			head: headTime(s.settings), idle: s.settings.IdleTimeout, answer: s.settings.WriteTimeout},
		handler: s.handle, longest: min(smallBody, s.settings.MaxBodyBytes),
	})
	s.http = &fasthttp.Server{
		Handler:               s.handle,
		ErrorHandler:          s.badRequest,
		HeaderReceived:        s.headerReceived,
		Name:                  serverName,
		Concurrency:           int(s.budget.connections) + acceptSlack, // the listener's bound comes first
		ReadBufferSize:        s.settings.MaxHeaderBytes,
		WriteBufferSize:       writeBuffer,
		MaxRequestBodySize:    s.settings.MaxBodyBytes,
		CloseOnShutdown:       true,
		ConnState:             s.connChanged,
		KeepHijackedConns:     true, // streams own their connections
		NoDefaultServerHeader: true,
		// A form that fasthttp reads is put together anew, in any order, and what stands behind its end in the body is taken for a request.
		DisablePreParseMultipartForm: true,
		Logger:                       quietLogger{s.log},
	}
	s.memory.start()
	s.done = make(chan error, 1)
	go func() { s.done <- s.http.Serve(s.listener) }()
	return nil
}

// endless is the time of a body without a limit.
const endless = 24 * time.Hour

// headTime is the time of a head: not more than a body has. 0 is none for either, and does not touch the other.
func headTime(st *settings.Settings) time.Duration {
	if st.HeaderTimeout == 0 || st.ReadTimeout == 0 {
		return st.HeaderTimeout
	}
	return min(st.HeaderTimeout, st.ReadTimeout)
}

// Addr is the address the API listens on.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// stop lets running requests end, for as long as ctx allows.
func (s *Server) stop(ctx context.Context) error {
	s.closeStreams()
	defer s.memory.stop()
	s.tls.stop()
	if s.http == nil {
		return nil
	}
	// fasthttp closes a listener only if Serve has got as far as noting it, which it need not have by now.
	err := s.listener.Close()
	if serve := <-s.done; err == nil {
		err = serve
	}
	quiet := actor.Go(s.closeWhenQuiet)
	if shut := s.http.ShutdownWithContext(ctx); err == nil && !errors.Is(shut, net.ErrClosed) { // the listener is, twice
		err = shut
	}
	quiet.Stop()
	s.cancel()
	return err
}

var (
	importStream  = []byte(strings.TrimSuffix(importPath, "/"))
	restoreStream = []byte(restorePath[:strings.Index(restorePath, "{")])
	authorization = []byte("Authorization")
)

// headerReceived gives a large body its time, if there is room for it.
func (s *Server) headerReceived(h *fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
	if !h.ConnectionClose() && closes(h) {
		h.SetConnectionClose()
	}
	longest := s.longestBody(h)
	c.MaxRequestBodySize = longest
	n := h.ContentLength()
	if n == chunkedBody {
		n = longest // it may become as long
	}
	if n <= smallBody {
		return c // it comes with the head, or soon after: the head's time is enough
	}
	// With 0 it would have the rest of the head's.
	c.ReadTimeout = cmp.Or(s.settings.ReadTimeout, endless)
	if n <= longest && !s.bodies.admit(h, n) { // nobody knows yet whether the credentials are good
		c.MaxRequestBodySize = 1 // refused before it is read: see badRequest
	}
	return c
}

// longestBody is how long the body of a request may be: an import's is long, and a part of a backup may be longer than a setting lets be, but who
// sends no credentials is not let in anyway.
func (s *Server) longestBody(h *fasthttp.RequestHeader) int {
	longest := s.settings.MaxBodyBytes
	switch {
	case len(h.PeekBytes(authorization)) == 0:
	case bytes.HasPrefix(h.RequestURI(), importStream):
		longest = max(maxImportBytes, longest)
	case bytes.HasPrefix(h.RequestURI(), restoreStream):
		longest = max(restorePart, longest)
	}
	return longest
}

var closeOption = []byte("close")

// closes reports what fasthttp does not see: "close" in any case or among other options, and two
// ideas of the body's length, after which a connection must not be used (RFC 9112 §6.1).
func closes(h *fasthttp.RequestHeader) bool {
	for option := range bytes.SplitSeq(h.Peek(fasthttp.HeaderConnection), []byte{','}) {
		if bytes.EqualFold(bytes.TrimSpace(option), closeOption) {
			return true
		}
	}
	return len(h.Peek(fasthttp.HeaderTransferEncoding)) > 0 && lengthName.Match(h.RawHeaders())
}

// chunkedBody is what fasthttp says of a body whose length is not known.
const chunkedBody = -1

// room reports whether one more connection may be served.
func (s *Server) room() bool {
	open := int64(s.connections.count())
	if s.openStreams != nil {
		open += int64(s.openStreams())
	}
	return open < s.budget.connections
}

// unasked reports that nothing came on a new connection for so long that it is closed: browsers and balancers keep some in stock. An answer to
// nothing would be taken for that to the first request, if it is sent in this moment. Under TLS a handshake was read, and nobody can tell.
func unasked(ctx *fasthttp.RequestCtx) bool {
	c, direct := ctx.Conn().(*conn)
	return direct && !c.lane.heard
}

// badRequest answers what fasthttp could not read.
func (s *Server) badRequest(ctx *fasthttp.RequestCtx, err error) {
	if unasked(ctx) {
		_ = ctx.Conn().Close() // or fasthttp answers
		return
	}
	s.common.apply(ctx)
	defer requestid.Answer(ctx, nil)
	s.metrics.malformed.Inc()
	var small *fasthttp.ErrSmallBuffer
	var network net.Error
	refused := s.bodies.done(&ctx.Request.Header)
	switch {
	case refused && errors.Is(err, fasthttp.ErrBodyTooLarge):
		s.metrics.shed.Inc()
		drain(ctx.Conn(), s.toCome(ctx))
		writeError(ctx, route.Unavailable(msgBusy, 1))
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		drain(ctx.Conn(), s.toCome(ctx))
		writeError(ctx, route.TooLarge(s.longestBody(&ctx.Request.Header)))
	case errors.As(err, &small):
		drain(ctx.Conn(), 0)
		writeError(ctx, route.Detail(431, fmt.Sprintf("The request line and headers may have %d bytes at most.", s.settings.MaxHeaderBytes)))
	case errors.As(err, &network) && network.Timeout():
		writeError(ctx, route.Detail(408, "The request was not sent in time."))
	default:
		writeError(ctx, route.BadRequest("The request could not be read."))
	}
}

// toCome is how much of the request's body was certainly not read when it was refused: all but what came with its head.
// Below 0, if nobody knows the length.
func (s *Server) toCome(ctx *fasthttp.RequestCtx) int {
	return ctx.Request.Header.ContentLength() - s.settings.MaxHeaderBytes
}

// quietLogger keeps fasthttp's notes about broken connections at debug level.
type quietLogger struct{ log *slog.Logger }

func (l quietLogger) Printf(format string, args ...any) {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		l.log.Debug("http", "note", fmt.Sprintf(format, args...))
	}
}

// newServer makes the server of a compiled table.
func newServer(st *settings.Settings, log *slog.Logger, table *route.Table, node string) *Server {
	s := &Server{settings: st, log: log, table: table, node: node, common: newCommonHeaders(node), metrics: newRequestMetrics(table)}
	s.connections.open = map[net.Conn]struct{}{}
	s.budget = newBudget(st, debug.SetMemoryLimit(-1), Descriptors())
	s.bodies = newBodies(s.budget.bodies, cmp.Or(st.ReadTimeout, endless)+writeTimeout+viewTimeout)
	s.writes.limit, s.calls.limit = s.budget.writes, s.budget.calls
	s.memory = newMemoryWatch(s.budget.limit)
	s.visits.New = func() any { return &visit{cell: tally.NewCell()} }
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.streams, s.closeStreams = context.WithCancel(s.ctx)
	return s
}
