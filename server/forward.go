package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flagraft/flagraft/cluster"
	"github.com/flagraft/flagraft/cluster/actor"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/admin"
	"github.com/flagraft/flagraft/server/requestid"
	"github.com/flagraft/flagraft/server/route"
)

// Leader is what this package needs of the cluster to have writes done: the node itself.
type Leader interface {
	// Call has the leader's handler execute a payload; see package cluster for the classes of its errors.
	Call(ctx context.Context, kind uint8, payload []byte) ([]byte, error)
	// WaitLeader returns when a leader is known.
	WaitLeader(ctx context.Context) error
	// LeaderID is the leader this node knows of, "" if none.
	LeaderID() string
}

// The kinds of internal calls. They travel between nodes: never renumber them.
const (
	callRequest          uint8 = 1  // an HTTP request of kind write
	callIdentities       uint8 = 2  // a batch of identity operations
	callUsage            uint8 = 3  // an entry of usage counters
	callTracedIdentities uint8 = 4  // a batch of identity operations behind its trace; see trace.go
	callStateHash        uint8 = 10 // the state hash at a mark in the log; see hash_check.go
	callLoad             uint8 = 11 // how busy a node is; see load_rows.go
	callRestore          uint8 = 20 // a part of a backup to restore
	callImport           uint8 = 21 // a document to import
)

const (
	// viewTimeout bounds the wait for this node's own View of what was written. The write is done by then.
	viewTimeout = 5 * time.Second
	retryPause  = 10 * time.Millisecond
	// leaderCheck is how often a call that takes long looks whether there is another leader by now.
	leaderCheck = 250 * time.Millisecond
	// writeTimeout bounds one attempt of a write, queues included. Past it the outcome is unknown.
	writeTimeout = 30 * time.Second
)

// The texts of 503 answers to writes.
const (
	msgNoLeader = "No leader could be reached in time; nothing was written. Please try again."
	msgUnknown  = "The outcome of the write is unknown: the leader was lost while it was being committed. " +
		"Sending it again with the same Idempotency-Key is safe."
)

// write sends a request to the leader, one hop and never two, and waits until this node's Views show what it wrote. It asks again while
// there is no leader, and, when the request carries an Idempotency-Key, also after an unknown outcome.
func (s *Server) write(ctx context.Context, req *route.Request) route.Response {
	if !s.writes.enter(1) {
		s.metrics.shed.Inc()
		return route.ErrorResponse(route.Unavailable(msgBusy, 1))
	}
	defer s.writes.leave(1)
	way, span := s.tracing.Forward(ctx)
	req.Trace = s.tracing.Parent(way)
	data, err := s.forward(way, req)
	span.End(err)
	if err != nil {
		return route.ErrorResponse(err)
	}
	return s.written(ctx, data)
}

// forward brings back the leader's answer, or the error to answer with.
func (s *Server) forward(ctx context.Context, req *route.Request) (data []byte, err error) {
	payload, err := encodeRequest(req)
	if err != nil {
		return nil, err
	}
	patience, cancel := context.WithTimeout(ctx, s.settings.LeaderTimeout)
	defer cancel()
	repeatable := req.Header("Idempotency-Key") != ""
	unknown := false // of any attempt: what a later one did not do, that one may have done
	for {
		data, err := s.call(ctx, payload)
		if err == nil {
			return data, nil
		}
		lost := errors.Is(err, cluster.ErrUnknownOutcome)
		unknown = unknown || lost
		switch {
		case errors.Is(err, cluster.ErrTooLarge):
			return nil, route.TooLarge(s.settings.MaxBodyBytes)
		case lost && !repeatable:
			return nil, route.Unavailable(msgUnknown, 1)
		case !lost && !errors.Is(err, cluster.ErrNotLeader) && !errors.Is(err, cluster.ErrUnavailable):
			s.log.ErrorContext(ctx, "write", "operation", s.operationOf(req), "error", err)
			return nil, route.Internal()
		}
		if !s.waitLeader(patience) {
			if unknown {
				return nil, route.Unavailable(msgUnknown, 1)
			}
			return nil, route.Unavailable(msgNoLeader, 1)
		}
	}
}

// operationOf names what a request asks for: its path may hold an invitation's secret, which no log is for.
func (s *Server) operationOf(req *route.Request) string {
	var m route.Match
	if !s.table.Lookup([]byte(req.Method), []byte(req.Path), &m) {
		return ""
	}
	return m.Row.OperationID
}

// call has the leader run a request. The time it may take is longer than the patience for a leader: it may stand in a queue there.
func (s *Server) call(ctx context.Context, payload []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	asked := s.leader.LeaderID()
	if asked == s.node {
		return s.callSelf(ctx, payload)
	}
	watch := time.AfterFunc(leaderCheck, func() { s.abandon(ctx, cancel, asked) })
	defer watch.Stop()
	return s.leader.Call(ctx, callRequest, payload)
}

// callSelf is call where this node leads. The Writer answers when it knows the outcome and watches no context: for a leader that is heard
// but whose entries do not get through, that is after proposeTimeout, and once more for who stands behind.
func (s *Server) callSelf(ctx context.Context, payload []byte) ([]byte, error) {
	type answer struct {
		data []byte
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		data, err := s.leader.Call(ctx, callRequest, payload)
		answered <- answer{data, err}
	}()
	select {
	case a := <-answered:
		return a.data, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", cluster.ErrUnknownOutcome, ctx.Err())
	}
}

// abandon cancels a call once the node that was asked leads no more: it may be frozen, or cut off, and never answer.
func (s *Server) abandon(ctx context.Context, cancel context.CancelFunc, asked string) {
	tick := time.NewTicker(leaderCheck)
	defer tick.Stop()
	for s.leader.LeaderID() == asked {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
	cancel()
}

// waitLeader pauses, then waits for a leader; false when the time is up.
func (s *Server) waitLeader(ctx context.Context) bool {
	return pause(ctx, retryPause) && s.leader.WaitLeader(ctx) == nil
}

// written turns the leader's answer into ours once our own Views show the write.
func (s *Server) written(ctx context.Context, data []byte) route.Response {
	r, w, err := decodeAnswer(data)
	if err != nil {
		s.log.ErrorContext(ctx, "answer of the leader", "error", err)
		return route.ErrorResponse(route.Internal())
	}
	if w.Index == 0 {
		return r
	}
	if r.Header("Idempotency-Replayed") != "" { // what the first request touched is not known any more
		s.views.Each(func(l *fsm.Live) { w.Environments = append(w.Environments, l.ID()) })
	}
	wait, cancel := context.WithTimeout(context.Background(), viewTimeout)
	defer cancel()
	if err := s.views.Wait(wait, w.Index, w.Environments...); err != nil {
		s.log.WarnContext(ctx, "a write is committed but not visible here yet", "index", w.Index, "error", err)
		r.Headers = append(r.Headers, route.Header{Name: headerVisible, Value: "false"})
	}
	s.traceShown(ctx, w)
	state := s.fsm.State()
	r.Headers = append(r.Headers, route.Header{Name: headerIndex, Value: string(fsm.AppendIndexToken(nil, state.Genesis.Epoch, w.Index))})
	return r
}

// serveWrite is the leader's side of write.
func (s *Server) serveWrite(ctx context.Context, from string, payload []byte) ([]byte, error) {
	if from != s.node {
		if !s.calls.enter(int64(len(payload))) {
			s.metrics.shed.Inc()
			return encodeAnswer(route.ErrorResponse(route.Unavailable(msgBusy, 1)), fsm.Written{})
		}
		defer s.calls.leave(int64(len(payload)))
	}
	req, err := decodeRequest(payload)
	if err != nil {
		return nil, err
	}
	var m route.Match
	if !s.table.Lookup([]byte(req.Method), []byte(req.Path), &m) || m.Row.Kind != route.Write {
		// A node of another version knows a row that this one does not.
		return encodeAnswer(route.ErrorResponse(route.NotFoundDetail()), fsm.Written{})
	}
	ctx = requestid.With(ctx, req.Header(requestid.Header))
	ctx, span := s.tracing.Write(ctx, req.Trace, m.Row.Label())
	a, err := s.serveTyped(ctx, &m, req)
	s.traceWritten(ctx, a.Written)
	span.End(err)
	if errors.Is(err, actor.ErrStopped) {
		return nil, cluster.ErrUnavailable // this node is going down: nothing was run
	}
	if err != nil {
		return nil, err
	}
	return encodeAnswer(a.Response, a.Written)
}

// serveTyped runs a typed row here; a panic becomes a 500.
func (s *Server) serveTyped(ctx context.Context, m *route.Match, req *route.Request) (a admin.Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.panicked(ctx, m.Row.Label(), p)
			a, err = admin.Answer{Response: route.ErrorResponse(route.Internal())}, nil
		}
	}()
	return s.api.Serve(ctx, m, req)
}
