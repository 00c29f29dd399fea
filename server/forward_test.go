package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/cluster"
	"github.com/flagraft/flagraft/server/admin"
	"github.com/flagraft/flagraft/server/route"
	"github.com/flagraft/flagraft/server/settings"
)

// lostLeader is a leader that is lost while it commits a write, and has no successor.
type lostLeader struct{ asked int }

func (l *lostLeader) Call(context.Context, uint8, []byte) ([]byte, error) {
	if l.asked++; l.asked == 1 {
		return nil, fmt.Errorf("%w: connection lost", cluster.ErrUnknownOutcome)
	}
	return nil, fmt.Errorf("%w: connection refused", cluster.ErrUnavailable)
}

func (l *lostLeader) WaitLeader(ctx context.Context) error { return ctx.Err() } // nobody noticed yet that it is gone

func (l *lostLeader) LeaderID() string { return "lost" }

// A write that may have been committed is not said to be surely not written, whatever the attempts after it came to.
func TestUnknownOutcomeStaysUnknown(t *testing.T) {
	st := settings.Defaults()
	st.LeaderTimeout = 100 * time.Millisecond
	leader := &lostLeader{}
	s := &Server{settings: st, log: slog.New(slog.DiscardHandler), node: "n", leader: leader}
	_, err := s.forward(t.Context(), &route.Request{Method: "POST", Path: "/", Headers: []route.Header{{Name: "Idempotency-Key", Value: "k"}}})
	require.Greater(t, leader.asked, 1)
	require.Equal(t, string(route.ErrorResponse(route.Unavailable(msgUnknown, 1)).Body), string(route.ErrorResponse(err).Body))
}

// stuckSelf is this node as a leader that gets no majority, and never answers.
type stuckSelf struct {
	lostLeader
	asked, end chan struct{}
}

func (l *stuckSelf) LeaderID() string { return "n" }

func (l *stuckSelf) Call(context.Context, uint8, []byte) ([]byte, error) {
	close(l.asked)
	<-l.end
	return nil, nil
}

// The leader's own clients wait no longer than those of other nodes.
func TestAWriteEndsOnALeaderThatIsStuck(t *testing.T) {
	leader := &stuckSelf{asked: make(chan struct{}), end: make(chan struct{})}
	defer close(leader.end)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-leader.asked; cancel() }()
	_, err := (&Server{node: "n", leader: leader}).call(ctx, nil)
	require.ErrorIs(t, err, cluster.ErrUnknownOutcome)
}

type brokenLeader struct{ lostLeader }

func (*brokenLeader) Call(context.Context, uint8, []byte) ([]byte, error) {
	return nil, errors.New("broken")
}

// The path of an invitation lets whoever reads it in.
func TestWhatFailsIsLoggedWithoutItsPath(t *testing.T) {
	table, err := route.NewTable(admin.Rows())
	require.NoError(t, err)
	var log bytes.Buffer
	s := &Server{settings: settings.Defaults(), log: slog.New(slog.NewTextHandler(&log, nil)), node: "n", leader: &brokenLeader{}, table: table}
	_, err = s.forward(t.Context(), &route.Request{Method: "POST", Path: "/api/v1/users/join/s3cret/"})
	require.Error(t, err)
	require.Regexp(t, `operation=\w+ error=broken`, log.String())
	require.NotContains(t, log.String(), "s3cret")
}
