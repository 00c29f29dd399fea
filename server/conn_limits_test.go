package server_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

// dialers connect to new nodes with these limits, one of which speaks TLS.
func dialers(t *testing.T, idle, head time.Duration) map[string]func() net.Conn {
	quick := func(st *settings.Settings) { st.IdleTimeout, st.HeaderTimeout, st.ReadTimeout = idle, head, head }
	plain, secure := servertest.Start(t, quick), startSecure(t, quick)
	return map[string]func() net.Conn{
		"plain": func() net.Conn { return dial(t, plain) },
		"TLS":   func() net.Conn { return secure.dial(t) },
	}
}

// ask makes requests on a connection.
func ask(t *testing.T, c net.Conn, times int) *bufio.Reader {
	t.Helper()
	r := bufio.NewReader(c)
	for range times {
		_, err := io.WriteString(c, "GET /health HTTP/1.1\r\nHost: h\r\n\r\n")
		require.NoError(t, err)
		resp, err := http.ReadResponse(r, nil)
		require.NoError(t, err)
		require.Equal(t, 200, resp.StatusCode)
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
	}
	return r
}

func TestRestingConnectionIsClosed(t *testing.T) {
	t.Parallel()
	const idle = time.Second
	for name, dial := range dialers(t, idle, time.Hour) {
		t.Run(name, func(t *testing.T) {
			c := dial()
			ask(t, c, 2)
			start := time.Now()
			_, err := ask(t, c, 1).ReadByte()
			require.ErrorIs(t, err, io.EOF)
			require.GreaterOrEqual(t, time.Since(start), idle)
		})
	}
}

// An answer to nothing would be taken for that to the first request.
func TestSilentConnectionIsClosed(t *testing.T) {
	t.Parallel()
	const head = 300 * time.Millisecond
	c, start := dialers(t, time.Hour, head)["plain"](), time.Now()
	got, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Empty(t, string(got))
	require.GreaterOrEqual(t, time.Since(start), head)
}

// A request that does not come to its end is no request, however busy the connection looks.
func TestEndlessRequestIsRefused(t *testing.T) {
	t.Parallel()
	for name, dial := range dialers(t, time.Hour, 300*time.Millisecond) {
		for _, before := range []int{0, 1} {
			t.Run(name, func(t *testing.T) {
				c := dial()
				r := ask(t, c, before)
				go func() {
					_, err := io.WriteString(c, "GET /health HTTP/1.1\r\nX-Long: ")
					for err == nil {
						time.Sleep(20 * time.Millisecond)
						_, err = io.WriteString(c, "x")
					}
				}()
				resp, err := http.ReadResponse(r, nil)
				if err == nil { // what came after the answer may reset the connection before that is read
					require.Equal(t, 408, resp.StatusCode)
				}
			})
		}
	}
}

// A body without a limit takes none away from the head.
func TestHeadIsLimitedWhereBodiesAreNot(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, func(st *settings.Settings) { st.HeaderTimeout, st.ReadTimeout = 300*time.Millisecond, 0 })
	c := dial(t, n)
	_, err := io.WriteString(c, "GET /health HTTP/1.1\r\nX-Long: ")
	require.NoError(t, err)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(30*time.Second)))
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	require.Equal(t, 408, resp.StatusCode)
}

// A client far away sends the parts of its body a round trip apart.
func TestRefusedBodyIsAnsweredToSlowClients(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t)
	c := dial(t, n)
	part := strings.Repeat(" ", 300_000)
	_, err := io.WriteString(c, "POST /api/v1/identities/ HTTP/1.1\r\nHost: h\r\nContent-Length: 1200000\r\n\r\n")
	for range 4 {
		require.NoError(t, err)
		time.Sleep(150 * time.Millisecond)
		_, err = io.WriteString(c, part)
	}
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	require.Equal(t, 413, resp.StatusCode)
}

// A large body has its own time, also where that is endless, and so has that of an import.
func TestLargeBodyOutlastsTheHead(t *testing.T) {
	t.Parallel()
	t.Run("limited", func(t *testing.T) { outlastHead(t, 30*time.Second) })
	t.Run("endless", func(t *testing.T) { outlastHead(t, 0) })
}

func outlastHead(t *testing.T, read time.Duration) {
	const head = 300 * time.Millisecond
	n := servertest.Start(t, func(st *settings.Settings) { st.HeaderTimeout, st.ReadTimeout = head, read })
	for _, path := range []string{"/api/v1/identities/", "/api/flagraft/v1/import/"} {
		c := dial(t, n)
		body := strings.Repeat(" ", 20_000)
		_, err := io.WriteString(c, "POST "+path+" HTTP/1.1\r\nHost: h\r\nAuthorization: Token nobody\r\nContent-Length: 20000\r\n\r\n"+body[:100])
		require.NoError(t, err)
		time.Sleep(3 * head)
		_, err = io.WriteString(c, body[100:])
		require.NoError(t, err)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		require.NoError(t, err)
		require.Contains(t, []int{401, 403}, resp.StatusCode, path)
	}
}
