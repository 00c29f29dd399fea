package identity

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func loaded(tb testing.TB, n int) *measurement {
	m := &measurement{n: n, r: rand.New(rand.NewPCG(1, 1)), s: New([16]byte{9})}
	for i := range n {
		m.s.Apply(m.upsert(i, 0), uint64(1000+i/8), 1_790_000_000_000_000+int64(i)*50)
	}
	return m
}

func BenchmarkCreate(b *testing.B) {
	m := loaded(b, 300_000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m.s.Apply(m.upsert(300_000+i, 0), 1, 1)
	}
}

func BenchmarkUpdate(b *testing.B) {
	m := loaded(b, 300_000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m.s.Apply(m.upsert(m.r.IntN(m.n), i), 1, 1)
	}
}

func BenchmarkLookup(b *testing.B) {
	m := loaded(b, 300_000)
	st := m.s.Environment(1)
	b.ReportAllocs()
	for b.Loop() {
		st.Lookup(m.identifier(m.r.IntN(m.n)))
	}
}

func BenchmarkRestore(b *testing.B) {
	m := loaded(b, 300_000)
	var buf bytes.Buffer
	sn := m.s.Snapshot()
	if _, err := sn.WriteTo(&buf); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Restore(bytes.NewReader(buf.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(m.n*b.N)/b.Elapsed().Seconds()/1e6, "M/s")
}

func BenchmarkDecodeUpsert(b *testing.B) {
	m := &measurement{n: 1000, s: New([16]byte{9})}
	var ops []byte
	for i := range 1000 {
		ops = AppendOp(ops, m.upsert(i, 0))
	}
	data := AppendSubBatch(AppendBatch(nil), SubBatch{Node: []byte("node-1"), Sequence: 1, Ops: 1000}, ops)
	var op Op
	var sub SubBatch
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		for r := ReadBatch(data); r.NextSub(&sub); {
			for r.NextOp(&op) {
				n++
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/upsert")
}
