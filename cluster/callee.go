package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flagraft/flagraft/cluster/actor"
)

const (
	// callsPerConn bounds the calls of one connection that run at a time; then
	// the connection is not read.
	callsPerConn = 512
	frameTimeout = 30 * time.Second
)

// Handler executes calls of one kind. from is the id the caller gave; the
// payload belongs to the handler. An *Error, and the classes of this package,
// arrive at the caller as they are, a context's error as ErrUnknownOutcome, and
// any other error as an *Error without code.
type Handler func(ctx context.Context, from string, payload []byte) ([]byte, error)

// callee executes the calls that arrive.
type callee struct {
	handlers [256]atomic.Pointer[Handler]
	leading  func() bool
	limit    int
	log      *slog.Logger
}

// handle runs one call on the node itself.
func (s *callee) handle(ctx context.Context, from string, kind, flags uint8, payload []byte) ([]byte, error) {
	if flags&flagLeader != 0 && !s.leading() {
		return nil, ErrNotLeader
	}
	h := s.handlers[kind].Load()
	if h == nil {
		return nil, fmt.Errorf("%w: no handler for kind %d", ErrUnavailable, kind)
	}
	return (*h)(ctx, from, payload)
}

// serve reads calls from a connection until it ends; each call has a
// goroutine, answers are flushed once per batch.
func (s *callee) serve(ctx context.Context, c net.Conn, from string) {
	ctx, cancel := context.WithCancel(ctx)
	w := bufio.NewWriterSize(c, 64<<10)
	writer := actor.StartBatch(callQueue, func(frames []*frame) {
		_ = c.SetWriteDeadline(time.Now().Add(frameTimeout)) // fails on a closed connection: so does the write
		for _, f := range frames {
			if writeFrame(w, f) != nil {
				_ = c.Close() // ends the reader
				return
			}
		}
		if w.Flush() != nil {
			_ = c.Close() // ends the reader
		}
	})
	var running sync.WaitGroup
	defer func() {
		cancel()
		running.Wait()
		writer.Stop()
	}()
	free := make(chan struct{}, callsPerConn)
	r := bufio.NewReaderSize(c, 64<<10)
	for {
		_ = c.SetReadDeadline(time.Now().Add(3 * callIdle)) // fails on a closed connection: so does the read
		f, err := readFrame(r, s.limit, func() { _ = c.SetReadDeadline(time.Now().Add(frameTimeout)) })
		if err != nil {
			if !errors.Is(err, io.EOF) && ctx.Err() == nil {
				s.log.Debug("call connection ended", "peer", from, "error", err)
			}
			return
		}
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			_ = writer.Tell(context.Background(), s.execute(ctx, from, f)) // it is stopped after this
		})
	}
}

func (s *callee) execute(ctx context.Context, from string, f *frame) *frame {
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(f.timeout)*time.Millisecond)
		defer cancel()
	}
	payload, err := s.handle(ctx, from, f.kind, f.flags, f.payload)
	if err == nil && len(payload) > s.limit {
		err = fmt.Errorf("%w: the answer has %d bytes", ErrUnknownOutcome, len(payload))
	}
	return answerFrame(f.id, payload, err)
}
