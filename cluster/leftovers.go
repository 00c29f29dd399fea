package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// removeLeftovers takes away snapshots that were being written, or received, when
// the process was killed, and those that were being removed. Raft leaves them out
// for ever, at the full size of a snapshot each. Nobody writes one yet: the
// directory belongs to this process.
func removeLeftovers(dir string) error {
	dir = filepath.Join(dir, "snapshots")
	names, err := filepath.Glob(filepath.Join(dir, "*"+unfinishedSnapshot))
	if err != nil {
		return fmt.Errorf("cluster: unfinished snapshots: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cluster: %w", err)
	}
	for _, name := range surplusSnapshots(entries) {
		names = append(names, filepath.Join(dir, name))
	}
	var errs []error
	for _, name := range names {
		errs = append(errs, os.RemoveAll(name))
	}
	return errors.Join(errs...)
}
