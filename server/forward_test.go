package server

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/cluster"
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
