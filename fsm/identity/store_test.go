package identity

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func create(s *Stores, env uint64, identifier string) Result {
	return s.Apply(&Op{Kind: KindUpsert, Environment: env, Identifier: []byte(identifier)}, 1, 1)
}

// Many segments, buckets, leaves and branches, in random and in ascending order.
func TestLargeStoreKeepsOrderAndFindsAll(t *testing.T) {
	const n = 100_000
	for name, identifier := range map[string]func(i int) string{
		"random":    func(i int) string { return fmt.Sprintf("user-%d", i*7919%1_000_003) },
		"ascending": func(i int) string { return fmt.Sprintf("%09d", i) },
	} {
		t.Run(name, func(t *testing.T) {
			s := New([16]byte{1})
			var want []string
			for i := range n {
				if !create(s, 1, identifier(i)).Created {
					t.Fatalf("%s is not new", identifier(i))
				}
				want = append(want, identifier(i))
			}
			st := s.Environment(1)
			for i := range n {
				if r, ok := st.Lookup([]byte(identifier(i))); !ok || r.ID() != uint64(i+1) {
					t.Fatalf("%s: %t, id %d", identifier(i), ok, r.ID())
				}
			}
			slices.Sort(want)
			check := func(st *Store) {
				var got []string
				var after []byte
				for {
					page := st.Scan(nil, after, 999)
					if len(page) == 0 {
						break
					}
					for i := range page {
						got = append(got, string(page[i].Identifier()))
					}
					after = page[len(page)-1].Identifier()
				}
				require.True(t, slices.Equal(want, got))
			}
			check(st)
			sn := s.Snapshot()
			var b bytes.Buffer
			_, err := sn.WriteTo(&b)
			require.NoError(t, err)
			sn.Release()
			s, err = Restore(&b)
			require.NoError(t, err)
			for i := range 2000 { // inserts into leaves that a restore made
				id := fmt.Sprintf("more-%d", i*31%2000)
				want = append(want, id)
				require.True(t, create(s, 1, id).Created)
			}
			slices.Sort(want)
			check(s.Environment(1))
			for i := 0; i < n; i += 2 {
				s.Apply(&Op{Kind: KindDelete, Environment: 1, Identifier: []byte(identifier(i))}, 2, 2)
			}
			gone := map[string]bool{}
			for i := 0; i < n; i += 2 {
				gone[identifier(i)] = true
			}
			want = slices.DeleteFunc(want, func(id string) bool { return gone[id] })
			check(s.Environment(1))
		})
	}
}

func TestMassDeletionPacksTheStore(t *testing.T) {
	const n = 100_000
	s := New([16]byte{1})
	for i := range n {
		create(s, 1, fmt.Sprint("user-", i))
	}
	segments := func() int { return int(s.Environment(1).core.Load().segs.Load().n.Load()) }
	before := segments()
	for i := range n {
		if i%50 != 0 {
			res := s.Apply(&Op{Kind: KindDelete, Environment: 1, Identity: uint64(i + 1)}, 2, 2)
			require.Equal(t, StatusOK, res.Status)
		}
	}
	require.Less(t, segments(), before)
	st := s.Environment(1)
	require.Equal(t, n/50, st.Count())
	for i := 0; i < n; i += 50 {
		r, ok := st.Lookup(fmt.Append(nil, "user-", i))
		require.True(t, ok)
		require.EqualValues(t, i+1, r.ID())
		_, ok = st.ByID(uint64(i + 1))
		require.True(t, ok)
	}
	require.Len(t, st.Scan(nil, nil, n), n/50)
	res := create(s, 1, "new")
	r, ok := st.ByID(res.Identity)
	require.True(t, ok)
	require.Equal(t, "new", string(r.Identifier()))
}

func TestBigIdentitiesCloseSegmentsEarly(t *testing.T) {
	s := New([16]byte{1})
	const n = 300
	op := Op{Kind: KindUpsert, Environment: 1, Traits: []TraitOp{{[]byte("big"), nil}}}
	for round := range 2 {
		for i := range n {
			op.Identifier = fmt.Append(nil, "user-", i)
			op.Traits[0].Value = AppendString(nil, strings.Repeat(fmt.Sprint(i%10), 50_000+round))
			require.Equal(t, StatusOK, s.Apply(&op, 1, 1).Status)
		}
	}
	sn := s.Snapshot()
	defer sn.Release()
	var b bytes.Buffer
	_, err := sn.WriteTo(&b)
	require.NoError(t, err)
	restored, err := Restore(&b)
	require.NoError(t, err)
	for _, st := range []*Store{s.Environment(1), restored.Environment(1)} {
		require.GreaterOrEqual(t, int(st.core.Load().segs.Load().n.Load()), 3)
		require.Len(t, st.Page(0, 2*n), n)
		for i := range n {
			r, ok := st.Lookup(fmt.Append(nil, "user-", i))
			require.True(t, ok)
			byID, ok := st.ByID(uint64(i + 1))
			require.True(t, ok)
			require.Equal(t, r.Identifier(), byID.Identifier())
			v, _, _ := r.Trait("big")
			require.Len(t, v, 50_003)
		}
	}
	for i := range n {
		require.Equal(t, StatusOK, restored.Apply(&Op{Kind: KindDelete, Environment: 1, Identity: uint64(i + 1)}, 2, 2).Status)
	}
	require.Zero(t, restored.Environment(1).Count())
	require.EqualValues(t, n+1, create(restored, 1, "again").Identity)
}

// The same operations in other batches, or with a snapshot between, lead to the same sum.
func TestSumDependsOnStateOnly(t *testing.T) {
	run := func(snapshots bool) Sum {
		g := source{r: rand.New(rand.NewPCG(8, 8)), idents: 500, envs: 3, keys: 30, rare: true, deletes: 10}
		s := New([16]byte{4})
		for i := range 5000 {
			g.maxID = s.lastIdentity
			s.Apply(g.op(), uint64(i), int64(i))
			if snapshots && i%500 == 250 {
				sn := s.Snapshot()
				var b bytes.Buffer
				_, err := sn.WriteTo(&b)
				require.NoError(t, err)
				sn.Release()
				s, err = Restore(&b)
				require.NoError(t, err)
			}
		}
		return s.Sum()
	}
	require.Equal(t, run(false), run(true))
}

func TestSumSeesEveryField(t *testing.T) {
	base := func(change ...*Op) Sum {
		s := New([16]byte{4})
		s.Apply(&Op{Kind: KindCreate, Environment: 1, Identifier: []byte("a"), Traits: []TraitOp{{[]byte("k"), []byte("1")}}}, 1, 1)
		for _, op := range change {
			require.True(t, s.Apply(op, 1, 1).Changed)
		}
		return s.Sum()
	}
	op := func(k Kind, f func(*Op)) *Op {
		o := &Op{Kind: k, Environment: 1, Identity: 1}
		f(o)
		return o
	}
	seen := map[Sum]string{base(): "base"}
	for name, o := range map[string]*Op{
		"rename":  op(KindRename, func(o *Op) { o.NewIdentifier = []byte("b") }),
		"alias":   op(KindSetAlias, func(o *Op) { o.Alias = []byte("b") }),
		"flags":   op(KindSetFlags, func(o *Op) { o.Flags = 1 }),
		"value":   op(KindSetTrait, func(o *Op) { o.Key, o.Value = []byte("k"), []byte("2") }),
		"key":     op(KindSetTrait, func(o *Op) { o.TraitID, o.Key, o.Value = 1, []byte("l"), []byte("1") }),
		"another": op(KindSetTrait, func(o *Op) { o.Key, o.Value = []byte("l"), []byte("1") }),
		"gone":    op(KindDelete, func(*Op) {}),
	} {
		sum := base(o)
		require.NotContains(t, seen, sum, name)
		seen[sum] = name
	}
	require.Equal(t, "gone", seen[base(op(KindDropEnvironment, func(*Op) {}))], "an emptied and a dropped environment are the same")
	s := New([16]byte{4})
	s.Apply(&Op{Kind: KindCreate, Environment: 1, Identifier: []byte("a"), Traits: []TraitOp{{[]byte("k"), []byte("1")}}}, 2, 1)
	require.NotContains(t, seen, s.Sum(), "last change")
	seen[s.Sum()] = "last change"
	s = New([16]byte{4})
	s.Apply(&Op{Kind: KindCreate, Environment: 1, Identifier: []byte("a"), Traits: []TraitOp{{[]byte("k"), []byte("1")}}}, 1, 2)
	require.NotContains(t, seen, s.Sum(), "created")
}

func TestApplyOutcomes(t *testing.T) {
	s := New([16]byte{1})
	require.Equal(t, Result{Status: StatusInvalid}, s.Apply(&Op{Kind: 99, Environment: 1, Identity: 1}, 1, 1))
	require.Equal(t, Result{Status: StatusInvalid}, s.Apply(&Op{Kind: KindUpsert, Environment: 1}, 1, 1))
	require.Equal(t, Result{Status: StatusMissing}, s.Apply(&Op{Kind: KindUpsert, Environment: 1, Identity: 5}, 1, 1))
	require.Equal(t, StatusInvalid, s.Apply(&Op{Kind: KindUpsert, Environment: 1, Identifier: []byte("a"),
		Traits: []TraitOp{{nil, []byte("1")}}}, 1, 1).Status)
	require.Empty(t, s.Environments(), "a refused operation leaves nothing")

	up := &Op{Kind: KindUpsert, Environment: 1, Identifier: []byte("a"), Traits: []TraitOp{{[]byte("k"), []byte("1")}}}
	require.Equal(t, Result{Created: true, Changed: true, Identity: 1, LastChange: 7}, s.Apply(up, 7, 1))
	require.Equal(t, Result{Identity: 1, LastChange: 7}, s.Apply(up, 8, 1), "nothing changed")
	inc := &Op{Kind: KindIncrement, Environment: 1, Identifier: []byte("a"), Key: []byte("k"), Delta: 41}
	require.Equal(t, Result{Changed: true, Identity: 1, TraitID: 1, Value: 42, LastChange: 9}, s.Apply(inc, 9, 1))
	inc.Key, inc.Delta = []byte("n"), -3
	require.Equal(t, Result{Changed: true, Identity: 1, TraitID: 2, Value: -3, LastChange: 10}, s.Apply(inc, 10, 1))
	up.ExpectLastChange = 9
	require.Equal(t, Result{Status: StatusConflict, Identity: 1, LastChange: 10}, s.Apply(up, 11, 1))
	require.Equal(t, Result{Status: StatusExists, Identity: 1, LastChange: 10},
		s.Apply(&Op{Kind: KindCreate, Environment: 1, Identifier: []byte("a")}, 11, 1))
	require.Equal(t, Result{Changed: true, Count: 1}, s.Apply(&Op{Kind: KindDeleteTraitKey, Environment: 1, Key: []byte("k")}, 12, 1))
	require.Equal(t, StatusMissing, s.Apply(&Op{Kind: KindDeleteTraitKey, Environment: 1, Key: []byte("k")}, 12, 1).Status)
	require.Equal(t, []string{"n"}, s.Environment(1).TraitKeys())

	big := bytes.Repeat([]byte("x"), 70_000)
	require.Equal(t, Result{Status: StatusOverTraits, Identity: 1, LastChange: 10}, s.Apply(&Op{Kind: KindSetTrait, Environment: 1,
		Identity: 1, Key: []byte("big"), Value: big}, 13, 1))
	require.Equal(t, 2, s.Environment(1).KeyCount(), "the refused key is forgotten")
	require.Equal(t, Result{Changed: true, Count: 1}, s.Apply(&Op{Kind: KindDropEnvironment, Environment: 1}, 14, 1))
	require.Nil(t, s.Environment(1))
	require.EqualValues(t, 2, create(s, 1, "a").Identity, "ids are not given twice")
}

func TestRecordHas(t *testing.T) {
	s := New([16]byte{1})
	tr := func(kv ...string) (list []TraitOp) {
		for i := 0; i < len(kv); i += 2 {
			list = append(list, TraitOp{[]byte(kv[i]), []byte(kv[i+1])})
		}
		return list
	}
	s.Apply(&Op{Kind: KindUpsert, Environment: 1, Identifier: []byte("a"), Traits: tr("a", "1", "b", "2", "c", "3")}, 1, 1)
	r, _ := s.Environment(1).Lookup([]byte("a"))
	for _, same := range [][]TraitOp{nil, tr("a", "1"), tr("a", "1", "b", "2", "c", "3"), tr("c", "3", "a", "1", "b", "2"),
		tr("x", "null", "b", "2"), tr("c", "3", "x", "", "y", "", "a", "1")} {
		require.True(t, r.Has(same), "%s", same)
	}
	for _, other := range [][]TraitOp{tr("a", "2"), tr("d", "1"), tr("a", "null"), tr("a", "1", "b", "2", "c", "3", "d", "4"),
		tr("c", "3", "b", "")} {
		require.False(t, r.Has(other), "%s", other)
	}
}

func TestApplyUnchangedAllocatesNothing(t *testing.T) {
	m := loaded(t, 2000)
	st := m.s.Environment(1)
	op := *m.upsert(5, 0)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		m.s.Apply(&op, 1, 1)
		r, ok := st.Lookup(op.Identifier)
		for it := r.Traits(); ok && it.Next(); {
			_ = it.Value()
		}
		_, _ = st.ByUUID(r.UUID())
	}))
}

func TestNilStoreIsEmpty(t *testing.T) {
	var st *Store
	_, ok := st.Lookup([]byte("a"))
	require.False(t, ok)
	_, ok = st.ByID(1)
	require.False(t, ok)
	require.Empty(t, st.ScanAlias([]byte("a"), nil, 0, 10))
	require.Empty(t, st.Page(0, 10))
	require.Empty(t, st.Scan(nil, nil, 10))
	require.Empty(t, st.TraitKeys())
	require.Zero(t, st.Count())
}

func TestUUIDIsAKeyedPermutation(t *testing.T) {
	s, other := New([16]byte{1}), New([16]byte{2})
	seen := map[UUID]bool{}
	for _, id := range []uint64{0, 1, 2, 3, 1 << 20, 1 << 60, 1 << 61, 1<<64 - 1} {
		u := s.UUIDOf(id)
		require.False(t, seen[u])
		seen[u] = true
		require.EqualValues(t, 4, u[6]>>4, "version")
		require.EqualValues(t, 2, u[8]>>6, "variant")
		got, ok := s.IDOf(u)
		require.True(t, ok)
		require.Equal(t, id, got)
		_, ok = other.IDOf(u)
		require.False(t, ok, "another seed refuses it")
		for bit := range 128 {
			v := u
			v[bit/8] ^= 1 << (bit % 8)
			_, ok := s.IDOf(v)
			require.False(t, ok)
		}
	}
}

// SipHash-1-3 and 2-4 against values of the reference implementation's key 00..0f.
func TestSipHashMatchesReference(t *testing.T) {
	k := sipKey{0x0706050403020100, 0x0f0e0d0c0b0a0908}
	require.Equal(t, uint64(0x3f2acc7f57c29bdb), k.prf(0x0706050403020100, 0x0f0e0d0c0b0a0908))
	require.NotEqual(t, k.hash([]byte("a")), k.hash([]byte("a\x00")))
}
