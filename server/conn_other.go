//go:build !linux

package server

import "net"

// socket is a connection's own way to the system, where it has one.
type socket struct{}

func (socket) open(*conn) {}

// Read is that of a net.Conn, but for the requests that the connection answers meanwhile.
func (c *conn) Read(b []byte) (int, error) {
	for {
		if err := c.in.wait(); err != nil {
			return 0, err
		}
		n, err := c.Conn.Read(b)
		taken, fault := c.takes(b[:n])
		switch {
		case !taken:
			return n, err
		case fault != nil:
			c.over()
			return 0, fault
		}
	}
}

// Write is that of a net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	if err := c.out.wait(); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// writeAll writes up to three slices.
func (c *conn) writeAll(a, b, d []byte) error {
	_, err := (&net.Buffers{a, b, d}).WriteTo(c)
	return err
}
