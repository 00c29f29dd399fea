package fsm

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the caps of the growing tables count is what their rows take in memory, within a quarter.
func TestHeldIsTheMemoryOfRows(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for name, table := range map[string]struct {
		held func(sizes) uint64
		put  func(a *rowApplier, id uint64, more string) error
	}{
		"change log": {func(s sizes) uint64 { return s.changeLog }, func(a *rowApplier, id uint64, more string) error {
			tag := must(encMode.Marshal(&Tag{ID: 1, Label: fmt.Sprint("a label, then ", id), Description: &more}))
			same := must(encMode.Marshal(&Tag{ID: 2, Label: "another label"}))
			return a.write(id, &write{ID: id, Author: Author{User: 1, Name: "a@b.c"}, Ops: []op{{Table: Tags.def.number, ID: 1, Row: tag}, {Table: Tags.def.number, ID: 2, Row: same}}})
		}},
		"audit log": {func(s sizes) uint64 { return s.audit }, func(a *rowApplier, id uint64, more string) error {
			return a.put(AuditLogs.def, id, must(encMode.Marshal(&AuditLog{ID: id, CreatedDate: 1_700_000_000_000_000, Project: 3, Organisation: 1, Environment: 7, Author: 1,
				RelatedObjectID: 5, RelatedObjectType: "FEATURE_STATE", Write: id, Log: "Flag state / Remote Config value updated for feature: some_feature" + more})))
		}},
		"answers": {func(s sizes) uint64 { return s.answers }, func(a *rowApplier, id uint64, more string) error {
			return a.put(IdempotencyKeys.def, id, must(encMode.Marshal(&IdempotencyKey{ID: id, Scope: "user:1", Key: fmt.Sprint("a-key-of-its-own-", id), Created: Time(id),
				Header: []byte(strings.Repeat("h", 40)), Body: []byte(strings.Repeat("b", 300) + more)})))
		}},
		"usage": {func(s sizes) uint64 { return s.usage }, func(a *rowApplier, id uint64, more string) error {
			return a.put(Usages.def, id, must(encMode.Marshal(&Usage{ID: id, Environment: 1 + id%20, Kind: UsageEvaluation, Feature: id % 100, Bucket: Time(id / 2000 * 86_400_000_000),
				Labels: fmt.Sprint("client_application_name=", id, more), Count: 123})))
		}},
	} {
		for _, more := range []string{"", long} {
			const rows, together = 4000, 100
			kept, s := newRows(), sizes{}
			before := heapAlive()
			for id := uint64(1); id <= rows; id += together {
				a := &rowApplier{rows: kept.fork(), touched: &Touched{}, sizes: s}
				for i := range uint64(together) {
					require.NoError(t, table.put(a, id+i, more))
				}
				kept, s = a.rows, a.sizes
			}
			each := (heapAlive() - before) / rows
			t.Logf("%s, %d bytes more: %d bytes a row", name, len(more), each)
			require.InEpsilon(t, each, table.held(s)/rows, 0.25, "%s, %d bytes more", name, len(more))
			runtime.KeepAlive(kept)
		}
	}
}

// heapAlive is the bytes that a collection leaves.
func heapAlive() uint64 {
	runtime.GC()
	runtime.GC() // what the first one only made free to be collected
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
