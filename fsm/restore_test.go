package fsm

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm/identity"
)

// restoreBed is a state machine whose writes go into a log.
type restoreBed struct {
	*FSM
	p *logProposer
	w *Writer
	b *IdentityBatcher
	n uint64 // batches
}

func newRestoreBed(t *testing.T) *restoreBed {
	t.Helper()
	f := newTestFSM(t)
	p := &logProposer{fsm: f}
	clock := func() time.Time { return time.UnixMicro(1_700_000_000_000_000 + int64(len(p.log))*1_000) }
	s := &restoreBed{FSM: f, p: p, w: NewWriter(f, p, clock, slog.New(slog.DiscardHandler)), b: NewIdentityBatcher(p, clock)}
	t.Cleanup(s.w.Stop)
	t.Cleanup(s.b.Stop)
	s.w.Gained()
	return s
}

func (s *restoreBed) write(t *testing.T, run func(*Tx)) {
	t.Helper()
	_, err := s.w.Write(t.Context(), Author{}, func(tx *Tx) error { run(tx); return nil })
	require.NoError(t, err)
}

func (s *restoreBed) upsert(t *testing.T, who string) {
	t.Helper()
	s.n++
	op := identity.Op{Kind: identity.KindUpsert, Environment: 1, Identifier: []byte(who)}
	_, err := s.b.Submit(t.Context(), identity.AppendSubBatch(nil, identity.SubBatch{Node: []byte("n"), Sequence: s.n, Ops: 1}, identity.AppendOp(nil, &op)), nil)
	require.NoError(t, err)
}

func (s *restoreBed) restore(t *testing.T, id byte, force bool, backup []byte) *RestoreResult {
	t.Helper()
	_, answer, err := s.p.Propose(t.Context(), NewRestoreEntry(RestorePart{ID: uuid.UUID{id}, Data: backup, Last: true, Force: force, Author: Author{Name: "root"}}, time.UnixMicro(9)))
	require.NoError(t, err)
	return answer.(*RestoreResult)
}

func (s *restoreBed) environment(t *testing.T, name string) {
	s.write(t, func(tx *Tx) {
		Projects.Put(tx, Project{ID: 1, Name: "p"})
		Environments.Put(tx, Environment{ID: 1, Name: name, APIKey: "key", Project: 1, UpdatedAt: tx.Now() + 5_000_000})
	})
}

// TestRestoreGoesBackAndOn restores an older backup: rows, identities and answers
// to keys are the backup's; index, times, ids and fence go on.
func TestRestoreGoesBackAndOn(t *testing.T) {
	s := newRestoreBed(t)
	s.environment(t, "then")
	s.upsert(t, "old")
	s.write(t, func(tx *Tx) { Tags.Put(tx, Tag{Label: "then", Project: 1}) })
	backup := backupBytes(t, s.FSM)
	s.environment(t, "now")
	s.upsert(t, "new")
	s.write(t, func(tx *Tx) { Tags.Put(tx, Tag{Label: "now", Project: 1}) })
	before := s.State()
	changes := len(slices.Collect(ChangeLog.All(before)))
	newest, _ := before.Identities().Environment(1).Lookup([]byte("new"))
	shown, _ := Environments.Get(before, 1)

	require.ErrorIs(t, s.restore(t, 1, false, backup).Err, ErrNotEmpty)
	require.Equal(t, before.Genesis, s.State().Genesis)
	r := s.restore(t, 2, true, backup)
	require.NoError(t, r.Err)
	require.True(t, r.Restored)

	after := s.State()
	e, _ := Environments.Get(after, 1)
	require.Equal(t, "then", e.Name)
	require.Greater(t, e.UpdatedAt, shown.UpdatedAt)
	require.Equal(t, 1, Tags.count(after))
	require.Equal(t, uint64(len(s.p.log)), after.Index)
	stale := changeset{Seq: before.Seq + 1, Writes: []write{{ID: 99, Ops: []op{{Table: Tags.def.number, ID: 50, Row: must(encMode.Marshal(&Tag{ID: 50}))}}}}}
	_, fenced, _ := s.p.Propose(t.Context(), append([]byte{byte(KindChangeset), 1}, must(encMode.Marshal(&stale))...))
	require.ErrorIs(t, fenced.(*ChangesetResult).Err, ErrFenced)
	require.Greater(t, after.Time, before.Time)
	require.NotEqual(t, before.Genesis.Epoch, after.Genesis.Epoch)
	require.Equal(t, before.Genesis.Seed, after.Genesis.Seed)
	_, ok := after.Identities().Environment(1).Lookup([]byte("new"))
	require.False(t, ok)
	_, ok = after.Identities().Environment(1).Lookup([]byte("old"))
	require.True(t, ok)

	log := slices.Collect(ChangeLog.All(after))
	last := log[len(log)-1]
	require.Equal(t, "root", last.Author.Name)
	require.Contains(t, last.Note, "restored the backup of installation")
	require.Greater(t, last.ID, uint64(changes), "ids of the removed change log are not given again")

	s.upsert(t, "third")
	third, _ := s.State().Identities().Environment(1).Lookup([]byte("third"))
	require.Greater(t, third.ID(), newest.ID(), "ids of removed identities are not given again")
	s.write(t, func(tx *Tx) { require.Equal(t, uint64(3), Tags.Put(tx, Tag{Label: "after", Project: 1}).ID) })

	s.replay(t)
	s.replay(t, 1)
}

// replay wants the same state from the log in other batches and over a snapshot
// after each entry that allows one.
func (s *restoreBed) replay(t *testing.T, snapshots ...int) {
	t.Helper()
	f := newTestFSM(t)
	f.ApplyBatch(s.p.log[:2])
	for _, l := range s.p.log[2:] {
		f.ApplyBatch([]*raft.Log{l})
		if len(snapshots) > 0 && f.staged == nil {
			f = throughSnapshot(t, f)
		}
	}
	require.Equal(t, s.State().Hash(), f.State().Hash())
	require.Equal(t, s.State().Index, f.State().Index)
}

// TestRestoreAgainIsOne sends the last part twice, on a node that was restarted
// in between, too.
func TestRestoreAgainIsOne(t *testing.T) {
	s := newRestoreBed(t)
	s.environment(t, "a")
	backup := backupBytes(t, s.FSM)
	require.NoError(t, s.restore(t, 1, true, backup).Err)
	s.write(t, func(tx *Tx) { Tags.Put(tx, Tag{Label: "later", Project: 1}) })
	want := s.State().Hash()
	restarted := throughSnapshot(t, s.FSM)
	again := s.restore(t, 1, true, backup)
	require.True(t, again.Restored)
	require.NoError(t, again.Err)
	require.Equal(t, want, s.State().Hash())
	require.Equal(t, again, restarted.Apply(s.p.log[len(s.p.log)-1]))
	require.Equal(t, want, restarted.State().Hash())
}

// TestRestoreRefusesDamage leaves the state alone when the backup is damaged, its
// parts do not follow each other, or nobody sends the rest.
func TestRestoreRefusesDamage(t *testing.T) {
	s := newRestoreBed(t)
	s.environment(t, "a")
	backup := backupBytes(t, s.FSM)
	epoch := s.State().Genesis.Epoch
	bad := bytes.Clone(backup)
	bad[len(bad)/2] ^= 1
	require.ErrorIs(t, s.restore(t, 1, true, bad).Err, ErrBackup)
	require.ErrorIs(t, s.restore(t, 2, true, backup[:100]).Err, ErrBackup)

	part := func(id byte, at int, data []byte) *RestoreResult {
		_, answer, err := s.p.Propose(t.Context(), NewRestoreEntry(RestorePart{ID: uuid.UUID{id}, Offset: uint64(at), Data: data, Force: true}, time.UnixMicro(int64(s.State().Time))))
		require.NoError(t, err)
		return answer.(*RestoreResult)
	}
	require.ErrorIs(t, part(3, 10, backup[10:]).Err, ErrRestoreOrder)
	require.Equal(t, uint64(10), part(4, 0, backup[:10]).Received)
	_, err := s.Snapshot()
	require.ErrorIs(t, err, ErrRestoring)
	require.ErrorIs(t, part(4, 20, backup[20:]).Err, ErrRestoreOrder)
	require.NoError(t, part(5, 0, backup[:10]).Err)
	require.ErrorIs(t, part(4, 10, backup[10:]).Err, ErrRestoreOrder, "another restore was begun")

	s.p.Propose(t.Context(), newUsageEntryAt(s.State().Time.Add(restorePatience+time.Second)))
	snapshot, err := s.Snapshot()
	require.NoError(t, err, "a restore that nobody goes on with is given up")
	snapshot.Release()
	require.ErrorIs(t, part(5, 10, backup[10:]).Err, ErrRestoreOrder)
	require.Equal(t, epoch, s.State().Genesis.Epoch)
	require.Equal(t, "a", must1(Environments.Get(s.State(), 1)).Name)
	s.replay(t)
}

// TestRestoreEndsForeignEnvironments restores another installation's backup: the
// actors of environments that only share an id are not taken over.
func TestRestoreEndsForeignEnvironments(t *testing.T) {
	other := newRestoreBed(t)
	other.write(t, func(tx *Tx) {
		Organisations.Put(tx, Organisation{ID: 1})
		Projects.Put(tx, Project{ID: 1, Name: "p", Organisation: 1})
		Environments.Put(tx, Environment{ID: 1, Name: "theirs", APIKey: "their key", Project: 1})
		Environments.Put(tx, Environment{ID: 2, Name: "shared", APIKey: "shared key", Project: 1})
	})
	s := newRestoreBed(t)
	s.write(t, func(tx *Tx) {
		Organisations.Put(tx, Organisation{ID: 1})
		Projects.Put(tx, Project{ID: 1, Name: "p", Organisation: 1})
		Environments.Put(tx, Environment{ID: 1, Name: "ours", APIKey: "our key", Project: 1})
		Environments.Put(tx, Environment{ID: 2, Name: "shared", APIKey: "shared key", Project: 1})
		Environments.Put(tx, Environment{ID: 3, Name: "removed", APIKey: "removed key", Project: 1})
	})
	ours, _ := s.views.ByKey([]byte("our key"))
	shared, _ := s.views.ByID(2)
	removed, _ := s.views.ByID(3)
	var gone []uint64
	s.views.OnGone(func(id uint64) { gone = append(gone, id) })
	require.NoError(t, s.restore(t, 1, true, backupBytes(t, other.FSM)).Err)
	require.True(t, ours.Live.Gone())
	require.True(t, removed.Gone())
	require.ElementsMatch(t, []uint64{1, 3}, gone)
	now, ok := s.views.ByID(2)
	require.True(t, ok)
	require.Same(t, shared, now)
	theirs, ok := s.views.ByKey([]byte("their key"))
	require.True(t, ok)
	require.NotSame(t, ours.Live, theirs.Live)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.NoError(t, s.views.Wait(ctx, s.State().Index, 1, 2))
	require.Equal(t, "theirs", theirs.Live.View().Environment.Name)
	require.Equal(t, other.State().Genesis.Seed, s.State().Genesis.Seed)
}

// FuzzRestorePart feeds damaged parts to a state machine that holds something.
func FuzzRestorePart(f *testing.F) {
	log, _ := randomLog(f, rand.New(rand.NewPCG(1, 1)), 12)
	for _, l := range log {
		if Kind(l.Data[0]) == KindRestore {
			f.Add(l.Data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m := newTestFSM(t)
		m.Apply(log[0])
		_, _ = m.apply(2, append([]byte{byte(KindRestore), RestoreLevel}, data...), &Touched{})
	})
}

func newUsageEntryAt(at Time) []byte {
	return append([]byte{byte(KindUsageBatch), 1}, must(encMode.Marshal(&usageBatch{Node: "u", Seq: uint64(at), Time: at}))...)
}

func must1[T any](v T, ok bool) T {
	if !ok {
		panic(fmt.Sprintf("no %T", v))
	}
	return v
}

func (t Table[R]) count(r Reader) (n int) {
	for range t.Refs(r) {
		n++
	}
	return n
}
