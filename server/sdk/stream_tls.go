package sdk

import (
	"crypto/tls"
	"net"
)

// A stream under TLS is written without waiting, too: its records are made in
// memory, and what the socket does not take waits as for a plain stream. So
// the connection under the TLS one has a tap between TLS and the socket.

// StreamListener makes the connections of l fit to become streams when TLS is put around them.
func StreamListener(l net.Listener) net.Listener { return tapListener{l} }

type tapListener struct{ net.Listener }

// Accept waits for a connection.
func (l tapListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &tapped{Conn: c}, nil
}

// tapped keeps what is written, once it is closed off. It belongs to whoever
// has the connection: the HTTP server, then a stream writer.
type tapped struct {
	net.Conn
	off  bool
	kept []byte
}

// Write sends or keeps.
func (t *tapped) Write(b []byte) (int, error) {
	if !t.off {
		return t.Conn.Write(b)
	}
	t.kept = append(t.kept, b...)
	return len(b), nil
}

// Below is the connection that is tapped.
func (t *tapped) Below() net.Conn { return t.Conn }

// sealed is the TLS of a stream.
type sealed struct {
	conn *tls.Conn
	tap  *tapped
}

// tapOff takes the connection out from under TLS. It is nil for a connection without a tap.
func tapOff(c net.Conn) *sealed {
	secured, ok := c.(*tls.Conn)
	if !ok {
		return nil
	}
	tap, ok := secured.NetConn().(*tapped)
	if !ok {
		return nil
	}
	tap.off = true
	return &sealed{secured, tap}
}

// seal makes records of b, in buf.
func (s *sealed) seal(buf, b []byte) ([]byte, error) {
	s.tap.kept = buf[:0]
	_, err := s.conn.Write(b)
	buf, s.tap.kept = s.tap.kept, nil
	return buf, err
}

// farewell makes the record that ends the connection in good order, in buf.
func (s *sealed) farewell(buf []byte) []byte {
	s.tap.kept = buf[:0]
	_ = s.conn.CloseWrite() // it is kept, or there is none
	buf, s.tap.kept = s.tap.kept, nil
	return buf
}
