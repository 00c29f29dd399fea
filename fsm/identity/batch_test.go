package identity

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/fuzz/alloc"
)

// sample encodes random operations in two sub-batches.
func sample(n int) (data []byte, want []*Op) {
	g := source{r: rand.New(rand.NewPCG(2, 2)), idents: 50, envs: 3, keys: 9, rare: true, deletes: 5, maxID: 40}
	data = AppendBatch(nil)
	for sub := range 2 {
		var ops []byte
		for range n {
			op := g.op()
			want = append(want, op)
			ops = AppendOp(ops, op)
		}
		data = AppendSubBatch(data, SubBatch{Node: []byte{'n', byte('0' + sub)}, Sequence: uint64(sub) << 40, Time: -5, Ops: n}, ops)
	}
	return data, want
}

// same compares what the wire carries: an empty slice and none are one.
func same(t *testing.T, want, got *Op) {
	t.Helper()
	require.Equal(t, AppendOp(nil, want), AppendOp(nil, got))
	require.Len(t, got.Traits, len(want.Traits))
	for i := range want.Traits {
		require.True(t, bytes.Equal(want.Traits[i].Key, got.Traits[i].Key))
		require.True(t, bytes.Equal(want.Traits[i].Value, got.Traits[i].Value))
	}
	require.Equal(t, want.Kind, got.Kind)
	require.Equal(t, want.Delta, got.Delta)
	require.Equal(t, want.Flags, got.Flags)
	require.Equal(t, want.ExpectLastChange, got.ExpectLastChange)
	require.True(t, bytes.Equal(want.Identifier, got.Identifier))
	require.True(t, bytes.Equal(want.NewIdentifier, got.NewIdentifier))
	require.True(t, bytes.Equal(want.Alias, got.Alias))
}

func TestBatchRoundTrip(t *testing.T) {
	data, want := sample(300)
	r := ReadBatch(data)
	var sub SubBatch
	var op Op
	n := 0
	for i := 0; r.NextSub(&sub); i++ {
		require.Equal(t, SubBatch{Node: []byte{'n', byte('0' + i)}, Sequence: uint64(i) << 40, Time: -5, Ops: 300}, sub)
		for r.NextOp(&op) {
			same(t, want[n], &op)
			n++
		}
	}
	require.NoError(t, r.Err())
	require.Len(t, want, n)
}

func TestReadOpsWithoutFrame(t *testing.T) {
	op := &Op{Kind: KindRename, Environment: 3, Identity: 9, NewIdentifier: []byte("x"), ExpectLastChange: 4}
	r := ReadOps(AppendOp(nil, op), 1)
	var got Op
	require.True(t, r.NextOp(&got))
	same(t, op, &got)
	require.False(t, r.NextOp(&got))
	require.NoError(t, r.Err())
}

func drain(data []byte) (n int, err error) {
	r := ReadBatch(data)
	var sub SubBatch
	var op Op
	for r.NextSub(&sub) {
		for r.NextOp(&op) {
			n++
		}
	}
	return n, r.Err()
}

func TestTruncatedBatchIsRefused(t *testing.T) {
	data, want := sample(20)
	whole, err := drain(data)
	require.NoError(t, err)
	require.Len(t, want, whole)
	ends := map[int]bool{1: true}
	for d := (decoder{b: data[1:]}); len(d.b) > 0; {
		d.bytes()
		ends[len(data)-len(d.b)] = true
	}
	for i := range data {
		_, err := drain(data[:i])
		require.Equal(t, ends[i], err == nil, "cut at %d of %d", i, len(data))
	}
	_, err = drain(append(bytes.Clone(data), 0))
	require.ErrorIs(t, err, ErrBatch)
}

func TestBatchDecodingAllocatesNothing(t *testing.T) {
	data, _ := sample(50)
	var sub SubBatch
	op := Op{Traits: make([]TraitOp, 0, 100)}
	require.Zero(t, testing.AllocsPerRun(20, func() {
		for r := ReadBatch(data); r.NextSub(&sub); {
			for r.NextOp(&op) {
			}
		}
	}))
}

func TestResultsRoundTrip(t *testing.T) {
	want := []Result{
		{}, {Status: StatusConflict, Identity: 1 << 40, LastChange: 9},
		{Created: true, Changed: true, Identity: 1, LastChange: 2, TraitID: 3, Value: -4},
		{Changed: true, Count: 12}, {Status: StatusInvalid},
	}
	var data []byte
	for i := range want {
		data = AppendResult(data, &want[i])
	}
	got, err := DecodeResults(nil, data)
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = DecodeResults(nil, data[:len(data)-1])
	require.ErrorIs(t, err, ErrResults)
}

// Whatever decodes must survive Apply, and encode to something that decodes to the same.
func FuzzBatch(f *testing.F) {
	data, _ := sample(5)
	f.Add(data)
	f.Add([]byte{1})
	f.Add([]byte{1, 4, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		alloc.Bound(t, 64<<10+200*len(data), func() {
			_, _ = drain(data)
			_, _ = DecodeResults(nil, data)
		})
		r := ReadBatch(data)
		s := New([16]byte{1})
		var sub SubBatch
		var op, again Op
		for r.NextSub(&sub) {
			for r.NextOp(&op) {
				one := ReadOps(AppendOp(nil, &op), 1)
				if !one.NextOp(&again) {
					t.Fatalf("%+v does not decode again", op)
				}
				s.Apply(&op, 1, sub.Time)
			}
		}
		if r.Err() != nil {
			return
		}
		sn := s.Snapshot()
		defer sn.Release()
		var b bytes.Buffer
		if _, err := sn.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		if restored, err := Restore(&b); err != nil || restored.Sum() != s.Sum() {
			t.Fatalf("restore: %v", err)
		}
	})
}
