package identity

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
)

// ErrSnapshot says that the stream is no snapshot, or a damaged one.
var ErrSnapshot = errors.New("identity: malformed snapshot")

func snapshotError(what string) error { return fmt.Errorf("%w: %s", ErrSnapshot, what) }

type byteReader interface {
	io.Reader
	io.ByteReader
}

// Restore builds a new set from a snapshot stream and checks it against the sum in it. A reader that is an
// io.ByteReader (bufio) is left right behind the stream; any other may be read further. Blocks are checked and hashed
// on all cores.
func Restore(r io.Reader) (*Stores, error) {
	br, ok := r.(byteReader)
	if !ok {
		br = bufio.NewReaderSize(r, 256<<10)
	}
	in := &snapshotReader{r: br}
	s, want := in.head()
	environments := in.uvarint()
	var last uint64
	for i := uint64(0); i < environments && in.err == nil; i++ {
		id := in.uvarint()
		if i > 0 && id <= last {
			in.fail("environments out of order")
		}
		last = id
		if in.err == nil {
			in.store(s, id)
		}
	}
	if in.err == nil && in.byte() != snapshotEnd {
		in.fail("no end mark")
	}
	if in.err == nil && s.Sum() != want {
		in.fail("sum differs")
	}
	if in.err != nil {
		return nil, in.err
	}
	return s, nil
}

// snapshotReader reads the parts of the stream; the first error stays.
type snapshotReader struct {
	r   byteReader
	err error
}

func (in *snapshotReader) fail(what string) {
	if in.err == nil {
		in.err = snapshotError(what)
	}
}

func (in *snapshotReader) broken(err error) {
	if in.err == nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		in.err = fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
}

func (in *snapshotReader) byte() byte {
	if in.err != nil {
		return 0
	}
	c, err := in.r.ReadByte()
	if err != nil {
		in.broken(err)
	}
	return c
}

func (in *snapshotReader) uvarint() uint64 {
	if in.err != nil {
		return 0
	}
	v, err := binary.ReadUvarint(in.r)
	if err != nil {
		in.broken(err)
	}
	return v
}

func (in *snapshotReader) full(b []byte) {
	if in.err != nil {
		return
	}
	if _, err := io.ReadFull(in.r, b); err != nil {
		in.broken(err)
	}
}

// maxRead is how much is reserved on the word of a length alone.
const maxRead = 1 << 20

// sized reads n bytes behind a gap of lead bytes.
func (in *snapshotReader) sized(lead int, n uint64) []byte {
	if n >= 1<<31 {
		in.fail("length out of range")
		return nil
	}
	b := arena(lead + int(min(n, maxRead)))
	if n <= maxRead {
		in.full(b[lead : lead+int(n)])
		return b[:lead+int(n)]
	}
	b = b[:lead]
	for rest := int(n); rest > 0 && in.err == nil; {
		k := min(rest, maxRead)
		b = append(b, make([]byte, k)...)
		in.full(b[len(b)-k:])
		rest -= k
	}
	return b
}

func (in *snapshotReader) head() (*Stores, Sum) {
	magic := make([]byte, len(snapshotMagic))
	in.full(magic)
	if string(magic) != snapshotMagic {
		in.fail("no magic")
	}
	if v := in.byte(); v != snapshotVersion {
		in.fail(fmt.Sprintf("unknown version %d", v))
	}
	var seed, sum [16]byte
	in.full(seed[:])
	s := New(seed)
	s.lastIdentity, s.lastTrait = in.uvarint(), in.uvarint()
	in.full(sum[:])
	return s, Sum{binary.LittleEndian.Uint64(sum[:8]), binary.LittleEndian.Uint64(sum[8:])}
}

// store reads one environment.
func (in *snapshotReader) store(s *Stores, id uint64) {
	st := s.newStore(id)
	count := in.uvarint()
	if count == 0 || count > maxSegments*segmentSize {
		in.fail("number of identities")
		return
	}
	in.keys(st)
	if in.err != nil {
		return
	}
	blocks := in.blocks(s, st, count)
	if in.err != nil {
		return
	}
	in.assemble(s, st, blocks)
	if in.err == nil {
		st.count.Store(int64(count))
		st.keys.Store(st.ring.table())
		s.sum.add(st.sum)
		s.publish(id, st)
	}
}

func (in *snapshotReader) keys(st *Store) {
	n := in.uvarint()
	for i := uint64(0); i < n && in.err == nil; i++ {
		name := in.sized(0, in.uvarint())
		if len(name) == 0 {
			st.ring.keys = append(st.ring.keys, traitKey{dead: true})
			st.ring.sums = append(st.ring.sums, Sum{})
			st.ring.dead++
		} else if int(st.ring.intern(name)) != int(i) {
			in.fail("trait key twice")
		}
	}
}

// block is up to 2,048 records that become one segment.
type block struct {
	seg    *segment
	want   int
	hashes []uint64 // of the identifiers, by slot index
	first  uint64
	last   uint64
}

// blocks reads the blocks of an environment while workers check them.
func (in *snapshotReader) blocks(s *Stores, st *Store, count uint64) []*block {
	var list []*block
	work := make(chan *block, 8)
	var wg sync.WaitGroup
	workers := 1
	if count > 4*segmentSize {
		workers = runtime.GOMAXPROCS(0)
	}
	checkers := make([]blockChecker, workers)
	for i := range checkers {
		c := &checkers[i]
		*c = blockChecker{s: s, st: st, refs: make([]int64, len(st.ring.keys)), sums: make([]Sum, len(st.ring.keys))}
		wg.Go(func() {
			for b := range work {
				c.check(b)
			}
		})
	}
	for count > 0 && in.err == nil {
		n := in.uvarint()
		if n == 0 || n > segmentSize || n > count {
			in.fail("records in block")
			break
		}
		count -= n
		data := in.sized(arenaStart, in.uvarint())
		if in.err != nil {
			break
		}
		seg := &segment{data: data[:cap(data)], used: len(data), live: len(data) - arenaStart, n: int(n), count: int(n), epoch: s.epoch}
		b := &block{seg: seg.inOrder(), want: int(n)}
		list = append(list, b)
		work <- b
	}
	close(work)
	wg.Wait()
	for i := range checkers {
		in.merge(st, &checkers[i])
	}
	return list
}

func (in *snapshotReader) merge(st *Store, c *blockChecker) {
	if c.err != nil && in.err == nil {
		in.err = c.err
	}
	st.sum.add(c.sum)
	for k, n := range c.refs {
		if n > 0 {
			st.ring.keys[k].refs.Add(n)
			st.ring.sums[k].add(c.sums[k])
		}
	}
}

// assemble makes the indexes of the segments.
func (in *snapshotReader) assemble(s *Stores, st *Store, blocks []*block) {
	segs, hashes := make([]*segment, len(blocks)), make([][]uint64, len(blocks))
	var last uint64
	for i, b := range blocks {
		if b.first <= last {
			in.fail("identities out of order")
			return
		}
		last = b.last
		segs[i], hashes[i] = b.seg, b.hashes
	}
	c, err := indexSegments(s.key, segs, hashes)
	if err != nil {
		in.err = fmt.Errorf("%w: %w", ErrSnapshot, err)
		return
	}
	st.core.Store(c)
}

// blockChecker validates blocks and sums them up; one per worker.
type blockChecker struct {
	s    *Stores
	st   *Store
	refs []int64
	sums []Sum
	sum  Sum
	err  error
}

func (c *blockChecker) check(b *block) {
	if c.err != nil {
		return
	}
	// No larger than what the block holds: the last segment, the only one that goes on to fill, widens its table.
	b.seg.words, b.hashes = make([]uint64, max(b.want, minWords)), make([]uint64, b.want)
	d := decoder{b: b.seg.data[arenaStart:b.seg.used]}
	for i := range b.want {
		loc := b.seg.used - len(d.b)
		body := d.bytes()
		r, ok := c.record(body)
		if d.bad || !ok || r.id <= b.last {
			c.err = snapshotError("record")
			return
		}
		if i == 0 {
			b.first = r.id
		}
		b.last = r.id
		b.seg.place(uint32(i), uint32(loc))
		b.hashes[i] = c.s.key.hash(r.identifier)
		c.sum.add(recordSum(c.st.environment, &r))
	}
	if len(d.b) > 0 {
		c.err = snapshotError("bytes behind the records of a block")
	}
}

// record checks one body and counts its traits.
func (c *blockChecker) record(body []byte) (Record, bool) {
	d := decoder{b: body}
	r := Record{identifier: d.bytes()}
	head := d.uvarint()
	r.flags = uint8(head >> 1)
	r.id, r.lastChange, r.created = d.uvarint(), d.uvarint(), d.varint()
	if head&1 != 0 {
		r.alias = d.bytes()
		d.bad = d.bad || len(r.alias) == 0
	}
	n := d.count(4)
	var trait uint64
	for range n {
		delta, key, value := d.uvarint(), d.uvarint(), d.bytes()
		if d.bad || delta == 0 || trait+delta < trait || key >= uint64(len(c.refs)) || c.st.ring.keys[key].dead || len(value) == 0 {
			return r, false
		}
		trait += delta
		h := traitSum(r.id, trait, c.st.ring.keys[key].sum, value)
		c.refs[key]++
		c.sums[key].add(h)
		c.sum.add(h)
	}
	bad := d.bad || len(d.b) > 0 || len(r.identifier) == 0 || head>>9 != 0 || r.id == 0 || r.id > c.s.lastIdentity ||
		trait > c.s.lastTrait
	return r, !bad
}
