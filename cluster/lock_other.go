//go:build !unix

package cluster

import "os"

// lockFile relies on bbolt, which locks the log file on every system.
func lockFile(*os.File) error { return nil }
