package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/raft"
)

// checkSnapshots reads what is beside each snapshot, which raft's store leaves out
// with a warning when it is damaged: the node would start from an older one, or
// from nothing. A snapshot's name tells its term and index once more, the seal
// covers the rest: the members and their addresses. The content has a checksum of its own.
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
		if err := checkSnapshotSeal(filepath.Dir(path), raw); err != nil {
			return err
		}
	}
	return nil
}

// snapshotSeal is the file with the checksum of meta.json. It is written right
// after the snapshot: one of an older binary, or of a node that ended in between,
// has none.
const snapshotSeal = "meta.sum"

func sealOf(meta []byte) string {
	return fmt.Sprintf("%08x\n", crc32.Checksum(meta, castagnoli))
}

func checkSnapshotSeal(dir string, meta []byte) error {
	path := filepath.Join(dir, snapshotSeal)
	sum, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	case string(sum) != sealOf(meta):
		return fmt.Errorf("%w: %s fails its checksum in %s", ErrCorrupt, filepath.Join(dir, "meta.json"), path)
	}
	return nil
}

// Create begins a snapshot that is sealed when it is closed.
func (s *snapshotStore) Create(v raft.SnapshotVersion, index, term uint64, c raft.Configuration, at uint64, t raft.Transport) (raft.SnapshotSink, error) {
	sink, err := s.SnapshotStore.Create(v, index, term, c, at, t)
	if err != nil {
		return nil, err
	}
	return &sealingSink{SnapshotSink: sink, store: s, dir: filepath.Join(s.dir, "snapshots", sink.ID())}, nil
}

// note keeps what a finished snapshot is. Whoever asks need not list the directory,
// which warns of the one that is being written.
func (s *snapshotStore) note(meta *raft.SnapshotMeta) {
	s.size.Store(meta.Size)
	s.index.Store(meta.Index)
}

type sealingSink struct {
	raft.SnapshotSink
	store *snapshotStore
	dir   string // where the snapshot will be
}

// Close finishes the snapshot.
func (s *sealingSink) Close() error {
	if err := s.SnapshotSink.Close(); err != nil {
		return err
	}
	raw, err := os.ReadFile(filepath.Join(s.dir, "meta.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was cancelled before, or a newer one took its place
	}
	if err != nil {
		return fmt.Errorf("cluster: seal snapshot: %w", err)
	}
	var meta raft.SnapshotMeta
	if err := json.Unmarshal(raw, &meta); err != nil {
		return fmt.Errorf("cluster: seal snapshot: %w", err)
	}
	s.store.note(&meta)
	return writeFileDurably(filepath.Join(s.dir, snapshotSeal), []byte(sealOf(raw)))
}
