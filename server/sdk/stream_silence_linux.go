package sdk

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// limitSilence has the kernel end a connection whose other end acknowledges nothing for silentFor: a phone that lost its network, a laptop that
// sleeps. What the kernel does of itself would be to send again for a quarter of an hour, while the stream holds a place.
func limitSilence(raw syscall.RawConn) {
	_ = raw.Control(func(fd uintptr) { // without it the stream only lasts longer
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(silentFor.Milliseconds()))
	})
}
