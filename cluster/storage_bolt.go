package cluster

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"
)

var (
	bucketLogs = []byte("logs")
	bucketConf = []byte("conf")

	// errKeyNotFound has the text by which Raft knows it.
	errKeyNotFound = errors.New("not found")

	// errDiskFull: there is no space for the write. Nothing of it is stored, and
	// it may be tried again. All other errors of a write are final: after a failed
	// sync nobody knows what the disk holds.
	errDiskFull = errors.New("cluster: no space left on the disk")
)

// boltFile is the log and Raft's few values of its own in one bbolt file. The
// entries look as raft-boltdb writes them. What it does not have: a seal, which
// says with a checksum what has to be in the file (see storage_seal.go), and a
// check of the whole file when it is opened (storage_pages.go).
type boltFile struct {
	path string
	db   *bbolt.DB

	// writing is held over a transaction: the seal that it writes follows from the
	// one before. bbolt lets one writer in at a time anyway.
	writing sync.Mutex
	sealed  atomic.Pointer[seal] // what is committed
	broken  atomic.Pointer[error]
}

func openBolt(path string) (*boltFile, error) {
	if err := checkPages(path); err != nil {
		return nil, err
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{
		Timeout:        2 * time.Second,
		NoFreelistSync: true, // the freelist grows with the log and would be written at every commit
		FreelistType:   bbolt.FreelistMapType,
	})
	if err != nil {
		return nil, fmt.Errorf("cluster: open %s: %w", path, err)
	}
	b := &boltFile{path: path, db: db}
	if err := b.load(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return b, nil
}

// load reads the seal and checks that everything it speaks of is there.
func (b *boltFile) load() error {
	var found *seal
	var current bool
	err := b.db.View(func(tx *bbolt.Tx) (err error) {
		logs, conf := tx.Bucket(bucketLogs), tx.Bucket(bucketConf)
		if logs == nil && conf == nil && tx.ID() <= 1 {
			found = &seal{conf: map[string][]byte{}} // a new file
			return nil
		}
		if logs == nil || conf == nil {
			return fmt.Errorf("%w: %s: a bucket is missing", ErrCorrupt, b.path)
		}
		if found, current, err = readSeal(conf, uint64(tx.ID())); err != nil {
			return fmt.Errorf("%s: %w", b.path, err)
		}
		if err := found.checkLog(logs, current); err != nil {
			return fmt.Errorf("%s: %w", b.path, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	b.sealed.Store(found)
	if current {
		return nil
	}
	return b.write(func(*bbolt.Bucket, *seal) error { return nil })
}

func (b *boltFile) close() error { return b.db.Close() }

// write runs f in a transaction on a copy of the seal, and publishes the copy
// when all is on disk.
func (b *boltFile) write(f func(logs *bbolt.Bucket, s *seal) error) error {
	b.writing.Lock()
	defer b.writing.Unlock()
	if err := b.broken.Load(); err != nil {
		return *err
	}
	next := *b.sealed.Load()
	next.conf = maps.Clone(next.conf)
	err := b.db.Update(func(tx *bbolt.Tx) error {
		logs, err := tx.CreateBucketIfNotExists(bucketLogs)
		if err != nil {
			return err
		}
		conf, err := tx.CreateBucketIfNotExists(bucketConf)
		if err != nil {
			return err
		}
		if err := f(logs, &next); err != nil {
			return err
		}
		return next.writeTo(conf, uint64(tx.ID()))
	})
	switch {
	case err == nil:
		b.sealed.Store(&next)
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
	return errors.As(err, &at) && at.Op == "write" && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT))
}

// get reads an entry without checking it.
func (b *boltFile) get(index uint64, l *raft.Log) error {
	return b.db.View(func(tx *bbolt.Tx) error {
		value := tx.Bucket(bucketLogs).Get(indexKey(index))
		if value == nil {
			return raft.ErrLogNotFound
		}
		return decodeLog(value, l)
	})
}

func (b *boltFile) append(entries []*raft.Log) error {
	return b.write(func(logs *bbolt.Bucket, s *seal) error {
		for _, l := range entries {
			if s.last != 0 && (l.Index > s.last+1 || l.Index < s.first) {
				return fmt.Errorf("entry %d does not continue a log of %d to %d", l.Index, s.first, s.last)
			}
			value, err := encodeLog(l)
			if err != nil {
				return err
			}
			if err := logs.Put(indexKey(l.Index), value); err != nil {
				return err
			}
			if s.last == 0 {
				s.first = l.Index
			}
			s.last = max(s.last, l.Index)
		}
		return nil
	})
}

// deleteRange removes a prefix or a suffix of the log, or all of it.
func (b *boltFile) deleteRange(lo, hi uint64) error {
	return b.write(func(logs *bbolt.Bucket, s *seal) error {
		lo, hi := max(lo, s.first), min(hi, s.last)
		if lo > hi || s.last == 0 {
			return nil
		}
		for i := lo; i <= hi; i++ {
			if err := logs.Delete(indexKey(i)); err != nil {
				return err
			}
		}
		switch {
		case lo == s.first && hi == s.last:
			s.first, s.last = 0, 0
		case lo == s.first:
			s.first = hi + 1
		case hi == s.last:
			s.last = lo - 1
		default:
			return fmt.Errorf("entries %d to %d are amid a log of %d to %d", lo, hi, s.first, s.last)
		}
		return nil
	})
}

// set stores values under one transaction.
func (b *boltFile) set(values map[string][]byte) error {
	return b.write(func(_ *bbolt.Bucket, s *seal) error {
		for k, v := range values {
			s.conf[k] = bytes.Clone(v)
		}
		return nil
	})
}

func (b *boltFile) value(key []byte) ([]byte, error) {
	v, ok := b.sealed.Load().conf[string(key)]
	if !ok {
		return nil, errKeyNotFound
	}
	return bytes.Clone(v), nil
}

func indexKey(index uint64) []byte { return binary.BigEndian.AppendUint64(nil, index) }

func encodeLog(l *raft.Log) ([]byte, error) {
	var buf bytes.Buffer
	handle := codec.MsgpackHandle{BasicHandle: codec.BasicHandle{TimeNotBuiltin: true}}
	err := codec.NewEncoder(&buf, &handle).Encode(l)
	return buf.Bytes(), err
}

func decodeLog(value []byte, l *raft.Log) (err error) {
	defer func() {
		if p := recover(); p != nil { // of the codec, on damaged bytes
			err = fmt.Errorf("%w: %v", ErrCorrupt, p)
		}
	}()
	*l = raft.Log{} // the decoder leaves what the value does not name
	return codec.NewDecoderBytes(value, &codec.MsgpackHandle{}).Decode(l)
}
