package cluster

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/raft"
)

// checkSnapshots reads what is beside each snapshot, which raft's store leaves out
// with a warning when it is damaged: the node would start from an older one, or
// from nothing. A snapshot's name tells its term and index once more. The content
// has a checksum of its own.
func checkSnapshots(dir string) error {
	dir = filepath.Join(dir, "snapshots")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() || strings.HasSuffix(e.Name(), ".tmp") {
			continue // one that was never finished
		}
		path := filepath.Join(dir, e.Name(), "meta.json")
		raw, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		var meta raft.SnapshotMeta
		if err := json.Unmarshal(raw, &meta); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrCorrupt, path, err)
		}
		if meta.Version != 1 || meta.ID != e.Name() || !strings.HasPrefix(e.Name(), fmt.Sprintf("%d-%d-", meta.Term, meta.Index)) {
			return fmt.Errorf("%w: %s does not describe the snapshot of that name", ErrCorrupt, path)
		}
	}
	return nil
}
