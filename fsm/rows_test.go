package fsm

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// expected is what rows should hold: tags by id, as their label and project.
type expected map[uint64]Tag

func tagRow(id, project uint64, label string) *stored[Tag] {
	row := Tag{ID: id, Project: project, Label: label}
	return &stored[Tag]{row: row, raw: must(encMode.Marshal(&row))}
}

func (e expected) require(t *testing.T, r *rows) {
	t.Helper()
	s := &State{rows: r}
	require.Equal(t, len(e), r.count(Tags.def))
	ids := slices.Sorted(maps.Keys(e))
	have := []uint64{}
	for row := range Tags.Refs(s) {
		have = append(have, row.ID)
		require.Equal(t, e[row.ID], *row)
	}
	require.Equal(t, append([]uint64{}, ids...), have)
	down := []uint64{}
	for row := range Tags.RefsBelow(s, 1<<60) {
		down = append(down, row.ID)
	}
	slices.Reverse(down)
	require.Equal(t, have, down)
	require.Equal(t, len(e), TagsByProject.Count(s))
	for project := range uint64(5) { // of the last there are none
		var want []uint64
		for _, id := range ids {
			if e[id].Project == project {
				want = append(want, id)
			}
		}
		var found []Tag
		for row := range TagsByProject.Refs(s, project) {
			require.Equal(t, e[row.ID], *row)
			found = append(found, *row)
		}
		require.True(t, slices.IsSortedFunc(found, func(a, b Tag) int { return bytes.Compare(indexKey(a), indexKey(b)) }))
		require.Equal(t, len(want), TagsByProject.Count(s, project))
		for _, cut := range [][2]int{{0, len(found)}, {-3, 2}, {1, 1}, {len(found) / 2, len(found) + 5}, {len(found), len(found) + 1}} {
			from, to := max(cut[0], 0), min(cut[1], len(found))
			part := []Tag{}
			for _, row := range TagsByProject.Slice(s, cut[0], cut[1], project) {
				part = append(part, *row)
			}
			require.Equal(t, append([]Tag{}, found[min(from, to):to]...), part)
		}
		var got []uint64
		for _, row := range found {
			got = append(got, row.ID)
		}
		slices.Sort(got)
		require.Equal(t, want, got)
	}
}

func indexKey(row Tag) Key {
	k, _ := Tags.def.indexes[TagsByProject.at].entry(nil, &stored[Tag]{row: row}, row.ID)
	return k
}

// TestRowsAndForks changes several forks at random: none sees what another does, frozen ones stay as they are.
func TestRowsAndForks(t *testing.T) {
	type line struct {
		rows *rows
		want expected
	}
	r := rand.New(rand.NewPCG(1, 2))
	lines := []line{{newRows().fork(), expected{}}}
	var frozen []line
	for step := range 6000 {
		l := &lines[r.IntN(len(lines))]
		id, project, label := 1+r.Uint64N(400), r.Uint64N(4), fmt.Sprint("label", r.IntN(50))
		switch n := r.IntN(100); {
		case n < 60:
			l.rows.put(Tags.def, tagRow(id, project, label))
			l.want[id] = Tag{ID: id, Project: project, Label: label}
		case n < 90:
			l.rows.remove(Tags.def, id)
			delete(l.want, id)
		case n < 95 && len(lines) < 6:
			lines = append(lines, line{l.rows.fork(), maps.Clone(l.want)})
		case n < 97:
			lines[r.IntN(len(lines))] = line{l.rows.fork(), maps.Clone(l.want)} // the one before is given up
		default:
			frozen = append(frozen, line{l.rows.frozen(), maps.Clone(l.want)})
		}
		if step%500 == 0 {
			for _, l := range slices.Concat(lines, frozen) {
				l.want.require(t, l.rows)
			}
		}
	}
	for _, l := range slices.Concat(lines, frozen) {
		l.want.require(t, l.rows)
	}
}

// TestRowsChangeUnderASequence writes to a table while it is read in order: what is read is what was there.
func TestRowsChangeUnderASequence(t *testing.T) {
	r := newRows().fork()
	for id := range uint64(500) {
		r.put(Tags.def, tagRow(id+1, id%4, "label"))
	}
	seen := 0
	for o := range r.with(Tags.def, TagsByProject.at, keyOf(uint64(1))) {
		row := o.(*stored[Tag]).row
		require.Equal(t, uint64(1), row.Project)
		r.remove(Tags.def, row.ID)
		r.put(Tags.def, tagRow(1000+row.ID, 1, "later"))
		for inner := range r.from(Tags.def, 1000) { // sees its own writes
			require.Equal(t, "later", inner.(*stored[Tag]).row.Label)
			break
		}
		seen++
	}
	require.Equal(t, 125, seen)
	require.Equal(t, 500, r.count(Tags.def))
	require.Zero(t, r.tables[Tags.def.place].reading)
}

// TestRowsAreForkedAndReadAtOnce is for the race detector.
func TestRowsAreForkedAndReadAtOnce(t *testing.T) {
	live := newRows().fork()
	want := expected{}
	for id := uint64(1); id <= 300; id++ {
		live.put(Tags.def, tagRow(id, id%4, "label"))
		want[id] = Tag{ID: id, Project: id % 4, Label: "label"}
	}
	published := live.frozen()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 20 {
				fork := published.fork()
				for id := uint64(1); id <= 300; id += 7 {
					fork.remove(Tags.def, id)
				}
				want.require(t, published)
			}
		})
	}
	for id := uint64(1); id <= 300; id++ {
		live.remove(Tags.def, id)
		_ = live.frozen()
	}
	all.Wait()
	want.require(t, published)
	expected{}.require(t, live)
}

// A mark is another one after each change of the rows that it stands for, and no other.
func TestMark(t *testing.T) {
	r := newRows().fork()
	link := func(id, environment uint64) *stored[FeatureSegment] {
		row := FeatureSegment{ID: id, Environment: environment}
		return &stored[FeatureSegment]{row: row, raw: must(encMode.Marshal(&row))}
	}
	marks := func(r *rows) [2]uint64 {
		s := &State{rows: r}
		return [2]uint64{FeatureSegments.mark(s, 1), FeatureSegments.mark(s, 2)}
	}
	require.Zero(t, marks(r))
	r.put(FeatureSegments.def, link(1, 1))
	first := marks(r)
	require.NotZero(t, first[0])
	require.Zero(t, first[1])
	fork, other := r.fork(), r.fork()
	require.Equal(t, first, marks(fork))
	fork.put(FeatureSegments.def, link(1, 2)) // from one to the other
	other.put(FeatureSegments.def, link(1, 2))
	moved := marks(fork)
	require.NotEqual(t, first[0], moved[0])
	require.NotZero(t, moved[1])
	require.NotEqual(t, moved, marks(other), "another change, though to the same")
	require.Equal(t, first, marks(r))
	fork.remove(FeatureSegments.def, 1)
	require.Equal(t, moved[0], marks(fork)[0])
	require.NotEqual(t, moved[1], marks(fork)[1])
	state := FeatureState{ID: 1, Environment: 1}
	fork.put(FeatureStates.def, &stored[FeatureState]{row: state, raw: must(encMode.Marshal(&state))})
	require.Zero(t, FeatureStates.mark(&State{rows: fork}, 1), "no override")
	state.FeatureSegment = 3
	fork.put(FeatureStates.def, &stored[FeatureState]{row: state, raw: must(encMode.Marshal(&state))})
	require.NotZero(t, FeatureStates.mark(&State{rows: fork}, 1))
}
