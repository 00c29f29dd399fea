package server

import (
	"net"
	"time"
)

// How much of a refused body is read, and how long a pause in it may be.
const (
	drainBytes = 64 << 20
	drainTime  = 2 * time.Second
	drainPause = 100 * time.Millisecond
)

// drain reads on what a client still sends of a body that was refused. Closing a
// connection with unread bytes resets it, and the client would lose the answer
// that tells it why.
func drain(c net.Conn) {
	end := time.Now().Add(drainTime)
	buf := make([]byte, 32<<10)
	for read := 0; read < drainBytes && time.Now().Before(end); {
		if c.SetReadDeadline(time.Now().Add(drainPause)) != nil {
			return
		}
		n, err := c.Read(buf)
		read += n
		if err != nil {
			return // at the end, or the client waits for the answer
		}
	}
}
