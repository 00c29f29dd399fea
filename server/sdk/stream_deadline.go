package sdk

import (
	"net"
	"time"
)

// patience is how long a write may wait where sockets cannot be written to
// without waiting; other streams wait meanwhile.
const patience = 100 * time.Millisecond

// writeBy writes all of b or fails.
func writeBy(c net.Conn, b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	return c.Write(b)
}
