package identity

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The model is the store as one would write it without a thought for memory.
type model struct {
	envs         map[uint64]map[uint64]*modelIdentity
	lastIdentity uint64
	lastTrait    uint64
	limits       Limits
}

type modelIdentity struct {
	id, last   uint64
	created    int64
	identifier string
	alias      string
	flags      uint8
	traits     []modelTrait
}

type modelTrait struct {
	id         uint64
	key, value string
}

func newModel(l Limits) *model {
	return &model{envs: map[uint64]map[uint64]*modelIdentity{}, limits: l}
}

func (m *model) find(op *Op) *modelIdentity {
	for _, i := range m.envs[op.Environment] {
		if op.Identity != 0 && i.id == op.Identity || op.Identity == 0 && i.identifier == string(op.Identifier) {
			return i
		}
	}
	return nil
}

func (m *model) apply(op *Op, index uint64, at int64) Result {
	env := m.envs[op.Environment]
	switch op.Kind {
	case KindDropEnvironment:
		if len(env) == 0 {
			return Result{Status: StatusMissing}
		}
		delete(m.envs, op.Environment)
		return Result{Changed: true, Count: uint64(len(env))}
	case KindDeleteTraitKey:
		n := uint64(0)
		for _, i := range env {
			before := len(i.traits)
			i.traits = slices.DeleteFunc(i.traits, func(t modelTrait) bool { return t.key == string(op.Key) })
			n += uint64(before - len(i.traits))
		}
		if n == 0 {
			return Result{Status: StatusMissing}
		}
		return Result{Changed: true, Count: n}
	}
	old := m.find(op)
	if op.ExpectLastChange != 0 {
		if old == nil {
			return Result{Status: StatusMissing}
		}
		if old.last != op.ExpectLastChange {
			return Result{Status: StatusConflict, Identity: old.id, LastChange: old.last}
		}
	}
	lastTrait := m.lastTrait
	var next modelIdentity
	switch {
	case old != nil && op.Kind == KindCreate:
		return Result{Status: StatusExists, Identity: old.id, LastChange: old.last}
	case old != nil:
		next = *old
		next.traits = slices.Clone(old.traits)
	case !op.creates():
		return Result{Status: StatusMissing}
	case len(env) >= m.limits.Identities:
		return Result{Status: StatusOverIdentities}
	default:
		next = modelIdentity{id: m.lastIdentity + 1, created: at, identifier: string(op.Identifier)}
	}
	res := Result{Identity: next.id, LastChange: next.last}
	if op.Kind == KindDelete {
		delete(env, old.id)
		res.Changed = true
		return res
	}
	m.change(op, &next, &res)
	if res.Status != StatusOK {
		m.lastTrait = lastTrait
		return res
	}
	size := func(i *modelIdentity) (n int) {
		for _, t := range i.traits {
			n += len(t.key) + len(t.value)
		}
		return n
	}
	if old != nil && fmt.Sprint(*old) == fmt.Sprint(next) {
		m.lastTrait = lastTrait
		return res
	}
	if n := size(&next); n > m.limits.TraitBytes && (old == nil || n > size(old)) {
		m.lastTrait = lastTrait
		if old == nil {
			return Result{Status: StatusOverTraits}
		}
		return Result{Status: StatusOverTraits, Identity: old.id, LastChange: old.last}
	}
	next.last, res.LastChange, res.Changed = index, index, true
	if old == nil {
		res.Created = true
		m.lastIdentity++
		if env == nil {
			env = map[uint64]*modelIdentity{}
			m.envs[op.Environment] = env
		}
	}
	env[next.id] = &next
	return res
}

func (m *model) change(op *Op, i *modelIdentity, res *Result) {
	set := func(key, value string) uint64 {
		at := slices.IndexFunc(i.traits, func(t modelTrait) bool { return t.key == key })
		switch {
		case value == "" || value == "null":
			if at < 0 {
				return 0
			}
			id := i.traits[at].id
			i.traits = slices.Delete(i.traits, at, at+1)
			return id
		case at >= 0:
			i.traits[at].value = value
			return i.traits[at].id
		}
		m.lastTrait++
		i.traits = append(i.traits, modelTrait{m.lastTrait, key, value})
		return m.lastTrait
	}
	byID := func() int { return slices.IndexFunc(i.traits, func(t modelTrait) bool { return t.id == op.TraitID }) }
	byKey := func() int {
		return slices.IndexFunc(i.traits, func(t modelTrait) bool { return t.key == string(op.Key) })
	}
	switch op.Kind {
	case KindUpsert, KindCreate:
		if op.Kind == KindCreate {
			i.alias = string(op.Alias)
		}
		for _, t := range op.Traits {
			set(string(t.Key), string(t.Value))
		}
	case KindRename:
		if other := m.find(&Op{Environment: op.Environment, Identifier: op.NewIdentifier}); other != nil {
			res.Status, res.Identity = StatusExists, other.id
			return
		}
		i.identifier = string(op.NewIdentifier)
	case KindSetAlias:
		i.alias = string(op.Alias)
	case KindSetFlags:
		i.flags = op.Flags
	case KindSetTrait:
		if op.TraitID == 0 {
			res.TraitID = set(string(op.Key), string(op.Value))
			return
		}
		at := byID()
		if at < 0 {
			res.Status = StatusMissing
			return
		}
		res.TraitID = op.TraitID
		if len(op.Key) > 0 {
			if other := byKey(); other >= 0 && other != at {
				res.Status = StatusExists
				return
			}
			i.traits[at].key = string(op.Key)
		}
		set(i.traits[at].key, string(op.Value))
	case KindDeleteTrait:
		at := byKey()
		if op.TraitID != 0 {
			at = byID()
		}
		if at < 0 {
			res.Status = StatusMissing
			return
		}
		res.TraitID = i.traits[at].id
		i.traits = slices.Delete(i.traits, at, at+1)
	case KindIncrement:
		var n int64
		if at := byKey(); at >= 0 {
			var err error
			if n, err = strconv.ParseInt(i.traits[at].value, 10, 64); err != nil {
				res.Status = StatusNotInteger
				return
			}
		}
		if op.Delta > 0 && n > n+op.Delta || op.Delta < 0 && n < n+op.Delta {
			res.Status = StatusOverflow
			return
		}
		res.Value = n + op.Delta
		res.TraitID = set(string(op.Key), strconv.FormatInt(res.Value, 10))
	}
}

// source makes random operations over few names, so that they meet.
type source struct {
	r       *rand.Rand
	idents  int
	envs    int
	maxID   uint64
	keys    int
	rare    bool // drops and key deletions
	deletes int  // per cent
}

func (g *source) identifier() []byte {
	n := g.r.IntN(g.idents)
	switch n % 3 {
	case 0:
		return fmt.Appendf(nil, "user-%d", n)
	case 1:
		return fmt.Appendf(nil, "%d", n)
	}
	return fmt.Appendf(nil, "Ünï-USER-%x@example.com", n)
}

func (g *source) key() []byte { return fmt.Appendf(nil, "key%d", g.r.IntN(g.keys)) }

func (g *source) value() []byte {
	switch g.r.IntN(9) {
	case 0:
		return nil
	case 1:
		return []byte("null")
	case 2:
		return []byte("9223372036854775800")
	case 3:
		return []byte(`"` + strings.Repeat("x", g.r.IntN(60)) + `"`)
	case 4:
		return []byte("1.5")
	}
	return strconv.AppendInt(nil, int64(g.r.IntN(4)), 10)
}

func (g *source) op() *Op {
	op := &Op{Environment: uint64(1 + g.r.IntN(g.envs)), Identifier: g.identifier()}
	byID := g.r.IntN(3) == 0
	if byID {
		op.Identity = uint64(g.r.IntN(int(g.maxID)+2)) + 1
	}
	if g.r.IntN(20) == 0 {
		op.ExpectLastChange = uint64(g.r.IntN(1000))
	}
	n := g.r.IntN(100)
	if n < g.deletes {
		op.Kind = KindDelete
		return op
	}
	switch n := g.r.IntN(100); {
	case n < 45:
		op.Kind = KindUpsert
	case n < 50:
		op.Kind = KindCreate
		op.Alias = []byte(g.alias())
	case n < 60:
		op.Kind = KindRename
		op.NewIdentifier = g.identifier()
	case n < 70:
		op.Kind = KindSetAlias
		op.Alias = []byte(g.alias())
	case n < 80:
		op.Kind, op.Key, op.Value = KindSetTrait, g.key(), g.value()
		if g.r.IntN(2) == 0 {
			op.TraitID = uint64(g.r.IntN(500)) + 1
			if g.r.IntN(2) == 0 {
				op.Key = nil
			}
		}
	case n < 86:
		op.Kind, op.Key = KindDeleteTrait, g.key()
		if g.r.IntN(2) == 0 {
			op.TraitID = uint64(g.r.IntN(500)) + 1
		}
	case n < 94:
		op.Kind, op.Key, op.Delta = KindIncrement, g.key(), int64(g.r.IntN(20)-10)
	case n < 96:
		op.Kind, op.Flags = KindSetFlags, uint8(g.r.IntN(256))
	case n < 98 && g.rare:
		op.Kind, op.Key = KindDeleteTraitKey, g.key()
	case n == 99 && g.rare && g.r.IntN(10) == 0:
		op.Kind = KindDropEnvironment
	default:
		op.Kind = KindUpsert
	}
	if op.Kind == KindUpsert || op.Kind == KindCreate {
		for range g.r.IntN(5) {
			op.Traits = append(op.Traits, TraitOp{g.key(), g.value()})
		}
		if g.r.IntN(50) == 0 {
			for i := range 60 {
				op.Traits = append(op.Traits, TraitOp{fmt.Appendf(nil, "key%d", (i*7)%g.keys), g.value()})
			}
		}
	}
	return op
}

func (g *source) alias() string {
	if g.r.IntN(4) == 0 {
		return ""
	}
	return fmt.Sprintf("alias-%d", g.r.IntN(30))
}

func recordString(r *Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %d %d %q %q %d", r.ID(), r.LastChange(), r.Created(), r.Identifier(), r.Alias(), r.Flags())
	for it := r.Traits(); it.Next(); {
		fmt.Fprintf(&b, " %d/%s=%s", it.ID(), it.Key(), it.Value())
	}
	return b.String()
}

func (i *modelIdentity) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %d %d %q %q %d", i.id, i.last, i.created, i.identifier, i.alias, i.flags)
	for _, t := range i.traits {
		fmt.Fprintf(&b, " %d/%s=%s", t.id, t.key, t.value)
	}
	return b.String()
}

func recordStrings(list []Record) []string {
	out := []string{}
	for i := range list {
		out = append(out, recordString(&list[i]))
	}
	return out
}

func modelStrings(list []*modelIdentity) []string {
	out := []string{}
	for _, i := range list {
		out = append(out, i.String())
	}
	return out
}

func (m *model) sorted(env uint64, keep func(*modelIdentity) bool, less func(a, b *modelIdentity) int) []*modelIdentity {
	var list []*modelIdentity
	for _, i := range m.envs[env] {
		if keep == nil || keep(i) {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, less)
	return list
}

func byID(a, b *modelIdentity) int         { return cmp.Compare(a.id, b.id) }
func byIdentifier(a, b *modelIdentity) int { return cmp.Compare(a.identifier, b.identifier) }
func byAlias(a, b *modelIdentity) int {
	return cmp.Or(cmp.Compare(a.alias, b.alias), cmp.Compare(a.id, b.id))
}

func page(list []*modelIdentity, offset, limit int) []*modelIdentity {
	list = list[min(offset, len(list)):]
	return list[:min(limit, len(list))]
}

// requireEqual compares every lookup of the store with the model.
func requireEqual(t *testing.T, m *model, s *Stores, envs int) {
	t.Helper()
	var present []uint64
	for e := uint64(1); e <= uint64(envs); e++ {
		st := s.Environment(e)
		if len(m.envs[e]) > 0 {
			present = append(present, e)
		}
		require.Equal(t, len(m.envs[e]), st.Count())
		all := m.sorted(e, nil, byID)
		require.Equal(t, modelStrings(all), recordStrings(st.Page(0, 1<<20)))
		keys := map[string]bool{}
		for _, i := range all {
			want := i.String()
			r, ok := st.Lookup([]byte(i.identifier))
			require.True(t, ok, want)
			require.Equal(t, want, recordString(&r))
			r, ok = st.ByID(i.id)
			require.True(t, ok, want)
			require.Equal(t, want, recordString(&r))
			r2, ok := st.ByUUID(r.UUID())
			require.True(t, ok, want)
			require.Equal(t, want, recordString(&r2))
			require.Len(t, i.traits, r.TraitCount())
			for _, tr := range i.traits {
				keys[tr.key] = true
				v, id, ok := r.Trait(tr.key)
				require.True(t, ok)
				found := modelTrait{id, tr.key, string(v)}
				require.Equal(t, tr, found)
			}
		}
		var names []string
		for k := range keys {
			names = append(names, k)
		}
		slices.Sort(names)
		require.Equal(t, names, st.TraitKeys())
		_, ok := st.Lookup([]byte("nobody"))
		require.False(t, ok)
		requireScans(t, m, st, e)
	}
	require.Equal(t, present, s.Environments())
}

func requireScans(t *testing.T, m *model, st *Store, e uint64) {
	t.Helper()
	all := m.sorted(e, nil, byID)
	for _, offset := range []int{0, 1, 7, 100, 5000} {
		require.Equal(t, modelStrings(page(all, offset, 10)), recordStrings(st.Page(offset, 10)))
	}
	for _, prefix := range []string{"", "user-", "1", "user-12", "Ü", "zzz"} {
		list := m.sorted(e, func(i *modelIdentity) bool { return strings.HasPrefix(i.identifier, prefix) }, byIdentifier)
		require.Equal(t, modelStrings(list), recordStrings(st.Scan([]byte(prefix), nil, 1<<20)))
		var after []byte
		for from := 0; from <= len(list); from += 37 {
			got := st.Scan([]byte(prefix), after, 37)
			require.Equal(t, modelStrings(page(list, from, 37)), recordStrings(got))
			if len(got) > 0 {
				after = got[len(got)-1].Identifier()
			}
		}
	}
	for _, prefix := range []string{"", "alias-1", "alias-22"} {
		list := m.sorted(e, func(i *modelIdentity) bool { return i.alias != "" && strings.HasPrefix(i.alias, prefix) }, byAlias)
		var after []byte
		var afterID uint64
		for from := 0; from <= len(list); from += 5 {
			got := st.ScanAlias([]byte(prefix), after, afterID, 5)
			require.Equal(t, modelStrings(page(list, from, 5)), recordStrings(got))
			if len(got) > 0 {
				after, afterID = got[len(got)-1].Alias(), got[len(got)-1].ID()
			}
		}
	}
	for _, sub := range []string{"", "ser-1", "SER", "ünï", "Example", "nope"} {
		list := m.sorted(e, func(i *modelIdentity) bool {
			return strings.Contains(strings.ToLower(i.identifier), strings.ToLower(sub))
		}, byID)
		got, total := st.Contains(sub, 3, 11)
		require.Equal(t, len(list), total)
		require.Equal(t, modelStrings(page(list, 3, 11)), recordStrings(got))
	}
}

// requireRestore writes a snapshot, restores it and compares; Restore recomputes the sum from the records.
func requireRestore(t *testing.T, m *model, s *Stores, envs int) *Stores {
	t.Helper()
	sn := s.Snapshot()
	defer sn.Release()
	var b bytes.Buffer
	n, err := sn.WriteTo(&b)
	require.NoError(t, err)
	require.EqualValues(t, b.Len(), n)
	b.WriteString("rest")
	got, err := Restore(&b)
	require.NoError(t, err)
	require.Equal(t, "rest", b.String())
	require.Equal(t, s.Sum(), got.Sum())
	requireEqual(t, m, got, envs)
	return got
}

func TestAgainstModel(t *testing.T) {
	for _, c := range []struct {
		name string
		g    source
		ops  int
		lim  Limits
	}{
		{"small", source{idents: 60, envs: 2, keys: 40, rare: true, deletes: 8}, 15_000, Limits{400, 30}},
		{"growing", source{idents: 40_000, envs: 1, keys: 300, deletes: 1}, 9_000, DefaultLimits()},
		{"churn", source{idents: 3_000, envs: 2, keys: 10, rare: true, deletes: 45}, 12_000, DefaultLimits()},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := c.g
			g.r = rand.New(rand.NewPCG(1, 2))
			m, s := newModel(c.lim), New([16]byte{1, 2, 3})
			s.SetLimits(c.lim)
			for i := range c.ops {
				g.maxID = m.lastIdentity
				op := g.op()
				has := false
				if r, ok := s.Environment(op.Environment).Lookup(op.Identifier); ok && op.Kind == KindUpsert && op.Identity == 0 {
					has = r.Has(op.Traits)
				}
				want := m.apply(op, uint64(i+1), int64(i)*1000-5000)
				require.False(t, has && want.Changed, "Has must not hide a change")
				require.Equal(t, want, s.Apply(op, uint64(i+1), int64(i)*1000-5000), "%d: %+v", i, op)
				if i%(c.ops/6) == c.ops/6-1 {
					requireEqual(t, m, s, g.envs)
					restored := requireRestore(t, m, s, g.envs)
					if i%2 == 0 {
						s = restored
						s.SetLimits(c.lim)
					}
				}
			}
			requireEqual(t, m, s, g.envs)
		})
	}
}
