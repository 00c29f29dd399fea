package identity

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMeasure loads FLAGRAFT_MEASURE identities of five short traits and prints what docs/adr/0003-identity-store.md
// reports: memory, collector, snapshot, restore, lookups. It asserts nothing about time.
//
//	FLAGRAFT_MEASURE=1000000 GOGC=50 go test -run TestMeasure -v ./fsm/identity
func TestMeasure(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("FLAGRAFT_MEASURE"))
	if n == 0 {
		t.Skip("set FLAGRAFT_MEASURE to the number of identities")
	}
	m := &measurement{t: t, n: n, uuid: os.Getenv("FLAGRAFT_MEASURE_IDS") == "uuid", r: rand.New(rand.NewPCG(1, 1))}
	debug.FreeOSMemory()
	m.base = rss(t)
	m.s = New([16]byte{9})
	m.s.SetLimits(Limits{TraitBytes: 64 << 10, Identities: n})
	m.load()
	m.lookups()
	m.updates("updates", n/2, false)
	m.paced()
	m.restore()
}

type measurement struct {
	t    *testing.T
	s    *Stores
	n    int
	uuid bool
	r    *rand.Rand
	base float64
	buf  []byte
	op   Op
	lits [][]byte
}

func rss(t *testing.T) float64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("no /proc/self/statm")
	}
	pages, _ := strconv.Atoi(strings.Fields(string(b))[1])
	return float64(pages*os.Getpagesize()) / 1e6
}

func (m *measurement) memory(what string) {
	var ms runtime.MemStats
	runtime.ReadMemStats(&ms)
	m.t.Logf("%-28s RSS +%.0f MB, heap %.1f B/identity", what, rss(m.t)-m.base, float64(ms.HeapAlloc)/float64(m.n))
}

func (m *measurement) identifier(i int) []byte {
	if m.uuid {
		u := m.s.uuids.encode(uint64(i) + 1<<40)
		m.buf = fmt.Appendf(m.buf[:0], "%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
		return m.buf
	}
	m.buf = strconv.AppendInt(append(m.buf[:0], "user-"...), int64(i*2654435761%1_000_000_007), 10)
	return m.buf
}

var measureKeys = [][]byte{[]byte("plan"), []byte("age"), []byte("beta"), []byte("country"), []byte("score")}

// upsert fills m.op: five traits of 19 bytes of literals.
func (m *measurement) upsert(i, salt int) *Op {
	if m.lits == nil {
		m.lits = make([][]byte, 5)
	}
	m.lits[0] = append(m.lits[0][:0], [3]string{`"free"`, `"gold"`, `"team"`}[(i+salt)%3]...)
	m.lits[1] = strconv.AppendInt(m.lits[1][:0], int64(18+(i+salt)%60), 10)
	m.lits[2] = strconv.AppendBool(m.lits[2][:0], (i+salt)%2 == 0)
	m.lits[3] = append(m.lits[3][:0], [3]string{`"DE"`, `"FR"`, `"US"`}[i%3]...)
	m.lits[4] = AppendFloat(m.lits[4][:0], float64((i+salt)%90+10)/4)
	m.op = Op{Kind: KindUpsert, Environment: 1, Identifier: m.identifier(i), Traits: m.op.Traits[:0]}
	for k, key := range measureKeys {
		m.op.Traits = append(m.op.Traits, TraitOp{key, m.lits[k]})
	}
	return &m.op
}

func (m *measurement) load() {
	start := time.Now()
	for i := range m.n {
		res := m.s.Apply(m.upsert(i, 0), uint64(1000+i/8), 1_790_000_000_000_000+int64(i)*50)
		require.True(m.t, res.Created)
	}
	took := time.Since(start)
	m.t.Logf("%d creations: %.2f M/s", m.n, float64(m.n)/took.Seconds()/1e6)
	m.memory("after load")
	debug.FreeOSMemory()
	m.memory("at rest")
	best := time.Hour
	for range 9 {
		start = time.Now()
		runtime.GC()
		best = min(best, time.Since(start))
	}
	m.t.Logf("full GC, best of 9: %.2f ms", best.Seconds()*1e3)
	segs := m.s.Environment(1).core.Load().segs.Load()
	var cap, used, live int
	for i := range int(segs.n.Load()) {
		seg := segs.ptr[i].Load()
		cap, used, live = cap+len(seg.data), used+seg.used, live+seg.live
	}
	words := 0
	d := m.s.Environment(1).core.Load().index.Load()
	seen := map[*bucket]bool{}
	for i := range d.buckets {
		if b := d.buckets[i].Load(); !seen[b] {
			seen[b] = true
			words += len(b.words)
		}
	}
	per := func(v int) float64 { return float64(v) / float64(m.n) }
	m.t.Logf("records %.1f B, arenas %.1f B, offsets %.1f B, hash words %.1f B, directory %d", per(live), per(cap),
		per(int(segs.n.Load())*segmentSize*4), per(words*8), len(d.buckets))
}

func (m *measurement) time(what string, n int, f func(i int)) {
	start := time.Now()
	for i := range n {
		f(i)
	}
	m.t.Logf("%-28s %d ns", what, time.Since(start).Nanoseconds()/int64(n))
}

func (m *measurement) lookups() {
	const n = 300_000
	st := m.s.Environment(1)
	m.time("making an identifier", n, func(int) { m.identifier(m.r.IntN(m.n)) })
	m.time("Lookup random", n, func(int) {
		if _, ok := st.Lookup(m.identifier(m.r.IntN(m.n))); !ok {
			m.t.Fatal("not found")
		}
	})
	m.time("Lookup hot", n, func(int) { st.Lookup(m.identifier(77)) })
	m.time("Lookup missing", n, func(i int) { st.Lookup(strconv.AppendInt(m.buf[:0], int64(i), 10)) })
	m.time("ByID random", n, func(int) { st.ByID(uint64(m.r.IntN(m.n) + 1)) })
	m.time("UUID", n, func(i int) { m.s.UUIDOf(uint64(i)) })
	m.time("ByUUID random", n, func(int) { st.ByUUID(m.s.UUIDOf(uint64(m.r.IntN(m.n) + 1))) })
	m.time("Scan of 100", 2000, func(int) { st.Scan(nil, m.identifier(m.r.IntN(m.n)), 100) })
	m.time("Page of 100", 2000, func(int) { st.Page(m.r.IntN(m.n-100), 100) })
	m.time("Contains", 2, func(int) { st.Contains("NOBODY", 0, 10) })
	m.time("unchanged upsert", n, func(int) { m.s.Apply(m.upsert(m.r.IntN(m.n), 0), 1, 1) })
}

// updates rewrites random identities as fast as it goes.
func (m *measurement) updates(what string, n int, quiet bool) {
	start := time.Now()
	var worst worstPut
	for i := range n {
		op := m.upsert(m.r.IntN(m.n), 1+i%7)
		worst.measure(func() { m.s.Apply(op, 2_000_000, 0) })
	}
	m.t.Logf("%d %s: %.2f M/s, %v", n, what, float64(n)/time.Since(start).Seconds()/1e6, &worst)
	if !quiet {
		m.memory("after " + what)
		debug.FreeOSMemory()
		m.memory("at rest after " + what)
	}
}

// paced holds a snapshot while 20,000 puts a second go on, half of them new identities.
func (m *measurement) paced() {
	var took []float64
	for range 5 {
		start := time.Now()
		sn := m.s.Snapshot()
		took = append(took, time.Since(start).Seconds()*1e3)
		m.updates("updates right after Snapshot", 20_000, true)
		sn.Release()
	}
	slices.Sort(took)
	m.t.Logf("Snapshot() median %.3f ms, worst %.3f ms", took[2], took[4])

	m.s.SetLimits(Limits{TraitBytes: 64 << 10, Identities: 2 * m.n})
	sn := m.s.Snapshot()
	size, err := sn.WriteTo(io.Discard)
	require.NoError(m.t, err)
	sn.Release()
	sn = m.s.Snapshot()
	var done atomic.Bool
	go func() {
		slow := slowWriter{bytes: size, start: time.Now()}
		if _, err := sn.WriteTo(&slow); err != nil {
			panic(err)
		}
		m.t.Logf("WriteTo: %.1f B/identity in %s beside the puts", float64(slow.written)/float64(sn.Count()), time.Since(slow.start))
		done.Store(true)
	}()
	var peak float64
	var worst worstPut
	next, total := time.Now(), 0
	for !done.Load() {
		for range 100 {
			i := m.n + total
			if total%2 == 0 {
				i = m.r.IntN(m.n)
			}
			op := m.upsert(i, 3+total%5)
			worst.measure(func() { m.s.Apply(op, 3_000_000, 0) })
			total++
		}
		peak = max(peak, rss(m.t)-m.base)
		next = next.Add(5 * time.Millisecond)
		time.Sleep(time.Until(next))
	}
	m.t.Logf("snapshot held 10 s under %d puts: RSS peak +%.0f MB, %v", total, peak, &worst)
	sn.Release()
	debug.FreeOSMemory()
	m.memory("at rest after the snapshot")
}

// worstPut keeps the slowest call by the clock and by its thread's CPU: on a busy machine only the second tells anything
// about the store.
type worstPut struct{ wall, cpu time.Duration }

func (w *worstPut) measure(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cpu, at := threadCPU(), time.Now()
	f()
	w.wall, w.cpu = max(w.wall, time.Since(at)), max(w.cpu, threadCPU()-cpu)
}

func (w *worstPut) String() string {
	return fmt.Sprintf("worst put %.2f ms, %.2f ms CPU", w.wall.Seconds()*1e3, w.cpu.Seconds()*1e3)
}

// slowWriter takes ten seconds for so many bytes.
type slowWriter struct {
	bytes, written int64
	start          time.Time
}

func (w *slowWriter) Write(b []byte) (int, error) {
	w.written += int64(len(b))
	due := time.Duration(float64(w.written) / float64(w.bytes) * float64(10*time.Second))
	time.Sleep(time.Until(w.start.Add(due)))
	return len(b), nil
}

func (m *measurement) restore() {
	f, err := os.Create(m.t.TempDir() + "/snapshot")
	require.NoError(m.t, err)
	defer f.Close()
	sn := m.s.Snapshot()
	count := sn.Count()
	start := time.Now()
	_, err = sn.WriteTo(f)
	require.NoError(m.t, err)
	m.t.Logf("WriteTo a file: %.1f M/s", float64(count)/time.Since(start).Seconds()/1e6)
	sn.Release()
	m.s, m.lits = nil, nil
	debug.FreeOSMemory()
	_, err = f.Seek(0, io.SeekStart)
	require.NoError(m.t, err)
	start = time.Now()
	m.s, err = Restore(f)
	took := time.Since(start)
	require.NoError(m.t, err)
	m.t.Logf("restore: %.2f s, %.2f M/s", took.Seconds(), float64(count)/took.Seconds()/1e6)
	m.memory("after restore")
	debug.FreeOSMemory()
	m.memory("at rest after restore")
	m.time("Lookup random", 300_000, func(int) { m.s.Environment(1).Lookup(m.identifier(m.r.IntN(m.n))) })
}
