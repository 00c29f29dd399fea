package identity

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"sync/atomic"
)

// Snapshot stream, version 1. Numbers are varints, byte strings have their length in front.
//
//	magic, version, seed (16 bytes), last identity id, last trait id, sum (16 bytes), number of environments
//	per environment, by id: id, number of identities, number of keys, keys (empty: deleted),
//	  blocks until all identities were there: number of records (≤ 2,048), bytes, records in order of their ids
//	end mark
//
// Checksums, compression and sections are the enclosing file's business.

const (
	snapshotMagic   = "FRIDENT"
	snapshotVersion = 1
	snapshotEnd     = 0xe5
)

// ErrReleased says that the snapshot was released, or written already.
var ErrReleased = errors.New("identity: snapshot was released")

// Snapshot is the state frozen at one moment. Taking it costs a pointer per 2,048 identities; while it is held, the
// first write to each segment clones 16 KB, and an arena that is rewritten stays in memory until WriteTo is past it:
// do not hold it for long.
type Snapshot struct {
	seed         [16]byte
	lastIdentity uint64
	lastTrait    uint64
	sum          Sum
	total        int
	stores       []frozenStore

	owner    *atomic.Int64
	released atomic.Bool
	written  bool
}

type frozenStore struct {
	environment uint64
	count       int
	keys        *keyTable
	segs        []*segment
}

// Snapshot freezes the state. FSM goroutine only; the result may be used and released by another.
func (s *Stores) Snapshot() *Snapshot {
	sn := &Snapshot{seed: s.seed, lastIdentity: s.lastIdentity, lastTrait: s.lastTrait, sum: s.Sum(), owner: &s.snapshots}
	s.epoch++
	s.snapshots.Add(1)
	for i := range s.shards {
		for _, st := range *s.shards[i].Load() {
			if st.Count() > 0 {
				sn.stores = append(sn.stores, st.freeze())
				sn.total += st.Count()
			}
		}
	}
	slices.SortFunc(sn.stores, func(a, b frozenStore) int { return cmp.Compare(a.environment, b.environment) })
	return sn
}

func (st *Store) freeze() frozenStore {
	segs := st.core.Load().segs.Load()
	f := frozenStore{environment: st.environment, count: st.Count(), keys: st.keys.Load(),
		segs: make([]*segment, 0, segs.n.Load())}
	for i := range int(segs.n.Load()) {
		if seg := segs.ptr[i].Load(); seg != nil {
			f.segs = append(f.segs, seg)
		}
	}
	return f
}

// Sum is the state's hash at that moment.
func (sn *Snapshot) Sum() Sum { return sn.sum }

// Count is the number of identities in all environments.
func (sn *Snapshot) Count() int { return sn.total }

// Release lets go of what the snapshot holds. It may be called more than once, and not while WriteTo runs.
func (sn *Snapshot) Release() {
	if !sn.released.Swap(true) {
		sn.stores = nil
		sn.owner.Add(-1)
	}
}

// WriteTo writes the snapshot in large pieces, once: it lets go of what it has written.
func (sn *Snapshot) WriteTo(w io.Writer) (int64, error) {
	if sn.released.Load() || sn.written {
		return 0, ErrReleased
	}
	sn.written = true
	sw := &snapshotWriter{w: w}
	b := append(sw.buf, snapshotMagic...)
	b = append(b, snapshotVersion)
	b = append(b, sn.seed[:]...)
	b = binary.AppendUvarint(b, sn.lastIdentity)
	b = binary.AppendUvarint(b, sn.lastTrait)
	b = binary.LittleEndian.AppendUint64(b, sn.sum.A)
	b = binary.LittleEndian.AppendUint64(b, sn.sum.B)
	sw.buf = binary.AppendUvarint(b, uint64(len(sn.stores)))
	for i := range sn.stores {
		sw.store(&sn.stores[i])
	}
	sw.buf = append(sw.buf, snapshotEnd)
	sw.flush()
	return sw.n, sw.err
}

// snapshotWriter gathers bytes and records of one block.
type snapshotWriter struct {
	w       io.Writer
	buf     []byte
	n       int64
	err     error
	block   []byte
	records int
	traits  []traitEntry
}

const snapshotFlush = 256 << 10

func (sw *snapshotWriter) flush() {
	if sw.err == nil && len(sw.buf) > 0 {
		var n int
		n, sw.err = sw.w.Write(sw.buf)
		sw.n += int64(n)
	}
	sw.buf = sw.buf[:0]
}

func (sw *snapshotWriter) store(f *frozenStore) {
	b := binary.AppendUvarint(sw.buf, f.environment)
	b = binary.AppendUvarint(b, uint64(f.count))
	b = binary.AppendUvarint(b, uint64(len(f.keys.keys)))
	for i := range f.keys.keys {
		b = appendBytes(b, []byte(f.keys.keys[i].name))
	}
	sw.buf = b
	for i, seg := range f.segs {
		f.segs[i] = nil // the store may have replaced it, and then nobody else needs it
		for at := range uint32(len(seg.words)) {
			loc := seg.loc(at)
			if loc == 0 {
				continue
			}
			body, whole := recordBody(seg.data[loc:])
			sw.record(f.keys, seg.data[loc:int(loc)+whole], body)
		}
		if sw.err != nil {
			return
		}
	}
	sw.endBlock()
}

// record adds one record to the block, without the traits whose key was deleted.
func (sw *snapshotWriter) record(keys *keyTable, whole, body []byte) {
	if keys.dead == 0 {
		sw.block = append(sw.block, whole...)
	} else {
		r := parseBody(body)
		r.keys = keys
		sw.traits = sw.traits[:0]
		for it := r.Traits(); it.Next(); {
			sw.traits = append(sw.traits, traitEntry{id: it.id, key: it.key, value: it.value})
		}
		sw.block = appendRecord(sw.block, &r, sw.traits)
	}
	if sw.records++; sw.records == segmentSize || len(sw.block) >= closeBytes {
		sw.endBlock()
	}
}

func (sw *snapshotWriter) endBlock() {
	if sw.records == 0 {
		return
	}
	sw.buf = binary.AppendUvarint(sw.buf, uint64(sw.records))
	sw.buf = binary.AppendUvarint(sw.buf, uint64(len(sw.block)))
	sw.buf = append(sw.buf, sw.block...)
	sw.block, sw.records = sw.block[:0], 0
	if len(sw.buf) >= snapshotFlush {
		sw.flush()
	}
}
