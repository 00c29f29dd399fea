package server

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"
)

// socket reads and writes what can be read and written at once. What the socket does not
// have, or does not take, is waited for as ever.
type socket struct {
	in, out transfer
	gather  gather
}

func (s *socket) open(c *conn) {
	raw, _ := c.Conn.(syscall.Conn).SyscallConn() // fails only without a connection
	s.in = transfer{deadline: &c.in, wait: raw.Read, try: c.receive}
	s.out = transfer{deadline: &c.out, wait: raw.Write, try: c.send}
	s.gather.try = s.gather.attempt
}

// Read is that of a net.Conn, but for the requests that the connection answers meanwhile.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.socket.in.do(b)
	if err != nil {
		c.over()
	}
	return n, err
}

// Write is that of a net.Conn.
func (c *conn) Write(b []byte) (int, error) { return c.socket.out.do(b) }

// writeAll writes up to three slices, at once if the socket takes them.
func (c *conn) writeAll(a, b, d []byte) error {
	g := &c.socket.gather
	g.n = 0
	for i, part := range [...][]byte{a, b, d} {
		g.parts[i] = syscall.Iovec{Base: unsafe.SliceData(part)}
		g.parts[i].SetLen(len(part))
	}
	_ = c.socket.out.wait(g.try) // what fails does so again below
	clear(g.parts[:])
	for _, part := range [...][]byte{a, b, d} {
		if g.n >= len(part) {
			g.n -= len(part)
			continue
		}
		if _, err := c.Write(part[g.n:]); err != nil {
			return err
		}
		g.n = 0
	}
	return nil
}

// gather is one write of several slices.
type gather struct {
	parts [3]syscall.Iovec
	n     int // what was written
	try   func(fd uintptr) bool
}

func (g *gather) attempt(fd uintptr) bool {
	n, _, errno := syscall.Syscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&g.parts)), uintptr(len(g.parts)))
	if errno == 0 {
		g.n = int(n)
	}
	return true
}

// transfer is one direction of a socket.
type transfer struct {
	deadline *deadline
	wait     func(func(fd uintptr) bool) error // calls until there is nothing to wait for
	try      func(fd uintptr) bool             // false: the socket is not ready

	rest   []byte // of what is to be filled or sent
	n      int
	err    error
	waited bool // with the deadline that holds
}

// do reads something, or writes everything.
func (t *transfer) do(b []byte) (int, error) {
	t.rest, t.n, t.err, t.waited = b, 0, nil, false
	err := t.wait(t.try)
	for errors.Is(err, os.ErrDeadlineExceeded) && !t.waited {
		// The socket had the deadline of an earlier wait, or of one that was to end soon.
		var lifted bool
		if lifted, t.err = t.deadline.lift(); !lifted || t.err != nil {
			break
		}
		err = t.wait(t.try)
	}
	t.rest = nil
	if err == nil {
		err = t.err
	}
	return t.n, err
}

// pause has the socket waited for, unless that fails.
func (t *transfer) pause(ready func() error, last bool) bool {
	t.waited = last
	t.err = ready()
	return t.err != nil
}

// receive reads what there is, as long as the connection takes it.
func (c *conn) receive(fd uintptr) bool {
	t := &c.socket.in
	for len(t.rest) > 0 {
		n, err := call(syscall.Read, fd, t.rest)
		switch {
		case errors.Is(err, syscall.EAGAIN):
			return t.pause(t.deadline.wait, true)
		case err != nil:
			t.err = c.fault("read", err)
			return true
		case n == 0:
			t.err = io.EOF
			return true
		}
		var taken bool
		if taken, t.err = c.takes(t.rest[:n]); !taken || t.err != nil {
			if !taken {
				t.n = n
			}
			return true
		}
		if n < len(t.rest) {
			// That was all, and what comes now is told: to ask for it would be in vain. But not
			// the end of a stream that came with what was read, so it is asked soon.
			return t.pause(t.deadline.waitSoon, false)
		}
	}
	return true
}

// send writes.
func (c *conn) send(fd uintptr) bool {
	t := &c.socket.out
	for len(t.rest) > 0 {
		n, err := call(syscall.Write, fd, t.rest)
		switch {
		case err == nil:
			t.n, t.rest = t.n+n, t.rest[n:]
		case errors.Is(err, syscall.EAGAIN):
			return t.pause(t.deadline.wait, true)
		default:
			t.err = c.fault("write", err)
			return true
		}
	}
	return true
}

// call reads or writes what it can at once.
func call(f func(fd int, b []byte) (int, error), fd uintptr, b []byte) (int, error) {
	for {
		n, err := f(int(fd), b)
		if !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}

// fault makes an error as package net does.
func (c *conn) fault(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: os.NewSyscallError(op, err)}
}
