package server

import (
	"net"
	"time"
)

// How much of a refused body is read, and how long a pause in it may be: a long one while there is more to come for sure, since a client far
// away sends the next part a round trip later.
const (
	drainBytes     = 64 << 20
	drainTime      = 2 * time.Second
	drainPause     = 100 * time.Millisecond
	drainLongPause = time.Second
)

// drain reads on what a client still sends of a body that was refused, of which at least so many bytes are to come. Closing a
// connection with unread bytes resets it, and the client would lose the answer
// that tells it why.
func drain(c net.Conn, least int) {
	end := time.Now().Add(drainTime)
	buf := make([]byte, 32<<10)
	for read := 0; read < drainBytes && time.Now().Before(end); {
		pause := drainPause
		if read < least {
			pause = drainLongPause
		}
		if c.SetReadDeadline(time.Now().Add(pause)) != nil {
			return
		}
		n, err := c.Read(buf)
		read += n
		if err != nil {
			return // at the end, or the client waits for the answer
		}
	}
}
