//go:build !linux

package server

// socket is a connection's own way to the system, where it has one.
type socket struct{}

func (socket) open(*conn) {}

// Read is that of a net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	if err := c.in.wait(); err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}

// Write is that of a net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	if err := c.out.wait(); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}
