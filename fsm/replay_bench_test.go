package fsm

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm/identity"
)

// BenchmarkReplay applies a log as a restarted node does, in batches: admin writes
// to feature states of 20 environments, with identity batches and usage between.
func BenchmarkReplay(b *testing.B) {
	log := busyLog(b, 10_000)
	for _, size := range []int{1, 256, 10_000} {
		b.Run(fmt.Sprint("batch=", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f := newTestFSM(b)
				for rest := log; len(rest) > 0; {
					n := min(size, len(rest))
					f.ApplyBatch(rest[:n])
					rest = rest[n:]
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(log)), "µs/entry")
		})
	}
}

// busyLog is the log of an installation at work.
func busyLog(b *testing.B, n int) []*raft.Log {
	b.Helper()
	f := newTestFSM(b)
	p := &logProposer{fsm: f}
	clock := func() time.Time { return time.UnixMicro(1_700_000_000_000_000 + int64(len(p.log))*1_000) }
	w := NewWriter(f, p, clock, slog.New(slog.DiscardHandler))
	defer w.Stop()
	w.Gained()
	write := func(run func(*Tx)) {
		_, err := w.Write(b.Context(), Author{User: 1, Name: "a@b.c"}, func(tx *Tx) error { run(tx); return nil })
		require.NoError(b, err)
	}
	const environments, features = 20, 30
	write(func(tx *Tx) {
		p := Projects.Put(tx, Project{Name: "p"})
		for e := range environments {
			Environments.Put(tx, Environment{Name: fmt.Sprint("e", e), APIKey: fmt.Sprint("key", e), Project: p.ID})
		}
		for i := range features {
			feature := Features.Put(tx, Feature{Name: fmt.Sprint("f", i), Project: p.ID})
			for e := range environments {
				FeatureStates.Put(tx, FeatureState{Feature: feature.ID, Environment: uint64(e + 1)})
			}
		}
	})
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		switch {
		case i%20 == 19:
			entry := must(encMode.Marshal(&usageBatch{Node: "n1", Seq: uint64(i), Time: TimeOf(clock()), Counts: []Usage{
				{Environment: uint64(1 + r.IntN(environments)), Kind: UsageFlags, Bucket: TimeOf(clock()), Count: 3},
			}}))
			_, _, err := p.Propose(context.Background(), newEntry(KindUsageBatch, BaseLevel, entry))
			require.NoError(b, err)
		case i%3 == 2:
			sub := identity.AppendSubBatch(nil, identity.SubBatch{Node: []byte("n1"), Sequence: uint64(i), Ops: 3}, randomOps(r, 3))
			body := identity.AppendBatch(binary.BigEndian.AppendUint64(nil, uint64(TimeOf(clock()))))
			_, _, err := p.Propose(context.Background(), newEntry(KindIdentityBatch, BaseLevel, append(body, sub...)))
			require.NoError(b, err)
		default:
			write(func(tx *Tx) {
				fs, _ := FeatureStates.Get(tx, uint64(1+r.IntN(environments*features)))
				fs.Enabled, fs.UpdatedAt = !fs.Enabled, tx.Now()
				FeatureStates.Put(tx, fs)
				tx.Audit(AuditLog{Log: "Flag state updated for feature: f", Project: 1, Environment: fs.Environment, RelatedObjectType: AuditFeatureState, RelatedObjectID: fs.ID})
			})
		}
	}
	return p.log
}
