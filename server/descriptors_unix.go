//go:build unix

package server

import (
	"math"

	"golang.org/x/sys/unix"
)

// Descriptors is how many file descriptors this process may have, math.MaxInt64 if nobody says: the soft limit, which the runtime has raised
// to the hard one.
func Descriptors() int64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt64
	}
	return int64(min(uint64(limit.Cur), math.MaxInt64)) //nolint:unconvert,gosec // its type differs between systems; it is bounded
}
