package cluster

import (
	"net"
	"time"

	"github.com/hashicorp/raft"
)

// fixedStream dials one connection that exists already and accepts none.
type fixedStream struct {
	conn   net.Conn
	closed chan struct{}
}

func (s *fixedStream) Accept() (net.Conn, error) { <-s.closed; return nil, net.ErrClosed }
func (s *fixedStream) Close() error              { close(s.closed); return nil }
func (s *fixedStream) Addr() net.Addr            { return advertisedAddr("rogue") }
func (s *fixedStream) Dial(raft.ServerAddress, time.Duration) (net.Conn, error) {
	return s.conn, nil
}
