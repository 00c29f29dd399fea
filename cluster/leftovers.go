package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// removeLeftovers takes away snapshots that were being written, or received, when
// the process was killed. Raft leaves them out for ever, at the full size of a
// snapshot each. Nobody writes one yet: the directory belongs to this process.
func removeLeftovers(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "snapshots", "*.tmp"))
	if err != nil {
		return fmt.Errorf("cluster: unfinished snapshots: %w", err)
	}
	var errs []error
	for _, name := range names {
		errs = append(errs, os.RemoveAll(name))
	}
	return errors.Join(errs...)
}
