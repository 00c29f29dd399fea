package identity

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// listed is what pages by identifier show.
func listed(st *Store) (names []string) {
	var after []byte
	for {
		page := st.Scan(nil, after, 1000)
		if len(page) == 0 {
			return names
		}
		for i := range page {
			names = append(names, string(page[i].Identifier()))
		}
		after = page[len(page)-1].Identifier()
	}
}

// TestManyAtOnceAreListedAsOneByOne performs the same operations with and without settling after each, in whatever order keys come, with
// identities that are renamed and deleted before they were ever listed.
func TestManyAtOnceAreListedAsOneByOne(t *testing.T) {
	for name, identifier := range map[string]func(i int) string{
		"random":     func(i int) string { return fmt.Sprintf("user-%d", i*7919%1_000_003) },
		"ascending":  func(i int) string { return fmt.Sprintf("%09d", i) },
		"descending": func(i int) string { return fmt.Sprintf("%09d", 1_000_000-i) },
		"prefixes":   func(i int) string { return fmt.Sprintf("%.*s%d", i%40, "a common beginning of different lengths.", i) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(3, 4))
			one, many := New([16]byte{1}), New([16]byte{1})
			for i := range 60_000 {
				environment := uint64(1)
				if i%10 == 0 {
					environment += r.Uint64N(3)
				}
				op := &Op{Kind: KindUpsert, Environment: environment, Identifier: []byte(identifier(i))}
				switch r.IntN(500) {
				case 0:
					op = &Op{Kind: KindDelete, Environment: environment, Identifier: []byte(identifier(i - r.IntN(i+1)))}
				case 1:
					op = &Op{Kind: KindRename, Environment: environment, Identifier: []byte(identifier(i - r.IntN(i+1))), NewIdentifier: fmt.Append(nil, "renamed", i)}
				case 2:
					if i > 50_000 {
						op = &Op{Kind: KindDropEnvironment, Environment: 3}
					}
				}
				require.Equal(t, one.Apply(op, uint64(i), 1), many.Perform(op, uint64(i), 1))
				switch r.IntN(2_000) {
				case 0:
					many.Settle()
				case 1, 2:
					many.SettleBehind()
				}
			}
			many.Settle()
			require.Equal(t, one.Sum(), many.Sum())
			for _, environment := range one.Environments() {
				want, got := listed(one.Environment(environment)), listed(many.Environment(environment))
				require.Len(t, want, one.Environment(environment).Count())
				require.Equal(t, want, got)
			}
		})
	}
}
