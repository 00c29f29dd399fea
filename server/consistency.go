package server

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// The consistency levels a caller can choose with Flagraft-Consistency.
const (
	levelLocal        = "local"
	levelMinIndex     = "min-index"
	levelLinearizable = "linearizable"
)

const (
	// readTimeout bounds the wait for a confirmed index, and for applying it.
	readTimeout = 2 * time.Second
	// leaderless is how long reads that need no leader do not ask for one again after they found none.
	leaderless = time.Second
)

// Reads is what reads need of the cluster.
type Reads interface {
	// ReadIndex returns an index whose state reflects every acknowledged write.
	ReadIndex(ctx context.Context) (uint64, error)
	// Age is how old this node's knowledge may be.
	Age() time.Duration
}

// reader makes sure that reads see what they ask for.
type reader struct {
	fsm   *fsm.FSM
	reads Reads
	// without is how long after processStart the cluster counts as leaderless: a wall clock that is set back would make that hours.
	without atomic.Int64
}

// level reads the level a request asks for; asked is "" when it leaves the choice to us,
// as without a token. One of another epoch is none.
func level(req *route.Request, epoch string) (asked string, minimum uint64, err error) {
	asked, minimum = req.Header(headerConsistency), fsm.ReadIndexToken(req.Header(headerMinIndex), epoch)
	switch asked {
	case "":
		if minimum > 0 {
			asked = levelMinIndex
		}
	case levelLocal, levelMinIndex, levelLinearizable:
	default:
		return "", 0, route.BadRequest(route.MsgBadLevel)
	}
	return asked, minimum, nil
}

// await returns once the state is new enough, and the level it then has.
func (r *reader) await(ctx context.Context, req *route.Request) (got string, err error) {
	asked, minimum, err := level(req, r.fsm.State().Genesis.Epoch)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	switch asked {
	case levelLocal:
		return levelLocal, nil
	case levelMinIndex:
		if r.fsm.Applied().Wait(ctx, minimum) != nil {
			return "", route.Unavailable(route.MsgBehind, 1)
		}
		return levelMinIndex, nil
	}
	if asked == "" && int64(time.Since(processStart)) < r.without.Load() {
		return levelLocal, nil
	}
	if err := r.catchUp(ctx); err != nil {
		if asked == "" {
			r.without.Store(int64(time.Since(processStart) + leaderless))
			return levelLocal, nil
		}
		return "", route.Unavailable(route.MsgNoLeader, 1)
	}
	return levelLinearizable, nil
}

// catchUp makes the state reflect every acknowledged write.
func (r *reader) catchUp(ctx context.Context) error {
	index, err := r.reads.ReadIndex(ctx)
	if err != nil {
		return err
	}
	return r.fsm.Applied().Wait(ctx, index)
}

// read serves a typed read on this node.
func (s *Server) read(ctx context.Context, m *route.Match, req *route.Request) route.Response {
	got, err := s.reader.await(ctx, req)
	if err != nil {
		return route.ErrorResponse(err)
	}
	epoch := s.fsm.State().Genesis.Epoch
	if epoch == "" {
		return route.ErrorResponse(route.Unavailable(route.MsgNoState, 1))
	}
	a, err := s.serveTyped(ctx, m, req)
	if err != nil {
		return route.ErrorResponse(err)
	}
	a.Headers = append(a.Headers,
		route.Header{Name: headerIndex, Value: string(fsm.AppendIndexToken(nil, epoch, a.Written.Index))},
		route.Header{Name: headerAge, Value: strconv.FormatInt(s.reader.reads.Age().Milliseconds(), 10)},
		route.Header{Name: headerConsistency, Value: got})
	return a.Response
}
