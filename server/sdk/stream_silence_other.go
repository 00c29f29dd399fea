//go:build !linux

package sdk

import "syscall"

// limitSilence is only on Linux.
func limitSilence(syscall.RawConn) {}
