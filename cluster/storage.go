package cluster

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
)

// logStore is Raft's log and its stable values on disk: a checksum on every
// entry, checked in flight and at rest; the commit index kept beside the entries;
// a cache bounded in bytes; monotonic indexes; counters; and a sign of life for
// the watchdog.
type logStore struct {
	bolt  *boltFile
	cache *entryCache
	reach *logReach

	// origin answers for Raft, which is made after its store.
	origin atomic.Pointer[origin]
	// fatal receives ErrCorrupt and ErrDiskFailed; the node must stop.
	fatal func(error)

	disk     diskWatch
	lastKept atomic.Uint64 // newest commit index that is on disk
	vote     stagedVote
	full     atomic.Pointer[time.Time] // when a write last found no space; nil: never
	closing  chan struct{}             // closed when the node stops: nothing waits for space any more
	closed   sync.Once
	counters storageCounters
	took     func(seconds float64) // is told of every StoreLogs; nil: nobody is
}

// origin tells the store about the Raft instance on top of it.
type origin struct {
	leading func() bool
	commit  func() uint64
	alone   func() bool   // no other node has a vote
	last    func() uint64 // where its log ends, or the snapshot that took its place
}

type storageCounters struct {
	stores, entries, bytes, nanos, sets, hits, misses atomic.Uint64
	sinceSnapshot                                     atomic.Int64
}

var keyCommit = []byte("flagraft.commit")

// deleteChunk bounds how many entries one delete transaction takes: it holds
// the store, and appends wait.
const deleteChunk = 512

// entryOverhead approximates what an entry takes in the log beside its data.
const entryOverhead = 96

func openLogStore(dir string, cacheBytes int64, fatal func(error)) (*logStore, error) {
	// The replay and Raft read at once what is checked here.
	cache, reach := newEntryCache(cacheBytes), &logReach{}
	bolt, err := openBolt(dir, func(l *raft.Log) {
		cache.put([]*raft.Log{l})
		reach.note(l.Index, len(l.Data))
	})
	if err != nil {
		return nil, err
	}
	s := &logStore{bolt: bolt, cache: cache, reach: reach, fatal: fatal, closing: make(chan struct{})}
	kept, err := s.GetUint64(keyCommit)
	if err != nil && !errors.Is(err, raftboltdb.ErrKeyNotFound) {
		return nil, errors.Join(fmt.Errorf("cluster: read commit index: %w", err), bolt.close())
	}
	s.lastKept.Store(kept)
	return s, nil
}

func (s *logStore) close() error { return s.bolt.close() }

// stopWaiting ends waits for space: Raft is told that its entries found none, and its main loop ends if it was a term or a vote.
func (s *logStore) stopWaiting() { s.closed.Do(func() { close(s.closing) }) }

// IsMonotonic makes Raft drop the whole log after it installed a snapshot, which
// keeps a follower with a conflicting tail from being sent snapshots for ever.
func (s *logStore) IsMonotonic() bool { return true }

func (s *logStore) FirstIndex() (uint64, error) { return s.bolt.span.Load().first, nil }
func (s *logStore) LastIndex() (uint64, error)  { return s.bolt.span.Load().last, nil }

// GetLog reads an entry and checks it.
func (s *logStore) GetLog(index uint64, l *raft.Log) error {
	if s.cache.get(index, l) {
		s.counters.hits.Add(1)
		return nil
	}
	s.counters.misses.Add(1)
	if err := s.bolt.get(index, l); err != nil {
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
	if err := s.append(logs); err != nil {
		return err
	}
	s.cache.put(logs)
	for _, l := range logs {
		s.reach.note(l.Index, len(l.Data))
	}
	atomicMax(&s.lastKept, commit)
	c := &s.counters
	c.stores.Add(1)
	c.entries.Add(uint64(len(logs)))
	c.bytes.Add(uint64(bytes))
	took := time.Since(started)
	c.nanos.Add(uint64(took))
	if s.took != nil {
		s.took(took.Seconds())
	}
	c.sinceSnapshot.Add(int64(bytes + entryOverhead*len(logs)))
	return nil
}

// append writes entries. On a full disk the only voter waits for space; others
// tell Raft, and a leader steps down, so that one with space can lead.
func (s *logStore) append(logs []*raft.Log) error {
	s.disk.begin()
	defer s.disk.end()
	for {
		from := s.origin.Load()
		err := s.dropReplaced(logs[0].Index, from)
		if err == nil {
			err = s.settle(s.bolt.append(logs))
		}
		if !errors.Is(err, errDiskFull) || from == nil || !from.alone() || !s.waitForSpace() {
			return err
		}
	}
}

// dropReplaced removes a log that a snapshot has taken the place of, before the
// first entry behind that. Raft removes it when it takes the snapshot over, and goes on when there is no space for that.
func (s *logStore) dropReplaced(next uint64, from *origin) error {
	log := *s.bolt.span.Load()
	if log.last == 0 || next <= log.last+1 || from == nil || from.last == nil || next != from.last()+1 {
		return nil
	}
	return s.DeleteRange(log.first, log.last)
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
// not held up; anything else in one transaction, since a torn cut would leave a gap:
// what is left of a log that a snapshot takes the place of may begin behind it.
func (s *logStore) DeleteRange(lo, hi uint64) error {
	s.cache.delete(lo, hi)
	if log := *s.bolt.span.Load(); log.first >= lo && log.last > hi {
		for lo = log.first; hi >= lo && hi-lo >= deleteChunk; lo += deleteChunk {
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
	s.reach.delete(lo, hi)
	return s.settle(s.bolt.deleteRange(lo, hi))
}

// stored is the counters as Status shows them.
func (s *logStore) stored() Storage {
	c := &s.counters
	return Storage{
		Stores: c.stores.Load(), Entries: c.entries.Load(), Bytes: c.bytes.Load(),
		StoreNanos: c.nanos.Load(), StableSets: c.sets.Load(),
		CacheHits: c.hits.Load(), CacheMisses: c.misses.Load(), CacheBytes: s.cache.bytes(),
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
