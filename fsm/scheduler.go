package fsm

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/flagraft/flagraft/cluster/actor"
)

// Retention is how long the growing tables keep their rows, and how much they
// may hold. Only the leader acts on it, by ordinary changesets, so nodes with
// different settings still agree on the state.
type Retention struct {
	ChangeLog        time.Duration
	ChangeLogBytes   uint64
	Audit            time.Duration
	AuditBytes       uint64
	Idempotency      time.Duration
	IdempotencyBytes uint64
	Usage            time.Duration
	UsageBytes       uint64
}

// DefaultRetention returns the documented defaults.
func DefaultRetention() Retention {
	const day = 24 * time.Hour
	return Retention{
		ChangeLog: 90 * day, ChangeLogBytes: 1 << 30, Audit: 365 * day, AuditBytes: 1 << 30,
		Idempotency: 10 * time.Minute, IdempotencyBytes: 64 << 20, Usage: 90 * day, UsageBytes: 256 << 20,
	}
}

const (
	// sweepBatch bounds the rows one sweep removes, so that it stays a short turn;
	// sweepTurns how many a tick makes of one kind when that is not enough.
	sweepBatch = 2_000
	sweepTurns = 50
	// The bytes of a row without its texts, at least.
	auditSize = 60
	usageSize = 40
)

// Scheduler is the actor on the leader that does what falls due: it turns due
// times in the state into ordinary changesets. Nothing else compares the state
// with a clock.
type Scheduler struct {
	fsm       *FSM
	writer    *Writer
	clock     func() time.Time
	retention Retention
	log       *slog.Logger
	leading   atomic.Bool
	signal    actor.Signal
	loop      *actor.Loop
	every     time.Duration
	limitsDue Time // when limits of API calls are looked at next; the loop's own, as are the following

	orphansDue Time           // when identities of no environment are looked for next
	orphans    map[uint64]int // environments that have them, and how often that was seen

	deletedDue Time // when names that no audit row shows are looked for next

	most   int             // rows that may become live in one write
	tried  []rowKey        // what the write at hand makes live
	putOff map[rowKey]Time // what could not become live, and until when it is left alone
}

// NewScheduler starts the scheduler; it rests until [Scheduler.Lead].
func NewScheduler(f *FSM, w *Writer, clock func() time.Time, r Retention, log *slog.Logger) *Scheduler {
	s := &Scheduler{fsm: f, writer: w, clock: clock, retention: r, log: log, signal: actor.NewSignal(), every: time.Second}
	s.loop = actor.Go(s.run)
	return s
}

// Lead tells whether this node leads.
func (s *Scheduler) Lead(leading bool) {
	s.leading.Store(leading)
	s.signal.Raise()
}

// Stop ends the actor.
func (s *Scheduler) Stop() { s.loop.Stop() }

func (s *Scheduler) run(ctx context.Context) {
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.signal.C():
		case <-tick.C:
		}
		if !s.leading.Load() || !s.fsm.State().Born() {
			continue
		}
		if err := s.due(ctx); err != nil && ctx.Err() == nil {
			s.log.Debug("scheduled work waits", "error", err)
		}
	}
}

// due finds on the newest state whether anything is due and only then writes.
// A job that fails does not keep the others from their turn.
func (s *Scheduler) due(ctx context.Context) error {
	now := TimeOf(s.clock())
	var failed error
	for _, job := range []scheduled{
		goLive(s, featureStatesScheduled, scheduledState, stateLive), goLive(s, featureVersionsScheduled, scheduledVersion, versionLive),
		s.expiredAnswers, s.oldChanges, s.oldAudit, s.oldUsage, s.oldTransfers, s.apiCallLimits, s.orphanedIdentities,
		s.deletedNames,
	} {
		failed = errors.Join(failed, s.turns(ctx, job, now))
	}
	return failed
}

// scheduled returns the write that is due, or nil.
type scheduled func(Reader, Time) func(*Tx)

func (s *Scheduler) turns(ctx context.Context, job scheduled, now Time) error {
	s.most = sweepBatch
	for range sweepTurns {
		if job(s.fsm.State(), now) == nil {
			return nil
		}
		s.tried = nil
		_, err := s.writer.Write(ctx, Author{}, func(tx *Tx) error {
			if write := job(tx, now); write != nil {
				write(tx)
			}
			return nil
		})
		if err != nil && !s.passOver(err, now) {
			return err
		}
	}
	return nil
}

// waits reports whether a time of the Scheduler's own, set at most so long ahead, is still to come. What lies further ahead was set by a
// clock that was wrong and has been put right.
func waits(until, now Time, atMost time.Duration) bool {
	return now < until && until <= now.Add(atMost)
}

func (s *Scheduler) expiredAnswers(r Reader, now Time) func(*Tx) {
	return sweep(IdempotencyKeys, IdempotencyKeysByTime.Refs(r), sizesOf(r).answers, s.retention.IdempotencyBytes, func(k *IdempotencyKey) (bool, uint64) {
		return k.Created.Add(s.retention.Idempotency) <= now, answerMemory.of(len(k.Body) + len(k.Header))
	})
}

// oldChanges leaves the newest entry: it tells since when nothing has changed, which [State.AsOf] asks.
func (s *Scheduler) oldChanges(r Reader, now Time) func(*Tx) {
	return sweep(ChangeLog, allButLast(ChangeLog.Refs(r)), sizesOf(r).changeLog, s.retention.ChangeLogBytes, func(c *ChangeLogEntry) (bool, uint64) { // ids grow with time
		return c.Time.Add(s.retention.ChangeLog) <= now, changeLogMemory.of(int(c.Size))
	})
}

func (s *Scheduler) oldAudit(r Reader, now Time) func(*Tx) {
	return sweep(AuditLogs, AuditLogs.Refs(r), sizesOf(r).audit, s.retention.AuditBytes, func(a *AuditLog) (bool, uint64) { // ids grow with time
		return a.CreatedDate.Add(s.retention.Audit) <= now, auditMemory.of(auditSize + len(a.Log))
	})
}

// oldUsage judges counts by the end of their day: what is counted now is not old already.
func (s *Scheduler) oldUsage(r Reader, now Time) func(*Tx) {
	return sweep(Usages, UsagesByBucket.Refs(r), sizesOf(r).usage, s.retention.UsageBytes, func(u *Usage) (bool, uint64) {
		return u.Bucket.Add(usageDay+s.retention.Usage) <= now, usageMemory.of(usageSize + len(u.Labels))
	})
}

// allButLast yields all rows but the last one.
func allButLast[R any](rows iter.Seq[*R]) iter.Seq[*R] {
	return func(yield func(*R) bool) {
		var last *R
		for row := range rows {
			if last != nil && !yield(last) {
				return
			}
			last = row
		}
	}
}

// sweep returns the removal of the rows that are too old, and of as many more as
// there are bytes held beyond a limit, or nil. The oldest come first; about says
// whether a row is too old, and its size.
func sweep[R any](t Table[R], oldest iter.Seq[*R], held, limit uint64, about func(*R) (old bool, size uint64)) func(*Tx) {
	var ids []uint64
	for row := range oldest {
		old, size := about(row)
		if len(ids) == sweepBatch || !old && held <= limit {
			break
		}
		ids = append(ids, *t.id(row))
		held -= min(held, size)
	}
	return deleteRows(t, ids)
}

// deleteRows returns the removal of rows, or nil when there is nothing to remove.
func deleteRows[R any](t Table[R], ids []uint64) func(*Tx) {
	if len(ids) == 0 {
		return nil
	}
	return func(tx *Tx) {
		for _, id := range ids {
			t.Delete(tx, id)
		}
	}
}

// sizesOf returns the bytes held as of the last applied entry.
func sizesOf(r Reader) sizes {
	switch r := r.(type) {
	case *State:
		return r.sizes
	case *Tx:
		return r.state.sizes
	default:
		return sizes{}
	}
}
