package destination

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// storage answers the requests of one client as answer says, until that is false: then it leaves the connection open and does nothing more.
func storage(t *testing.T, answer func(c net.Conn, r *http.Request) bool) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
			go func() {
				for in := bufio.NewReader(c); ; {
					r, err := http.ReadRequest(in)
					if err != nil || !answer(c, r) {
						return
					}
				}
			}()
		}
	}()
	return "s3://bucket/prefix?region=r&endpoint=http://" + l.Addr().String()
}

func reply(c net.Conn, body string) bool {
	_, err := fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	return err == nil
}

// TestStorageThatStandsStill is given up, wherever in a request it does so. It was after six hours, in which the node took no other backup either.
func TestStorageThatStandsStill(t *testing.T) {
	t.Parallel()
	const begun = `<InitiateMultipartUploadResult><Bucket>bucket</Bucket><Key>k</Key><UploadId>u</UploadId></InitiateMultipartUploadResult>`
	for name, answer := range map[string]func(c net.Conn, r *http.Request) bool{
		"at once": func(net.Conn, *http.Request) bool { return false },
		"in the body of an answer": func(c net.Conn, _ *http.Request) bool {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n<")
			return false
		},
		"in the body of a request": func(c net.Conn, r *http.Request) bool { return r.Method == http.MethodPost && reply(c, begun) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := Open(storage(t, answer), Config{AccessKey: "a", SecretKey: "b", stall: 50 * time.Millisecond})
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err = d.Put(ctx, "name", func(w io.Writer) error {
				_, err := io.Copy(w, strings.NewReader(strings.Repeat("x", partSize)))
				return err
			})
			require.Error(t, err)
			require.NoError(t, ctx.Err(), "it was given up before the test had enough")
			_, err = d.List(ctx, "name")
			require.Error(t, err)
			require.NoError(t, ctx.Err(), "it was given up before the test had enough")
		})
	}
}

// TestEndingAnUploadMayTakeLonger than other requests: the object is there when a server that was long silent answers.
func TestEndingAnUploadMayTakeLonger(t *testing.T) {
	t.Parallel()
	const stall = 500 * time.Millisecond
	target := storage(t, func(c net.Conn, _ *http.Request) bool {
		time.Sleep(2 * stall)
		return reply(c, "done")
	})
	_, at, _ := strings.Cut(target, "endpoint=")
	transport, err := patientTransport(false, stall)
	require.NoError(t, err)
	for query, taken := range map[string]bool{"?uploadId=u": true, "?uploads=": false} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at+"/bucket/name"+query, nil)
		require.NoError(t, err)
		answer, err := transport.RoundTrip(r)
		require.Equal(t, taken, err == nil, query)
		if err == nil {
			require.NoError(t, answer.Body.Close())
		}
	}
}
