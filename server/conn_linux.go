package server

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"
)

// socket reads and writes without telling the scheduler of goroutines that the thread
// may be away for long: it never waits, and a hundred nanoseconds for each call are
// saved. What the socket does not have, or does not take, is waited for as ever.
type socket struct{ in, out transfer }

func (s *socket) open(c *conn) {
	raw, _ := c.Conn.(syscall.Conn).SyscallConn() // fails only without a connection
	s.in = transfer{trap: syscall.SYS_READ, deadline: &c.in, wait: raw.Read}
	s.out = transfer{trap: syscall.SYS_WRITE, deadline: &c.out, wait: raw.Write}
	s.in.try, s.out.try = s.in.attempt, s.out.attempt
}

// Read is that of a net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.socket.in.do(b)
	if n == 0 && err == nil && len(b) > 0 {
		err = io.EOF
	}
	return n, c.fault("read", err)
}

// Write is that of a net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	if len(b) <= longCall {
		n, err := c.socket.out.do(b)
		return n, c.fault("write", err)
	}
	if err := c.out.wait(); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// fault makes an error as package net does.
func (c *conn) fault(op string, err error) error {
	if err == nil {
		return nil
	}
	var number syscall.Errno
	if !errors.As(err, &number) {
		return err
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: os.NewSyscallError(op, number)}
}

// transfer is one direction of a socket.
type transfer struct {
	trap     uintptr
	deadline *deadline
	wait     func(func(fd uintptr) bool) error // calls until there is nothing to wait for
	try      func(fd uintptr) bool             // attempt; made once

	rest   []byte // of what is to be filled or sent
	n      int
	err    error
	waited bool
}

// do reads something, or writes everything.
func (t *transfer) do(b []byte) (int, error) {
	t.rest, t.n, t.err, t.waited = b, 0, nil, false
	err := t.wait(t.try)
	if errors.Is(err, os.ErrDeadlineExceeded) && !t.waited {
		// The socket still had the deadline of an earlier wait.
		var lifted bool
		if lifted, t.err = t.deadline.lift(); lifted && t.err == nil {
			err = t.wait(t.try)
		}
	}
	t.rest = nil
	if err == nil {
		err = t.err
	}
	return t.n, err
}

// attempt is false if the socket is not ready.
func (t *transfer) attempt(fd uintptr) bool {
	for len(t.rest) > 0 {
		n, _, errno := syscall.RawSyscall(t.trap, fd, uintptr(unsafe.Pointer(unsafe.SliceData(t.rest))), uintptr(min(len(t.rest), longCall)))
		switch errno {
		case 0:
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			t.waited = true
			t.err = t.deadline.wait()
			return t.err != nil
		default:
			t.err = errno
			return true
		}
		t.n, t.rest = t.n+int(n), t.rest[n:]
		if t.trap == syscall.SYS_READ {
			return true
		}
	}
	return true
}
