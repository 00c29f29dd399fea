package fsm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm/identity"
)

// TestLevelOneIsFixed names the tables and kinds that binaries of level 1 know. One that is not among them needs a later level: an old node
// in the same cluster would stop at it.
func TestLevelOneIsFixed(t *testing.T) {
	for _, def := range registry.all {
		if def.number > 25 {
			require.Greater(t, def.level, BaseLevel, "table %d %s", def.number, def.name)
		} else {
			require.Equal(t, BaseLevel, def.level, "table %d %s", def.number, def.name)
		}
	}
}

func newLevelWriter(t *testing.T) (*FSM, *logProposer, *Writer) {
	f := newTestFSM(t)
	p := &logProposer{fsm: f}
	w := NewWriter(f, p, func() time.Time { return time.UnixMicro(1_700_000_000_000_000) }, slog.New(slog.DiscardHandler))
	t.Cleanup(w.Stop)
	w.Gained()
	_, err := w.Write(t.Context(), Author{}, func(tx *Tx) error { Tags.Put(tx, Tag{Label: "first"}); return nil })
	require.NoError(t, err)
	return f, p, w
}

func TestLevelRisesByAnEntryAndNeverFalls(t *testing.T) {
	f, p, w := newLevelWriter(t)
	require.Equal(t, BaseLevel, f.State().Level(), "an installation is born at the first level")
	for _, l := range p.log {
		require.Equal(t, BaseLevel, l.Data[1], "before the level rises, every entry is readable at level 1")
	}
	before := f.State().Hash()
	_, _, err := p.Propose(context.Background(), NewLevelEntry(FormatLevel, time.Now()))
	require.NoError(t, err)
	require.Equal(t, FormatLevel, f.State().Level())
	require.NotEqual(t, before, f.State().Hash(), "the level is part of the state")
	require.Equal(t, FormatLevel, p.log[len(p.log)-1].Data[1], "a binary that does not know the level stops at the entry")

	_, err = w.Write(t.Context(), Author{}, func(tx *Tx) error { Tags.Put(tx, Tag{Label: "second"}); return nil })
	require.NoError(t, err)
	require.Equal(t, FormatLevel, p.log[len(p.log)-1].Data[1])

	_, _, err = p.Propose(context.Background(), NewLevelEntry(BaseLevel, time.Now()))
	require.NoError(t, err)
	require.Equal(t, FormatLevel, f.State().Level())
	require.Equal(t, FormatLevel, throughSnapshot(t, f).State().Level())
}

func TestIdentitiesOfAnEnvironmentBeyondFiveMillionNeedLevelFour(t *testing.T) {
	f, p, w := newLevelWriter(t)
	bound := func() int {
		_, err := w.Write(t.Context(), Author{}, func(tx *Tx) error { Tags.Put(tx, Tag{Label: "any"}); return nil })
		require.NoError(t, err)
		return f.ids.Limits().Identities
	}
	require.Equal(t, 5_000_000, bound())
	_, _, err := p.Propose(context.Background(), NewLevelEntry(3, time.Now()))
	require.NoError(t, err)
	require.Equal(t, 5_000_000, bound(), "a node of an older version would refuse what this one takes")
	_, _, err = p.Propose(context.Background(), NewLevelEntry(4, time.Now()))
	require.NoError(t, err)
	require.Equal(t, identity.MaxIdentities, bound())

	restored := throughSnapshot(t, f)
	restored.Apply(p.log[len(p.log)-1])
	require.Equal(t, identity.MaxIdentities, restored.ids.Limits().Identities)
}

// laterTable stands for a table of the newest level.
func laterTable(t *testing.T) {
	Tags.def.level = FormatLevel
	t.Cleanup(func() { Tags.def.level = BaseLevel })
}

func TestTablesOfALaterLevelAreRefusedBelowIt(t *testing.T) {
	f, p, w := newLevelWriter(t)
	laterTable(t)
	put := func(tx *Tx) error { Tags.Put(tx, Tag{Label: "later"}); return nil }
	entries := len(p.log)
	_, err := w.Write(t.Context(), Author{}, put)
	require.ErrorIs(t, err, ErrFormatLevel)
	require.Len(t, p.log, entries, "nothing is written")
	_, _, err = p.Propose(context.Background(), NewLevelEntry(FormatLevel, time.Now()))
	require.NoError(t, err)
	_, err = w.Write(t.Context(), Author{}, put)
	require.NoError(t, err)
	require.NotZero(t, f.State().Seq)
}

func TestSnapshotsAreOfTheStatesLevel(t *testing.T) {
	log, _ := randomLog(t, rand.New(rand.NewPCG(5, 1)), 40)
	f := newTestFSM(t)
	raised := 0
	for i, l := range log {
		if Kind(l.Data[0]) == KindFormatLevel {
			raised = i
			break
		}
		f.Apply(l)
	}
	require.NotZero(t, raised)
	first := snapshotBytes(t, f)
	require.Equal(t, BaseLevel, first[len(chunkMagic)])
	require.NoError(t, newTestFSM(t).Restore(io.NopCloser(bytes.NewReader(first))))

	f.ApplyBatch(log[raised:])
	second := snapshotBytes(t, f)
	require.Equal(t, FormatLevel, second[len(chunkMagic)])
	require.NoError(t, newTestFSM(t).Restore(io.NopCloser(bytes.NewReader(second))))
	second[len(chunkMagic)]++
	err := newTestFSM(t).Restore(io.NopCloser(bytes.NewReader(second)))
	require.ErrorIs(t, err, ErrSnapshot)
	require.ErrorContains(t, err, fmt.Sprintf("it needs format level %d, this binary knows %d", FormatLevel+1, FormatLevel))
}

func TestReadableSaysWhatApplyingWouldStopAt(t *testing.T) {
	f := newTestFSM(t)
	for _, k := range kinds {
		require.NoError(t, f.Readable(newEntry(k, FormatLevel, nil)))
	}
	require.ErrorContains(t, f.Readable(newEntry(KindChangeset, FormatLevel+1, nil)), fmt.Sprintf("needs format level %d, this binary knows %d", FormatLevel+1, FormatLevel))
	require.ErrorIs(t, f.Readable(newEntry(200, BaseLevel, nil)), ErrFormat)
	require.ErrorIs(t, f.Readable(nil), ErrFormat)
}
