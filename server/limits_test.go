package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

// TestBodyBudget: bodies that arrive slowly hold their place; a further one is refused before it is read, and taken when they are gone.
func TestBodyBudget(t *testing.T) {
	n := servertest.Start(t, func(st *settings.Settings) { st.MaxBodyBytesTotal = 100_000 })
	head := "POST /api/v1/identities/ HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n"
	large := strings.Repeat(" ", 60000)
	var slow net.Conn
	require.Eventually(t, func() bool {
		if slow == nil {
			slow = dial(t, n)
			_, err := io.WriteString(slow, head+strings.Repeat(" ", 100))
			require.NoError(t, err)
		}
		if speak(t, n, head+large).StatusCode == 503 {
			return true
		}
		// This one came first: then the slow one is refused, or has its place now.
		require.NoError(t, slow.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
		if answered, _ := slow.Read(make([]byte, 1)); answered > 0 {
			slow.Close()
			slow = nil
			return false
		}
		require.NoError(t, slow.SetReadDeadline(time.Time{}))
		return false
	}, 10*time.Second, 10*time.Millisecond)
	r := speak(t, n, head+large)
	require.Equal(t, "1", r.Header.Get("Retry-After"))
	require.Equal(t, `{"detail":"This node has too much to do; nothing was done. Please try again."}`, body(t, r))
	require.Equal(t, 403, n.Client(t).Do("POST", "/api/v1/identities/", map[string]string{"identifier": "small"}).Status)

	_, err := io.WriteString(slow, strings.Repeat(" ", 59900))
	require.NoError(t, err)
	first, err := http.ReadResponse(bufio.NewReader(slow), nil)
	require.NoError(t, err)
	require.Equal(t, 403, first.StatusCode)
	require.NoError(t, slow.Close())
	require.Equal(t, 403, speak(t, n, head+large).StatusCode, "there is room again")
	chunked := "POST /api/v1/identities/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
	for range 3 {
		require.Equal(t, 403, speak(t, n, chunked).StatusCode, "each gives its place back")
	}
}

// TestImportsShareTheBodyBudget: who sends an import is known only when its body is there, so its bytes are counted before.
func TestImportsShareTheBodyBudget(t *testing.T) {
	n := servertest.Start(t, func(st *settings.Settings) { st.MaxBodyBytesTotal = 20 << 20 })
	const size = 12 << 20
	head := "POST " + importPath + " HTTP/1.1\r\nHost: x\r\nAuthorization: anything\r\nContent-Type: application/json\r\nContent-Length: " +
		strconv.Itoa(size) + "\r\n\r\n"
	slow := dial(t, n)
	_, err := io.WriteString(slow, head+" ")
	require.NoError(t, err)
	whole := head + strings.Repeat(" ", size)
	require.Eventually(t, func() bool { return speak(t, n, whole).StatusCode == 503 }, 10*time.Second, 10*time.Millisecond)
	require.NoError(t, slow.Close())
	require.Eventually(t, func() bool { return speak(t, n, whole).StatusCode == 401 }, 10*time.Second, 10*time.Millisecond, "there is room again")
}

// TestConnectionBound: connections past the bound get an answer and are closed; there is room when others went.
func TestConnectionBound(t *testing.T) {
	n := servertest.Start(t, func(st *settings.Settings) { st.MaxConnections = 20 })
	const request = "GET /health/liveness/ HTTP/1.1\r\nHost: x\r\n\r\n"
	var open []net.Conn
	refused := 0
	for range 40 {
		c := dial(t, n)
		open = append(open, c)
		_, _ = io.WriteString(c, request)
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			refused++ // it was closed before the request arrived
			continue
		}
		if r.StatusCode == 503 {
			require.Equal(t, "1", r.Header.Get("Retry-After"))
			require.Equal(t, `{"detail":"This node serves as many connections as it may."}`, body(t, r))
			refused++
		}
	}
	require.Greater(t, refused, 15)
	for _, c := range open {
		c.Close()
	}
	require.Eventually(t, func() bool {
		c := dial(t, n)
		defer c.Close() // it takes the place of the next
		_, _ = io.WriteString(c, request)
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		return err == nil && r.StatusCode == 200
	}, 10*time.Second, 10*time.Millisecond)
}

// TestWriteBound: writes past the bound are refused at once, and nothing of them is done.
func TestWriteBound(t *testing.T) {
	n := servertest.Start(t, func(st *settings.Settings) { st.MaxWrites = 2 })
	tags, c := project(t, n), n.Admin(t)
	statuses := make(chan int, 200)
	for i := range cap(statuses) {
		go func() {
			a := c.Do("POST", tags, map[string]any{"label": fmt.Sprint("tag ", i)})
			if a.Status == 503 && a.Header.Get("Retry-After") != "1" {
				a.Status = 0
			}
			statuses <- a.Status
		}()
	}
	count := map[int]int{}
	for range cap(statuses) {
		count[<-statuses]++
	}
	require.Equal(t, 200, count[201]+count[503], "%v", count)
	require.NotZero(t, count[201])
	require.NotZero(t, count[503])
	require.EqualValues(t, count[201], c.Object("GET", tags, nil, 200)["count"])
}
