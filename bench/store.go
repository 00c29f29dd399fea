package bench

import (
	"context"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/flagraft/flagraft/bench/probe"
	"github.com/flagraft/flagraft/bench/seed"
	"github.com/flagraft/flagraft/fsm/identity"
)

// What is measured of the identity store alone, in this process.
const (
	nameStore = "identity-store"

	whatFreeze = "Snapshot(), %s identities"
	whatPut    = "slowest put after Snapshot(), by the clock, %s identities"
	whatPutCPU = "slowest put after Snapshot(), CPU of its thread, %s identities"
	whatGC     = "full garbage collection, %s identities"
)

// store measures the pauses that a store of many identities makes.
func (b *bench) store(_ context.Context, _ string) error {
	if b.wants(nameStore) {
		b.storeOf(nameStore, b.Stored)
	}
	if b.asked(nameStore+"-"+markHuge, markHuge) {
		b.storeOf(nameStore+"-"+markHuge, b.Huge)
	}
	return nil
}

// collections are measured of each store. The first ones after it was filled are the slowest.
const collections = 11

// putsAfter are the puts after each Snapshot.
const putsAfter = 20_000

func (b *bench) storeOf(name string, n int) {
	defer debug.FreeOSMemory()
	s := filled{Stores: identity.New([16]byte{9}), random: rand.New(rand.NewPCG(1, 1))}
	s.SetLimits(identity.Limits{TraitBytes: 64 << 10, Identities: 2 * n})
	for i := range n {
		s.Apply(s.op(i, 0), uint64(1000+i/8), 1_790_000_000_000_000+int64(i)*50)
	}
	b.say("a store of %s identities", count(float64(n)))
	add := func(what string, millis []float64) {
		f := newFigure(name, "ms", what, count(float64(n)))
		f.Values, f.Load = millis, b.load()
		b.figure(f)
	}
	var freeze, wall, cpu, gc []float64
	for range collections {
		start := time.Now()
		runtime.GC()
		gc = append(gc, time.Since(start).Seconds()*1e3)
	}
	for i := range b.Runs {
		start := time.Now()
		held := s.Snapshot()
		freeze = append(freeze, time.Since(start).Seconds()*1e3)
		w, c := s.slowest(n, i)
		wall, cpu = append(wall, w.Seconds()*1e3), append(cpu, c.Seconds()*1e3)
		held.Release()
	}
	add(whatGC, gc)
	add(whatFreeze, freeze)
	add(whatPut, wall)
	add(whatPutCPU, cpu)
}

// filled is a store that is measured.
type filled struct {
	*identity.Stores
	random *rand.Rand
	last   identity.Op
}

// op is an upsert of five short traits.
func (s *filled) op(n, salt int) *identity.Op {
	s.last = identity.Op{Kind: identity.KindUpsert, Environment: 1, Identifier: seed.Short{}.Identifier(s.last.Identifier[:0], n), Traits: s.last.Traits[:0]}
	literals := seed.Short{}.Literals(n, salt)
	for i, key := range seed.ShortKeys {
		s.last.Traits = append(s.last.Traits, identity.TraitOp{Key: []byte(key), Value: []byte(literals[i])})
	}
	return &s.last
}

// slowest changes random identities and returns the longest that one took, by the clock and by its thread's CPU.
func (s *filled) slowest(n, salt int) (wall, cpu time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range putsAfter {
		op := s.op(s.random.IntN(n), 1+salt)
		used, at := probe.ThreadCPU(), time.Now()
		s.Apply(op, 2_000_000, 0)
		wall, cpu = max(wall, time.Since(at)), max(cpu, probe.ThreadCPU()-used)
	}
	return wall, cpu
}
