package identity

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSorterSortsByKeyThenSlot(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(n int, alphabet string) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = alphabet[r.IntN(len(alphabet))]
		}
		return string(b)
	}
	var any256 strings.Builder
	for c := range 256 {
		any256.WriteByte(byte(c))
	}
	long := strings.Repeat("/long/shared/prefix", 30)
	kinds := map[string]func(i int) string{
		"numbers":             func(i int) string { return fmt.Sprintf("user-%09d", i) },
		"numbers of any size": func(int) string { return fmt.Sprint(r.IntN(1 << r.IntN(30))) },
		"uuids":               func(int) string { return fmt.Sprintf("%016x-%016x", r.Uint64(), r.Uint64()) },
		"any bytes":           func(int) string { return pick(r.IntN(6), any256.String()) },
		"zeros":               func(int) string { return pick(r.IntN(80), "\x00") },
		"two letters":         func(int) string { return pick(r.IntN(100), "ab") },
		"long shared prefix":  func(i int) string { return long[:r.IntN(len(long))] + fmt.Sprint(i%3) },
		"long and equal":      func(int) string { return long },
		"equal behind codes":  func(i int) string { return pick(3, any256.String()) + long + fmt.Sprint(i%10) },
		"window's end":        func(int) string { return pick(1, "ab") + long[:codeWindow-2+r.IntN(3)] },
		"one goes on":         func(i int) string { return long[:codeWindow+min(i, 1)] },
		"empty":               func(int) string { return "" },
	}
	var by sorter
	for name, kind := range kinds {
		for _, n := range []int{0, 1, 2, fewSlots - 1, fewSlots, 1000, manySlots, 3 * manySlots} {
			keys := make([][]byte, n)
			for i := range keys {
				keys[i] = []byte(kind(i))
			}
			slots := make([]uint32, n)
			for i := range slots {
				slots[i] = uint32(i)
			}
			want := slices.Clone(slots)
			slices.SortFunc(want, func(a, b uint32) int {
				return cmp.Or(bytes.Compare(keys[a], keys[b]), cmp.Compare(a, b))
			})
			differ := true
			for i := 1; i < n; i++ {
				differ = differ && !bytes.Equal(keys[want[i-1]], keys[want[i]])
			}
			for _, order := range []string{"in order", "in any order"} {
				if order == "in any order" {
					r.Shuffle(n, func(i, j int) { slots[i], slots[j] = slots[j], slots[i] })
				}
				unique := by.sort(slots, func(slot uint32) []byte { return keys[slot] })
				require.Equal(t, differ, unique, "%d of %s, %s", n, name, order)
				require.Equal(t, want, slots, "%d of %s, %s", n, name, order)
			}
		}
	}
}

func BenchmarkSort(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{100, 1000, 1_000_000} {
		for name, kind := range map[string]func(i int) string{
			"numbers": func(i int) string { return fmt.Sprintf("user-%09d", i) },
			"random":  func(int) string { return fmt.Sprintf("user-%09d", r.IntN(1<<30)) },
			"uuids":   func(int) string { return fmt.Sprintf("%016x-%016x", r.Uint64(), r.Uint64()) },
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				keys := make([][]byte, n)
				for i := range keys {
					keys[i] = []byte(kind(i))
				}
				var by sorter
				slots := make([]uint32, n)
				for b.Loop() {
					for i := range slots {
						slots[i] = uint32(i)
					}
					by.sort(slots, func(slot uint32) []byte { return keys[slot] })
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*b.N), "ns/slot")
			})
		}
	}
}
