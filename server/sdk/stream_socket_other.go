//go:build !unix

package sdk

import (
	"net"
	"syscall"
)

// socket writes to connections, each with a deadline.
type socket struct{}

func newSocket() *socket { return &socket{} }

func (*socket) write(s *stream, b []byte) (int, error) { return writeBy(s.conn, b) }

func rawConn(net.Conn) syscall.RawConn { return nil }
