package fsm

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync/atomic"

	"github.com/hashicorp/raft"
	"github.com/klauspost/compress/zstd"

	"github.com/flagraft/flagraft/fsm/identity"
)

// A snapshot is a container of checked chunks (chunk.go) around one zstd stream
// of sections: meta, one section per table, the identity stores, the end. Backups
// are the same format.

// Sections inside the stream. Numbers are part of the format.
const (
	sectionEnd        = 0
	sectionMeta       = 1
	sectionTable      = 2
	sectionIdentities = 3
)

// maxRowBytes bounds one row when reading: the length comes from the file. It is far above what a write may be large: the change
// log has all that a write deleted or replaced in one row.
const maxRowBytes = math.MaxInt32

// maxReadAhead is how much is reserved on the word of a length alone.
const maxReadAhead = 256 << 10

// maxWindow bounds the memory of the decompressor, whatever a file asks for. The
// compressor's is 4 MB.
const maxWindow = 16 << 20

// ErrSnapshot is the error for a snapshot that is damaged or of another format.
var ErrSnapshot = errors.New("snapshot is not readable")

type snapshotMeta struct {
	Index    uint64    `cbor:"1,keyasint"`
	Seq      uint64    `cbor:"2,keyasint"`
	Time     Time      `cbor:"3,keyasint"`
	Genesis  Genesis   `cbor:"4,keyasint"`
	RowsHash [2]uint64 `cbor:"5,keyasint"`
}

// snapshot is a frozen state on its way to a sink.
type snapshot struct {
	state      State
	identities *identity.Snapshot
	pace       *pace // of the FSM
	frozen     *atomic.Int64
	released   atomic.Bool
}

// Persist writes the snapshot. It runs beside Apply and never stops it.
func (s *snapshot) Persist(sink raft.SnapshotSink) error {
	if err := s.write(sink); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}

// Release frees what the snapshot kept of the identity stores.
func (s *snapshot) Release() {
	if s.released.Swap(true) {
		return
	}
	s.frozen.Add(-1)
	if s.identities != nil {
		s.identities.Release()
	}
}

func (s *snapshot) write(w io.Writer) error {
	chunks := newChunkWriter(w, s.level())
	z, err := zstd.NewWriter(chunks, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(newPacedWriter(z, s.pace), 256<<10)
	if err := s.sections(b); err != nil {
		return err
	}
	if err := errors.Join(b.Flush(), z.Close()); err != nil {
		return err
	}
	return chunks.Close()
}

// level is the format level that a reader must know.
func (s *snapshot) level() uint8 { return max(s.state.Level(), BaseLevel) }

func (s *snapshot) sections(w *bufio.Writer) error {
	meta := must(encMode.Marshal(snapshotMeta{
		Index: s.state.Index, Seq: s.state.Seq, Time: s.state.Time,
		Genesis: s.state.Genesis, RowsHash: s.state.rowsHash,
	}))
	buf := binary.AppendUvarint([]byte{sectionMeta}, uint64(len(meta)))
	if _, err := w.Write(append(buf, meta...)); err != nil {
		return err
	}
	for _, def := range tablesByNumber() {
		if def.level > s.level() {
			continue // a binary of the state's level does not know it
		}
		if err := s.table(w, def); err != nil {
			return fmt.Errorf("table %s: %w", def.name, err)
		}
	}
	if s.identities != nil {
		if err := w.WriteByte(sectionIdentities); err != nil {
			return err
		}
		if _, err := s.identities.WriteTo(w); err != nil {
			return fmt.Errorf("identities: %w", err)
		}
	}
	return w.WriteByte(sectionEnd)
}

func (s *snapshot) table(w *bufio.Writer, def *tableDef) error {
	if _, err := w.Write([]byte{sectionTable, def.number}); err != nil {
		return err
	}
	var buf []byte
	for o := range s.state.rows.all(def) {
		raw := o.(rawRow).bytes()
		buf = append(binary.AppendUvarint(buf[:0], uint64(len(raw))), raw...)
		if _, err := w.Write(buf); err != nil {
			return err
		}
	}
	return w.WriteByte(0) // no row is empty
}

// readSnapshot builds a state from a snapshot and checks it whole: chunk
// checksums, and the hash of the rows against the one that was written.
func readSnapshot(r io.Reader) (*State, error) {
	chunks, err := newChunkReader(r)
	if err != nil {
		return nil, err
	}
	z, err := zstd.NewReader(chunks, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	s := &State{rows: newRows().fork()}
	if err := s.readSections(bufio.NewReaderSize(z, 256<<10)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	if err := chunks.Finish(); err != nil {
		return nil, err
	}
	return s, chunks.of(s.Level())
}

func (s *State) readSections(r *bufio.Reader) error {
	var meta snapshotMeta
	var sum digest
	for {
		kind, err := r.ReadByte()
		if err != nil {
			return err
		}
		switch kind {
		case sectionMeta:
			raw, err := readRow(r)
			if err != nil {
				return err
			}
			if err := decodeBody(raw, &meta); err != nil {
				return err
			}
			if meta.Genesis.Level > FormatLevel {
				return fmt.Errorf("its state is at format level %d, this binary knows %d", meta.Genesis.Level, FormatLevel)
			}
			s.Index, s.Seq, s.Time, s.Genesis, s.rowsHash = meta.Index, meta.Seq, meta.Time, meta.Genesis, meta.RowsHash
		case sectionTable:
			if sum, err = s.readTable(r, sum); err != nil {
				return err
			}
		case sectionIdentities:
			if s.identities, err = identity.Restore(r); err != nil {
				return err
			}
		case sectionEnd:
			if sum != s.rowsHash {
				return errors.New("rows do not add up to their hash")
			}
			return nil
		default:
			return fmt.Errorf("unknown section %d", kind)
		}
	}
}

func (s *State) readTable(r *bufio.Reader, sum digest) (digest, error) {
	number, err := r.ReadByte()
	if err != nil {
		return sum, err
	}
	def := registry.byNumber[number]
	if def == nil {
		return sum, fmt.Errorf("unknown table %d", number)
	}
	for {
		raw, err := readRow(r)
		if err != nil {
			return sum, err
		}
		if len(raw) == 0 {
			return sum, nil
		}
		object, err := def.decode(raw)
		if err != nil {
			return sum, err
		}
		s.rows.put(def, object)
		s.sizes.changed(nil, object)
		sum = sum.add(hashRow(number, def.rowID(object), raw))
	}
}

func readRow(r *bufio.Reader) ([]byte, error) {
	n, err := binary.ReadUvarint(r)
	if err != nil {
		return nil, err
	}
	if n > maxRowBytes {
		return nil, fmt.Errorf("row of %d bytes", n)
	}
	raw := make([]byte, 0, min(n, maxReadAhead))
	for len(raw) < int(n) && err == nil {
		have := len(raw)
		raw = append(raw, make([]byte, min(int(n)-have, maxReadAhead))...)
		_, err = io.ReadFull(r, raw[have:])
	}
	return raw, err
}

func tablesByNumber() []*tableDef {
	all := slices.Clone(registry.all)
	slices.SortFunc(all, func(a, b *tableDef) int { return int(a.number) - int(b.number) })
	return all
}
