package server

import (
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lateEnds are both ends of a connection, the first with late deadlines.
func lateEnds(t *testing.T) (*lateConn, net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	client, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	c, err := lateListener{l}.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c.(*lateConn), client
}

func (d *deadline) counted(moves *int) {
	move := d.move
	d.move = func(t time.Time) error { *moves++; return move(t) }
}

func TestDeadlinesComeLateAndNeverEarly(t *testing.T) {
	c, client := lateEnds(t)
	buf := make([]byte, 1)
	for _, ask := range []func(time.Time) error{c.SetReadDeadline, c.SetDeadline} {
		// A later one that nobody waits for must not stand in the way of a nearer one.
		require.NoError(t, ask(time.Now().Add(time.Hour)))
		_, err := client.Write([]byte{1})
		require.NoError(t, err)
		_, err = c.Read(buf)
		require.NoError(t, err)

		end := time.Now().Add(50 * time.Millisecond)
		require.NoError(t, ask(end))
		_, err = c.Read(buf)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.False(t, time.Now().Before(end), "early")
	}
	big := make([]byte, 64<<20) // more than the sockets hold
	require.NoError(t, c.SetWriteDeadline(time.Now().Add(50*time.Millisecond)))
	_, err := c.Write(big)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

func TestDeadlineMovesUnderARead(t *testing.T) {
	c, client := lateEnds(t)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Hour)))
	done := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		done <- err
	}()
	require.Eventually(t, c.read.waiting.Load, 10*time.Second, time.Millisecond)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(10*time.Millisecond)))
	require.ErrorIs(t, <-done, os.ErrDeadlineExceeded)

	// None at all: the read goes on, though the last deadline has passed.
	require.NoError(t, c.SetDeadline(time.Time{}))
	_, err := client.Write([]byte{1})
	require.NoError(t, err)
	_, err = c.Read(make([]byte, 1))
	require.NoError(t, err)
}

func TestDeadlinesMoveSeldom(t *testing.T) {
	c, client := lateEnds(t)
	var reads, writes int
	c.read.counted(&reads)
	c.write.counted(&writes)
	buf := make([]byte, 1)
	for range 100 { // as the HTTP server does for each request; an hour, so that a slow machine moves none either
		require.NoError(t, c.SetReadDeadline(processStart.Add(2*time.Hour)))
		_, err := client.Write(buf)
		require.NoError(t, err)
		_, err = c.Read(buf)
		require.NoError(t, err)
		require.NoError(t, c.SetReadDeadline(processStart.Add(time.Hour)))
		require.NoError(t, c.SetWriteDeadline(processStart.Add(time.Hour)))
		_, err = c.Write(buf)
		require.NoError(t, err)
		_, err = client.Read(buf)
		require.NoError(t, err)
	}
	require.Equal(t, 1, reads)
	require.Equal(t, 1, writes)
}
