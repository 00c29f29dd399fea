package server_test

import (
	"bufio"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/server/servertest"
)

// TestConnectionsAreClosed: after a request that asks for it in any case or among other options
// (RFC 9110 §7.6.1), and after one with two ideas of its length (RFC 9112 §6.1, a MUST).
func TestConnectionsAreClosed(t *testing.T) {
	n := servertest.Start(t)
	const body = "2\r\n{}\r\n0\r\n\r\n"
	for name, request := range map[string]string{
		"close":  "GET /health/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"Close":  "GET /health/ HTTP/1.1\r\nHost: x\r\nConnection: Close\r\n\r\n",
		"LWP":    "GET /health/ HTTP/1.1\r\nHost: x\r\nTE: deflate\r\nConnection: TE, close\r\n\r\n",
		"CL, TE": "POST /api/v1/flags/ HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + body,
		"TE, CL": "POST /api/v1/flags/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n" + body,
	} {
		t.Run(name, func(t *testing.T) {
			conn := dial(t, n)
			require.NoError(t, conn.SetDeadline(time.Now().Add(2*time.Second)))
			_, err := io.WriteString(conn, request)
			require.NoError(t, err)
			r := bufio.NewReader(conn)
			resp, err := http.ReadResponse(r, nil)
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, resp.Body)
			require.NoError(t, err)
			require.True(t, resp.Close, "Connection: close is told")
			_, err = r.ReadByte()
			require.ErrorIs(t, err, io.EOF, "and done")
		})
	}
}
