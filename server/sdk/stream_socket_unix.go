//go:build unix

package sdk

import (
	"errors"
	"net"
	"syscall"
)

// socket writes to connections without waiting: a full one takes nothing, and the
// writer goes on to the next. The closure that RawConn asks for is made once.
type socket struct {
	b    []byte
	n    int
	err  error
	call func(fd uintptr) bool
}

func newSocket() *socket {
	w := &socket{}
	w.call = func(fd uintptr) bool {
		for {
			w.n, w.err = syscall.Write(int(fd), w.b)
			if !errors.Is(w.err, syscall.EINTR) {
				return true
			}
		}
	}
	return w
}

// write returns how many bytes the connection took.
func (w *socket) write(s *stream, b []byte) (int, error) {
	if s.raw == nil {
		return writeBy(s.conn, b)
	}
	w.b = b
	err := s.raw.Write(w.call)
	switch {
	case err != nil:
		return 0, err
	case errors.Is(w.err, syscall.EAGAIN):
		return 0, nil
	}
	return max(w.n, 0), w.err
}

// rawConn gives access to the socket of a plain connection.
func rawConn(c net.Conn) syscall.RawConn {
	plain, ok := c.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := plain.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}
