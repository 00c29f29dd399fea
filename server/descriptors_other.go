//go:build !unix

package server

import "math"

// Descriptors is how many file descriptors this process may have: nobody says.
func Descriptors() int64 { return math.MaxInt64 }
