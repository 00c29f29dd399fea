package identity

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a store refuses must follow from its identities and not from the slots that earlier ones left empty: a node that was restored from a
// snapshot has none of those, and would take what the others refuse.
func TestSlotsOfIdentitiesThatAreGoneRefuseNobody(t *testing.T) {
	s := New([16]byte{1})
	for i := range 3 {
		require.True(t, create(s, 1, fmt.Sprintf("old-%d", i)).Created)
	}
	c := s.Environment(1).core.Load()
	few := c.segs.Load()
	all := newSegments(maxSegments) // as when all that came between were deleted
	all.ptr[0].Store(few.ptr[0].Load())
	all.live[0].Store(few.live[0].Load())
	for i := range maxSegments {
		all.first[i].Store(1 + uint64(i)*segmentSize)
	}
	all.n.Store(maxSegments)
	c.segs.Store(all)
	s.lastIdentity = maxSegments * segmentSize

	var b bytes.Buffer
	_, err := s.Snapshot().WriteTo(&b)
	require.NoError(t, err)
	restored, err := Restore(&b)
	require.NoError(t, err)
	for i := range 3 {
		name := fmt.Sprintf("new-%d", i)
		require.Equal(t, create(restored, 1, name), create(s, 1, name))
	}
	require.Equal(t, restored.Sum(), s.Sum())
	st := s.Environment(1)
	require.Equal(t, 6, st.Count())
	require.Len(t, st.Scan(nil, nil, 10), 6)
	for _, r := range st.Page(0, 10) {
		found, ok := st.Lookup(r.Identifier())
		require.True(t, ok)
		require.Equal(t, r.ID(), found.ID())
		_, ok = st.ByID(r.ID())
		require.True(t, ok)
	}
}

// Segments of large identities end early: they are not sparse, and packing them anew gains nothing.
func TestDeletingALargeIdentityPacksNothing(t *testing.T) {
	s := New([16]byte{1})
	traits := make([]TraitOp, 1)
	traits[0] = TraitOp{Key: []byte("k"), Value: []byte(`"` + strings.Repeat("x", 60_000) + `"`)}
	for i := 0; s.Environment(1) == nil || int(s.Environment(1).core.Load().segs.Load().n.Load()) <= rebuildSegments; i++ {
		s.Apply(&Op{Kind: KindUpsert, Environment: 1, Identifier: fmt.Appendf(nil, "u%d", i), Traits: traits}, 1, 1)
	}
	st := s.Environment(1)
	before, count := st.core.Load(), st.Count()
	remove := func(i int) {
		require.True(t, s.Apply(&Op{Kind: KindDelete, Environment: 1, Identifier: fmt.Appendf(nil, "u%d", i)}, 2, 2).Changed)
	}
	remove(0)
	require.Same(t, before, st.core.Load())
	for i := 1; i < count*4/5; i++ {
		remove(i)
	}
	require.NotSame(t, before, st.core.Load(), "most are gone")
	require.Len(t, st.Scan(nil, nil, count), st.Count())
	require.Len(t, st.Page(0, count), st.Count())
}
