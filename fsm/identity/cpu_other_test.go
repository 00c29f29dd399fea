//go:build !linux

package identity

import "time"

// threadCPU is known on Linux only.
func threadCPU() time.Duration { return 0 }
