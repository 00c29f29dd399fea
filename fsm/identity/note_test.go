package identity

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNotesBelongToAVersion(t *testing.T) {
	s := New([16]byte{5})
	put := func(i, value int) {
		s.Apply(&Op{Kind: KindUpsert, Environment: 1, Identifier: fmt.Append(nil, i), Traits: []TraitOp{{Key: []byte("k"), Value: fmt.Append(nil, value)}}}, 1, 1)
	}
	note := func(i int) Note {
		r, ok := s.Environment(1).Lookup(fmt.Append(nil, i))
		require.True(t, ok)
		return r.Note()
	}
	const many = 3000
	for i := range many {
		put(i, 0)
		require.Zero(t, note(i).Value())
		note(i).Keep(uint32(i) + 1)
	}
	snapshot := s.Snapshot()
	for i := range many {
		if i == many/2 {
			put(many+1, 0) // with the snapshot there, the table is copied
		}
		have := note(i)
		// A segment that moves loses its notes; this one may have while it grew.
		require.Contains(t, []uint32{0, uint32(i) + 1}, have.Value())
		have.Keep(7)
		before := note(i)
		require.Equal(t, uint32(7), before.Value())
		put(i, 1)
		require.Zero(t, note(i).Value())
		before.Keep(8) // of who has evaluated the version before
		require.Zero(t, note(i).Value())
	}
	// Notes are no part of the state.
	var with, without bytes.Buffer
	_, err := snapshot.WriteTo(&with)
	require.NoError(t, err)
	snapshot.Release()
	fresh, err := Restore(bytes.NewReader(with.Bytes()))
	require.NoError(t, err)
	_, err = fresh.Snapshot().WriteTo(&without)
	require.NoError(t, err)
	require.Equal(t, with.Bytes(), without.Bytes())
}
