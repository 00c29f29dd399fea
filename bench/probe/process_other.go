//go:build !linux

package probe

import (
	"errors"
	"time"
)

var errLinux = errors.New("probe: needs Linux (/proc)")

// CPU fails.
func CPU(...int) (time.Duration, error) { return 0, errLinux }

// MachineBusy fails.
func MachineBusy() (time.Duration, error) { return 0, errLinux }

// Load fails.
func Load() (float64, error) { return 0, errLinux }

// Processor is unknown.
func Processor() string { return "unknown processor" }

// RSS fails.
func RSS(int) (total, file int64, err error) { return 0, 0, errLinux }

// ThreadCPU is unknown.
func ThreadCPU() time.Duration { return 0 }
