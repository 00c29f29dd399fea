package identity

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Nothing but time shows that a lookup touches the right place, so what it touches is compared with where records lie.
func TestRecordsLieWhereTheyAreTouched(t *testing.T) {
	const page = 4096
	near := func(st *Store) (full, off int) {
		segs := st.core.Load().segs.Load()
		for i := range segs.n.Load() {
			seg := segs.ptr[i].Load()
			if seg.n < segmentSize {
				continue
			}
			full++
			for at := range uint32(seg.n) {
				got, ok := seg.expected(at)
				require.True(t, ok)
				if loc := uint64(seg.loc(at)); max(got, loc)-min(got, loc) > page {
					off++
				}
			}
		}
		return full, off
	}
	s, r := New([16]byte{1}), rand.New(rand.NewPCG(1, 2))
	upsert := func(i int) {
		op := Op{Kind: KindUpsert, Environment: 1, Identifier: fmt.Appendf(nil, "user-%06d", i)}
		for k := range 10 {
			op.Traits = append(op.Traits, TraitOp{Key: fmt.Appendf(nil, "trait-%d", k), Value: fmt.Appendf(nil, "%q", strings.Repeat("x", r.IntN(20)))})
		}
		require.Equal(t, StatusOK, s.Apply(&op, 1, 1).Status)
	}
	const n = 3*segmentSize + 100
	for i := range n {
		upsert(i)
	}
	full, off := near(s.Environment(1))
	require.Equal(t, 3, full)
	require.Zero(t, off)

	var b bytes.Buffer
	_, err := s.Snapshot().WriteTo(&b)
	require.NoError(t, err)
	restored, err := Restore(&b)
	require.NoError(t, err)
	full, off = near(restored.Environment(1))
	require.Equal(t, 3, full)
	require.Zero(t, off)

	// A record that is replaced lies elsewhere, until its segment is written anew, which happens now and then.
	for range 4 * n {
		upsert(r.IntN(n))
	}
	_, off = near(s.Environment(1))
	require.Less(t, off, 3*segmentSize/10)
}
