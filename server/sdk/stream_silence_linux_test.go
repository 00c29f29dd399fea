package sdk

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The kernel's own patience with a machine that is gone is a quarter of an hour.
func TestAStreamEndsWhenItsMachineIsGone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer client.Close()
	conn, err := l.Accept()
	require.NoError(t, err)
	defer conn.Close()

	var s stream
	s.own(conn)
	timeout := 0
	require.NoError(t, s.raw.Control(func(fd uintptr) {
		timeout, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
	}))
	require.NoError(t, err)
	require.EqualValues(t, silentFor.Milliseconds(), timeout)
}
