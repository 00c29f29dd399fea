package fsm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

// A backup is one file:
//
//	"FLAGBACK" version | length CRC32C header | a snapshot (snapshot.go)
//
// The header is CBOR, so that whoever lists backups reads a few hundred bytes.
// Length and CRC are 32-bit big-endian. Nothing comes after the snapshot.
const (
	backupMagic   = "FLAGBACK"
	backupVersion = 1
	maxBackupHead = 64 << 10
)

// ErrBackup is the error for a file that is no backup, or a damaged one.
var ErrBackup = errors.New("backup is not readable")

// ErrNotBorn is the error for a backup of a node that has no state yet.
var ErrNotBorn = errors.New("this node has no state yet")

// BackupHeader says what a backup holds and where it is from.
type BackupHeader struct {
	Cluster      string       `cbor:"1,keyasint" json:"cluster_id"` // as package cluster knows it
	Installation string       `cbor:"2,keyasint" json:"installation"`
	Epoch        string       `cbor:"3,keyasint" json:"epoch"`
	Node         string       `cbor:"4,keyasint" json:"node_id"` // that wrote it
	Index        uint64       `cbor:"5,keyasint" json:"index"`   // of the last entry in it
	Term         uint64       `cbor:"6,keyasint" json:"term"`    // of the node when it wrote it
	Seq          uint64       `cbor:"7,keyasint" json:"seq"`
	StateTime    Time         `cbor:"8,keyasint" json:"-"` // of the last entry in it
	Taken        Time         `cbor:"9,keyasint" json:"-"` // wall clock of the node
	Level        uint8        `cbor:"10,keyasint" json:"format_level"`
	Version      string       `cbor:"11,keyasint" json:"version"` // of flagraft
	StateHash    string       `cbor:"12,keyasint" json:"state_hash"`
	Identities   uint64       `cbor:"13,keyasint" json:"identities"`
	Tables       []TableCount `cbor:"14,keyasint" json:"tables"`
}

// TableCount is how many rows a table has; empty tables are left out.
type TableCount struct {
	Number uint8  `cbor:"1,keyasint" json:"-"`
	Name   string `cbor:"2,keyasint" json:"name"`
	Rows   uint64 `cbor:"3,keyasint" json:"rows"`
}

// BackupOrigin is what the state machine cannot know of a backup it writes.
type BackupOrigin struct {
	Cluster, Node, Version string
	Term                   uint64
	Taken                  Time
}

// Backup writes everything this node has applied, as of one entry, to w. It
// holds up neither readers nor Apply; while it runs, the first write to each
// 2,048 identities copies 16 KB. The result is the header that was written.
// Errors are w's, or [ErrNotBorn].
func (f *FSM) Backup(w io.Writer, from BackupOrigin) (BackupHeader, error) {
	s := f.freeze()
	defer s.Release()
	if !s.state.Born() {
		return BackupHeader{}, ErrNotBorn
	}
	h := s.header(from)
	if err := writeBackupHeader(w, &h); err != nil {
		return h, fmt.Errorf("write backup: %w", err)
	}
	if err := s.write(w); err != nil {
		return h, fmt.Errorf("write backup: %w", err)
	}
	return h, nil
}

func (s *snapshot) header(from BackupOrigin) BackupHeader {
	st := &s.state
	h := BackupHeader{
		Cluster: from.Cluster, Node: from.Node, Version: from.Version, Term: from.Term, Taken: from.Taken,
		Installation: st.Genesis.Cluster.String(), Epoch: st.Genesis.Epoch,
		Index: st.Index, Seq: st.Seq, StateTime: st.Time, Level: st.Genesis.Level, StateHash: st.Hash(),
		Tables: st.counts(),
	}
	if s.identities != nil {
		h.Identities = uint64(s.identities.Count())
	}
	return h
}

// counts counts the rows of every table that has some, by table number.
func (s *State) counts() (counts []TableCount) {
	for _, def := range tablesByNumber() {
		if n := s.rows.count(def); n > 0 {
			counts = append(counts, TableCount{def.number, def.name, uint64(n)})
		}
	}
	return counts
}

// identityCount is the number of identities of all environments.
func (s *State) identityCount() (n uint64) {
	if s.identities == nil {
		return 0
	}
	for _, e := range s.identities.Environments() {
		n += uint64(s.identities.Environment(e).Count())
	}
	return n
}

func writeBackupHeader(w io.Writer, h *BackupHeader) error {
	raw := must(encMode.Marshal(h))
	b := append([]byte(backupMagic), backupVersion)
	b = binary.BigEndian.AppendUint32(b, uint32(len(raw)))
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(raw, castagnoli))
	_, err := w.Write(append(b, raw...))
	return err
}

// ReadBackupHeader reads the header of a backup, and nothing behind it.
func ReadBackupHeader(r io.Reader) (h BackupHeader, err error) {
	var head [len(backupMagic) + 9]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return h, fmt.Errorf("%w: it is shorter than a header: %w", ErrBackup, noEOF(err))
	}
	if string(head[:len(backupMagic)]) != backupMagic {
		return h, fmt.Errorf("%w: it does not start with %s: not a backup", ErrBackup, backupMagic)
	}
	if v := head[len(backupMagic)]; v != backupVersion {
		return h, fmt.Errorf("%w: version %d, this binary reads %d", ErrBackup, v, backupVersion)
	}
	n, sum := binary.BigEndian.Uint32(head[9:]), binary.BigEndian.Uint32(head[13:])
	if n > maxBackupHead {
		return h, fmt.Errorf("%w: header of %d bytes", ErrBackup, n)
	}
	raw := make([]byte, n)
	if _, err := io.ReadFull(r, raw); err != nil {
		return h, fmt.Errorf("%w: it ends in its header: %w", ErrBackup, noEOF(err))
	}
	if crc32.Checksum(raw, castagnoli) != sum {
		return h, fmt.Errorf("%w: its header is damaged", ErrBackup)
	}
	if err := decMode.Unmarshal(raw, &h); err != nil {
		return h, fmt.Errorf("%w: header: %w", ErrBackup, err)
	}
	return h, nil
}

// VerifyBackup reads a backup to its end, as a restore would, and checks
// everything that can be checked: checksums, that each row and identity is
// readable, the hash of the state and the counts in the header. It needs the
// memory of the state it holds. Errors are [ErrBackup]s; the header is set when
// at least that was readable.
func VerifyBackup(r io.Reader) (BackupHeader, error) {
	h, _, err := readBackup(r)
	return h, err
}

// CheckBackup reads a backup to its end and checks its checksums only: whether
// the file is whole, in constant memory.
func CheckBackup(r io.Reader) (BackupHeader, error) {
	h, err := ReadBackupHeader(r)
	if err != nil {
		return h, err
	}
	chunks, err := newChunkReader(r)
	if err == nil {
		err = chunks.Finish()
	}
	if err == nil {
		err = chunks.of(h.Level)
	}
	if err != nil {
		return h, fmt.Errorf("%w: %w", ErrBackup, err)
	}
	return h, nothingBehind(r)
}

// nothingBehind makes sure that a file ends where its backup does.
func nothingBehind(r io.Reader) error {
	if n, err := io.Copy(io.Discard, r); err != nil || n > 0 {
		return fmt.Errorf("%w: %d bytes behind its end", ErrBackup, n)
	}
	return nil
}

// readBackup reads and checks a backup.
func readBackup(r io.Reader) (BackupHeader, *State, error) {
	h, err := ReadBackupHeader(r)
	if err != nil {
		return h, nil, err
	}
	if h.Level > FormatLevel {
		return h, nil, fmt.Errorf("%w: it is of format level %d (flagraft %s), this binary knows %d", ErrBackup, h.Level, h.Version, FormatLevel)
	}
	s, err := readSnapshot(r)
	if err != nil {
		return h, nil, fmt.Errorf("%w: %w", ErrBackup, err)
	}
	if err := nothingBehind(r); err != nil {
		return h, nil, err
	}
	s.settle()
	if err := s.matches(&h); err != nil {
		return h, nil, fmt.Errorf("%w: %w", ErrBackup, err)
	}
	return h, s, nil
}

// settle readies a state that was just read for readers.
func (s *State) settle() {
	s.rows = s.rows.frozen()
	if s.identities != nil {
		s.identitySum = s.identities.Sum()
	}
}

// matches compares a state with what a header says of it.
func (s *State) matches(h *BackupHeader) error {
	switch {
	case !s.Born() || s.identities == nil:
		return errors.New("it holds no installation")
	case s.Hash() != h.StateHash:
		return fmt.Errorf("the state's hash is %s, its header says %s", s.Hash(), h.StateHash)
	case s.Index != h.Index || s.Seq != h.Seq || s.Time != h.StateTime || s.Genesis.Epoch != h.Epoch:
		return errors.New("its header is of another state")
	case s.identityCount() != h.Identities:
		return fmt.Errorf("it holds %d identities, its header says %d", s.identityCount(), h.Identities)
	case !slices.Equal(s.counts(), h.Tables):
		return errors.New("its tables have other numbers of rows than its header says")
	}
	return nil
}
