package identity

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every entry of a leaf may be a late one or not, and be the place where a page begins; every late one may be taken out again.
func TestLateEntriesHaveTheirPlace(t *testing.T) {
	const settled, late = 300, 2*maxLate + 3 // of one leaf
	for _, loaded := range []bool{false, true} {
		t.Run(fmt.Sprint("loaded=", loaded), func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 6))
			s := New([16]byte{1})
			var want []string
			for i := range settled {
				want = append(want, fmt.Sprintf("name-%06d", 10*i))
				create(s, 1, want[i])
			}
			if loaded { // leaves without hints
				var b bytes.Buffer
				held := s.Snapshot()
				_, err := held.WriteTo(&b)
				require.NoError(t, err)
				held.Release()
				s, err = Restore(&b)
				require.NoError(t, err)
			}
			check := func() {
				t.Helper()
				st := s.Environment(1)
				require.Equal(t, want, listed(st))
				for i, name := range want {
					page := st.Scan(nil, []byte(name), 2)
					require.Len(t, page, min(2, len(want)-i-1), name)
					for k := range page {
						require.Equal(t, want[i+1+k], string(page[k].Identifier()))
					}
				}
			}
			for range late {
				name := fmt.Sprintf("name-%06d", r.IntN(10*settled))
				if slices.Contains(want, name) {
					continue
				}
				create(s, 1, name)
				want = append(want, name)
				slices.Sort(want)
				check()
			}
			for len(want) > 0 {
				i := r.IntN(len(want))
				require.Equal(t, StatusOK, s.Apply(&Op{Kind: KindDelete, Environment: 1, Identifier: []byte(want[i])}, 1, 1).Status)
				want = slices.Delete(want, i, i+1)
				if len(want)%20 == 0 && len(want) > 0 {
					check()
				}
			}
			require.Empty(t, s.Environment(1).Scan(nil, nil, 1))
		})
	}
}

// A page is in order and has all that were there before it was asked for, whatever comes meanwhile.
func TestPagesAreInOrderWhileEntriesCome(t *testing.T) {
	const n = 20_000
	s := New([16]byte{1})
	create(s, 1, "user-")
	ctx, cancel := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	var stored atomic.Int64
	for range 2 {
		readers.Go(func() {
			for st := s.Environment(1); ctx.Err() == nil; {
				before := int(stored.Load())
				names := listed(st)
				if !slices.IsSorted(names) || len(names) < before || len(slices.Compact(names)) != len(names) {
					t.Errorf("%d of %d names, sorted: %t", len(names), before, slices.IsSorted(names))
					return
				}
			}
		})
	}
	for i := range n {
		create(s, 1, fmt.Sprintf("user-%d", i*7919%1_000_003))
		stored.Add(1)
	}
	cancel()
	readers.Wait()
	require.Len(t, listed(s.Environment(1)), n+1)
}
