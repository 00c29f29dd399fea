package identity

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every identity that the writer of TestReadersSeeWholeRecords makes carries its number in all its parts, so a reader can
// tell a torn or foreign record.
func wholeOp(n, round int) *Op {
	text := strconv.Itoa(n)
	op := &Op{Kind: KindUpsert, Environment: 1, Identifier: []byte("user-" + text)}
	for k := range 3 + round%3 {
		op.Traits = append(op.Traits, TraitOp{fmt.Appendf(nil, "k%d", k), fmt.Appendf(nil, `"%s-%d"`, text, round)})
	}
	return op
}

func checkWhole(r *Record) error {
	ident, _, _ := bytes.Cut(r.Identifier(), []byte("#"))
	n := string(bytes.TrimPrefix(ident, []byte("user-")))
	round := ""
	for it := r.Traits(); it.Next(); {
		num, rest, ok := bytes.Cut(bytes.Trim(it.Value(), `"`), []byte("-"))
		if it.Key() == "late" {
			continue
		}
		if !ok || string(num) != n || round != "" && it.ID() != 0 && len(rest) == 0 {
			return fmt.Errorf("identity %q has trait %s=%s", r.Identifier(), it.Key(), it.Value())
		}
		round = string(rest)
	}
	if len(r.Alias()) > 0 && string(r.Alias()) != "alias-"+n {
		return fmt.Errorf("identity %q has alias %q", r.Identifier(), r.Alias())
	}
	return nil
}

func TestReadersSeeWholeRecords(t *testing.T) {
	s := New([16]byte{7})
	const base, rounds = 3000, 12
	for n := range base {
		s.Apply(wholeOp(n, 0), 1, 1)
	}
	st := s.Environment(1)
	var stop atomic.Bool
	var wg sync.WaitGroup
	errs := make(chan error, 16)
	report := func(err error) {
		if err != nil {
			select {
			case errs <- err:
			default:
			}
		}
	}
	reader := func(seed uint64, read func(r *rand.Rand)) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, 0))
			for !stop.Load() {
				read(r)
			}
		})
	}
	reader(1, func(r *rand.Rand) { // the first 1,000 are never deleted or renamed
		n := r.IntN(1000)
		rec, ok := st.Lookup(fmt.Appendf(nil, "user-%d", n))
		if !ok {
			report(fmt.Errorf("user-%d not found", n))
			return
		}
		report(checkWhole(&rec))
		byID, ok := st.ByUUID(rec.UUID())
		if !ok || !bytes.Equal(byID.Identifier(), rec.Identifier()) {
			report(fmt.Errorf("user-%d not found by uuid", n))
		}
	})
	reader(2, func(r *rand.Rand) {
		page := st.Page(r.IntN(base), 20)
		for i := range page {
			report(checkWhole(&page[i]))
			if i > 0 && page[i].ID() <= page[i-1].ID() {
				report(fmt.Errorf("page out of order"))
			}
		}
	})
	reader(3, func(r *rand.Rand) {
		prefix := fmt.Appendf(nil, "user-%d", r.IntN(1000))
		page := st.Scan(prefix, nil, 20)
		if len(page) == 0 || !bytes.Equal(page[0].Identifier(), prefix) {
			report(fmt.Errorf("scan for %q found %d others", prefix, len(page)))
		}
		for i := range page {
			report(checkWhole(&page[i]))
		}
		for _, a := range st.ScanAlias([]byte("alias-"), nil, 0, 5) {
			report(checkWhole(&a))
		}
	})
	reader(4, func(r *rand.Rand) {
		_, total := st.Contains("user", 0, 3)
		if total < 1000 {
			report(fmt.Errorf("contains found %d", total))
		}
		st.TraitKeys()
	})
	index := uint64(2)
	for round := 1; round <= rounds; round++ {
		sn := s.Snapshot()
		frozen := make(chan []byte, 1)
		wg.Go(func() {
			var b bytes.Buffer
			_, err := sn.WriteTo(&b)
			report(err)
			sn.Release()
			frozen <- b.Bytes()
		})
		want := sn.Sum()
		for n := range base + round*100 {
			index++
			switch {
			case n >= 1000 && n%7 == round%7:
				s.Apply(&Op{Kind: KindDelete, Environment: 1, Identifier: wholeOp(n, 0).Identifier}, index, 1)
			case n >= 1000 && n%11 == round%11:
				s.Apply(&Op{Kind: KindRename, Environment: 1, Identifier: wholeOp(n, 0).Identifier,
					NewIdentifier: fmt.Appendf(nil, "user-%d#%d", n, round)}, index, 1)
			case n%13 == round%13:
				s.Apply(&Op{Kind: KindSetAlias, Environment: 1, Identifier: wholeOp(n, 0).Identifier,
					Alias: fmt.Appendf(nil, "alias-%d", n)}, index, 1)
			default:
				s.Apply(wholeOp(n, round), index, 1)
			}
		}
		s.Apply(&Op{Kind: KindSetTrait, Environment: 1, Identifier: []byte("user-1"), Key: []byte("late"), Value: []byte("1")}, index, 1)
		s.Apply(&Op{Kind: KindDeleteTraitKey, Environment: 1, Key: []byte("late")}, index, 1)
		restored, err := Restore(bytes.NewReader(<-frozen))
		require.NoError(t, err)
		require.Equal(t, want, restored.Sum(), "the snapshot is not the state at its moment")
	}
	stop.Store(true)
	wg.Wait()
	select {
	case err := <-errs:
		t.Fatal(err)
	default:
	}
	require.Zero(t, s.snapshots.Load())
}

func TestSnapshotIsFrozenRecordForRecord(t *testing.T) {
	g := source{r: rand.New(rand.NewPCG(5, 5)), idents: 2500, envs: 2, keys: 20, rare: true, deletes: 10}
	m, s := newModel(DefaultLimits()), New([16]byte{3})
	step := func(n int) {
		for range n {
			g.maxID = m.lastIdentity
			op := g.op()
			m.apply(op, 5, 6)
			s.Apply(op, 5, 6)
		}
	}
	step(4000)
	sn := s.Snapshot()
	frozen := newModel(m.limits)
	for e, env := range m.envs {
		frozen.envs[e] = map[uint64]*modelIdentity{}
		for id, i := range env {
			c := *i
			c.traits = append([]modelTrait(nil), i.traits...)
			frozen.envs[e][id] = &c
		}
	}
	step(2000)
	older := s.Snapshot()
	step(2000)
	older.Release()
	step(1000)
	var b bytes.Buffer
	_, err := sn.WriteTo(&b)
	require.NoError(t, err)
	_, err = sn.WriteTo(io.Discard)
	require.ErrorIs(t, err, ErrReleased)
	sn.Release()
	sn.Release()
	released := s.Snapshot()
	released.Release()
	_, err = released.WriteTo(io.Discard)
	require.ErrorIs(t, err, ErrReleased)
	restored, err := Restore(&b)
	require.NoError(t, err)
	requireEqual(t, frozen, restored, 2)
	requireEqual(t, m, s, 2)
}
