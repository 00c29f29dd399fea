package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

// span is from which entry to which a log goes; zero: it is empty.
type span struct{ first, last uint64 }

// add tells whether an entry continues the log, and counts it in. One that is
// there already is replaced.
func (s *span) add(index uint64) bool {
	if s.last == 0 {
		s.first, s.last = index, index
		return index > 0
	}
	if index < s.first || index > s.last+1 {
		return false
	}
	s.last = max(s.last, index)
	return true
}

// cut takes lo to hi away, which begin or end the log; else it tells false.
func (s *span) cut(lo, hi uint64) bool {
	switch {
	case lo == s.first && hi == s.last:
		*s = span{}
	case lo == s.first:
		s.first = hi + 1
	case hi == s.last:
		s.last = lo - 1
	default:
		return false
	}
	return true
}

// allows tells whether a log that was found can be what this record is of. The
// log may go further: the record is not synced with each append, and it is
// written before a deletion. It never goes less far.
func (s span) allows(found span) error {
	if s.last != 0 && (found.last < s.last || found.first > s.first) {
		return fmt.Errorf("%w: entries %d to %d were stored, found are %d to %d", ErrCorrupt, s.first, s.last, found.first, found.last)
	}
	return nil
}

// extentFile records how far the log goes, beside it: bbolt has no checksums for
// its pages, so that a damaged one can lose the last entries without a trace.
// Writing costs a few microseconds, since it is left to the system when it
// reaches the disk. Damage comes later than that.
type extentFile struct{ f *os.File }

const (
	extentFileName = "log.extent"
	extentMagic    = "flagraft extent\n"
	extentSize     = len(extentMagic) + 8 + 8 + 4
)

// openExtent opens or makes the file; known is what it says, nil if nothing was
// written yet.
func openExtent(path string) (e *extentFile, known *span, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("cluster: %w", err)
	}
	e = &extentFile{f}
	raw := make([]byte, extentSize)
	if n, err := f.ReadAt(raw, 0); err != nil {
		if n == 0 && errors.Is(err, io.EOF) {
			return e, nil, nil
		}
		return nil, nil, errors.Join(fmt.Errorf("%w: %s cannot be read: %w", ErrCorrupt, path, err), f.Close())
	}
	body := raw[:extentSize-4]
	if string(raw[:len(extentMagic)]) != extentMagic || crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(raw[len(body):]) {
		return nil, nil, errors.Join(fmt.Errorf("%w: %s fails its checksum", ErrCorrupt, path), f.Close())
	}
	at := len(extentMagic)
	return e, &span{binary.BigEndian.Uint64(raw[at:]), binary.BigEndian.Uint64(raw[at+8:])}, nil
}

// note writes the span; it reaches the disk some time later.
func (e *extentFile) note(s span) error {
	out := make([]byte, 0, extentSize)
	out = append(out, extentMagic...)
	out = binary.BigEndian.AppendUint64(out, s.first)
	out = binary.BigEndian.AppendUint64(out, s.last)
	out = binary.BigEndian.AppendUint32(out, crc32.Checksum(out, castagnoli))
	_, err := e.f.WriteAt(out, 0)
	return err
}

// keep writes the span to the disk.
func (e *extentFile) keep(s span) error {
	return errors.Join(e.note(s), e.f.Sync())
}

func (e *extentFile) close() error { return e.f.Close() }
