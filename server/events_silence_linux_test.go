package server_test

import (
	"net/url"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/flagraft/flagraft/server/servertest"
)

// The kernel's own patience with a machine that is gone is a quarter of an hour, and so long the stream would hold its place.
func TestAStreamOfEventsEndsWhenItsMachineIsGone(t *testing.T) {
	n := servertest.Start(t)
	follow(t, n, "Token "+n.Token(t))
	base, err := url.Parse(n.Base)
	require.NoError(t, err)
	port, err := strconv.Atoi(base.Port())
	require.NoError(t, err)
	require.Contains(t, silenceOf(t, port), 30_000)
}

// silenceOf reads, of the connections that came to a port of this process, how long their other ends may be silent, in milliseconds.
func silenceOf(t *testing.T, port int) (all []int) {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, f := range open {
		fd, _ := strconv.Atoi(f.Name())
		if at, err := unix.Getsockname(fd); err != nil || portOf(at) != port {
			continue
		}
		if limit, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT); err == nil {
			all = append(all, limit)
		}
	}
	return all
}

func portOf(a unix.Sockaddr) int {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		return a.Port
	case *unix.SockaddrInet6:
		return a.Port
	}
	return 0
}
