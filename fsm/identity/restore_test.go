package identity

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/fuzz/alloc"
)

func snapshotBytes(tb testing.TB, ops int) []byte {
	g := source{r: rand.New(rand.NewPCG(6, 6)), idents: 40, envs: 2, keys: 6, deletes: 5, rare: true, maxID: 30}
	s := New([16]byte{5})
	for i := range ops {
		s.Apply(g.op(), uint64(i+1), int64(i))
	}
	s.Apply(&Op{Kind: KindDeleteTraitKey, Environment: 1, Key: []byte("key1")}, 1, 1)
	sn := s.Snapshot()
	defer sn.Release()
	var b bytes.Buffer
	_, err := sn.WriteTo(&b)
	require.NoError(tb, err)
	return b.Bytes()
}

func TestRestoreRefusesDamage(t *testing.T) {
	data := snapshotBytes(t, 300)
	_, err := Restore(bytes.NewReader(data))
	require.NoError(t, err)
	for i := range data {
		_, err := Restore(bytes.NewReader(data[:i]))
		require.ErrorIs(t, err, ErrSnapshot, "cut at %d", i)
		if i >= len(snapshotMagic)+1 && i < len(snapshotMagic)+17 {
			continue // the seed is not part of the sum: the enclosing file's checksum guards it
		}
		bad := bytes.Clone(data)
		bad[i] ^= 1 << (i % 8)
		_, err = Restore(bytes.NewReader(bad))
		require.ErrorIs(t, err, ErrSnapshot, "flipped a bit of byte %d", i)
	}
	_, err = Restore(iotest.OneByteReader(bytes.NewReader(data)))
	require.NoError(t, err)
	_, err = Restore(iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(data))))
	require.ErrorIs(t, err, iotest.ErrTimeout)
}

func TestRestoreOfEmpty(t *testing.T) {
	s := New([16]byte{5})
	sn := s.Snapshot()
	var b bytes.Buffer
	_, err := sn.WriteTo(&b)
	require.NoError(t, err)
	got, err := Restore(&b)
	require.NoError(t, err)
	require.Equal(t, s.Sum(), got.Sum())
	require.Equal(t, s.Seed(), got.Seed())
	require.Empty(t, got.Environments())
}

type failingWriter struct{ left int }

func (w *failingWriter) Write(b []byte) (int, error) {
	if len(b) > w.left {
		return w.left, io.ErrShortWrite
	}
	w.left -= len(b)
	return len(b), nil
}

func TestWriteToReportsErrors(t *testing.T) {
	m := loaded(t, 10_000)
	sn := m.s.Snapshot()
	defer sn.Release()
	_, err := sn.WriteTo(&failingWriter{left: 300_000})
	require.ErrorIs(t, err, io.ErrShortWrite)
}

// inBlocksOfOne is the snapshot of one environment with n identities, each record a
// block of its own, as no writer makes them.
func inBlocksOfOne(tb testing.TB, n int) []byte {
	s := New([16]byte{5})
	for i := range n {
		s.Apply(&Op{Kind: KindUpsert, Environment: 1, Identifier: fmt.Appendf(nil, "%x", i)}, 1, 1)
	}
	sn := s.Snapshot()
	defer sn.Release()
	var b bytes.Buffer
	_, err := sn.WriteTo(&b)
	require.NoError(tb, err)
	d := decoder{b: b.Bytes()[len(snapshotMagic)+1+16:]}
	_, _ = d.uvarint(), d.uvarint()
	d.b = d.b[16:]
	_, _, _, keys := d.uvarint(), d.uvarint(), d.uvarint(), d.uvarint()
	require.Zero(tb, keys)
	out := bytes.Clone(b.Bytes()[:b.Len()-len(d.b)])
	for len(d.b) > 1 {
		records := d.uvarint()
		block := decoder{b: d.bytes()}
		for range records {
			out = appendBytes(append(out, 1), appendBytes(nil, block.bytes()))
		}
	}
	return append(out, d.b...)
}

// TestRestoreOfSmallBlocks restores blocks that are not full, and goes on with what it got.
func TestRestoreOfSmallBlocks(t *testing.T) {
	s, err := Restore(bytes.NewReader(inBlocksOfOne(t, 300)))
	require.NoError(t, err)
	for i := range 3000 {
		s.Apply(&Op{Kind: KindUpsert, Environment: 1, Identifier: fmt.Appendf(nil, "%x", i),
			Traits: []TraitOp{{Key: []byte("k"), Value: fmt.Append(nil, i)}}}, 2, 2)
	}
	require.Equal(t, 3000, s.Environment(1).Count())
	sn := s.Snapshot()
	defer sn.Release()
	var b bytes.Buffer
	_, err = sn.WriteTo(&b)
	require.NoError(t, err)
	again, err := Restore(&b)
	require.NoError(t, err)
	require.Equal(t, s.Sum(), again.Sum())
	for i := range 3000 {
		r, ok := s.Environment(1).Lookup(fmt.Appendf(nil, "%x", i))
		require.True(t, ok)
		require.Equal(t, uint64(i+1), r.ID())
	}
}

func FuzzRestore(f *testing.F) {
	f.Add(snapshotBytes(f, 50))
	f.Add(inBlocksOfOne(f, 600))
	f.Add([]byte(snapshotMagic + "\x01" + strings.Repeat("s", 16) + "\x01\x01" + strings.Repeat("h", 16) + "\x01\x01\x01\x01\x80\x80\x80\x40")) // a key of 128 MB
	f.Add([]byte(snapshotMagic + "\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s *Stores
		var err error
		alloc.Bound(t, 5*maxRead+500*len(data), func() { s, err = Restore(bytes.NewReader(data)) })
		if err != nil {
			return
		}
		for _, e := range s.Environments() {
			st := s.Environment(e)
			if n := len(st.Scan(nil, nil, 1<<20)); n != st.Count() || len(st.Page(0, 1<<20)) != n {
				t.Fatal("indexes disagree")
			}
			for r := range st.All {
				if got, ok := st.Lookup(r.Identifier()); !ok || got.ID() != r.ID() {
					t.Fatal("not found")
				}
			}
		}
	})
}
