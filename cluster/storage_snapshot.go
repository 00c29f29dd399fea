package cluster

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/raft"
)

// unfinishedSnapshot is how the directory of a snapshot ends that is being written.
const unfinishedSnapshot = ".tmp"

// keptSnapshots is how many snapshots stay; raft's store removes older ones.
const keptSnapshots = 2

// surplusSnapshots lists the snapshots beyond those that stay. A process that was killed while raft's store removed one, file by file,
// left a part of it: that is no damage, since the newer ones are all that is ever read.
func surplusSnapshots(entries []os.DirEntry) []string {
	type snapshot struct {
		name        string
		term, index uint64
	}
	var list []snapshot
	for _, e := range entries {
		s := snapshot{name: e.Name()}
		if !e.IsDir() || strings.HasSuffix(s.name, unfinishedSnapshot) {
			continue
		}
		if n, err := fmt.Sscanf(s.name, "%d-%d-", &s.term, &s.index); n == 2 && err == nil {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b snapshot) int { // newest first, as in raft's store
		return cmp.Or(cmp.Compare(b.term, a.term), cmp.Compare(b.index, a.index), cmp.Compare(b.name, a.name))
	})
	var names []string
	for _, s := range list[min(keptSnapshots, len(list)):] {
		names = append(names, s.name)
	}
	return names
}

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
	surplus := surplusSnapshots(entries)
	for _, e := range entries {
		if !e.IsDir() || strings.HasSuffix(e.Name(), unfinishedSnapshot) || slices.Contains(surplus, e.Name()) {
			continue // one that was never finished, or that was being removed
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
// after the snapshot: one of an older binary, of a node that ended in between, or
// that left no space has none.
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

// Create begins a snapshot that is sealed when it is closed. Of one that fails nothing is left: raft's store leaves what it could not write for want
// of space, and that keeps the disk full.
func (s *snapshotStore) Create(v raft.SnapshotVersion, index, term uint64, c raft.Configuration, at uint64, t raft.Transport) (raft.SnapshotSink, error) {
	begun := func() []string {
		names, _ := filepath.Glob(filepath.Join(s.dir, "snapshots", fmt.Sprintf("%d-%d-*%s", term, index, unfinishedSnapshot))) // only a bad pattern fails
		return names
	}
	before := begun()
	sink, err := s.SnapshotStore.Create(v, index, term, c, at, t)
	if err != nil {
		s.wasFull(err)
		for _, name := range begun() {
			if !slices.Contains(before, name) {
				_ = discard(name) // else at the next start
			}
		}
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

// discard removes an unfinished snapshot. Its content is cut off first: raft leaves the file of one that failed open, and what is only removed keeps
// its space until the collector finds that.
func discard(dir string) error {
	_ = os.Truncate(filepath.Join(dir, "state.bin"), 0) // it may not be there
	return os.RemoveAll(dir)
}

// wasFull keeps whether an error is for want of space: raft passes on its text only.
func (s *snapshotStore) wasFull(err error) {
	if isFull(err) {
		s.full.Store(true)
	}
}

// Write adds to the snapshot.
func (s *sealingSink) Write(p []byte) (int, error) {
	n, err := s.SnapshotSink.Write(p)
	s.store.wasFull(err)
	return n, err
}

// Cancel removes the snapshot.
func (s *sealingSink) Cancel() error {
	return errors.Join(s.SnapshotSink.Cancel(), discard(s.dir+unfinishedSnapshot))
}

// Close finishes the snapshot.
func (s *sealingSink) Close() error {
	if err := s.SnapshotSink.Close(); err != nil {
		s.store.wasFull(err)
		return errors.Join(err, discard(s.dir+unfinishedSnapshot))
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
	seal := filepath.Join(s.dir, snapshotSeal)
	err = writeFileDurably(seal, []byte(sealOf(raw)))
	if noSpace(err) {
		// The snapshot is whole and in its place. Who is told that it failed keeps the log that it is for, and makes another one beside it.
		_ = os.Remove(seal + ".tmp") // it may not be there
		return nil
	}
	return err
}
