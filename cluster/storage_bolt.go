package cluster

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

var (
	bucketLogs = []byte("logs")
	bucketConf = []byte("conf")

	// errDiskFull: there is no space for the write. Nothing of it is stored, and
	// it may be tried again. All other errors of a write are final: after a failed
	// sync nobody knows what the disk holds.
	errDiskFull = errors.New("cluster: no space left on the disk")
)

// boltFile is the log and Raft's few values of its own in a file of raft-boltdb,
// with what that has not: a seal around the values (storage_seal.go), a record of
// how far the log goes (storage_extent.go), and a check of the whole file when it
// is opened (storage_pages.go).
type boltFile struct {
	path   string
	store  *raftboltdb.BoltStore
	extent *extentFile

	// writing is held over a transaction: what is written follows from what was
	// before. bbolt lets one writer in at a time anyway.
	writing sync.Mutex
	values  atomic.Pointer[map[string][]byte] // what is committed
	span    atomic.Pointer[span]
	broken  atomic.Pointer[error]
}

// logOptions open the file of the log.
func logOptions(path string) raftboltdb.Options {
	return raftboltdb.Options{Path: path, BoltOptions: &bbolt.Options{
		Timeout:        2 * time.Second,
		NoFreelistSync: true, // the freelist grows with the log and would be written at every commit
		FreelistType:   bbolt.FreelistMapType,
	}}
}

// openBolt opens the log in a directory, and calls checked with each entry.
func openBolt(dir string, checked func(*raft.Log)) (*boltFile, error) {
	path := filepath.Join(dir, logFileName)
	if err := adoptOldLog(dir); err != nil {
		return nil, err
	}
	if err := checkPages(path); err != nil {
		return nil, err
	}
	found, err := readContent(path)
	if err != nil {
		return nil, err
	}
	store, err := raftboltdb.New(logOptions(path))
	if err != nil {
		return nil, fmt.Errorf("cluster: open %s: %w", path, err)
	}
	b := &boltFile{path: path, store: store}
	if err := b.load(found, checked); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// load takes over what is in the file, once it has been checked.
func (b *boltFile) load(found content, checked func(*raft.Log)) error {
	extent, known, err := openExtent(filepath.Join(filepath.Dir(b.path), extentFileName))
	if err != nil {
		return err
	}
	b.extent = extent
	values, sealed, err := found.sealed()
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", b.path, err)
	case known != nil && !sealed:
		return fmt.Errorf("%w: %s: term and vote are gone", ErrCorrupt, b.path)
	}
	if err := b.checkLog(found.span, checked); err != nil {
		return fmt.Errorf("%s: %w", b.path, err)
	}
	if known != nil {
		if err := known.allows(found.span); err != nil {
			return fmt.Errorf("%s: %w", b.path, err)
		}
	}
	b.values.Store(&values)
	b.span.Store(&found.span)
	if !sealed { // a new file, or one of a binary without seals
		if err := b.store.Set(keySeal, encodeSeal(values)); err != nil {
			return fmt.Errorf("cluster: write %s: %w", b.path, err)
		}
	}
	if err := b.extent.keep(found.span); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	return syncDir(filepath.Dir(b.path))
}

// checkLog reads every entry: each has its checksum, and terms do not fall.
func (b *boltFile) checkLog(s span, checked func(*raft.Log)) error {
	var term uint64
	for at := s.first; at <= s.last && at > 0; at++ {
		var l raft.Log
		if err := b.get(at, &l); err != nil {
			return fmt.Errorf("%w: entry %d cannot be read: %w", ErrCorrupt, at, err)
		}
		if l.Index != at {
			return fmt.Errorf("%w: entry %d found in the place of %d", ErrCorrupt, l.Index, at)
		}
		if _, err := checkStamp(&l); err != nil {
			return err
		}
		if l.Term < term {
			return fmt.Errorf("%w: entry %d has term %d after %d", ErrCorrupt, at, l.Term, term)
		}
		term = l.Term
		checked(&l)
	}
	return nil
}

func (b *boltFile) close() error {
	err := b.store.Close()
	if b.extent != nil {
		err = errors.Join(err, b.extent.close())
	}
	return err
}

// write runs a transaction, unless an earlier one failed for good.
func (b *boltFile) write(do func() error) error {
	if err := b.broken.Load(); err != nil {
		return *err
	}
	err := do()
	switch {
	case err == nil:
	case isFull(err):
		err = fmt.Errorf("%w: %w", errDiskFull, err)
	default:
		err = fmt.Errorf("cluster: write %s: %w", b.path, err)
		b.broken.Store(&err)
	}
	return err
}

// isFull tells whether a write found no space. From a sync, the same error would
// not say what is stored and what is not.
func isFull(err error) bool {
	var at *fs.PathError
	return errors.As(err, &at) && at.Op == "write" && noSpace(err)
}

func noSpace(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// get reads an entry without checking it.
func (b *boltFile) get(index uint64, l *raft.Log) (err error) {
	defer func() {
		if p := recover(); p != nil { // of the codec, on damaged bytes
			err = fmt.Errorf("%w: %v", ErrCorrupt, p)
		}
	}()
	*l = raft.Log{} // the decoder leaves what the value does not name
	return b.store.GetLog(index, l)
}

func (b *boltFile) append(entries []*raft.Log) error {
	b.writing.Lock()
	defer b.writing.Unlock()
	next := *b.span.Load()
	for _, l := range entries {
		if !next.add(l.Index) {
			return fmt.Errorf("entry %d does not continue a log of %d to %d", l.Index, next.first, next.last)
		}
	}
	if err := b.write(func() error { return b.store.StoreLogs(entries) }); err != nil {
		return err
	}
	b.span.Store(&next)
	if err := b.write(func() error { return b.extent.note(next) }); !errors.Is(err, errDiskFull) {
		return err
	}
	return nil // the entries are stored, and the record may say less than there is
}

// deleteRange removes a prefix or a suffix of the log, or all of it. The record of
// the log's extent is on disk before: it must never promise too much.
func (b *boltFile) deleteRange(lo, hi uint64) error {
	b.writing.Lock()
	defer b.writing.Unlock()
	next := *b.span.Load()
	lo, hi = max(lo, next.first), min(hi, next.last)
	if lo > hi || next.last == 0 {
		return nil
	}
	if !next.cut(lo, hi) {
		return fmt.Errorf("entries %d to %d are amid a log of %d to %d", lo, hi, next.first, next.last)
	}
	if err := b.write(func() error { return b.extent.keep(next) }); err != nil {
		return err
	}
	if err := b.write(func() error { return b.store.DeleteRange(lo, hi) }); err != nil {
		return err
	}
	b.span.Store(&next)
	return nil
}

// set stores values in one transaction.
func (b *boltFile) set(values map[string][]byte) error {
	b.writing.Lock()
	defer b.writing.Unlock()
	next := maps.Clone(*b.values.Load())
	for k, v := range values {
		next[k] = bytes.Clone(v)
	}
	if err := b.write(func() error { return b.store.Set(keySeal, encodeSeal(next)) }); err != nil {
		return err
	}
	b.values.Store(&next)
	return nil
}

func (b *boltFile) value(key []byte) ([]byte, error) {
	v, ok := (*b.values.Load())[string(key)]
	if !ok {
		return nil, raftboltdb.ErrKeyNotFound
	}
	return bytes.Clone(v), nil
}

func indexKey(index uint64) []byte { return binary.BigEndian.AppendUint64(nil, index) }
