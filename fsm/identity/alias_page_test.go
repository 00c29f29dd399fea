package identity

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Who removes what a page shows, and asks for the next one, gets it.
func TestPagesByAliasGoOnBehindWhatIsGone(t *testing.T) {
	t.Parallel()
	s := New([16]byte{1})
	const all = 5000
	for i := range all {
		op := Op{Kind: KindCreate, Environment: 1, Identifier: fmt.Append(nil, "who-", i), Alias: []byte("test")}
		require.Equal(t, StatusOK, s.Apply(&op, uint64(i+1), 1).Status)
	}
	seen := 0
	page := s.Environment(1).ScanAlias([]byte("test"), nil, 0, 100)
	for index := uint64(all + 1); len(page) > 0; index++ {
		last := page[len(page)-1].ID()
		for i := range page {
			seen++
			op := Op{Kind: KindDelete, Environment: 1, Identity: page[i].ID()}
			require.Equal(t, StatusOK, s.Apply(&op, index, 1).Status)
		}
		page = s.Environment(1).ScanAlias([]byte("test"), []byte("test"), last, 100)
	}
	require.Equal(t, all, seen)
}
