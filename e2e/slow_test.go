package e2e

import (
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/nodes"
)

// slowClients opens connections that send a byte now and then, half a request, or
// nothing, and leaves one half open: others are served meanwhile.
func slowClients(t *testing.T, n *nodes.Node, p *nodes.Project) {
	t.Helper()
	open := func() net.Conn {
		c, err := net.Dial("tcp", n.API)
		require.NoError(t, err)
		return c
	}
	var idle []net.Conn
	for range 50 {
		c := open()
		idle = append(idle, c)
		_, err := fmt.Fprintf(c, "POST /api/v1/identities/ HTTP/1.1\r\nHost: x\r\nX-Environment-Key: %s\r\nContent-Length: 1000\r\n\r\n{\"identi", p.EnvironmentKey)
		require.NoError(t, err)
	}
	silent := open()
	half := open() // sends a whole request and closes its side: the answer still comes
	_, err := fmt.Fprintf(half, "GET /api/v1/flags/ HTTP/1.1\r\nHost: x\r\nX-Environment-Key: %s\r\nConnection: close\r\n\r\n", p.EnvironmentKey)
	require.NoError(t, err)
	require.NoError(t, half.(*net.TCPConn).CloseWrite())
	require.NoError(t, half.SetReadDeadline(time.Now().Add(10*time.Second)))
	answer, err := io.ReadAll(half)
	require.NoError(t, err)
	require.Contains(t, string(answer), "HTTP/1.1 200")
	for _, c := range append(idle, silent, half) {
		require.NoError(t, c.Close())
	}
}
