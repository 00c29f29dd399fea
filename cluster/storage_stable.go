package cluster

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	bolterrors "go.etcd.io/bbolt/errors"
)

// fullRetry is the pause between attempts to write to a full disk.
const fullRetry = 200 * time.Millisecond

// stagedVote is the term of a vote until Raft names the candidate: both are
// stored in one transaction, and the vote is given after that.
//
// It is under a mutex: Raft writes it, Status reads stable values at any time.
type stagedVote struct {
	mu   sync.Mutex
	term []byte
}

// Set stores a value of Raft's (or the node's) own.
func (s *logStore) Set(key, value []byte) error {
	values := map[string][]byte{string(key): value}
	if bytes.Equal(key, keyVoteCand) {
		s.vote.mu.Lock()
		if s.vote.term != nil {
			values[string(keyVoteTerm)] = s.vote.term
		}
		s.vote.term = nil
		s.vote.mu.Unlock()
	}
	return s.put(values, raftKey(key))
}

// Get returns what Set stored, or an error whose text Raft knows ("not found").
func (s *logStore) Get(key []byte) ([]byte, error) {
	if bytes.Equal(key, keyVoteTerm) {
		s.vote.mu.Lock()
		defer s.vote.mu.Unlock()
		if s.vote.term != nil {
			return bytes.Clone(s.vote.term), nil
		}
	}
	return s.bolt.value(key)
}

// SetUint64 stores a number. The term of a vote waits for the vote.
func (s *logStore) SetUint64(key []byte, value uint64) error {
	raw := binary.BigEndian.AppendUint64(nil, value)
	if bytes.Equal(key, keyVoteTerm) {
		s.vote.mu.Lock()
		defer s.vote.mu.Unlock()
		s.vote.term = raw
		return nil
	}
	return s.put(map[string][]byte{string(key): raw}, raftKey(key))
}

// GetUint64 returns what SetUint64 stored.
func (s *logStore) GetUint64(key []byte) (uint64, error) {
	raw, err := s.Get(key)
	if err != nil {
		return 0, err
	}
	if len(raw) != 8 {
		return 0, fmt.Errorf("%w: %q is no number", ErrCorrupt, key)
	}
	return binary.BigEndian.Uint64(raw), nil
}

// put stores values. On a full disk Raft's own wait for space: without a term or a
// vote on disk the node can take no part in an election, and Raft knows only to
// panic. Reads go on meanwhile.
func (s *logStore) put(values map[string][]byte, patient bool) error {
	s.counters.sets.Add(1)
	s.disk.begin()
	defer s.disk.end()
	for {
		err := s.settle(s.bolt.set(values))
		if !patient || !errors.Is(err, errDiskFull) {
			return err
		}
		if !s.waitForSpace() {
			runtime.Goexit() // Raft's main loop, which would panic
		}
	}
}

// waitForSpace pauses; for the watchdog it is a sign of life. It returns false when the node stops.
func (s *logStore) waitForSpace() bool {
	s.disk.end()
	defer s.disk.begin()
	select {
	case <-s.closing:
		return false
	case <-time.After(fullRetry):
		return true
	}
}

// lastFull is when a write last found no space.
func (s *logStore) lastFull() time.Time {
	if at := s.full.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

// settle is the end of every write: a full disk is remembered, any other failure
// stops the node, since nobody knows what the disk holds after it.
func (s *logStore) settle(err error) error {
	switch {
	case err == nil, errors.Is(err, bolterrors.ErrDatabaseNotOpen):
	case errors.Is(err, errDiskFull):
		now := time.Now() // as it is: a wall clock that is set back would make the moment last
		s.full.Store(&now)
	default:
		err = fmt.Errorf("%w: %w", ErrDiskFailed, err)
		s.fatal(err)
	}
	return err
}

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
