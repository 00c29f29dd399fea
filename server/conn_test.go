package server

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ends are both ends of a connection, the first as the server has it.
func ends(t *testing.T, l limits) (*conn, *net.TCPConn) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	client, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	c, err := connListener{Listener: listener, limits: l}.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c.(*conn), client.(*net.TCPConn)
}

// sent waits until the other end has got b.
func sent(t *testing.T, client net.Conn, c *conn, b []byte) {
	_, err := client.Write(b)
	require.NoError(t, err)
	raw, err := c.Conn.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	peek := make([]byte, len(b))
	require.Eventually(t, func() (there bool) {
		require.NoError(t, raw.Control(func(fd uintptr) {
			n, _, _ := syscall.Recvfrom(int(fd), peek, syscall.MSG_PEEK)
			there = n == len(b)
		}))
		return there
	}, 10*time.Second, time.Millisecond)
}

// waitingRead waits for a byte, and tells what came of it.
func waitingRead(t *testing.T, c *conn) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		done <- err
	}()
	require.Eventually(t, func() bool { return c.in.set.Load() > 0 }, 10*time.Second, time.Millisecond)
	return done
}

func (d *deadline) counted(moves *int) {
	move := d.move
	d.move = func(t time.Time) error { *moves++; return move(t) }
}

const short = 50 * time.Millisecond

// all are the same limits for everything.
func all(d time.Duration) limits { return limits{d, d, d} }

func TestLimitsComeLateAndNeverEarly(t *testing.T) {
	c, client := ends(t, limits{head: time.Hour, idle: short, answer: short})
	read := waitingRead(t, c)
	_, err := client.Write([]byte{1})
	require.NoError(t, err)
	require.NoError(t, <-read)
	c.idle() // the socket still has the deadline of the head
	start := time.Now()
	_, err = c.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.GreaterOrEqual(t, time.Since(start), short)

	for _, n := range []int{much, 64 << 20} { // more than the sockets hold, in the end
		c.busy()
		start = time.Now()
		for err = nil; err == nil; {
			_, err = c.Write(make([]byte, n))
		}
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.GreaterOrEqual(t, time.Since(start), short)
	}
}

// much is more than a socket takes at once, often.
const much = 64 << 10

// A head has one limit, however its bytes come.
func TestLimitIsOfAllReadsOfARequest(t *testing.T) {
	c, client := ends(t, all(short))
	go func() {
		for {
			if _, err := client.Write([]byte{1}); err != nil {
				return
			}
			time.Sleep(short / 10)
		}
	}()
	var err error
	for err == nil {
		_, err = c.Read(make([]byte, 1))
	}
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, c.Close())
}

// An answer has one limit, in however many pieces it is written: TLS writes many.
func TestLimitIsOfAllWritesOfAnAnswer(t *testing.T) {
	for _, n := range []int{much / 4, 2 * much} {
		c, client := ends(t, all(10*short))
		require.NoError(t, c.Conn.(*net.TCPConn).SetWriteBuffer(64<<10)) // a piece waits for a moment, never for long
		go func() {
			buf := make([]byte, much)
			for {
				if _, err := client.Read(buf); err != nil {
					return
				}
				time.Sleep(time.Millisecond)
			}
		}()
		var err error
		for err == nil {
			_, err = c.Write(make([]byte, n))
		}
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.NoError(t, c.Close())
	}
}

// A deadline that has come after its wait was over stops nothing.
func TestDeadlineOfAnEarlierWaitIsLifted(t *testing.T) {
	t.Parallel()
	c, client := ends(t, limits{head: time.Second, idle: time.Hour, answer: short})
	read := waitingRead(t, c)
	_, err := client.Write([]byte{1})
	require.NoError(t, err)
	require.NoError(t, <-read)
	time.Sleep(2 * c.limits.head) // it comes, and nobody waits
	c.idle()
	sent(t, client, c, []byte{1})
	_, err = c.Read(make([]byte, 1))
	require.NoError(t, err)
}

func TestDeadlineIsGiven(t *testing.T) {
	c, client := ends(t, all(time.Hour))
	buf := make([]byte, 1)
	for _, give := range []func(time.Time) error{c.SetReadDeadline, c.SetDeadline} {
		end := time.Now().Add(short)
		require.NoError(t, give(end))
		_, err := c.Read(buf)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.False(t, time.Now().Before(end), "early")
	}
	var err error
	for err == nil { // the timer of writes may come a moment after that of reads
		_, err = c.Write(make([]byte, 1))
	}
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)

	c.busy() // the limits hold again
	_, err = c.Write(make([]byte, 1))
	require.NoError(t, err)
	sent(t, client, c, buf)
	_, err = c.Read(buf)
	require.NoError(t, err)
}

func TestDeadlineMovesUnderARead(t *testing.T) {
	c, client := ends(t, all(time.Hour))
	done := waitingRead(t, c)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(short/5)))
	require.ErrorIs(t, <-done, os.ErrDeadlineExceeded)

	// None at all: the read goes on, though the last deadline has passed.
	require.NoError(t, c.SetDeadline(time.Time{}))
	_, err := client.Write([]byte{1})
	require.NoError(t, err)
	_, err = c.Read(make([]byte, 1))
	require.NoError(t, err)
}

func TestDeadlinesMoveSeldom(t *testing.T) {
	c, client := ends(t, all(time.Hour))
	var reads, writes int
	c.in.counted(&reads)
	c.out.counted(&writes)
	buf := make([]byte, 1)
	start := time.Now()
	for range 100 { // as the HTTP server does for each request
		c.idle()
		go func() { _, _ = client.Write([]byte{1}) }()
		_, err := c.Read(buf)
		require.NoError(t, err)
		c.busy()
		_, err = c.Write(buf)
		require.NoError(t, err)
		_, err = client.Read(buf)
		require.NoError(t, err)
	}
	require.LessOrEqual(t, reads, 1+int(time.Since(start)/lateness))
	require.Zero(t, writes)
}

func TestWaitThatMayEndSoonKeepsToTheLimit(t *testing.T) {
	c, _ := ends(t, limits{head: time.Hour, idle: lateness, answer: short})
	c.idle()
	require.NoError(t, c.in.waitSoon())
	require.Equal(t, c.in.end.Load(), c.in.set.Load())
	c.limits.idle = time.Hour
	c.idle()
	require.NoError(t, c.in.waitSoon())
	require.Less(t, c.in.set.Load(), int64(time.Since(processStart)+2*lateness))
	require.Greater(t, c.in.end.Load(), int64(time.Since(processStart)+2*lateness))
	require.NoError(t, c.SetReadDeadline(time.Time{}))
	require.NoError(t, c.in.waitSoon())
	require.Zero(t, c.in.set.Load(), "a given one holds")
}

func TestNoLimit(t *testing.T) {
	c, client := ends(t, limits{})
	var moves int
	c.in.counted(&moves)
	go func() { _, _ = client.Write([]byte{1}) }()
	_, err := c.Read(make([]byte, 1))
	require.NoError(t, err)
	require.Zero(t, moves)
}

// What is sent arrives, whatever the sockets hold.
func TestConnectionMovesEveryByte(t *testing.T) {
	t.Parallel()
	c, client := ends(t, all(time.Hour))
	require.NoError(t, c.Conn.(*net.TCPConn).SetWriteBuffer(4<<10))
	require.NoError(t, client.SetReadBuffer(4<<10))
	data := make([]byte, 3*much)
	rand.NewChaCha8([32]byte{}).Read(data)
	var want []byte
	sizes := []int{0, 1, 5000, much - 1, much, much + 1, len(data)}
	for _, n := range sizes {
		want = append(want, data[:n]...)
	}
	go func() {
		for _, n := range sizes {
			if m, err := c.Write(data[:n]); m != n || err != nil {
				_ = c.Close()
			}
		}
		_ = c.Conn.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(client)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got))

	go func() {
		_, _ = client.Write(want)
		_ = client.CloseWrite()
	}()
	n, err := c.Read(nil)
	require.NoError(t, err)
	require.Zero(t, n)
	got, err = io.ReadAll(c)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got))
}

// slow is a reader that others have to wait for.
type slow struct{ io.Reader }

func (s slow) Read(b []byte) (int, error) {
	time.Sleep(100 * time.Microsecond)
	return s.Reader.Read(b)
}

// Slices arrive one after the other, whether the socket takes them at once or not.
func TestConnectionWritesSlices(t *testing.T) {
	c, client := ends(t, all(time.Hour))
	require.NoError(t, c.Conn.(*net.TCPConn).SetWriteBuffer(24<<10)) // takes a part of many
	require.NoError(t, client.SetReadBuffer(32<<10))
	data := make([]byte, 2*much)
	rand.NewChaCha8([32]byte{1}).Read(data)
	sizes := []int{0, 1, 20_000, much + 1}
	var want []byte
	var writes [][3][]byte
	for _, a := range sizes {
		for _, b := range sizes {
			for _, d := range sizes {
				w := [3][]byte{data[:a], data[a : a+b/2], data[b/3 : b/3+d]}
				writes = append(writes, w)
				want = append(append(append(want, w[0]...), w[1]...), w[2]...)
			}
		}
	}
	go func() {
		for _, w := range writes {
			if c.writeAll(w[0], w[1], w[2]) != nil {
				break
			}
		}
		_ = c.Conn.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(slow{client})
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got))

	require.NoError(t, c.Close())
	require.ErrorIs(t, c.writeAll(data[:1], nil, nil), net.ErrClosed)
	require.NoError(t, c.writeAll(nil, nil, nil))
}

// A deadline that has passed while nobody wrote stops no answer.
func TestSlicesAfterALateDeadline(t *testing.T) {
	c, client := ends(t, all(time.Hour))
	require.NoError(t, c.out.place(time.Now().Add(-time.Second)))
	require.NoError(t, c.writeAll([]byte("a"), []byte("b"), []byte("c")))
	got := make([]byte, 3)
	_, err := io.ReadFull(client, got)
	require.NoError(t, err)
	require.Equal(t, "abc", string(got))
}

func TestConnectionFaults(t *testing.T) {
	c, client := ends(t, all(time.Hour))
	require.NoError(t, client.SetLinger(0)) // its end resets the connection
	require.NoError(t, client.Close())
	_, err := c.Read(make([]byte, 1))
	require.ErrorIs(t, err, syscall.ECONNRESET)
	var fault net.Error
	require.ErrorAs(t, err, &fault)
	require.False(t, fault.Timeout())
	_, err = c.Write(make([]byte, 1))
	require.ErrorIs(t, err, syscall.EPIPE)

	c, _ = ends(t, all(time.Hour))
	done := waitingRead(t, c)
	require.NoError(t, c.Close())
	require.ErrorIs(t, <-done, net.ErrClosed)
	_, err = c.Write(make([]byte, 1))
	require.ErrorIs(t, err, net.ErrClosed)

	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	dead, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	require.NoError(t, dead.Close())
	c = newConn(dead, limits{}) // closed before it is served
	_, err = c.Read(make([]byte, 1))
	require.ErrorIs(t, err, net.ErrClosed)
}

func TestConnectionAllocatesNothing(t *testing.T) {
	c, client := ends(t, all(time.Hour))
	buf := make([]byte, 1)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		c.idle()
		_, _ = client.Write(buf)
		_, _ = c.Read(buf)
		c.busy()
		_, _ = c.Write(buf)
		_, _ = client.Read(buf)
	}))
}
