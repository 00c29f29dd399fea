package cluster

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

// logStore is raft-boltdb with what it lacks: a checksum on every entry,
// checked in flight and at rest; the commit index kept beside the entries; a
// cache bounded in bytes; monotonic indexes; counters; and a sign of life for
// the watchdog.
type logStore struct {
	bolt  *raftboltdb.BoltStore
	cache *entryCache

	// origin answers for Raft, which is made after its store.
	origin atomic.Pointer[origin]
	// fatal receives ErrCorrupt; the node must stop.
	fatal func(error)

	disk     diskWatch
	lastKept atomic.Uint64 // newest commit index that is on disk
	counters storageCounters
}

// origin tells the store about the Raft instance on top of it.
type origin struct {
	leading func() bool
	commit  func() uint64
}

type storageCounters struct {
	stores, entries, bytes, nanos, sets, hits, misses atomic.Uint64
	sinceSnapshot                                     atomic.Int64
}

var keyCommit = []byte("flagraft.commit")

// deleteChunk bounds how many entries one delete transaction takes: it holds
// the store, and appends wait.
const deleteChunk = 512

// entryOverhead approximates an entry's cost beside its data.
const entryOverhead = 96

func openLogStore(dir string, cacheBytes int64, fatal func(error)) (*logStore, error) {
	bolt, err := raftboltdb.New(raftboltdb.Options{
		Path: filepath.Join(dir, logFileName),
		BoltOptions: &bbolt.Options{
			Timeout:        2 * time.Second,
			NoFreelistSync: true, // the freelist grows with the log and would be written at every commit
			FreelistType:   bbolt.FreelistMapType,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("cluster: open log store: %w", err)
	}
	s := &logStore{bolt: bolt, cache: newEntryCache(cacheBytes), fatal: fatal}
	kept, err := bolt.GetUint64(keyCommit)
	if err != nil && !errors.Is(err, raftboltdb.ErrKeyNotFound) {
		return nil, errors.Join(fmt.Errorf("cluster: read commit index: %w", err), bolt.Close())
	}
	s.lastKept.Store(kept)
	return s, nil
}

func (s *logStore) close() error { return s.bolt.Close() }

// IsMonotonic makes Raft drop the whole log after it installed a snapshot, which
// keeps a follower with a conflicting tail from being sent snapshots for ever.
func (s *logStore) IsMonotonic() bool { return true }

func (s *logStore) FirstIndex() (uint64, error) { return s.bolt.FirstIndex() }
func (s *logStore) LastIndex() (uint64, error)  { return s.bolt.LastIndex() }

// GetLog reads an entry and checks it.
func (s *logStore) GetLog(index uint64, l *raft.Log) error {
	if s.cache.get(index, l) {
		s.counters.hits.Add(1)
		return nil
	}
	s.counters.misses.Add(1)
	if err := s.bolt.GetLog(index, l); err != nil {
		if !errors.Is(err, raft.ErrLogNotFound) {
			err = s.corrupt(fmt.Errorf("%w: entry %d cannot be read: %w", ErrCorrupt, index, err))
		}
		return err
	}
	if l.Index != index {
		return s.corrupt(fmt.Errorf("%w: entry %d found in the place of %d", ErrCorrupt, l.Index, index))
	}
	if _, err := checkStamp(l); err != nil {
		return s.corrupt(fmt.Errorf("at rest: %w", err))
	}
	return nil
}

func (s *logStore) corrupt(err error) error {
	s.fatal(err)
	return err
}

// StoreLog stores one entry.
func (s *logStore) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

// StoreLogs stamps the entries of a leader, checks those that came over the
// wire, and stores all in one transaction with one fsync.
func (s *logStore) StoreLogs(logs []*raft.Log) error {
	started := time.Now()
	commit, bytes, err := s.stamp(logs)
	if err != nil {
		return s.corrupt(err)
	}
	s.disk.begin()
	err = s.bolt.StoreLogs(logs)
	s.disk.end()
	if err != nil {
		return err
	}
	s.cache.put(logs)
	atomicMax(&s.lastKept, commit)
	c := &s.counters
	c.stores.Add(1)
	c.entries.Add(uint64(len(logs)))
	c.bytes.Add(uint64(bytes))
	c.nanos.Add(uint64(time.Since(started)))
	c.sinceSnapshot.Add(int64(bytes + entryOverhead*len(logs)))
	return nil
}

// stamp returns the newest commit index in the stamps and the size of the data.
func (s *logStore) stamp(logs []*raft.Log) (commit uint64, bytes int, err error) {
	from := s.origin.Load()
	for _, l := range logs {
		bytes += len(l.Data)
		if len(l.Extensions) == 0 {
			// Entry 1 is the bootstrap configuration, made before anybody leads.
			if l.Index != 1 && (from == nil || !from.leading()) {
				return 0, 0, fmt.Errorf("%w: entry %d arrived without a checksum", ErrCorrupt, l.Index)
			}
			var known uint64
			if from != nil {
				known = min(from.commit(), l.Index-1)
			}
			l.Extensions = newStamp(l, known)
			commit = max(commit, known)
			continue
		}
		known, err := checkStamp(l)
		if err != nil {
			return 0, 0, fmt.Errorf("in flight: %w", err)
		}
		commit = max(commit, known)
	}
	return commit, bytes, nil
}

// DeleteRange removes entries. A prefix goes in chunks, so that appends are
// not held up; anything else in one transaction, since a torn cut would leave a gap.
func (s *logStore) DeleteRange(lo, hi uint64) error {
	s.cache.delete(lo, hi)
	first, err := s.bolt.FirstIndex()
	if err != nil {
		return err
	}
	if first >= lo {
		for lo = first; hi >= lo && hi-lo >= deleteChunk; lo += deleteChunk {
			if err := s.deleteChunk(lo, lo+deleteChunk-1); err != nil {
				return err
			}
		}
	}
	return s.deleteChunk(lo, hi)
}

func (s *logStore) deleteChunk(lo, hi uint64) error {
	s.disk.begin()
	defer s.disk.end()
	return s.bolt.DeleteRange(lo, hi)
}

// Set stores a value of Raft's (or the node's) own.
func (s *logStore) Set(key, value []byte) error {
	s.counters.sets.Add(1)
	s.disk.begin()
	defer s.disk.end()
	return s.bolt.Set(key, value)
}

// Get returns what Set stored, or an error whose text Raft knows ("not found").
func (s *logStore) Get(key []byte) ([]byte, error) { return s.bolt.Get(key) }

// SetUint64 stores a number (term, vote).
func (s *logStore) SetUint64(key []byte, value uint64) error {
	s.counters.sets.Add(1)
	s.disk.begin()
	defer s.disk.end()
	return s.bolt.SetUint64(key, value)
}

// GetUint64 returns what SetUint64 stored.
func (s *logStore) GetUint64(key []byte) (uint64, error) { return s.bolt.GetUint64(key) }

// keepCommit writes the commit index when no entry carried it to disk yet.
func (s *logStore) keepCommit(commit uint64) error {
	if commit <= s.lastKept.Load() {
		return nil
	}
	if err := s.SetUint64(keyCommit, commit); err != nil {
		return err
	}
	atomicMax(&s.lastKept, commit)
	return nil
}

// stored is the counters as Status shows them.
func (s *logStore) stored() Storage {
	c := &s.counters
	return Storage{
		Stores: c.stores.Load(), Entries: c.entries.Load(), Bytes: c.bytes.Load(),
		StoreNanos: c.nanos.Load(), StableSets: c.sets.Load(),
		CacheHits: c.hits.Load(), CacheMisses: c.misses.Load(),
		LogBytes: c.sinceSnapshot.Load(),
	}
}

func atomicMax(a *atomic.Uint64, v uint64) {
	for {
		old := a.Load()
		if old >= v || a.CompareAndSwap(old, v) {
			return
		}
	}
}
