package fsm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm/identity"
)

// gatedProposer applies entries when its gate is open and can refuse or meddle.
type gatedProposer struct {
	mu       sync.Mutex
	fsm      *FSM
	index    uint64
	entries  int
	barriers int
	before   func(p *gatedProposer) // runs ahead of the entry, may apply others
	fail     error
}

func (p *gatedProposer) apply(entry []byte) any {
	p.index++
	return p.fsm.Apply(&raft.Log{Index: p.index, Type: raft.LogCommand, Data: entry})
}

func (p *gatedProposer) Propose(_ context.Context, entry []byte) (uint64, any, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.fail; err != nil {
		p.fail = nil
		return 0, nil, err
	}
	if before := p.before; before != nil {
		p.before = nil
		before(p)
	}
	p.entries++
	answer := p.apply(entry)
	return p.index, answer, nil
}

func (p *gatedProposer) Barrier(context.Context) error { p.barriers++; return nil }
func (p *gatedProposer) Verify(context.Context) error  { return nil }

func newTestWriter(t *testing.T) (*Writer, *gatedProposer) {
	t.Helper()
	f := newTestFSM(t)
	p := &gatedProposer{fsm: f}
	w := NewWriter(f, p, time.Now, slog.New(slog.DiscardHandler))
	t.Cleanup(w.Stop)
	return w, p
}

func putTag(label string) func(*Tx) error {
	return func(tx *Tx) error { Tags.Put(tx, Tag{Label: label, Project: 1}); return nil }
}

func labels(f *FSM) (all []string) {
	for tag := range Tags.All(f.State()) {
		all = append(all, tag.Label)
	}
	return all
}

func TestWriterAbortsAFailedTransactionAlone(t *testing.T) {
	w, p := newTestWriter(t)
	refusal := errors.New("no")
	_, err := w.Write(t.Context(), Author{}, func(tx *Tx) error {
		Tags.Put(tx, Tag{Label: "half"})
		return refusal
	})
	require.Equal(t, refusal, err)
	_, err = w.Write(t.Context(), Author{}, func(tx *Tx) error {
		Tags.Put(tx, Tag{Label: "half"})
		panic("boom")
	})
	require.ErrorIs(t, err, ErrPanicked)
	_, err = w.Write(t.Context(), Author{}, putTag("whole"))
	require.NoError(t, err)
	require.Equal(t, []string{"whole"}, labels(p.fsm))
}

// In one turn, nobody sees what a transaction did that failed, panicked or was too late.
func TestFailedTransactionsLeaveNothingInTheirTurn(t *testing.T) {
	w, p := newTestWriter(t)
	late, cancel := context.WithCancel(context.Background())
	cancel()
	half := func(end func() error) func(*Tx) error {
		return func(tx *Tx) error {
			TagsByProject.DeleteAll(tx, uint64(1))
			Tags.Put(tx, Tag{Label: "half", Project: 1})
			return end()
		}
	}
	_, err := w.Write(t.Context(), Author{}, putTag("kept"))
	require.NoError(t, err)
	answers := make(chan outcome, 6)
	var batch []*request
	seen := -1
	for _, r := range []struct {
		ctx context.Context
		run func(*Tx) error
	}{
		{t.Context(), putTag("first")},
		{t.Context(), half(func() error { return errors.New("no") })},
		{t.Context(), half(func() error { panic("boom") })},
		{late, half(func() error { return nil })},
		{t.Context(), func(tx *Tx) error { seen = TagsByProject.Count(tx, uint64(1)); return nil }},
		{t.Context(), putTag("last")},
	} {
		batch = append(batch, &request{ctx: r.ctx, run: r.run, answer: answers})
	}
	entries := p.entries
	w.turn(batch)
	require.Equal(t, entries+1, p.entries)
	require.Equal(t, []string{"kept", "first", "last"}, labels(p.fsm))
	require.Equal(t, 2, seen)
}

func TestWriterGroupsWhatWaits(t *testing.T) {
	w, p := newTestWriter(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		_, err := w.Write(context.Background(), Author{}, func(tx *Tx) error {
			close(entered)
			<-leave
			return putTag("first")(tx)
		})
		require.NoError(t, err)
	})
	<-entered
	before := p.entries
	for i := range 20 {
		wait.Go(func() {
			_, err := w.Write(context.Background(), Author{}, putTag(fmt.Sprint(i)))
			require.NoError(t, err)
		})
	}
	require.Eventually(t, func() bool { return w.Waiting() == 20 }, 5*time.Second, time.Millisecond)
	close(leave)
	wait.Wait()
	require.Len(t, labels(p.fsm), 21)
	require.LessOrEqual(t, p.entries-before, 2, "twenty waiting writes make one entry")
}

func TestWriterRunsAgainWhenFenced(t *testing.T) {
	w, p := newTestWriter(t)
	_, err := w.Write(t.Context(), Author{}, putTag("one"))
	require.NoError(t, err)
	p.before = func(p *gatedProposer) { // another leader's changeset comes first
		c := changeset{Seq: p.fsm.State().Seq + 1, Writes: []write{{ID: 99, Ops: []op{{
			Table: Tags.def.number, ID: 50, Row: must(encMode.Marshal(&Tag{ID: 50, Label: "theirs"})),
		}}}}}
		require.NoError(t, p.apply(newEntry(KindChangeset, BaseLevel, must(encMode.Marshal(&c)))).(*ChangesetResult).Err)
	}
	runs, barriers := 0, p.barriers
	_, err = w.Write(t.Context(), Author{}, func(tx *Tx) error { runs++; return putTag("ours")(tx) })
	require.NoError(t, err)
	require.Equal(t, 2, runs)
	require.Equal(t, barriers+1, p.barriers)
	require.ElementsMatch(t, []string{"one", "ours", "theirs"}, labels(p.fsm))
}

func TestWriterRunsAgainWhenAnIdentityMoved(t *testing.T) {
	w, p := newTestWriter(t)
	upsert := identity.Op{Kind: identity.KindUpsert, Environment: 1, Identifier: []byte("u"),
		Traits: []identity.TraitOp{{Key: []byte("k"), Value: []byte("1")}}}
	_, err := w.Write(t.Context(), Author{}, func(tx *Tx) error { tx.Identity(upsert, nil); return nil })
	require.NoError(t, err)
	p.before = func(p *gatedProposer) { // SDK traffic changes the identity in between
		upsert.Traits[0].Value = []byte("2")
		sub := identity.AppendSubBatch(identity.AppendBatch(make([]byte, 8)), identity.SubBatch{Node: []byte("n"), Sequence: 1, Ops: 1},
			identity.AppendOp(nil, &upsert))
		p.apply(newEntry(KindIdentityBatch, BaseLevel, sub))
	}
	runs, results := 0, 0
	_, err = w.Write(t.Context(), Author{}, func(tx *Tx) error {
		runs++
		rec, _ := tx.Identities().Environment(1).Lookup([]byte("u"))
		Tags.Put(tx, Tag{Label: fmt.Sprint("run ", runs)})
		tx.Identity(identity.Op{Kind: identity.KindDelete, Environment: 1, Identity: rec.ID(), ExpectLastChange: rec.LastChange()},
			func(r identity.Result) { results++; require.Equal(t, identity.StatusOK, r.Status) })
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 2, runs)
	require.Equal(t, 1, results)
	require.Equal(t, []string{"run 2"}, labels(p.fsm))
	require.Zero(t, p.fsm.State().Identities().Environment(1).Count())
}

func TestWriterPassesTheProposersErrorOnAndRecovers(t *testing.T) {
	w, p := newTestWriter(t)
	_, err := w.Write(t.Context(), Author{}, putTag("a"))
	require.NoError(t, err)
	lost := errors.New("leadership lost")
	p.fail = lost
	barriers := p.barriers
	_, err = w.Write(t.Context(), Author{}, putTag("b"))
	require.ErrorIs(t, err, lost)
	_, err = w.Write(t.Context(), Author{}, putTag("c"))
	require.NoError(t, err)
	require.Equal(t, barriers+1, p.barriers, "a barrier after a failed propose")
	require.Equal(t, []string{"a", "c"}, labels(p.fsm))
}

func TestWriterRefusesWhatNoEntryCarries(t *testing.T) {
	w, p := newTestWriter(t)
	_, err := w.Write(t.Context(), Author{}, putTag(strings.Repeat("x", maxWriteBytes+1)))
	require.ErrorIs(t, err, ErrTooLarge)
	require.Empty(t, labels(p.fsm))
}

func TestUpdatedAtOnlyGrows(t *testing.T) {
	w, p := newTestWriter(t)
	var id uint64
	_, err := w.Write(t.Context(), Author{}, func(tx *Tx) error {
		e := Environments.Put(tx, Environment{Name: "e", APIKey: "k", UpdatedAt: tx.Now().Add(time.Hour)})
		id = e.ID
		return nil
	})
	require.NoError(t, err)
	before, _ := Environments.Get(p.fsm.State(), id)
	_, err = w.Write(t.Context(), Author{}, func(tx *Tx) error { tx.Audit(AuditLog{Environment: id}); return nil })
	require.NoError(t, err)
	after, _ := Environments.Get(p.fsm.State(), id)
	require.Greater(t, after.UpdatedAt, before.UpdatedAt)
}

func TestChangeLogTellsBeforeAndAfter(t *testing.T) {
	w, p := newTestWriter(t)
	var id uint64
	_, err := w.Write(t.Context(), Author{}, func(tx *Tx) error { id = Tags.Put(tx, Tag{Label: "old"}).ID; return nil })
	require.NoError(t, err)
	_, err = w.Write(t.Context(), Author{User: 7, Name: "x@y.z"}, func(tx *Tx) error {
		Tags.Put(tx, Tag{ID: id, Label: "between"})
		Tags.Put(tx, Tag{ID: id, Label: "new"})
		return nil
	})
	require.NoError(t, err)
	var last ChangeLogEntry
	for c := range ChangeLog.All(p.fsm.State()) {
		last = c
	}
	require.Equal(t, Author{User: 7, Name: "x@y.z"}, last.Author)
	require.Len(t, last.Changes, 1)
	before, ok := Tags.Before(last.Changes[0])
	require.True(t, ok)
	after, ok := Tags.After(last.Changes[0])
	require.True(t, ok)
	require.Equal(t, []string{"old", "new"}, []string{before.Label, after.Label})
}

func TestRetention(t *testing.T) {
	w, p := newTestWriter(t)
	now := time.Now()
	s := NewScheduler(p.fsm, w, func() time.Time { return now }, Retention{
		ChangeLog: time.Hour, ChangeLogBytes: 1 << 30, Audit: time.Hour, Idempotency: time.Minute, IdempotencyBytes: 1 << 20, Usage: time.Hour,
	}, slog.New(slog.DiscardHandler))
	defer s.Stop()
	_, err := w.Write(t.Context(), Author{}, func(tx *Tx) error {
		IdempotencyKeys.Put(tx, IdempotencyKey{Key: "old", Created: tx.Now()})
		tx.Audit(AuditLog{Log: "old"})
		return putTag("x")(tx)
	})
	require.NoError(t, err)
	_, err = w.Write(t.Context(), Author{}, putTag("y"))
	require.NoError(t, err)
	last := p.fsm.State()
	now = now.Add(2 * time.Hour)
	require.NoError(t, s.due(t.Context()))
	st := p.fsm.State()
	for range IdempotencyKeys.All(st) {
		t.Fatal("an expired answer stayed")
	}
	for range AuditLogs.All(st) {
		t.Fatal("an old audit row stayed")
	}
	for c := range ChangeLog.All(st) {
		require.Equal(t, last.Index, c.Index, "an old change stayed")
	}
	require.Zero(t, st.sizes.answers)

	// The newest change stays: a moment before it is told from one after it.
	past, err := st.AsOf(func(_ uint64, at Time) bool { return at <= last.Time })
	require.NoError(t, err)
	require.Equal(t, 2, past.rows.count(Tags.def))
	_, err = st.AsOf(func(_ uint64, at Time) bool { return at < last.Time })
	require.ErrorIs(t, err, ErrTooEarly)

	// Below is what earlier versions left behind: nothing.
	_, err = w.Write(t.Context(), Author{}, func(tx *Tx) error {
		for c := range ChangeLog.All(tx) {
			defer ChangeLog.Delete(tx, c.ID)
		}
		return nil
	})
	require.NoError(t, err)
	st = p.fsm.State()
	require.Zero(t, st.sizes.changeLog)
	_, err = st.AsOf(func(_ uint64, at Time) bool { return at < last.Time })
	require.ErrorIs(t, err, ErrTooEarly)
	_, err = st.AsOf(func(_ uint64, at Time) bool { return at <= st.Time })
	require.NoError(t, err)
}

// A count is of a whole day: one that is still counted is not old, whatever retention says.
func TestRetentionOfUsage(t *testing.T) {
	w, p := newTestWriter(t)
	day := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	now := day.Add(13 * time.Hour)
	r := DefaultRetention()
	r.Usage = time.Hour
	s := &Scheduler{fsm: p.fsm, writer: w, clock: func() time.Time { return now }, retention: r, log: slog.New(slog.DiscardHandler)}
	_, err := w.Write(t.Context(), Author{}, func(tx *Tx) error {
		Usages.Put(tx, Usage{Environment: 1, Bucket: TimeOf(day), Count: 5})
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, s.due(t.Context()))
	require.Equal(t, 1, p.fsm.State().rows.count(Usages.def))
	now = day.Add(25 * time.Hour)
	require.NoError(t, s.due(t.Context()))
	require.Zero(t, p.fsm.State().rows.count(Usages.def))
}

func TestScheduledStateBecomesLive(t *testing.T) {
	w, p := newTestWriter(t)
	now := time.Now()
	s := NewScheduler(p.fsm, w, func() time.Time { return now }, DefaultRetention(), slog.New(slog.DiscardHandler))
	defer s.Stop()
	w.clock = func() time.Time { return now }
	var environment, state uint64
	_, err := w.Write(t.Context(), Author{}, func(tx *Tx) error {
		project := Projects.Put(tx, Project{Name: "p"})
		e := Environments.Put(tx, Environment{Name: "e", APIKey: "k", Project: project.ID})
		f := Features.Put(tx, Feature{Name: "f", Project: project.ID})
		fs := FeatureStates.Put(tx, FeatureState{Feature: f.ID, Environment: e.ID, UpdatedAt: tx.Now(), LiveFrom: tx.Now().Add(time.Hour)})
		environment, state = e.ID, fs.ID
		return nil
	})
	require.NoError(t, err)
	before, _ := Environments.Get(p.fsm.State(), environment)
	require.NoError(t, s.due(t.Context()))
	same, _ := Environments.Get(p.fsm.State(), environment)
	require.Equal(t, before, same, "not due yet")

	now = now.Add(time.Hour + time.Minute)
	require.NoError(t, s.due(t.Context()))
	after, _ := Environments.Get(p.fsm.State(), environment)
	require.Greater(t, after.UpdatedAt, before.UpdatedAt)
	fs, _ := FeatureStates.Get(p.fsm.State(), state)
	require.LessOrEqual(t, fs.LiveFrom, p.fsm.State().Time)
	seq := p.fsm.State().Seq
	require.NoError(t, s.due(t.Context()))
	require.Equal(t, seq, p.fsm.State().Seq, "once")
}

func TestScheduledVersionsBecomeLive(t *testing.T) {
	w, p := newTestWriter(t)
	_, err := w.Write(t.Context(), Author{}, putTag("born"))
	require.NoError(t, err)
	_, _, err = p.Propose(t.Context(), NewLevelEntry(FormatLevel, time.Now()))
	require.NoError(t, err)
	now := time.Now()
	s := NewScheduler(p.fsm, w, func() time.Time { return now }, DefaultRetention(), slog.New(slog.DiscardHandler))
	defer s.Stop()
	w.clock = func() time.Time { return now }
	var e Environment
	var f Feature
	var hour, day FeatureVersion
	_, err = w.Write(t.Context(), Author{User: 1}, func(tx *Tx) error {
		project := Projects.Put(tx, Project{Name: "p"})
		e = Environments.Put(tx, Environment{Name: "e", APIKey: "k", Project: project.ID, UseV2FeatureVersioning: true})
		f = Features.Put(tx, Feature{Name: "f", Project: project.ID})
		FeatureStates.Put(tx, FeatureState{Feature: f.ID, Environment: e.ID, UpdatedAt: tx.Now(), LiveFrom: tx.Now()})
		tx.StartVersions(e.ID, f.ID)
		schedule := func(after time.Duration) FeatureVersion {
			v := tx.DraftVersion(FeatureVersion{Environment: e.ID, Feature: f.ID})
			v.LiveFrom = tx.Now().Add(after)
			return tx.PublishVersion(v)
		}
		day, hour = schedule(24*time.Hour), schedule(time.Hour)
		return nil
	})
	require.NoError(t, err)
	serving := func() FeatureVersion {
		v, ok := ServingVersion(p.fsm.State(), e.ID, f.ID)
		require.True(t, ok)
		return v
	}
	first, seq := serving(), p.fsm.State().Seq
	require.NoError(t, s.due(t.Context()))
	require.Equal(t, seq, p.fsm.State().Seq, "not due yet")
	require.Equal(t, []VersionPhase{VersionScheduled, VersionScheduled}, []VersionPhase{hour.Phase, day.Phase})

	now = now.Add(2 * time.Hour)
	before, _ := Environments.Get(p.fsm.State(), e.ID)
	require.NoError(t, s.due(t.Context()))
	require.Equal(t, hour.ID, serving().ID)
	old, _ := FeatureVersions.Get(p.fsm.State(), first.ID)
	require.Equal(t, VersionPast, old.Phase)
	state, ok := FeatureStatesByEnvironment.First(p.fsm.State(), e.ID, StateDefault, f.ID)
	require.True(t, ok)
	require.Equal(t, hour.ID, state.FeatureVersion)
	after, _ := Environments.Get(p.fsm.State(), e.ID)
	require.Greater(t, after.UpdatedAt, before.UpdatedAt)
	var rows []AuditLog
	for a := range AuditLogs.All(p.fsm.State()) {
		rows = append(rows, a)
	}
	require.Len(t, rows, 1)
	require.Equal(t, "New version published for feature: f", rows[0].Log)
	require.Equal(t, hour.UUID, rows[0].RelatedObjectUUID)
	require.False(t, rows[0].IsSystemEvent)
	seq = p.fsm.State().Seq
	require.NoError(t, s.due(t.Context()))
	require.Equal(t, seq, p.fsm.State().Seq, "once")

	// Of several that fell due the latest is served; one that comes too late is past at once.
	now = now.Add(30 * 24 * time.Hour)
	_, err = w.Write(t.Context(), Author{User: 1}, func(tx *Tx) error {
		v := tx.DraftVersion(FeatureVersion{Environment: e.ID, Feature: f.ID})
		tx.PublishVersion(v) // as of no time: older than any
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, hour.ID, serving().ID)
	require.NoError(t, s.due(t.Context()))
	require.Equal(t, day.ID, serving().ID)
	_, err = w.Write(t.Context(), Author{}, func(tx *Tx) error { tx.EndVersions(e.ID); return nil })
	require.NoError(t, err)
	for range FeatureVersions.All(p.fsm.State()) {
		t.Fatal("a version stayed")
	}
	for range FeatureVersionStates.All(p.fsm.State()) {
		t.Fatal("a state of a version stayed")
	}
	state, _ = FeatureStatesByEnvironment.First(p.fsm.State(), e.ID, StateDefault, f.ID)
	require.Zero(t, state.FeatureVersion)
}

// TestNumbersOfATurn runs four transactions as one turn, one of which fails: ids go on without a gap, in the turn and behind it, and the log
// has the last number of each sequence once.
func TestNumbersOfATurn(t *testing.T) {
	f, p, w := newLevelWriter(t) // one tag is there
	failed := errors.New("not this one")
	var ids []uint64
	create := func(err error) *request {
		return &request{ctx: t.Context(), answer: make(chan outcome, 1), run: func(tx *Tx) error {
			for range 2 {
				tag := Tags.Put(tx, Tag{Label: "of a turn"})
				if err == nil {
					ids = append(ids, tag.ID)
				}
			}
			return err
		}}
	}
	n, entry := w.run([]*request{create(nil), create(failed), create(nil), create(nil)})
	require.Equal(t, 4, n)
	require.Equal(t, []uint64{2, 3, 4, 5, 6, 7}, ids)
	_, body, err := splitEntry(entry)
	require.NoError(t, err)
	var c changeset
	require.NoError(t, decodeBody(body, &c))
	require.Len(t, c.Writes, 3)
	for i, w := range c.Writes {
		require.Equal(t, uint64(2+i), w.ID)
		sequences := 0
		for _, o := range w.Ops {
			if o.Table == 22 {
				sequences++
			}
		}
		require.Equal(t, []int{0, 0, 2}[i], sequences)
	}
	_, _, err = p.Propose(t.Context(), entry)
	require.NoError(t, err)
	written, err := w.Write(t.Context(), Author{}, func(tx *Tx) error {
		require.Equal(t, uint64(8), Tags.Put(tx, Tag{Label: "behind it"}).ID)
		return nil
	})
	require.NoError(t, err)
	last, ok := ChangeLog.Get(f.State(), 5)
	require.True(t, ok)
	require.Equal(t, written.Index, last.Index)
}

// TestNobodyWaitsBehindAWriteThatFindsNoSpace: on a node that is alone it waits until there is some.
func TestNobodyWaitsBehindAWriteThatFindsNoSpace(t *testing.T) {
	w, p := newTestWriter(t)
	var full atomic.Bool
	w.RefuseWhen(full.Load)
	waits, space, stored := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	p.before = func(*gatedProposer) { close(waits); <-space }
	go func() {
		_, err := w.Write(context.Background(), Author{}, putTag("first"))
		stored <- err
	}()
	<-waits
	full.Store(true)
	long := time.Now().Add(-time.Hour)
	w.began.Store(&long)
	_, err := w.Write(t.Context(), Author{}, putTag("second"))
	require.ErrorIs(t, err, ErrReadOnly)
	full.Store(false)
	close(space)
	require.NoError(t, <-stored)
	_, err = w.Write(t.Context(), Author{}, putTag("third"))
	require.NoError(t, err)
	require.Equal(t, []string{"first", "third"}, labels(p.fsm))
}
