package fsm

import (
	"bytes"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// Keys sort by their parts: fixed-width ones by their bytes, texts as texts.
func FuzzKey(f *testing.F) {
	f.Add(uint64(1), "a", []byte("0123456789abcdef"), uint64(256), "a\x01", []byte("0123456789abcdeF"))
	f.Add(uint64(1<<60), "", []byte("0123456789abcdef"), uint64(1<<60), "\xff", []byte("0123456789abcdef"))
	f.Fuzz(func(t *testing.T, n1 uint64, s1 string, u1 []byte, n2 uint64, s2 string, u2 []byte) {
		if len(u1) != 16 || len(u2) != 16 || bytes.ContainsRune([]byte(s1+s2), 0) {
			t.Skip()
		}
		one, two := keyOf(n1, s1, uuid.UUID(u1)), keyOf(n2, s2, uuid.UUID(u2))
		require.True(t, bytes.HasPrefix(one, keyOf(n1, s1)))

		want := bytes.Compare(u1, u2)
		if s1 != s2 {
			want = bytes.Compare([]byte(s1), []byte(s2))
		}
		switch {
		case n1 < n2:
			want = -1
		case n1 > n2:
			want = 1
		}
		require.Equal(t, want, bytes.Compare(one, two))
	})
}

// The log has keys: their bytes never change.
func TestKeyInTheLog(t *testing.T) {
	require.Equal(t, Key{0, 0, 0, 0, 0, 0, 1, 2, 'h', 'i', 0, 3}, keyOf(uint64(0x102), "hi", byte(3)))
}
