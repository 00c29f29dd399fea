package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/server/route"
)

// TestStopRightAfterTheStart stops servers before they have got around to accepting.
func TestStopRightAfterTheStart(t *testing.T) {
	for range 200 {
		s := rawServer(t, func(*fasthttp.RequestCtx, *route.Match) {})
		s.settings.APIAddr = "127.0.0.1:0"
		require.NoError(t, s.listen())
		ended := make(chan error, 1)
		go func() { ended <- s.stop(context.Background()) }()
		select {
		case err := <-ended:
			require.NoError(t, err)
		case <-time.After(time.Minute):
			t.Fatal("it does not stop")
		}
		_, err := net.Dial("tcp", s.Addr())
		require.Error(t, err, "nobody listens any more")
	}
}

// failing is a listener without descriptors for a while.
type failing struct {
	net.Listener
	failures int
}

func (f *failing) Accept() (net.Conn, error) {
	if f.failures--; f.failures >= 0 {
		return nil, errors.New("accept: too many open files")
	}
	return f.Listener.Accept()
}

// TestAcceptGoesOnAfterAnError: only a closed listener ends it.
func TestAcceptGoesOnAfterAnError(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := boundedListener{Listener: &failing{inner, 3}, log: slog.New(slog.DiscardHandler), room: func() bool { return true }}
	client, err := net.Dial("tcp", inner.Addr().String())
	require.NoError(t, err)
	defer client.Close()
	c, err := l.Accept()
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.NoError(t, l.Close())
	_, err = l.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
}
