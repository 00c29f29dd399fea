package sdk

import (
	"bytes"
	"context"
	"net"
	"syscall"
	"time"

	"github.com/flagraft/flagraft/cluster/actor"
	"github.com/flagraft/flagraft/fsm"
)

// stream is one client's connection. After admit it belongs to a writer.
type stream struct {
	conn    net.Conn
	raw     syscall.RawConn // of conn; nil: writes have a deadline instead
	tls     *sealed         // around conn; nil: plain
	live    *fsm.Live
	key     string // that opened it
	chunked bool
	dialect dialect
	hello   []byte // what the stream begins with
	seen    uint64 // index in Last-Event-ID; 0: none

	topic  *topic
	place  int       // in topic.streams
	slot   int       // of keep-alives
	rest   []byte    // of a frame that the socket did not take whole
	since  time.Time // when rest began to wait
	behind bool      // an event came meanwhile
}

// own takes the connection over from the HTTP server's wrapper.
func (s *stream) own(c net.Conn) {
	if wrapped, ok := c.(interface{ UnsafeConn() net.Conn }); ok {
		c = wrapped.UnsafeConn()
	}
	if s.tls = tapOff(c); s.tls != nil {
		c = s.tls.tap.Conn
	}
	if wrapped, ok := c.(interface{ Unwrap() net.Conn }); ok {
		c = wrapped.Unwrap()
	}
	s.conn, s.raw = c, rawConn(c)
	if s.raw != nil {
		limitSilence(s.raw)
	}
}

// LimitSilence has a connection, as the system gave it, end when its other end's machine is gone, as it does for streams.
func LimitSilence(c net.Conn) {
	if raw := rawConn(c); raw != nil {
		limitSilence(raw)
	}
}

func (s *stream) bytes(f frame) []byte {
	if s.chunked {
		return f.chunked
	}
	return f.plain
}

// streamWriter is the actor that owns a part of the streams. Its inputs are a
// signal (Views or progress changed, an environment went; coalesces), streams
// that arrive (unbuffered: whoever brings one waits), and a tick. Which event a
// stream needs follows from its environment's newest View, so that nothing queues.
type streamWriter struct {
	streams  *Streams
	signal   actor.Signal
	arrivals chan *stream
	loop     *actor.Loop

	// Owned by the actor.
	topics map[*fsm.Live]*topic
	socket *socket
	sealed []byte // room for TLS records
	ping   frame
	slot   int // of the tick
	next   int // of the next stream
}

func newStreamWriter(s *Streams) *streamWriter {
	w := &streamWriter{
		streams: s, signal: actor.NewSignal(), arrivals: make(chan *stream),
		topics: map[*fsm.Live]*topic{}, socket: newSocket(), ping: keepAlive(),
	}
	w.loop = actor.Go(w.run)
	return w
}

func (w *streamWriter) run(ctx context.Context) {
	tick := time.NewTicker(w.streams.config.Ping / pingSlots)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			for _, t := range w.topics {
				w.end(t)
			}
			return
		case <-w.signal.C():
			w.publish()
		case s := <-w.arrivals:
			w.open(s)
		case now := <-tick.C:
			w.keep(now)
		}
	}
}

// publish sends what is new to every stream, and ends those of environments that are gone or have another key.
func (w *streamWriter) publish() {
	for _, t := range w.topics {
		if t.over() {
			w.end(t)
		} else {
			w.update(t)
		}
	}
}

func (w *streamWriter) update(t *topic) {
	if !t.refresh(w.streams.config.Everywhere(t.live.ID()), w.streams.config.Alone()) {
		return
	}
	for i := len(t.streams) - 1; i >= 0; i-- { // from the end: a failed one is removed
		w.event(t.streams[i])
	}
}

// open begins a stream with the present version, unless its client has seen that:
// it heals what was missed between two connections.
func (w *streamWriter) open(s *stream) {
	w.streams.open.Add(1)
	t := w.topics[s.live]
	if t != nil && t.over() {
		w.end(t)
		t = nil
	}
	if t == nil || t.key != s.key { // the key was replaced while the stream came: it ends below
		t = &topic{live: s.live, key: s.key}
	}
	w.update(t)
	over := t.over()
	if !over {
		w.topics[s.live] = t // also if that closed the last one there
	}
	t.add(s)
	s.slot, w.next = w.next, (w.next+1)%pingSlots
	hello := s.hello
	s.hello = nil
	if s.seen < s.live.View().Index {
		hello = append(hello, s.bytes(t.newest[s.dialect])...)
		w.streams.events.Add(1)
	}
	w.write(s, hello)
	if over || t.over() {
		w.end(t)
	}
}

// event sends the newest event, now or when the socket takes something again.
func (w *streamWriter) event(s *stream) {
	if s.rest != nil {
		s.behind = true
		return
	}
	w.streams.events.Add(1)
	w.write(s, s.bytes(s.topic.newest[s.dialect]))
}

// write gives the socket as much as it takes at once.
func (w *streamWriter) write(s *stream, b []byte) {
	b, err := w.seal(s, b)
	n := 0
	if err == nil {
		n, err = w.socket.write(s, b)
	}
	switch {
	case err != nil:
		w.close(s)
	case n < len(b):
		s.rest, s.since = bytes.Clone(b[n:]), time.Now()
	}
}

// seal makes TLS records of b where the stream has TLS.
func (w *streamWriter) seal(s *stream, b []byte) (_ []byte, err error) {
	if s.tls == nil {
		return b, nil
	}
	w.sealed, err = s.tls.seal(w.sealed, b)
	return w.sealed, err
}

// keep sends keep-alives to the streams whose turn it is, and tries those again
// whose socket was full.
func (w *streamWriter) keep(now time.Time) {
	w.slot = (w.slot + 1) % pingSlots
	for _, t := range w.topics {
		for i := len(t.streams) - 1; i >= 0; i-- {
			switch s := t.streams[i]; {
			case s.rest != nil:
				w.resume(s, now)
			case s.slot == w.slot:
				w.write(s, s.bytes(w.ping))
			}
		}
	}
}

func (w *streamWriter) resume(s *stream, now time.Time) {
	n, err := w.socket.write(s, s.rest)
	switch {
	case err != nil:
		w.close(s)
	case n == len(s.rest):
		s.rest = nil
		if s.behind {
			s.behind = false
			w.event(s)
		}
	case n > 0:
		s.rest, s.since = s.rest[n:], now
	case now.Sub(s.since) > slowFor:
		w.streams.dropped.Add(1)
		w.close(s)
	}
}

// end ends the streams of an environment in good order.
func (w *streamWriter) end(t *topic) {
	for i := len(t.streams) - 1; i >= 0; i-- {
		s := t.streams[i]
		if s.chunked && s.rest == nil {
			if b, err := w.seal(s, []byte(lastChunk)); err == nil {
				_, _ = w.socket.write(s, b) // it is closed anyway
			}
		}
		w.close(s)
	}
}

func (w *streamWriter) close(s *stream) {
	if s.tls != nil && s.rest == nil {
		w.sealed = s.tls.farewell(w.sealed)
		_, _ = w.socket.write(s, w.sealed) // it is closed anyway
	}
	_ = s.conn.Close() // nothing can be done about it
	w.streams.open.Add(-1)
	s.topic.remove(s)
	if len(s.topic.streams) == 0 && w.topics[s.live] == s.topic {
		delete(w.topics, s.live)
	}
}
